"""Hypothesis strategies that spread over many powers of ten."""

from decimal import Decimal

from hypothesis import strategies as st


def magnitudes(low: int, high: int) -> st.SearchStrategy[Decimal]:
    """Decimals spread over the powers of ten in [10^low, 10^high]."""
    digits, exponents = st.integers(10_000, 99_999), st.integers(low, high)
    return st.builds(lambda d, exponent: Decimal(d).scaleb(exponent - 4), digits, exponents)


mus, rhos, levels = magnitudes(-6, 2), magnitudes(-8, 3), magnitudes(-6, 3)
deltas = st.one_of(magnitudes(-299, -1), magnitudes(-20, -1), magnitudes(-3, -1).map(lambda d: 1 - d / 10))
epsilons = st.one_of(st.just(Decimal(0)), levels)
orders = st.one_of(magnitudes(-3, 4).map(lambda x: 1 + x), st.integers(2, 256).map(Decimal))
