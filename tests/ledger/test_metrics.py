"""Metrics: numbers for a monitoring system, rounded against the spender, and nothing that was asked or answered."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledger.ledger_world import answered, ask, open_account

from dosimeter.errors import CommitUnknown, LedgerUnavailable, Undone
from dosimeter.ledger import DatasetIdentity, Ledger
from dosimeter.ledger.metrics import BUCKETS, Counts, Family, Sample, exposition, float_down, float_up, measure
from dosimeter.ledger.store import Store
from dosimeter.stores import MemoryStore


def parsed(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """What Prometheus' own library reads in a text."""
    parser = pytest.importorskip("prometheus_client.parser")
    found = {}
    for family in parser.text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return found


def test_what_accounts_have_spent_and_left(ledger: Ledger) -> None:
    """By account and quantity, on every store; a reset shows as another epoch."""
    account = open_account(ledger)
    other = open_account(ledger, "2", DatasetIdentity("secret name", "77"))
    answered(ledger, account, "q1", "0.3", answer="2.718")
    ledger.reserve(account, ask("q2", "0.1"))
    ledger.reset(other, reason="private reason", authorised_by="Ada")
    text = exposition(measure(ledger, orphans=True))
    read = parsed(text)
    own, second = ("account", account.id), ("account", other.id)
    epsilon = ("quantity", "epsilon")
    assert read["dosimeter_accounts", ()] == 2
    assert read["dosimeter_account_epoch", (own,)] == 1
    assert read["dosimeter_account_epoch", (second,)] == 2
    assert read["dosimeter_account_records_total", (own,)] == 4
    assert Decimal("0.4") <= Decimal(read["dosimeter_account_spent", (own, epsilon)]) < Decimal("0.4000001")
    assert Decimal("0.5999999") < Decimal(read["dosimeter_account_remaining", (own, epsilon)]) <= Decimal("0.6")
    assert read["dosimeter_account_budget", (second, epsilon)] == 2
    assert read["dosimeter_account_unanswered_reservations", (own,)] == 1
    assert not any(word in text for word in ("q1", "q2", "2.718", "secret name", "private reason", "question", "Ada"))


def test_one_account_alone_and_an_empty_ledger(ledger: Ledger) -> None:
    """A family without numbers is left out."""
    assert parsed(exposition(measure(ledger))) == {("dosimeter_accounts", ()): 0}
    account = open_account(ledger)
    open_account(ledger, "2", DatasetIdentity("b", "77"))
    ids = {labels[0][1] for (_, labels) in parsed(exposition(measure(ledger, [account]))) if labels}
    assert ids == {account.id}


@settings(max_examples=200)
@given(st.decimals(min_value=0, max_value=10**6, places=25))
def test_floats_are_rounded_against_the_spender(value: Decimal) -> None:
    """What was spent is never shown as less, what is left never as more."""
    assert Fraction(float_up(value)) >= Fraction(value) >= Fraction(float_down(value))
    assert float_up(value) - float_down(value) <= abs(float_up(value)) * 2**-51


def test_labels_cannot_break_out_of_their_line() -> None:
    """Quotes, backslashes and line breaks in a label or a help text are escaped as the format says."""
    odd = 'a"b\\c\nd 1\n# TYPE x counter'
    family = Family("x", "gauge", 'help with \\ and\nmore "', (Sample((("name", odd),), 1.5),))
    assert parsed(exposition([family])) == {("x", (("name", odd),)): 1.5}
    assert exposition([family]).count("\n") == 3


def test_a_process_counts_what_it_does(store: Store) -> None:
    """Requests by outcome, and how long transactions took, with buckets that add up."""
    counts = Counts()
    ledger = Ledger(store, watch=counts)
    account = open_account(ledger)
    answered(ledger, account, "q1", "0.9")
    answered(ledger, account, "q1", "0.9")
    ledger.reserve(account, ask("q2", "0.9"))
    read = parsed(counts.text())
    assert read["dosimeter_requests_total", (("outcome", "reserved"), ("verb", "reserve"))] == 1
    assert read["dosimeter_requests_total", (("outcome", "replayed"), ("verb", "reserve"))] == 1
    assert read["dosimeter_requests_total", (("outcome", "refused"), ("verb", "reserve"))] == 1
    assert read["dosimeter_requests_total", (("outcome", "settled"), ("verb", "settle"))] == 1
    count = read["dosimeter_transaction_seconds_count", (("verb", "reserve"),)]
    assert count == read["dosimeter_transaction_seconds_bucket", (("le", "+Inf"), ("verb", "reserve"))] == 3
    assert read["dosimeter_transaction_seconds_sum", (("verb", "reserve"),)] > 0
    assert "q1" not in counts.text()


def test_buckets_hold_what_is_at_most_their_bound() -> None:
    """At the bound itself, just above it, and above all of them."""
    counts = Counts()
    for seconds in (BUCKETS[0], BUCKETS[0] * 1.01, 1e9):
        counts.done("settle", seconds)
    read = parsed(counts.text())

    def bucket(bound: str) -> float:
        return read["dosimeter_transaction_seconds_bucket", (("le", bound), ("verb", "settle"))]

    assert [bucket("0.001"), bucket("0.0025"), bucket("30"), bucket("+Inf")] == [1, 2, 2, 3]


def test_retries_and_failures_are_counted_by_their_kind() -> None:
    """Which error, never its words."""
    counts = Counts()
    counts.retried("reserve", Undone("secret"))
    counts.retried("reserve", Undone("secret"))
    counts.retried("reserve", CommitUnknown("secret"))
    counts.failed("settle", LedgerUnavailable("secret"))
    read = parsed(counts.text())
    assert read["dosimeter_retries_total", (("error", "Undone"), ("verb", "reserve"))] == 2
    assert read["dosimeter_retries_total", (("error", "CommitUnknown"), ("verb", "reserve"))] == 1
    assert read["dosimeter_failures_total", (("error", "LedgerUnavailable"), ("verb", "settle"))] == 1
    assert "secret" not in counts.text()


def test_as_json_and_as_text_are_the_same_numbers() -> None:
    """For those who read JSON; infinity stands in a label only."""
    counts = Counts()
    Ledger(MemoryStore(), watch=counts)
    counts.done("reserve", 0.002)
    told: list[dict[str, Any]] = [family.to_json() for family in counts.families()]
    histogram = next(one for one in told if one["kind"] == "histogram")
    assert all(sample["value"] != inf for sample in histogram["samples"])
    assert {sample.get("ending") for sample in histogram["samples"]} == {"_bucket", "_sum", "_count"}
