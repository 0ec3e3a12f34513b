"""The statement as one self-contained HTML page: facts, epochs, the odometer figure, every entry.

No script, no network, no answers: a page a steward can file, print and mail.
"""

from __future__ import annotations

from html import escape
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from dosimeter.exact import brief_down, brief_up
from dosimeter.notions import Loss
from dosimeter.notions.words import in_words
from dosimeter.report.chart import style
from dosimeter.report.figure import svg
from dosimeter.report.trace import odometer_figure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dosimeter.ledger import Statement


def html(statement: Statement) -> str:
    """The page. Everything on it is public."""
    account = statement.account
    unit = account.unit
    who = "one row" if unit.column is None else f"one {unit.column}, at most {unit.max_contributions} rows each"
    facts = [
        ("Data set", account.name),
        ("Account", account.id),
        ("Opened", f"{_when(account.opened_at)} UTC by {account.opened_by}"),
        ("Protects", f"{who} ({str(account.relation).replace('_', ' ')})"),
        ("Filter", account.filter.kind),
        ("Promise of this epoch", promise(statement.guarantee)),
    ]
    if len(statement.epochs) > 1:
        facts.append((f"Promise of all {len(statement.epochs)} epochs", promise(statement.guarantee_of_all_epochs)))
    facts += [
        ("Spent", ", ".join(f"{name} {brief_up(value)}" for name, value in statement.spent.items())),
        ("Left", ", ".join(f"{name} {brief_down(value)}" for name, value in statement.remaining.items())),
        ("Head of the chain", statement.head),
    ]
    readings = [
        (
            str(reading.odometer.get("kind", "odometer")),
            "the privacy loss so far" if reading.semantics == "loss" else "a run stopped here",
            f"at most {brief_up(reading.bound)}" if reading.bound is not None else f"no bound: {reading.why_not}",
            brief_up(reading.failure_probability, 3),
        )
        for reading in statement.readings
    ]
    decisions = [(str(d.seq), _when(d.at), d.kind, d.by or "", d.reason or d.name or "") for d in statement.decisions]
    entries = [
        (
            str(entry.entry),
            _when(entry.requested_at),
            entry.description,
            in_words(entry.loss) if entry.status in {"reserved", "settled"} else f"nothing ({entry.status})",
            entry.status + (f" by {entry.voided_by}: {entry.void_reason}" if entry.void_reason else ""),
            "; ".join(entry.declared_reasons),
        )
        for entry in statement.entries
    ]
    page = resources.files(__package__).joinpath("statement.html").read_text(encoding="utf-8")
    return Template(page).substitute(
        title=escape(f"Privacy statement of {account.name}"),
        style=style(),
        facts="".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts),
        figure=svg(odometer_figure(statement), standalone=False),
        readings=_rows(readings) or '<tr><td colspan="4">This account was opened without odometers.</td></tr>',
        decisions=_rows(decisions),
        entries=_rows(entries) or '<tr><td colspan="6">Nothing has been asked yet.</td></tr>',
    )


def promise(loss: Loss) -> str:
    """A guarantee with its notion, such as ``approx: epsilon 1, delta 1e-6``."""
    return f"{loss.notion}: {in_words(loss, 12)}"


def _when(stamp: str) -> str:
    """To the second; the entry keeps the rest."""
    return stamp.partition(".")[0].replace("T", " ")


def _rows(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
