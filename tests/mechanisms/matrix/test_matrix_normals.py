"""The vectorised sampler draws the rounding of a Gaussian exactly: against the law, and with controls that fail."""

from __future__ import annotations

from math import erf

import flint
import numpy as np
import pytest
from scipy import stats

from dosimeter.enclosure import precision
from dosimeter.errors import EntropyError, InputError
from dosimeter.mechanisms import SystemEntropy
from dosimeter.mechanisms.entropy import ScriptedTestEntropy, SeededTestEntropy
from dosimeter.mechanisms.matrix import normal
from dosimeter.mechanisms.matrix.normal import rounded_normals


def _chances(fraction_bits: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    step = 2.0**-fraction_bits
    values = np.arange(-reach, reach + 1)
    edges = np.array([0.5 + 0.5 * erf((k - 0.5) * step / 2**0.5) for k in range(-reach, reach + 2)])
    chances = np.diff(edges)
    chances[0] += edges[0]
    chances[-1] += 1 - edges[-1]
    return values, chances


def _p_value(drawn: np.ndarray, fraction_bits: int) -> float:
    reach = int(3 * 2**fraction_bits)
    values, chances = _chances(fraction_bits, reach)
    seen = np.array([(np.clip(drawn, -reach, reach) == v).sum() for v in values])
    return float(stats.chisquare(seen, chances * drawn.size).pvalue)


@pytest.mark.parametrize(("first_bits", "size"), [(2, 800), (5, 1_500), (12, 40_000), (32, 200_000)])
@pytest.mark.parametrize("fraction_bits", [0, 2])
def test_the_law_is_that_of_a_rounded_gaussian(first_bits: int, size: int, fraction_bits: int) -> None:
    """Chi-square against Phi((j + 1/2) 2^-m) - Phi((j - 1/2) 2^-m), whichever path decides the trials."""
    source = SeededTestEntropy(1000 * first_bits + fraction_bits)
    assert _p_value(rounded_normals(size, fraction_bits, source.bits, first_bits=first_bits), fraction_bits) > 1e-5


def test_the_test_would_notice_a_bent_law() -> None:
    """Controls: noise a hundredth too wide, and doubtful trials thrown away instead of decided, both fail."""
    source = SeededTestEntropy(5)
    wide = np.rint(np.random.default_rng(1).normal(size=400_000) * 1.01 * 4).astype(int)
    assert _p_value(wide, 2) < 1e-5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(normal, "_decide", lambda *_: (False, 0))
        assert _p_value(rounded_normals(40_000, 2, source.bits, first_bits=5), 2) < 1e-5


@pytest.mark.parametrize("k", [0, 1, 3])
def test_a_trial_is_decided_as_all_of_its_bits_would_decide_it(k: int) -> None:
    """Revealing bits later changes nothing: the exact path agrees with real arithmetic on the whole words."""
    generator = np.random.default_rng(40 + k)
    which = int(float(normal._cumulative(k) - flint.arb(2) ** -20) * 2**40)  # just below where k ends
    seen = []
    for _ in range(60):
        x, v = (int(word) for word in generator.integers(0, 2**63, size=2))
        with precision(300):
            t = flint.arb(x) / 2**64
            chance = (-t * (2 * k + t) / 2).exp()
            if generator.random() < 0.5:  # near the edge of acceptance, where a float could not tell
                v = int((chance * 2**63).floor().unique_fmpz()) + int(generator.choice([-9, -5, 5, 9]))
            wanted = bool((flint.arb(v) + 0.5) / 2**63 < chance)
        script = ScriptedTestEntropy(_bits(v, 58) + [1, 0, 0, 0, 0, 0], then=SeededTestEntropy(k))
        assert normal._index(which, 40) == k
        accepted, index = normal._decide(which, x, v >> 58, 5, script.bits, known=40)
        assert (accepted, index) == (wanted, k)
        seen.append(accepted)
    assert set(seen) == {True, False}


def test_an_undecided_k_reveals_more_bits() -> None:
    """One bit of the first word does not fix k; the bits that follow do."""
    low = ScriptedTestEntropy([0] * 64, then=SeededTestEntropy(1))
    assert normal._index(1, 1) is None
    assert normal._decide(1, 0, 0, 2, low.bits)[1] == 0  # 0.1000... lies below F(0) = 0.57
    high = ScriptedTestEntropy([1] * 8 + [0] * 56, then=SeededTestEntropy(1))
    assert normal._decide(1, 0, 0, 2, high.bits)[1] == 3  # 0.111111111 = 0.998 lies between F(2) and F(3)


def _bits(word: int, width: int) -> list[int]:
    """The last `width` bits of a word, first one most significant."""
    return [int(bit) for bit in f"{word & ((1 << width) - 1):0{width}b}"]


def test_the_fourth_moment_and_the_tails_of_a_million() -> None:
    """Moments and extreme draws at forty bits are a Gaussian's."""
    drawn = rounded_normals(1_000_000, 40, SystemEntropy().bits) * 2.0**-40
    assert abs(drawn.mean()) < 6e-3
    assert drawn.var() == pytest.approx(1, abs=1e-2)
    assert (drawn**4).mean() == pytest.approx(3, abs=0.06)
    assert 4.2 < np.abs(drawn).max() < 6.8
    assert stats.kstest(drawn[:200_000], "norm").pvalue > 1e-6


def test_the_float_exponential_is_within_its_margin() -> None:
    """What is assumed of the float exponential holds ten thousand times over."""
    points = np.concatenate([np.linspace(0, 13, 2_001), np.random.default_rng(2).uniform(0, 13, 2_000)])
    pairs = zip(points.tolist(), np.exp(-points).tolist(), strict=True)
    worst = max(abs(float((-flint.arb(p)).exp() - v)) for p, v in pairs)
    assert worst < normal._MARGIN / 1e3


def test_size_zero_and_bad_input() -> None:
    """Nothing is drawn for nothing; sizes and precisions outside their range are refused; short bits are noticed."""
    bits = SystemEntropy().bits
    assert rounded_normals(0, 10, bits).size == 0
    for arguments in ((-1, 10), (10**10, 10), (5, 51), (5, -1)):
        with pytest.raises(InputError):
            rounded_normals(*arguments, bits)
    with pytest.raises(EntropyError):
        rounded_normals(5, 10, lambda width: 1 << width)
    with pytest.raises(EntropyError):
        rounded_normals(5, 10, lambda width: 0.5)  # type: ignore[arg-type, return-value]
