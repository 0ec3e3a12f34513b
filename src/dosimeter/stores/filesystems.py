"""Which file system a path lies on, read from the system's table of mounts, and whether a ledger may lie there."""

from __future__ import annotations

import os
from typing import Final

MOUNTS: Final = "/proc/self/mounts"
NETWORKED: Final = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs")
    + ("lustre", "beegfs", "gpfs", "ocfs2", "gfs2")
)
FORGETFUL: Final = frozenset({"tmpfs", "ramfs"})
LAYERED: Final = frozenset({"overlay", "aufs"})


def filesystem_of(path: str, mounts: str) -> str | None:
    """The type of the file system that holds an absolute path; `mounts` is the text of the system's table.

    Returns:
        Such as ``ext4``, ``nfs4`` or ``fuse.sshfs``; None where the table does not say.
    """
    best: tuple[int, str] | None = None
    for line in mounts.splitlines():
        parts = line.split(" ")
        if len(parts) < 3:
            continue
        place, kind = _unescaped(parts[1]), parts[2]
        inside = path == place or path.startswith(place.rstrip("/") + "/")
        if inside and (best is None or len(place) >= best[0]):  # a later mount hides an earlier one
            best = len(place), kind
    return None if best is None else best[1]


def is_networked(kind: str) -> bool:
    """Whether files there are shared between machines, so that locks and shared memory cannot be relied on."""
    if kind.startswith("fuse."):
        return kind.removeprefix("fuse.") in NETWORKED | {"sshfs", "s3fs", "gcsfuse", "rclone"}
    return kind in NETWORKED


def read_mounts() -> str:
    """The system's table; empty where it has none."""
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def _unescaped(place: str) -> str:
    for escaped, plain in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        place = place.replace(escaped, plain)
    return os.path.normpath(place)
