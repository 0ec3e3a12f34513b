"""The one door for randomness: where it comes from, what OpenDP is asked, and what cannot happen by configuration."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.errors import EntropyError, InputError
from dosimeter.mechanisms import entropy as door
from dosimeter.mechanisms.entropy import ScriptedTestEntropy, SeededTestEntropy, SystemEntropy, float_up
from dosimeter.mechanisms.laws import probability
from dosimeter.mechanisms.noise import NOISES, DiscreteGaussianNoise, DiscreteLaplaceNoise
from dosimeter.mechanisms.release import draw, release


@given(st.decimals(min_value="1e-12", max_value="1e12", allow_nan=False))
@settings(max_examples=200, deadline=None)
def test_a_scale_becomes_the_next_float_up(value: Decimal) -> None:
    """OpenDP never gets a float below the declared decimal, and never one further up than needed."""
    up = float_up(value)
    assert Fraction(up) >= Fraction(value)
    assert Fraction(nextafter(up, -inf)) < Fraction(value)


@pytest.mark.parametrize("scale", ["1e-12", "0.1", "0.3", "1", "3.3", "1e6", "1e12"])
def test_opendp_means_by_its_scale_what_we_mean(scale: str) -> None:
    """OpenDP's own privacy maps at distance 1 and 5 are D/scale and D^2/(2 scale^2), rounded up by at most 1e-12."""
    exact = Fraction(float_up(Decimal(scale)))
    laplace = door._opendp("laplace", float(exact))
    gaussian = door._opendp("gaussian", float(exact))
    for distance in (1, 5):
        for claimed, ours in (
            (Fraction(laplace.map(distance)), distance / exact),
            (Fraction(gaussian.map(float(distance))), distance**2 / (2 * exact**2)),
        ):
            assert ours <= claimed <= ours * (1 + Fraction(1, 10**12))


def test_a_sampler_that_changes_its_meaning_is_refused(monkeypatch) -> None:
    """If OpenDP's privacy map disagrees with the scale, no noise is drawn and the pinned version is named."""
    import opendp.prelude as dp

    door._opendp.cache_clear()
    original = dp.m.make_laplace
    monkeypatch.setattr(dp.m, "make_laplace", lambda *args, scale: original(*args, scale=scale * 2))
    with pytest.raises(EntropyError, match="version of opendp"):
        SystemEntropy().discrete_laplace(Decimal(1), 1)
    door._opendp.cache_clear()


def test_the_surplus_of_the_wider_law_is_removed_exactly(monkeypatch) -> None:
    """Even when OpenDP is handed half as much noise again, the kept draws follow the declared law.

    The draws are OpenDP's own, so they cannot be seeded: with the declared law, a value of the statistic this large has
    probability below 1e-9. Control: against the wider law the same draws are rejected outright.
    """
    monkeypatch.setattr(door, "float_up", lambda value: float(value) * 1.5)
    size = 20_000
    for declared, wide, drawn in (
        (DiscreteLaplaceNoise(2), DiscreteLaplaceNoise(3), SystemEntropy().discrete_laplace(Decimal(2), size)),
        (DiscreteGaussianNoise(2), DiscreteGaussianNoise(3), SystemEntropy().discrete_gaussian(Decimal(2), size)),
    ):
        assert len(drawn) == size
        assert _chi_square(drawn, declared) > 1e-9
        assert _chi_square(drawn, wide) < 1e-9


def _chi_square(drawn: list[int], noise: object, reach: int = 8) -> float:
    """The p-value of the drawn values, in the cells -reach..reach and the two tails together."""
    from scipy.stats import chi2

    cells = [float(probability(noise, x).upper) for x in range(-reach, reach + 1)]  # type: ignore[arg-type]
    cells.append(1 - sum(cells))
    seen = [sum(1 for value in drawn if value == x) for x in range(-reach, reach + 1)]
    seen.append(len(drawn) - sum(seen))
    statistic = sum((o - len(drawn) * p) ** 2 / (len(drawn) * p) for o, p in zip(seen, cells, strict=True))
    return float(chi2.sf(statistic, len(cells) - 1))


def test_production_randomness_takes_no_seed_and_holds_no_state() -> None:
    """The default source has no parameter to seed and no attribute to keep; only test sources call themselves so."""
    assert not inspect.signature(SystemEntropy).parameters
    assert SystemEntropy.__slots__ == ()
    assert SystemEntropy.for_tests_only is False
    assert SeededTestEntropy.for_tests_only is True
    assert ScriptedTestEntropy.for_tests_only is True
    with pytest.raises(AttributeError):
        SystemEntropy().seed = 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", NOISES)
def test_the_default_is_the_system_and_never_repeats(kind: type) -> None:
    """Two releases of zeros with wide noise differ, whatever Python's own generator was seeded with."""
    import random

    random.seed(0)
    first = release([0] * 8, kind(10**9))
    random.seed(0)
    assert release([0] * 8, kind(10**9)) != first


def test_no_variable_of_the_environment_reaches_the_randomness() -> None:
    """Nothing in the room reads the environment, and its names do not leave the room."""
    import dosimeter.mechanisms as room

    source = inspect.getsource(door)
    assert "os.environ" not in source
    assert "getenv" not in source
    assert not [name for name in room.__all__ if "Test" in name]


@pytest.mark.parametrize("kind", NOISES)
def test_a_seeded_test_repeats_itself(kind: type) -> None:
    """The same seed gives the same noise twice over, another seed other noise: so that tests can be replayed."""
    calls = [(kind(5), 4), (kind("2.5"), 3)]
    first, second, other = SeededTestEntropy(0), SeededTestEntropy(0), SeededTestEntropy(1)
    run = [[draw(noise, size, source) for noise, size in calls] for source in (first, second, other)]
    assert run[0] == run[1]
    assert run[0] != run[2]
    assert draw(kind(10**6), 3, first) != draw(kind(10**6), 3, first)


@pytest.mark.parametrize("seed", [-1, "0", None, True, 1.5, 2**70])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    """Anything else is refused."""
    with pytest.raises(InputError):
        SeededTestEntropy(seed)  # type: ignore[arg-type]


def test_a_failing_system_source_releases_nothing(monkeypatch) -> None:
    """When the operating system or OpenDP fails, the error is ours, fixed, and says that nothing was released."""

    def broken(size: int) -> bytes:
        raise OSError("secret 42")

    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(EntropyError, match="nothing was released") as caught:
        SystemEntropy().bits(8)
    assert "42" not in str(caught.value)

    def explodes(kind: str, scale: float) -> object:
        def measurement(values: list[int]) -> list[int]:
            raise RuntimeError("secret 42")

        return measurement

    monkeypatch.setattr(door, "_opendp", explodes)
    with pytest.raises(EntropyError, match="nothing was released") as caught:
        SystemEntropy().discrete_gaussian(Decimal(1), 1)
    assert "42" not in str(caught.value)


@pytest.mark.parametrize("width", [0, 1, 7, 8, 9, 64, 1000])
def test_bits_have_the_asked_width(width: int) -> None:
    """No bit beyond the width is ever set, and with enough draws every bit is."""
    for source in (SystemEntropy(), SeededTestEntropy(0)):
        union = 0
        for _ in range(200):
            drawn = source.bits(width)
            assert 0 <= drawn < 1 << width
            union |= drawn
        assert union == (1 << width) - 1


_FORK = """
import os
from dosimeter.mechanisms import *
noises = [DiscreteLaplaceNoise(10**9), DiscreteGaussianNoise(10**9), RoundedGaussianNoise(10**9)]
for noise in noises:
    release([0], noise)
for child in range(2):
    if os.fork() == 0:
        for noise in noises:
            print(*release([0] * 4, noise))
        os._exit(0)
    os.wait()
for noise in noises:
    print(*release([0] * 4, noise))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_processes_draw_different_noise() -> None:
    """A parent and two children, forked after the samplers were warm, share no draw."""
    out = subprocess.run([sys.executable, "-u", "-c", _FORK], capture_output=True, text=True, check=True).stdout
    numbers = out.split()
    assert len(numbers) == 3 * 3 * 4
    assert len(set(numbers)) == len(numbers)


def test_importing_the_room_loads_no_heavy_library() -> None:
    """OpenDP, flint and numpy load when noise is drawn, not when the room is imported."""
    code = (
        "import sys, dosimeter.mechanisms\n"
        "print(*{m.split('.')[0] for m in sys.modules} & {'opendp', 'flint', 'numpy', 'scipy'})"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == []
