"""One Gaussian draw simulates every adaptive Gaussian interaction within the budget.

Statistical tests use fixed seeds. Each compares 8000 transcripts with the standard normal law; a correct simulator
fails one of them with probability below 1e-6 (the stated false-alarm rate, shared out over all comparisons). The
control, the simulator as printed in the footnote of its source, is rejected by the same comparisons.
"""

import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dosimeter.adaptive.filters.one_gaussian import OneGaussian, noise_factor
from dosimeter.errors import InputError

FALSE_ALARM = 1e-6
RUNS = 8000
COMPARISONS = 12  # an upper bound of the p-values that one test looks at
strengths = st.lists(st.integers(-60, 60).map(lambda k: Decimal(k) / 100), min_size=1, max_size=7).map(
    lambda ms: [m for i, m in enumerate(ms) if sum(x * x for x in ms[: i + 1]) < 1]
)


def play(signal: float, ms: list[Decimal], noises: list[float]) -> list[float]:
    """The answers for fixed strengths."""
    simulator, answers = OneGaussian(Decimal(repr(signal))), []
    for m, noise in zip(ms, noises, strict=True):
        answer, simulator = simulator.answer(m, noise)
        answers.append(float(answer))
    return answers


@settings(max_examples=60, deadline=None)
@given(strengths.filter(bool), st.floats(-3, 3), st.integers(0, 2**32))
def test_the_recursion_is_the_matrix_form(ms: list[Decimal], signal: float, seed: int) -> None:
    """W = m W_0 + L V, computed one answer at a time, without inverting anything."""
    noises = np.random.default_rng(seed).standard_normal(len(ms))
    answers = play(signal, ms, list(noises))
    matrix = np.array([float(x) for x in ms]) * signal + np.array(noise_factor(ms), dtype=float) @ noises
    assert np.allclose(answers, matrix, atol=1e-9)


def test_an_exhausted_budget_answers_noise_only() -> None:
    """0.6^2 + 0.8^2 = 1 exactly: the second answer has no noise of its own, later ones with m = 0 are pure noise."""
    answers = play(1.0, [Decimal("0.6"), Decimal("0.8"), Decimal(0), Decimal(0)], [1.0, -2.0, 0.5, 0.25])
    assert answers[1:] == [pytest.approx(0.2, abs=1e-15), 0.5, 0.25]
    simulator = OneGaussian(Decimal(1))
    for text in ("0.6", "0.8"):
        _, simulator = simulator.answer(text, 0.0)
    assert simulator.asked == 1
    for text in ("1e-9", "-0.5"):
        with pytest.raises(InputError, match="more than is left"):
            simulator.answer(text, 0.0)


def test_strengths_are_read_exactly() -> None:
    """A hundred times 0.1^2 is exactly the budget, not a little more."""
    simulator = OneGaussian(Decimal("0.5"))
    for _ in range(100):
        _, simulator = simulator.answer(0.1, 0.3)
    assert simulator.asked == 1


# --- adaptive strengths


def by_sign(answers: list[float]) -> str:
    """0.6, then 0.8 after a positive answer (which exhausts the budget) or 0.1, then what is allowed."""
    if not answers:
        return "0.6"
    if answers[0] > 0:
        return ("0.8", "0", "0")[len(answers) - 1]
    return ("0.1", "0.5", "-0.6")[len(answers) - 1]


def by_size(answers: list[float]) -> str:
    """The strength follows the size of the last answer, while the budget lasts."""
    if not answers:
        return "-0.4"
    return "0.5" if abs(answers[-1]) > 1 else "0.2"


def by_sum(answers: list[float]) -> str:
    """The strength follows the running sum."""
    return ("0.7" if sum(answers) > 0.5 else "0.3") if len(answers) < 2 else "0.1"


def residuals(choose: Callable[[list[float]], str], secret: float, seed: int, *, root: bool) -> np.ndarray:
    """W_i - b m_i over many runs: independent standard normals exactly if the simulator is right."""
    draws = np.random.default_rng(seed).standard_normal((RUNS, 5))
    rows = []
    for draw in draws:
        simulator, answers, row = OneGaussian(Decimal(repr(float(secret + draw[0])))), [], []
        for noise in draw[1:]:
            text = choose(answers)
            asked = simulator.asked
            share = float(text)
            fresh = float(noise)
            if not root and share:  # as the footnote prints it: the fresh noise's factor lacks its square root
                fresh *= math.sqrt(max(0.0, float(1 - Decimal(text) ** 2 / (1 - asked))))
            answer, simulator = simulator.answer(text, fresh)
            answers.append(float(answer))
            row.append(float(answer) - secret * share)
        rows.append(row)
    return np.array(rows)


def p_values(z: np.ndarray) -> list[float]:
    """Each answer's law, its law given the sign of the first, and the correlations with the first."""
    found = [stats.kstest(z[:, i], "norm").pvalue for i in range(4)]
    later = z[:, 1]
    found += [stats.kstest(later[z[:, 0] > 0], "norm").pvalue, stats.kstest(later[z[:, 0] <= 0], "norm").pvalue]
    found += [stats.pearsonr(z[:, 0], z[:, i]).pvalue for i in (1, 2, 3)]
    radius = stats.kstest((z**2).sum(axis=1), "chi2", args=(4,)).pvalue
    return [float(p) for p in (*found, radius)]


@pytest.mark.parametrize("choose", [by_sign, by_size, by_sum])
@pytest.mark.parametrize("secret", [0.0, 1.3])
def test_adaptive_answers_are_independent_standard_normals_around_their_means(
    choose: Callable[[list[float]], str], secret: float
) -> None:
    """Whatever the strategy, including one that exhausts the budget, W_i - b m_i are independent N(0, 1)."""
    found = p_values(residuals(choose, secret, seed=20220601, root=True))
    assert len(found) <= COMPARISONS
    assert min(found) > FALSE_ALARM / (6 * COMPARISONS)


def test_the_footnote_without_its_square_root_is_rejected() -> None:
    """The control: the same comparisons reject the flawed simulator far beyond the false-alarm rate."""
    for choose in (by_sign, by_sum):
        assert min(p_values(residuals(choose, 1.3, seed=20220601, root=False))) < 1e-12


def test_answers_do_not_depend_on_the_noise_of_later_rounds() -> None:
    """Online: the first answers are the same whatever comes after."""
    early = play(0.3, [Decimal("0.5"), Decimal("0.5")], [0.1, -0.2])
    late = play(0.3, [Decimal("0.5"), Decimal("0.5"), Decimal("0.5")], [0.1, -0.2, 9.0])
    assert late[:2] == early
    assert all(math.isfinite(answer) for answer in late)
