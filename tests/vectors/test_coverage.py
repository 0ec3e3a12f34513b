"""Every formula of the reference values is checked somewhere, or stands on the list of those still to come."""

from pathlib import Path

import pytest
from tests.vectors import all_vectors, exact, vectors
from tests.vectors.coverage import COVERED, PENDING

ROOT = Path(__file__).resolve().parents[2]
FORMULAS = {vector.fn for vector in all_vectors()}


def test_every_formula_is_listed_once() -> None:
    """A formula is either covered or pending; the lists name no formula that does not exist."""
    assert set(COVERED) | set(PENDING) == FORMULAS
    assert not set(COVERED) & set(PENDING)


@pytest.mark.parametrize("path", sorted(set(COVERED.values())))
def test_the_named_test_checks_the_formula(path: str) -> None:
    """The test module of a covered formula exists and names the formula."""
    text = (ROOT / path).read_text()
    missing = sorted(fn for fn, where in COVERED.items() if where == path and fn not in text)
    assert not missing


def test_inputs_are_exact() -> None:
    """Text becomes an exact number, never a float."""
    assert str(exact("0.1")) == "0.1"
    assert exact("7/2").denominator == 2
    assert exact("alpha") == "alpha"
    assert len(all_vectors()) == 289
    with pytest.raises(LookupError):
        vectors("no such formula")
