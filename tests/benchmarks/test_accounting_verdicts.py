"""What the accounting benchmark calls right, wrong and narrow."""

from decimal import Decimal

import pytest
from benchmarks.accounting.verdict import judge, merge, reason, seconds, shown, signed
from benchmarks.accounting.workloads import QUICK, WORKLOADS, Workload, gaussian, growing

PLAN = Workload("x", "made up", ((gaussian("1"), 1),), "1e-5", "2.00000000000000")


@pytest.mark.parametrize(
    ("cell", "wrong"),
    [
        ({"upper": "2"}, ""),
        ({"upper": "2.1", "lower": "1.9"}, ""),
        ({"upper": "1.9999999"}, "below the truth"),
        ({"upper": "2.1", "lower": "2.0000001"}, "lower bound above the truth"),
        ({"estimate": "1.9"}, ""),
        ({"upper": "inf"}, ""),
    ],
)
def test_a_reported_bound_that_is_none_is_called_wrong(cell: dict[str, str], wrong: str) -> None:
    """A value reported as a guarantee must not lie below the truth; an estimate may, and is only inexact."""
    assert judge(cell, PLAN).wrong == wrong


def test_errors_and_gaps_are_relative() -> None:
    """The error is (value - truth) / truth and the gap (upper - lower) / value."""
    verdict = judge({"upper": "2.5", "lower": "2"}, PLAN)
    assert (verdict.error, verdict.gap) == (0.25, 0.2)
    assert judge({"upper": "inf", "lower": "2"}, PLAN).error is None


def test_the_digits_of_a_truth_are_trusted_up_to_the_last() -> None:
    """An answer that differs in the last written digit is not called wrong."""
    short = Workload("x", "made up", PLAN.parts, "1e-5", "2.00")
    assert short.doubt == Decimal("0.005")
    assert judge({"upper": "1.995"}, short).wrong == ""
    assert judge({"upper": "1.98"}, short).wrong == "below the truth"


def test_rounds_become_medians() -> None:
    """Times are medians over rounds, memory is the largest; a round without an answer does not count."""
    rounds = [{"upper": "1", "cold": {"wall": float(w), "cpu": 1.0}, "memory": w} for w in (3, 1, 2)]
    cell = merge([*rounds, {"failed": "over 1 s"}])
    assert (cell["cold"]["wall"], cell["memory"], cell["rounds"]) == (2.0, 3, 3)
    assert merge([{"failed": "over 1 s"}]) == {"failed": "over 1 s"}


def test_cells_read_well() -> None:
    """Durations have units, reasons are short, infinity has a name."""
    assert (seconds(2e-6), seconds(0.0123), seconds(4.0), seconds(None)) == ("2 us", "12.3 ms", "4 s", "")
    assert (signed(0.0), signed(-1e-3), signed(None)) == ("0", "-1.0e-03", "")
    assert shown({"upper": "inf"}) == "infinite"
    assert reason({"upper": "1"}) is None
    assert len(reason({"failed": "x" * 500}) or "") < 60


def test_the_plans_are_well_formed() -> None:
    """Nineteen plans with positive counts, deltas in (0, 1) and truths of at least eight digits."""
    assert len(WORKLOADS) == 19
    assert set(QUICK) <= set(WORKLOADS)
    for name, plan in WORKLOADS.items():
        assert plan.name == name
        assert all(count >= 1 for _, count in plan.parts)
        assert 0 < float(plan.delta) < 1
        assert 0 < plan.doubt < Decimal("1e-7")
    assert len(set(growing(50))) == 50
