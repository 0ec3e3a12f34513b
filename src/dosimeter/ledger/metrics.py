"""Numbers about a ledger for a monitoring system, in Prometheus' text format, which most others read as well.

Two sources. `measure` reads from the ledger what its accounts have spent and left; any process may do that, now and
then. `Counts` is a watch that counts what one process does: requests by outcome, how long transactions take, what was
tried again and what failed.

Neither tells a question, an answer, a request's id or a data set's name. Accounts appear by their id, and budgets are
public. A monitoring system keeps binary floats, so what was spent is rounded up and what is left is rounded down.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter
from typing import TYPE_CHECKING, Any, Final, Literal

from dosimeter.errors import DosimeterError
from dosimeter.ledger.checkup import unanswered
from dosimeter.ledger.watch import Watch

if TYPE_CHECKING:
    from dosimeter.ledger.account import Account
    from dosimeter.ledger.ledger import Ledger

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


@dataclass(frozen=True, slots=True)
class Sample:
    """One number, under labels; `ending` is what a histogram puts behind the family's name."""

    labels: tuple[tuple[str, str], ...]
    value: float
    ending: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """Numbers of one name."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    help: str
    samples: tuple[Sample, ...]

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        samples = [{"labels": dict(s.labels), "value": s.value, **_named(s.ending)} for s in self.samples]
        return {"name": self.name, "kind": self.kind, "help": self.help, "samples": samples}


def exposition(families: Iterable[Family]) -> str:
    """The families in Prometheus' text format, version 0.0.4."""
    lines = list[str]()
    for family in families:
        if not family.samples:
            continue
        lines += [f"# HELP {family.name} {_escaped(family.help)}", f"# TYPE {family.name} {family.kind}"]
        for sample in family.samples:
            labels = ",".join(f'{name}="{_escaped(value, quoted=True)}"' for name, value in sample.labels)
            name = f"{family.name}{sample.ending}"
            lines.append(f"{name}{{{labels}}} {_number(sample.value)}" if labels else f"{name} {_number(sample.value)}")
    return "".join(f"{line}\n" for line in lines)


def measure(ledger: Ledger, accounts: Sequence[Account] | None = None, *, orphans: bool = False) -> list[Family]:
    """What each account has spent and left, rounded against the spender; constant time per account.

    Args:
        ledger: is only read.
        accounts: which; all of them when left out.
        orphans: also count the reservations without an answer, which reads every record.
    """
    chosen = ledger.accounts() if accounts is None else accounts
    spent, left, budget, read = (list[Sample]() for _ in range(4))
    epochs, records, waiting = (list[Sample]() for _ in range(3))
    for account in chosen:
        balance = ledger.balance(account)
        own = (("account", account.id),)
        epochs.append(Sample(own, balance.epoch))
        with ledger.store.read() as view:
            head = view.head(account.id)
            records.append(Sample(own, head.seq if head is not None else 0))
            if orphans:
                waiting.append(Sample(own, sum(1 for _ in unanswered(view, account.id))))
        spent += _by_quantity(own, balance.spent, up=True)
        left += _by_quantity(own, balance.remaining, up=False)
        budget += _by_quantity(own, account.filter.budget(), up=False)
        for reading in balance.readings:
            if reading.bound is not None:
                labels = (*own, ("odometer", str(reading.odometer["kind"])), ("semantics", str(reading.semantics)))
                read.append(Sample(labels, float_up(reading.bound)))
    families = [
        _gauge("dosimeter_accounts", "Accounts of the ledger.", [Sample((), len(chosen))]),
        _gauge("dosimeter_account_epoch", "The account's current epoch; a reset begins another.", epochs),
        Family("dosimeter_account_records_total", "counter", "Records in the account's chain.", tuple(records)),
        _gauge("dosimeter_account_budget", "What an epoch may spend, by quantity, rounded down.", budget),
        _gauge("dosimeter_account_spent", "What the epoch has spent, by quantity, rounded up.", spent),
        _gauge("dosimeter_account_remaining", "What the epoch has left, by quantity, rounded down.", left),
        _gauge("dosimeter_account_odometer_epsilon", "Bounds on the privacy loss so far, rounded up.", read),
    ]
    if orphans:
        said = "Reservations without an answer: under way, or left by a crash."
        families.append(_gauge("dosimeter_account_unanswered_reservations", said, waiting))
    return families


class Counts(Watch):
    """Counts what one process's ledger does. Give it to `Ledger(store, watch=...)`; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outcomes: Counter[tuple[str, str]] = Counter()
        self._retried: Counter[tuple[str, str]] = Counter()
        self._failed: Counter[tuple[str, str]] = Counter()
        self._times: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def done(self, verb: str, seconds: float) -> None:
        with self._lock:
            self._times[verb][bisect_left(BUCKETS, seconds)] += 1
            self._seconds[verb] += seconds

    def outcome(self, verb: str, outcome: str, account_id: str, entry: int) -> None:  # noqa: ARG002
        with self._lock:
            self._outcomes[verb, outcome] += 1

    def retried(self, verb: str, error: DosimeterError) -> None:
        with self._lock:
            self._retried[verb, type(error).__name__] += 1

    def failed(self, verb: str, error: DosimeterError) -> None:
        with self._lock:
            self._failed[verb, type(error).__name__] += 1

    def families(self) -> list[Family]:
        """What was counted since the process began."""
        with self._lock:
            return [
                _counter("dosimeter_requests_total", "Requests by outcome.", "outcome", self._outcomes),
                _counter("dosimeter_retries_total", "Transactions tried again.", "error", self._retried),
                _counter("dosimeter_failures_total", "Verbs that the store failed.", "error", self._failed),
                Family("dosimeter_transaction_seconds", "histogram", "How long verbs took.", tuple(self._histogram())),
            ]

    def text(self) -> str:
        """The same in Prometheus' text format: what a process's own /metrics page may answer."""
        return exposition(self.families())

    def _histogram(self) -> Iterable[Sample]:
        for verb, counts in sorted(self._times.items()):
            total = 0
            for bound, count in zip((*BUCKETS, inf), counts, strict=True):
                total += count
                yield Sample((("verb", verb), ("le", _number(bound))), total, "_bucket")
            yield Sample((("verb", verb),), self._seconds[verb], "_sum")
            yield Sample((("verb", verb),), total, "_count")


def float_up(value: Decimal) -> float:
    """The smallest binary float that is not below the decimal."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= Fraction(value) else nextafter(nearest, inf)


def float_down(value: Decimal) -> float:
    """The largest binary float that is not above the decimal."""
    return -float_up(value.copy_negate())  # unary minus would round the decimal


def _by_quantity(own: tuple[tuple[str, str], ...], amounts: Any, *, up: bool) -> Iterable[Sample]:
    for name, value in amounts.items():
        number = Decimal(value)
        yield Sample((*own, ("quantity", str(name))), float_up(number) if up else float_down(number))


def _gauge(name: str, said: str, samples: Sequence[Sample]) -> Family:
    return Family(name, "gauge", said, tuple(samples))


def _counter(name: str, said: str, what: str, counts: Counter[tuple[str, str]]) -> Family:
    samples = (Sample((("verb", verb), (what, value)), count) for (verb, value), count in sorted(counts.items()))
    return Family(name, "counter", said, tuple(samples))


def _named(ending: str) -> dict[str, str]:
    return {"ending": ending} if ending else {}


def _number(value: float) -> str:
    if value == inf:
        return "+Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _escaped(words: str, *, quoted: bool = False) -> str:
    words = words.replace("\\", "\\\\").replace("\n", "\\n")
    return words.replace('"', '\\"') if quoted else words
