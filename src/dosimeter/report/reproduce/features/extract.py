"""Features that no data teaches: random projections, scattering, hashed words. Public maps of one record each.

A feature map that is fixed in advance costs no privacy; every record's features depend on that record alone, and are
clipped to a norm, so replacing the record moves them by at most twice that norm.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from dosimeter.report.reproduce.features.data import Floats

PUBLIC_SEED: Final = 20_260  # of the projections; published, not secret
ANGLES: Final = 4
SCALES: Final = 2
_WORD: Final = re.compile(r"[a-z']+")


def projection(images: Floats, side: int) -> Floats:
    """tanh of a fixed Gaussian projection of the pixels: records x side x side."""
    flat = images.reshape(len(images), -1)
    generator = np.random.default_rng(PUBLIC_SEED)
    matrix = generator.normal(size=(flat.shape[1], side * side)) / np.sqrt(flat.shape[1])
    centred = flat - 0.13  # about the mean grey of digits; a public constant
    return np.asarray(np.tanh(4 * centred @ matrix)).reshape(-1, side, side)


def scattering(images: Floats, side: int) -> Floats:
    """First-order scattering: how much of each orientation and scale there is, averaged to a few places.

    Morlet wavelets of 2 scales and 4 angles, modulus, and a local mean; with the local mean of the image itself these
    are 9 maps, which a fixed Gaussian projection brings to side x side.

    Reference: Bruna, Mallat, "Invariant scattering convolution networks" (2013).
    """
    size = 32
    top = [(size - n) // 2 for n in images.shape[1:]]
    padded = np.zeros((len(images), size, size))
    padded[:, top[0] : top[0] + images.shape[1], top[1] : top[1] + images.shape[2]] = images
    spectrum = np.fft.fft2(padded)
    maps = [_pooled(padded)]
    for wavelet in _wavelets(size):
        maps.append(_pooled(np.abs(np.fft.ifft2(spectrum * wavelet))))
    features = np.stack(maps, axis=1).reshape(len(images), -1)
    generator = np.random.default_rng(PUBLIC_SEED + 1)
    matrix = generator.normal(size=(features.shape[1], side * side)) / np.sqrt(features.shape[1])
    return np.asarray(np.tanh(6 * features @ matrix)).reshape(-1, side, side)


def _wavelets(size: int) -> list[Any]:
    grid = np.fft.fftfreq(size) * 2 * np.pi
    wx, wy = np.meshgrid(grid, grid, indexing="ij")
    out = []
    for scale in range(SCALES):
        centre, width = 3 * np.pi / 4 / 2**scale, 0.8 * np.pi / 2 / 2**scale
        for k in range(ANGLES):
            angle = np.pi * k / ANGLES
            along = wx * np.cos(angle) + wy * np.sin(angle)
            across = -wx * np.sin(angle) + wy * np.cos(angle)
            bump = np.exp(-((along - centre) ** 2 + (2 * across) ** 2) / (2 * width**2))
            still = np.exp(-(along**2 + (2 * across) ** 2) / (2 * width**2))
            out.append(bump - still * bump[0, 0])  # no response to a constant image
    return out


def _pooled(maps: Floats) -> Floats:
    """Means over blocks of 4 x 4."""
    n, size, _ = maps.shape
    return np.asarray(maps.reshape(n, size // 4, 4, size // 4, 4).mean(axis=(2, 4)))


def hashed_words(texts: list[str], side: int) -> Floats:
    """Counts of words under signed hashing, square-rooted: records x side x side. No vocabulary is learned."""
    out = np.zeros((len(texts), side * side))
    for row, text in enumerate(texts):
        for word in set(_WORD.findall(text.lower())):
            code = zlib.crc32(word.encode())
            out[row, (code >> 1) % (side * side)] += 1.0 if code & 1 else -1.0
    return np.asarray(np.sign(out) * np.sqrt(np.abs(out)) / side).reshape(-1, side, side)


def clipped(features: Floats, norm: float) -> Floats:
    """Every record's features scaled down to Frobenius norm at most `norm`."""
    sizes = np.linalg.norm(features.reshape(len(features), -1), axis=1)
    return np.asarray(features * np.minimum(1.0, norm / np.maximum(sizes, 1e-300))[:, None, None])
