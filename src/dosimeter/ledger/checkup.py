"""What an examination of a ledger finds: one sentence each for what is the case, why it matters and what to do.

Findings speak of files, settings, accounts by id and records by number. They never carry a question, an answer, a
request's id or the ledger's secret, so a report may be sent to whoever helps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from dosimeter.errors import DosimeterError
from dosimeter.ledger.clock import Clock, utc_now
from dosimeter.ledger.record import Kind

if TYPE_CHECKING:
    from dosimeter.ledger.ledger import Ledger
    from dosimeter.ledger.store import Reading

UNDER_WAY: Final = timedelta(hours=1)  # a reservation that is younger is taken for a question being answered
AHEAD: Final = timedelta(minutes=5)  # clocks of machines may differ by so much

WHY_CHAIN: Final = "every charge must follow from its event and stand in the chain, or the statement proves nothing"
WHY_ORPHANS: Final = "a question that was charged and not answered stays spent, because its rows may have been read"
WHY_CLOCK: Final = "records carry the time, and quotas unlock by it; no filter's decision depends on it"


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"  # it works, and something may go wrong, or already takes more than it should
    ERROR = "error"  # charges fail, may be lost, or cannot be proved


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `todo` is empty where nothing is to be done."""

    check: str
    level: Level
    what: str
    why: str
    todo: str = ""

    def to_json(self) -> dict[str, str]:
        """As JSON."""
        return {
            "check": self.check,
            "level": str(self.level),
            "what": self.what,
            "why": self.why,
            "todo": self.todo,
        }


@dataclass(frozen=True, slots=True)
class Checkup:
    """All findings about one ledger, in the order in which they were made."""

    ledger: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings may be there."""
        return not self.of(Level.ERROR)

    def of(self, level: Level) -> tuple[Finding, ...]:
        """The findings of one level."""
        return tuple(finding for finding in self.findings if finding.level is level)

    def message(self) -> str:
        """One sentence for a person."""
        errors, warnings = len(self.of(Level.ERROR)), len(self.of(Level.WARNING))
        counted = ((errors, "error"), (warnings, "warning"))
        said = ", ".join(f"{count} {name}{'s' * (count != 1)}" for count, name in counted)
        return f"{self.ledger}: {len(self.findings)} things looked at, {said}"

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {"ledger": self.ledger, "ok": self.ok, "findings": [finding.to_json() for finding in self.findings]}


def ok(check: str, what: str, why: str) -> Finding:
    """Nothing to do."""
    return Finding(check, Level.OK, what, why)


def warning(check: str, what: str, why: str, todo: str) -> Finding:
    """Something to look after."""
    return Finding(check, Level.WARNING, what, why, todo)


def error(check: str, what: str, why: str, todo: str) -> Finding:
    """Something to mend."""
    return Finding(check, Level.ERROR, what, why, todo)


def examine_accounts(
    ledger: Ledger, *, clock: Clock = utc_now, thorough: bool = True, progress: Callable[[int, int], None] | None = None
) -> list[Finding]:
    """The chain of every account, the reservations that nobody answered, and the times that records carry.

    Args:
        ledger: is only read.
        clock: what the time is now.
        thorough: prove every account; without it only the reservations and times are looked at.
        progress: told now and then how many records of the account in turn were read, and of how many.
    """
    with ledger.store.read() as view:
        ids = sorted(view.account_ids())
    found = _chain(ledger, ids, progress) if thorough else []
    late, young = list[str](), 0
    newest: datetime | None = None
    now = clock()
    for account_id in ids:
        with ledger.store.read() as view:
            for entry, reserved_at in unanswered(view, account_id):
                if now - reserved_at >= UNDER_WAY:
                    late.append(f"entry {entry} of {account_id} (since {reserved_at:%Y-%m-%d %H:%M})")
                else:
                    young += 1
            last = _last_time(view, account_id)
        newest = last if newest is None or (last is not None and last > newest) else newest
    return [*found, _orphans(late, young), _clock(now, newest)]


def _chain(ledger: Ledger, ids: list[str], progress: Callable[[int, int], None] | None) -> list[Finding]:
    broken, records, charges = list[str](), 0, 0
    for account_id in ids:
        try:
            report = ledger.audit_by_id(account_id, progress=progress)
        except DosimeterError as failed:
            broken.append(f"account {account_id}: {failed}")
            continue
        records, charges = records + report.records, charges + report.charges
        if report.first_bad is not None:  # its words may name a request; the audit tells them
            seq = report.first_bad.seq
            place = "its head or its names" if seq is None else f"record {seq}"
            broken.append(f"account {account_id}: {place} does not hold")
    if not broken:
        said = f"{len(ids)} accounts, {records} records and {charges} charges hold"
        return [ok("chain", said, WHY_CHAIN)]
    todo = "stop charging, keep a copy, let `dosimeter audit` say why, and go on as in docs/operate/recover.md"
    return [error("chain", what, WHY_CHAIN, todo) for what in broken]


def _orphans(late: list[str], young: int) -> Finding:
    under_way = f"; {young} younger ones are taken to be under way" if young else ""
    if not late:
        return ok("orphans", f"no reservation waits for its answer for an hour or more{under_way}", WHY_ORPHANS)
    shown = ", ".join(late[:5]) + (f" and {len(late) - 5} more" if len(late) > 5 else "")
    todo = "ask the same question again, which completes it free; nothing refunds it (docs/operate/recover.md)"
    return warning("orphans", f"{len(late)} reservations without an answer: {shown}{under_way}", WHY_ORPHANS, todo)


def _clock(now: datetime, newest: datetime | None) -> Finding:
    if newest is None or newest <= now + AHEAD:
        return ok("clock", f"it is {now:%Y-%m-%d %H:%M:%S} UTC, and no record is from later", WHY_CLOCK)
    return warning(
        "clock",
        f"the newest record is from {newest:%Y-%m-%d %H:%M:%S}, and this clock says {now:%Y-%m-%d %H:%M:%S} UTC",
        WHY_CLOCK,
        "find out which machine's clock was wrong and let it follow a time server",
    )


def unanswered(view: Reading, account_id: str) -> Iterable[tuple[int, datetime]]:
    """The entries of an account that were charged and have no answer, and since when; reads every record."""
    waiting: dict[int, str] = {}
    for record in view.stream(account_id):
        if record.kind == Kind.RESERVED:
            waiting[record.seq] = record.recorded_at
        elif record.kind in (Kind.SETTLED, Kind.VOIDED):
            waiting.pop(record.refers_to or 0, None)
    for entry, at in waiting.items():
        time = _time(at)
        if time is not None:
            yield entry, time


def _last_time(view: Reading, account_id: str) -> datetime | None:
    head = view.head(account_id)
    last = None if head is None else view.record(account_id, head.seq)
    return None if last is None else _time(last.recorded_at)


def _time(text: str) -> datetime | None:
    """A record's time; None where it was damaged, which the chain says already."""
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return time if time.tzinfo is not None else None
