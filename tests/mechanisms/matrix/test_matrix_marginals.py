"""Marginals from residuals: the optimum, the price, the error that is promised, and answers that agree."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import InputError
from dosimeter.mechanisms.entropy import SeededTestEntropy
from dosimeter.mechanisms.matrix import Domain, Marginals, optimal_strategy, plan_marginals

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
