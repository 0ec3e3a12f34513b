"""Sums of turns at many heights: right to their stated rounding, and made of products too small to wake threads."""

from __future__ import annotations

import numpy as np
import pytest

from dosimeter.pld.saddle.blocks import rounding, turns


@pytest.mark.parametrize("count", [1, 2, 31, 40, 900, 961, 4_217, 20_001])
@pytest.mark.parametrize("terms", [1, 64, 65, 700])
def test_sums_are_right_at_every_height(count: int, terms: int) -> None:
    """Each height is within the stated rounding of a plain sum, whatever tiles the heights were cut into."""
    random = np.random.default_rng(count + terms)
    losses, weights = random.normal(size=terms), random.random(terms) / terms
    found = turns(losses, weights, 0.003, count)
    assert found.shape == (count,)
    for j in {0, count // 3, count - 1}:
        angle = 0.003 * j * losses.astype(np.longdouble)
        real, imaginary = -2 * np.sin(angle / 2) ** 2, np.sin(angle)
        sizes = float((weights * np.minimum(2.0, np.abs(angle))).sum())
        phases = float((weights * np.abs(angle)).sum()) * 2.0**-51
        allowed = rounding(terms) * sizes + phases
        assert abs(found[j].real - float((weights * real).sum())) <= allowed
        assert abs(found[j].imag - float((weights * imaginary).sum())) <= allowed


def test_products_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """No product reaches 65536 multiplications, from which on libraries wake their threads."""
    sizes = []
    plain = np.matmul

    def seen(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        sizes.append(left.shape[-2] * left.shape[-1] * right.shape[-1])
        return plain(left, right)

    monkeypatch.setattr(np, "matmul", seen)
    for count in (10, 1_000, 30_000, 120_000):
        turns(np.linspace(-1, 1, 130), np.full(130, 0.01), 0.01, count)
    assert sizes
    assert max(sizes) < 65_536


def test_complex_losses_fade_with_height() -> None:
    """A loss with a positive imaginary part turns and fades: e^(i t loss) - 1 tends to -1."""
    found = turns(np.array([0.5 + 0.2j]), np.array([1.0]), 0.5, 400)
    heights = 0.5 * np.arange(400)
    assert np.abs(found - (np.exp(1j * heights * (0.5 + 0.2j)) - 1)).max() < 1e-13
    assert abs(found[-1] + 1) < 1e-15
