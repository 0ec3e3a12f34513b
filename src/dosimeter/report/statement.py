"""The statement as one self-contained HTML page: facts, epochs, the odometer figure, every entry.

No script, no network, no answers: a page a steward can file, print and mail.
"""

from __future__ import annotations

from html import escape
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from dosimeter.events import loss_to_json
from dosimeter.notions import Loss
from dosimeter.report.figure import style, svg
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
        ("Opened", f"{account.opened_at} by {account.opened_by}"),
        ("Protects", f"{who} ({str(account.relation).replace('_', ' ')})"),
        ("Filter", account.filter.kind),
        ("Promise of this epoch", words(statement.guarantee)),
    ]
    if len(statement.epochs) > 1:
        facts.append((f"Promise of all {len(statement.epochs)} epochs", words(statement.guarantee_of_all_epochs)))
    facts += [
        ("Spent", _quantities(statement.spent)),
        ("Left", _quantities(statement.remaining)),
        ("Head of the chain", statement.head),
    ]
    readings = [
        (
            str(reading.odometer.get("kind", "odometer")),
            "the privacy loss so far" if reading.semantics == "loss" else "a run stopped here",
            f"at most {reading.bound:.6g}" if reading.bound is not None else f"no bound: {reading.why_not}",
            f"{reading.crossing_probability:.3g}",
        )
        for reading in statement.readings
    ]
    decisions = [(str(d.seq), d.at, d.kind, d.by or "", d.reason or d.name or "") for d in statement.decisions]
    entries = [
        (
            str(entry.entry),
            entry.requested_at,
            entry.description,
            entry.charge if entry.status in {"reserved", "settled"} else f"nothing ({entry.status})",
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


def words(loss: Loss) -> str:
    """A guarantee as people write it, such as ``approx: epsilon 1, delta 1e-6``."""
    data = loss_to_json(loss)
    parts = [f"{k} {', '.join(v) if isinstance(v, list) else v}" for k, v in data.items() if k != "notion" and v != "0"]
    return f"{data['notion']}: {', '.join(parts) or 'nothing revealed'}"


def _quantities(values: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _rows(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
