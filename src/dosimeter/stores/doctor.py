"""Examine a ledger: where it is kept, how it is set up, and whether what it holds can be proved. Only reads.

For before a first charge, after an upgrade or a restore, and now and then. Every finding says what is the case, why it
matters and what to do; `ok` ones are told as well, so that one sees what was looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from dosimeter.errors import DosimeterError, EntropyError
from dosimeter.ledger.checkup import Checkup, Finding, Level, error, examine_accounts, ok
from dosimeter.ledger.clock import Clock, utc_now
from dosimeter.stores.location import open_store, shown_location
from dosimeter.stores.sql.postgresql_url import is_url

if TYPE_CHECKING:
    from dosimeter.mechanisms.entropy import Entropy

_NOISE: Final = "an answer is private only if nobody can guess its noise"
_DRAWS: Final = 64
_UNREADABLE: Final = frozenset({"file", "server", "pages", "encoding", "rights"})  # with an error about one of these


def examine(
    location: str | os.PathLike[str],
    *,
    thorough: bool = True,
    clock: Clock = utc_now,
    progress: Callable[[int, int], None] | None = None,
) -> Checkup:
    """Look at a ledger and everything that it relies on. Writes nothing and migrates nothing.

    Args:
        location: the path of a file, or a postgresql:// address.
        thorough: also read every page and prove every account, which takes time in proportion to the history.
        clock: what the time is now.
        progress: told now and then how many records of an account were read, and of how many.

    Returns:
        Every finding; `ok` is False where one is an error. A ledger that cannot be opened is a finding, too.

    Raises:
        InputError: the location is an address that cannot be read.
    """
    return Checkup(shown_location(location), tuple(_findings(location, thorough, clock, progress)))


def _findings(
    location: str | os.PathLike[str], thorough: bool, clock: Clock, progress: Callable[[int, int], None] | None
) -> Iterator[Finding]:
    readable = True
    for finding in _outside(location, thorough, clock):
        if finding.level is Level.ERROR and finding.check in _UNREADABLE:
            readable = False
        if finding.check == "schema" and finding.level is not Level.OK:  # reading would mean migrating
            readable = False
        yield finding
    if readable:
        yield from _accounts(location, thorough, clock, progress)
    yield examine_generator()


def _outside(location: str | os.PathLike[str], thorough: bool, clock: Clock) -> Iterator[Finding]:
    if is_url(location):
        from dosimeter.stores.sql.postgresql_checkup import examine_server

        return examine_server(os.fspath(location), now=clock)
    from dosimeter.stores.sql.sqlite_checkup import examine_file

    return examine_file(location, thorough=thorough)


def _accounts(
    location: str | os.PathLike[str], thorough: bool, clock: Clock, progress: Callable[[int, int], None] | None
) -> Iterator[Finding]:
    from dosimeter.ledger.ledger import Ledger

    try:
        ledger = Ledger(open_store(location, create=False, read_only=True), clock)
    except DosimeterError as failed:
        why = "statements and audits open the ledger like this"
        yield error("opening", str(failed), why, "do what the message says, then look again")
        return
    try:
        yield from examine_accounts(ledger, clock=clock, thorough=thorough, progress=progress)
    except DosimeterError as failed:
        yield error("chain", str(failed), "what cannot be read cannot be proved", "see docs/operate/recover.md")
    finally:
        ledger.store.close()


def examine_generator(entropy: Entropy | None = None) -> Finding:
    """Whether fresh noise can be drawn here: the operating system answers, and OpenDP's sampler means what we mean."""
    from dosimeter.mechanisms.entropy import SystemEntropy

    source = SystemEntropy() if entropy is None else entropy
    todo = "check the operating system's randomness, and install the version of opendp that Dosimeter pins"
    if source.for_tests_only:
        return error("generator", "this source of randomness is for tests", _NOISE, "leave entropy out")
    try:
        from decimal import Decimal

        drawn = {source.bits(128) for _ in range(_DRAWS)}
        noise = source.discrete_laplace(Decimal(10**6), _DRAWS)
    except (EntropyError, ImportError, OSError) as failed:
        return error("generator", str(failed), _NOISE, todo)
    if len(drawn) != _DRAWS or len(set(noise)) < _DRAWS // 2:  # by chance: below 2^-100
        return error("generator", "what was drawn repeats", _NOISE, todo)
    return ok("generator", "bits come from the operating system, exact noise from OpenDP's samplers", _NOISE)
