"""Tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> None:
    """Print one table: a title, aligned columns, a note below."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(name), *(len(row[i]) for row in texts)) for i, name in enumerate(columns)]
    print(f"\n{title}")
    for line in (list(columns), ["-" * width for width in widths], *texts):
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    if note:
        print(f"  {note}")
