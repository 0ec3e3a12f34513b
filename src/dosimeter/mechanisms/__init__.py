"""Noise and its release: integers in, integers out, one door for randomness."""

from dosimeter.mechanisms.noise import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Noise,
    RoundedGaussianNoise,
    noise_from_json,
)

__all__ = ["DiscreteGaussianNoise", "DiscreteLaplaceNoise", "Noise", "RoundedGaussianNoise", "noise_from_json"]
