"""Randomized response: each person's category is changed by chance before anyone sees it.

Two recipes share the name and differ in price, so each has its own function: *truth or other* (with probability p the
truth, else one of the OTHER categories, evenly) and *truth or uniform* (else ANY category, evenly, which may be the
truth again). Dosimeter randomizes by the first; at the same p the second protects less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from dosimeter.enclosure import ball, enclose, precision, up
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import RandomizedResponse
from dosimeter.exact import Number, amount, count, fraction_down, fraction_up, show, sqrt_up, to_fraction
from dosimeter.mechanisms.entropy import Entropy, SystemEntropy
from dosimeter.mechanisms.exact_sampling import uniform_below

MAX_CATEGORIES: Final = 10**9


def randomize(value: int, categories: int, epsilon: Number, entropy: Entropy | None = None) -> int:
    """Report one category index: the truth with probability `truth_probability`, else one of the others, evenly.

    Guarantee: the report is epsilon-DP for the person (replace-one, in the local model), priced by `response_event`.

    Args:
        value: the true index, 0 to categories - 1. It is private: no message quotes it.
        categories: how many there are, 2 or more; a public number.
        epsilon: the price of one report.
        entropy: where the randomness comes from; the operating system when left out.

    Reference: Warner (1965) for two categories; Kairouz, Bonawitz, Ramage, "Discrete distribution estimation under
    local privacy" (2016), for k.
    """
    return randomize_all([value], categories, epsilon, entropy)[0]


def randomize_all(values: Sequence[int], categories: int, epsilon: Number, entropy: Entropy | None = None) -> list[int]:
    """`randomize` for every value, with fresh randomness for each: each person pays epsilon."""
    bits = (SystemEntropy() if entropy is None else entropy).bits
    truth = truth_probability(epsilon, categories)
    reports = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < categories:
            raise InputError(f"a value to randomize is not one of the indices 0 to {categories - 1}")
        told = uniform_below(truth.denominator, bits) < truth.numerator
        other = uniform_below(categories - 1, bits)  # drawn either way, so that the work does not betray which
        reports.append(value if told else other + (other >= value))
    return reports


def response_event(epsilon: Number) -> RandomizedResponse:
    """What one report costs."""
    return RandomizedResponse(amount(epsilon, "epsilon"))


def truth_probability(epsilon: Number, categories: int = 2) -> Fraction:
    """The probability of telling the truth: e^epsilon/(e^epsilon + categories - 1), rounded down to a dyadic ratio.

    Guarantee: never above the formula (the report never costs more than epsilon) and never below 1/categories.

    Reference: Kairouz, Bonawitz, Ramage (2016): k-ary randomized response.
    """
    # rounded down as a price: a ratio such as 1/3 must not be exceeded
    price = amount(epsilon, "epsilon", round_up=False)
    return _truth(price, count(categories, "categories", smallest=2, largest=MAX_CATEGORIES))


@lru_cache(maxsize=1024)
def _truth(epsilon: Decimal, categories: int) -> Fraction:
    width = 128 + 2 * categories.bit_length() + max(0, -4 * epsilon.adjusted())
    with precision(width + 64):  # the chance of a lie, rounded up to a multiple of 2^-width
        lie = ball(categories - 1) / (ball(epsilon).exp() + (categories - 1)) * ball(1 << width)
        numerator = int(lie.upper().ceil().unique_fmpz())
    truth = 1 - Fraction(numerator, 1 << width)
    if truth < Fraction(1, categories):
        raise NoGuaranteeError("the truth probability fell below that of a uniform report")
    return truth


def truth_or_other_epsilon(probability: Number, categories: int = 2) -> Decimal:
    """The epsilon of "the truth with this probability, else one of the other categories", rounded up.

    Raises:
        NoGuaranteeError: the recipe never lies, or never tells the truth; then some report excludes a value for sure.

    Reference: the largest ratio of two report probabilities, p (k-1)/(1-p) or its inverse.
    """
    p, k = _probability(probability), count(categories, "categories", smallest=2, largest=MAX_CATEGORIES)
    if p in (0, 1):
        raise NoGuaranteeError(
            f"truth_probability={show(probability)}: an answer excludes some value for certain, so epsilon is "
            "infinite; give a probability strictly between 0 and 1"
        )
    return _log_up(max(p * (k - 1) / (1 - p), (1 - p) / (p * (k - 1))))


def truth_or_uniform_epsilon(probability: Number, categories: int = 2) -> Decimal:
    """The epsilon of "the truth with this probability, else any category evenly", rounded up.

    Raises:
        NoGuaranteeError: the recipe always tells the truth.

    Reference: the largest ratio of two report probabilities, 1 + k p/(1-p).
    """
    p, k = _probability(probability), count(categories, "categories", smallest=2, largest=MAX_CATEGORIES)
    if p == 1:
        raise NoGuaranteeError(
            f"truth_probability={show(probability)} reveals the value, so epsilon is infinite; give one below 1"
        )
    return _log_up(1 + k * p / (1 - p))


def _probability(value: Number) -> Fraction:
    parsed = to_fraction(value, "truth_probability")
    if not 0 <= parsed <= 1:
        raise InputError(f"truth_probability={show(value)} is outside [0, 1]")
    return parsed


def _log_up(ratio: Fraction) -> Decimal:
    return Decimal(0) if ratio == 1 else up(enclose(lambda: ball(ratio).log()))


@dataclass(frozen=True, slots=True)
class Frequency:
    """An unbiased estimate of how many people hold one category, and a bound on its standard deviation."""

    estimate: Decimal
    standard_deviation: Decimal


def estimate_frequencies(reports: Sequence[int], epsilon: Number) -> tuple[Frequency, ...]:
    """How many people hold each category, estimated from the reports alone (post-processing: it costs nothing).

    Guarantee: each estimate has the true count as its mean; its standard deviation is at most the one given, whatever
    the true counts are. An estimate may be negative: cutting it at zero would bias it.

    Args:
        reports: how many reports named category 0, 1, ... made with this epsilon.
        epsilon: of each report.

    Reference: inversion of the channel, (c_j - n q)/(p - q) with q = (1-p)/(k-1).
    """
    counts = [count(c, "reports", smallest=0, largest=10**18) for c in reports]
    p, q = _channel(epsilon, len(counts))
    total = sum(counts)
    worst = sqrt_up(fraction_up(total * max(p * (1 - p), q * (1 - q)) / (p - q) ** 2)) if total else Decimal(0)
    return tuple(Frequency(fraction_down((c - total * q) / (p - q)), worst) for c in counts)


def frequency_variance(holders: int, people: int, epsilon: Number, categories: int = 2) -> Decimal:
    """The variance of the estimate of a category that `holders` of `people` hold, rounded up.

    Reference: sums of independent Bernoulli reports, (m p(1-p) + (n-m) q(1-q))/(p-q)^2.
    """
    n = count(people, "people", smallest=1, largest=10**18)
    m = count(holders, "holders", smallest=0, largest=n)
    p, q = _channel(epsilon, categories)
    return fraction_up((m * p * (1 - p) + (n - m) * q * (1 - q)) / (p - q) ** 2)


def _channel(epsilon: Number, categories: int) -> tuple[Fraction, Fraction]:
    p = truth_probability(epsilon, categories)
    return p, (1 - p) / (categories - 1)
