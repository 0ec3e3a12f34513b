"""Marginals from residuals: the optimum, the price, the error that is promised, and answers that agree."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import InputError
from dosimeter.mechanisms.entropy import SeededTestEntropy
from dosimeter.mechanisms.matrix import Domain, Marginals, optimal_strategy, plan_marginals
from dosimeter.mechanisms.matrix.marginals import _contrasts, _spread

DOMAIN = Domain({"a": 3, "b": 4, "c": 2})


def _marginal(table: np.ndarray, domain: Domain, attributes: tuple[str, ...]) -> np.ndarray:
    return table.sum(axis=tuple(i for i, a in enumerate(domain.order) if a not in attributes))


def _workload(domain: Domain, marginals: Any) -> np.ndarray:
    """The marginals as rows over the cells of the full table."""
    cells = list(product(*(range(domain.sizes[a]) for a in domain.order)))
    rows = []
    for m in marginals:
        axes = [domain.order.index(a) for a in m]
        for values in product(*(range(domain.sizes[a]) for a in m)):
            rows.append([float(tuple(cell[i] for i in axes) == values) for cell in cells])
    return np.array(rows)


@pytest.mark.parametrize(
    "marginals", [[("a",)], [("a", "b"), ("b", "c")], [("a", "b", "c")], [()], [(), ("a",), ("a", "c"), ("b",)]]
)
def test_the_plan_is_the_optimum_of_the_matrix_mechanism(marginals: Any) -> None:
    """On small domains the residuals reach what the dense convex program proves to be the least total error."""
    plan = plan_marginals(DOMAIN, marginals, mu=1)
    dense = optimal_strategy(_workload(DOMAIN, marginals), accuracy=1e-5)
    assert plan.total_error == pytest.approx(dense.least_error, rel=1e-4)
    assert plan.total_error == pytest.approx(plan.least_error, rel=1e-4)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_the_price_is_the_worst_records(seed: int) -> None:
    """What every cell of the table pays, computed from the measurements themselves, is at most mu and close to it."""
    rng = np.random.default_rng(seed)
    sizes = {name: int(rng.integers(2, 5)) for name in "abc"}
    domain = Domain(sizes)
    wanted = [m for k in (1, 2) for m in domain.all_marginals(k) if rng.random() < 0.6] or [("a",)]
    plan = plan_marginals(domain, wanted, mu="0.7", weights=[float(w) for w in rng.uniform(0.2, 3, len(wanted))])
    assert plan.mu <= Decimal("0.7")
    cost = 0.0
    for residual, std in plan.stds.items():
        one = np.zeros(tuple(sizes[a] for a in residual))
        one.flat[0] = 1
        centred = one
        for axis in range(one.ndim):
            centred = centred - centred.mean(axis=axis, keepdims=True)
        cost += float((centred**2).sum()) / float(std) ** 2
    assert float(plan.mu) ** 2 >= cost * (1 - 1e-12)
    assert float(plan.mu) ** 2 == pytest.approx(cost, rel=1e-4)


def test_the_largest_variance_is_least_for_its_own_objective() -> None:
    """max beats sum on the largest cell variance, sum beats max on the total, and both are near their bound."""
    wanted = [("a",), ("a", "b"), ("b", "c")]
    total, largest = (plan_marginals(DOMAIN, wanted, mu=1, objective=o) for o in ("sum", "max"))
    worst = [max(plan.variance(m) for m in plan.marginals) for plan in (total, largest)]
    assert worst[1] < worst[0]
    assert total.total_error < largest.total_error
    assert worst[1] == pytest.approx(largest.least_error, rel=1e-3)


def test_answers_agree_and_have_the_promised_variance() -> None:
    """Released answers are consistent to the last digits and off by the variance that was promised."""
    table = np.random.default_rng(1).integers(0, 40, size=(3, 4, 2)).astype(float)
    plan = plan_marginals(DOMAIN, [("a", "b"), ("b", "c")], mu=1)
    source, errors = SeededTestEntropy(2), {m: [] for m in plan.marginals}
    for _ in range(250):
        answers = Marginals(DOMAIN, source)
        for residual in plan.stds:
            answers.measure(plan, residual, _marginal(table, DOMAIN, residual))
        ab, bc = answers.answer(["a", "b"]), answers.answer(["c", "b"])
        assert np.allclose(ab.sum(axis=0), bc.sum(axis=1), atol=1e-8)
        assert np.allclose(ab.sum(), answers.answer([]), atol=1e-8)
        for m in plan.marginals:
            errors[m].append(((answers.answer(m) - _marginal(table, DOMAIN, m)) ** 2).mean())
    for m, seen in errors.items():
        assert float(np.mean(seen)) == pytest.approx(plan.variance(m), rel=0.12)


def test_marginals_grow_by_what_is_missing() -> None:
    """Asking for a wider marginal later measures only the residuals that are not known, and a second look averages."""
    table = np.ones((3, 4, 2))
    answers, source = Marginals(DOMAIN, SeededTestEntropy(3)), plan_marginals(DOMAIN, [("a", "b", "c")], mu=1)
    for residual in answers.needs(["a"]):
        answers.measure(source, residual, _marginal(table, DOMAIN, residual))
    assert answers.needs(["a"]) == ()
    assert set(answers.needs(["a", "b"])) == {("b",), ("a", "b")}
    before = answers.measured[("a",)]
    answers.measure(source, ("a",), _marginal(table, DOMAIN, ("a",)))
    assert answers.measured[("a",)] == pytest.approx(before / 2)
    with pytest.raises(InputError, match="has not been measured"):
        answers.answer(["b"])


def test_replacing_a_record_costs_two() -> None:
    """Under replace-one the same price buys twice the noise."""
    one = plan_marginals(DOMAIN, [("a", "b")], mu=1)
    two = plan_marginals(DOMAIN, [("a", "b")], mu=1, replace_one=True)
    assert two.total_error == pytest.approx(4 * one.total_error, rel=1e-4)
    table, other = np.zeros((3, 4, 2)), np.zeros((3, 4, 2))
    table[0, 0, 0], other[2, 3, 1] = 1, 1
    moved = 0.0
    for residual, std in two.stds.items():
        centred = _marginal(table - other, DOMAIN, residual)
        for axis in range(np.ndim(centred)):
            centred = centred - centred.mean(axis=axis, keepdims=True)
        moved += float((np.asarray(centred) ** 2).sum()) / float(std) ** 2
    assert moved <= float(two.mu) ** 2


def test_independent_noise_is_worse() -> None:
    """Control: splitting the price evenly over the marginals, each with its own noise, has the larger total error."""
    big = Domain(dict.fromkeys("abcdefg", 4))
    wanted = big.all_marginals(2)
    plan = plan_marginals(big, wanted, mu=1)
    independent = sum(big.cells(m) for m in wanted) * len(wanted)
    assert plan.total_error < 0.8 * independent


@pytest.mark.parametrize(
    "build",
    [
        lambda: Domain({}),
        lambda: Domain({"a": 1}),
        lambda: Domain({"": 3}),
        lambda: Domain({"a": 2.5}),  # type: ignore[dict-item]
        lambda: plan_marginals(DOMAIN, [], mu=1),
        lambda: plan_marginals(DOMAIN, [("x",)], mu=1),
        lambda: plan_marginals(DOMAIN, ["ab"], mu=1),
        lambda: plan_marginals(DOMAIN, [("a", "a")], mu=1),
        lambda: plan_marginals(DOMAIN, [("a",)], mu=0),
        lambda: plan_marginals(DOMAIN, [("a",)], mu=float("nan")),
        lambda: plan_marginals(DOMAIN, [("a",)], mu=1, weights=[0]),
        lambda: plan_marginals(DOMAIN, [("a",)], mu=1, weights=[1, 2]),
        lambda: plan_marginals(DOMAIN, [("a",)], mu=1, objective="median"),
        lambda: plan_marginals(DOMAIN, [("a",)], mu=1, most_records=0),
        lambda: Domain({f"x{i}": 1000 for i in range(5)}).marginal([f"x{i}" for i in range(5)]),
        lambda: plan_marginals(DOMAIN, [("a",)], mu=1).variance(["b"]),
        lambda: Marginals(DOMAIN).measure(plan_marginals(DOMAIN, [("a",)], mu=1), ("b",), np.ones(4)),
        lambda: Marginals(DOMAIN).measure(plan_marginals(DOMAIN, [("a",)], mu=1), ("a",), np.ones(4)),
    ],
)
def test_bad_plans_are_refused(build: Any) -> None:
    """Unknown attributes, empty questions, and prices that are no numbers are refused by name."""
    with pytest.raises(InputError):
        build()


def _helmert(size: int) -> np.ndarray:
    """Helmert's basis written out: (k - 1) x k, orthonormal rows that sum to zero."""
    out = np.zeros((size - 1, size))
    for row in range(size - 1):
        out[row, : row + 1], out[row, row + 1] = 1, -(row + 1)
    return out / np.linalg.norm(out, axis=1, keepdims=True)


def test_coordinates_are_those_of_the_basis_written_out() -> None:
    """Running sums give what the k x k matrix gives, along every axis, there and back."""
    rng = np.random.default_rng(4)
    table = rng.integers(0, 50, size=(3, 7, 2)).astype(float)
    for axis, size in enumerate(table.shape):
        basis = _helmert(size)
        wanted = np.moveaxis(np.tensordot(basis, table, axes=(1, axis)), 0, axis)
        assert np.allclose(_contrasts(table, axis), wanted, rtol=1e-12, atol=1e-12)
        back = np.moveaxis(np.tensordot(basis.T, wanted, axes=(1, axis)), 0, axis)
        assert np.allclose(_spread(wanted, axis), back, rtol=1e-12, atol=1e-12)
        assert np.abs(_spread(wanted, axis).sum(axis=axis)).max() < 1e-10


def test_an_attribute_of_fifty_thousand_values_needs_no_square_matrix() -> None:
    """A matrix of 50,000 x 50,000 would take 20 GB; the measurement takes as long as the table."""
    domain = Domain({"place": 50_000})
    plan = plan_marginals(domain, [["place"]], mu=3)
    answers = Marginals(domain, SeededTestEntropy(3))
    table = np.full(50_000, 4.0)
    table[7] = 900
    answers.measure(plan, (), table.sum())
    answers.measure(plan, ("place",), table)
    off = answers.answer(["place"]) - table
    assert off.std() == pytest.approx(plan.variance(["place"]) ** 0.5, rel=0.05)
    assert abs(off[7]) < 6 * off.std()


def test_the_price_of_a_plan_is_rounded_up() -> None:
    """The squares are added without a digit lost: mu squared stands above the exact sum."""
    domain = Domain({"a": 3, "b": 7, "c": 5})
    for mu in ("0.1", "0.7", "1.3", "2.9"):
        plan = plan_marginals(domain, domain.all_marginals(2), mu=mu)
        exact = sum((Fraction(plan.measurement(a).mu) ** 2 for a in plan.stds), Fraction(0))
        assert exact <= Fraction(plan.mu) ** 2 <= exact * (1 + Fraction(1, 10**40))


@pytest.mark.parametrize(
    "build",
    [
        lambda d: d.marginal(5),
        lambda d: d.marginal([["a"]]),
        lambda d: plan_marginals(None, [["a"]], mu=1),  # type: ignore[arg-type]
        lambda d: plan_marginals(d, None, mu=1),  # type: ignore[arg-type]
        lambda d: plan_marginals(d, "ab", mu=1),
        lambda d: plan_marginals(d, [5], mu=1),  # type: ignore[list-item]
        lambda d: plan_marginals(d, [["a"]], mu="1e-200"),
        lambda d: plan_marginals(d, [["a"]], mu=1, weights=3),  # type: ignore[arg-type]
        lambda d: plan_marginals(d, [["a"]], mu=1, weights="1"),  # type: ignore[arg-type]
        lambda d: plan_marginals(d, [["a"], ["b"]], mu=1, weights=["1e-100", "1e10"]),
        lambda d: plan_marginals(d, [["a"]], mu=1, known=5),  # type: ignore[arg-type]
        lambda d: plan_marginals(d, [["a"]], mu=1, known=[[5]]),  # type: ignore[list-item]
        lambda d: Marginals(None),  # type: ignore[arg-type]
        lambda d: Marginals(d).measure(None, ("a",), [7, 7]),  # type: ignore[arg-type]
        lambda d: Marginals(d).measure(plan_marginals(d, [["a"]], mu=1), ["a"], [7, 7]),  # type: ignore[arg-type]
        lambda d: Marginals(d).measure(plan_marginals(d, [["a"]], mu=1), ("a",), [[7], [7, 8]]),  # type: ignore[arg-type]
        lambda d: Marginals(d).measure(plan_marginals(d, [["a"]], mu=1), ("a",), ["7", "x"]),  # type: ignore[arg-type]
        lambda d: Marginals(d).measure(plan_marginals(d, [["a"]], mu=1), ("a",), [7j, 7]),  # type: ignore[arg-type]
        lambda d: Marginals(Domain({"a": 3, "b": 2})).measure(plan_marginals(d, [["a", "b"]], mu=1), ("a",), [7] * 3),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_plan_or_table_is_refused(build: Any) -> None:
    """Other objects, names that are none, prices and weights beyond use: a clear error that quotes no count."""
    with pytest.raises(InputError) as refusal:
        build(Domain({"a": 2, "b": 3}))
    assert "7" not in str(refusal.value)


def test_a_count_that_is_not_a_number_moves_only_itself() -> None:
    """One NaN counts as 0; the other cells come out as they are."""
    domain = Domain({"a": 3})
    plan = plan_marginals(domain, [["a"]], mu=1000)
    answers = Marginals(domain, SeededTestEntropy(3))
    answers.measure(plan, (), np.array(70.0))
    answers.measure(plan, ("a",), np.array([40.0, float("nan"), 30.0]))
    assert answers.answer(["a"]) == pytest.approx([40, 0, 30], abs=0.1)
