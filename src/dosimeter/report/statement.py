"""The statement as one self-contained HTML page: facts, epochs, the odometer figure, every entry.

No script, no network, no answers: a page a steward can file, print and mail.
"""

from __future__ import annotations

from html import escape
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from dosimeter.exact import brief_up
from dosimeter.notions import Loss
from dosimeter.notions.words import in_words
from dosimeter.report.chart import style
from dosimeter.report.figure import svg
from dosimeter.report.trace import odometer_figure
from dosimeter.session.words import left_in_words, spent_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dosimeter.ledger import Entry, Statement


def html(statement: Statement) -> str:
    """The page. Everything on it is public."""
    account = statement.account
    unit = account.unit
    who = "one row" if unit.column is None else f"one {unit.column}, with up to {unit.max_contributions} rows"
    facts = [
        ("Data set", account.name),
        ("Account", account.id),
        ("Opened", f"{moment(account.opened_at)} UTC by {account.opened_by}"),
        ("Protects", f"{who}, under {account.relation}"),
        ("Filter", account.filter.kind),
        ("Promise of this epoch", promise(statement.guarantee)),
    ]
    if len(statement.epochs) > 1:
        facts.append((f"Promise of all {len(statement.epochs)} epochs", promise(statement.guarantee_of_all_epochs)))
    facts += [
        ("Spent", spent_in_words(statement.spent)),
        ("Left", left_in_words(statement.remaining)),
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
    decisions = [(str(d.seq), moment(d.at), d.kind, d.by or "", d.reason or d.name or "") for d in statement.decisions]
    columns = {
        "No.": [str(entry.entry) for entry in statement.entries],
        "When": [moment(entry.requested_at) for entry in statement.entries],
        "Epoch": [str(entry.epoch) for entry in statement.entries],
        "Question": [entry.description for entry in statement.entries],
        "Charged": [charged(entry) for entry in statement.entries],
        "Status": [status(entry) for entry in statement.entries],
        "Declared because": ["; ".join(entry.declared_reasons) for entry in statement.entries],
    }
    if len(statement.epochs) == 1:
        del columns["Epoch"]
    if not any(columns["Declared because"]):
        del columns["Declared because"]
    entries = list(zip(*columns.values(), strict=True))
    page = resources.files(__package__).joinpath("statement.html").read_text(encoding="utf-8")
    return Template(page).substitute(
        title=escape(f"Privacy statement of {account.name}"),
        style=style(),
        facts="".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts),
        figure=svg(odometer_figure(statement), standalone=False),
        readings=_rows(readings) or '<tr><td colspan="4">This account was opened without odometers.</td></tr>',
        decisions=_rows(decisions),
        names="".join(f"<th>{name}</th>" for name in columns),
        entries=_rows(entries) or f'<tr><td colspan="{len(columns)}">Nothing has been asked yet.</td></tr>',
    )


def promise(loss: Loss) -> str:
    """A guarantee with its notion, such as ``approx: epsilon 1, delta 1e-6``."""
    return f"{loss.notion}: {in_words(loss, 12)}"


def charged(entry: Entry) -> str:
    """What an entry cost: nothing where it was refused, or voided before rows were read."""
    return in_words(entry.loss) if entry.status in {"reserved", "settled"} else "nothing"


def status(entry: Entry) -> str:
    """What became of an entry; for one that cost nothing also what it would have cost, and who voided it and why."""
    if entry.status in {"reserved", "settled"}:
        return entry.status
    voided = f" by {entry.voided_by}: {entry.void_reason}" if entry.void_reason else ""
    return f"{entry.status} ({in_words(entry.loss)}){voided}"


def moment(stamp: str) -> str:
    """A time stamp to the second; the entry keeps the rest."""
    return stamp.partition(".")[0].replace("T", " ")


def _rows(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
