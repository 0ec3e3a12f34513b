"""Play the strongest analyst there is against a filter, and against a rule that looks right but is not.

Run it from anywhere: python examples/attack_a_filter.py
"""

from fractions import Fraction
from itertools import product

from dosimeter.adaptive.filters import ApproxFilter, fits
from dosimeter.notions import PureDP
from dosimeter.notions.convert import pure_to_zcdp

# How many questions of 0.01 does each promise of (1, 1e-6) admit?
account = ApproxFilter(epsilon="1", delta="1e-6")
print("admitted:", fits(account, account.start(), pure_to_zcdp(PureDP("0.01"))), "questions of epsilon 0.01")

# An analyst who chooses the next question from the last answer: e^epsilon is 3/2, then 7/2 or three times 2. Every path
# is within (log 3, 1/5) by optimal composition, and yet the interaction reaches delta = 34/135.


def delta(paths: list[tuple[Fraction, Fraction]], ratio: Fraction) -> Fraction:
    """The hockey-stick divergence of the transcript: sum over paths of (P - ratio Q)+."""
    return sum((max(p - ratio * q, Fraction(0)) for p, q in paths), Fraction(0))


def answer(odds: Fraction, heads: bool) -> tuple[Fraction, Fraction]:
    """The two probabilities of an answer of randomized response with these odds."""
    truth = odds / (1 + odds)
    return (truth, 1 - truth) if heads else (1 - truth, truth)


paths = []
for first in (True, False):
    p, q = answer(Fraction(3, 2), first)
    for rest in product((True, False), repeat=1 if first else 3):
        path_p, path_q = p, q
        for heads in rest:
            a, b = answer(Fraction(7, 2) if first else Fraction(2), heads)
            path_p, path_q = path_p * a, path_q * b
        paths.append((path_p, path_q))
print("delta of the adaptive interaction:", delta(paths, Fraction(3)), "> 1/5")
