"""Noise and its release: integers in, integers out, one door for randomness."""

from dosimeter.mechanisms.accuracy import half_width, noise_within
from dosimeter.mechanisms.entropy import Entropy, SystemEntropy
from dosimeter.mechanisms.latency import pad_to
from dosimeter.mechanisms.laws import probability, standard_deviation, variance
from dosimeter.mechanisms.noise import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Noise,
    RoundedGaussianNoise,
    noise_from_json,
)
from dosimeter.mechanisms.release import release

__all__ = [
    "DiscreteGaussianNoise",
    "DiscreteLaplaceNoise",
    "Entropy",
    "Noise",
    "RoundedGaussianNoise",
    "SystemEntropy",
    "half_width",
    "noise_from_json",
    "noise_within",
    "pad_to",
    "probability",
    "release",
    "standard_deviation",
    "variance",
]
