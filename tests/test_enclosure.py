"""Balls leave as decimals on the stated side of the truth, right to 25 digits."""

import math
import os
import subprocess
import sys
import threading
from decimal import Decimal
from fractions import Fraction

import flint
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.enclosure import ball, down, enclose, precision, up
from dosimeter.errors import NoGuaranteeError

positive = st.decimals(min_value=Decimal("1e-12"), max_value=Decimal("1e4"), allow_nan=False, allow_infinity=False)


@given(positive)
@settings(max_examples=60)
def test_up_and_down_bracket_the_truth(x: Decimal) -> None:
    """tanh, exp and log agree with another library at 80 digits, and lie on the stated side of it."""
    with mpmath.workdps(80):
        q = mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator
        for ours, truth in ((lambda: ball(x).tanh(), mpmath.tanh(q)), (lambda: (-ball(x)).exp(), mpmath.exp(-q))):
            value = enclose(ours)
            low, high = down(value), up(value)
            if truth > mpmath.mpf("1e-300"):
                assert mpmath.mpf(str(low)) <= truth <= mpmath.mpf(str(high))
                assert mpmath.mpf(str(high - low)) <= truth * mpmath.mpf("1e-23")


def test_cancellation_raises_the_precision() -> None:
    """A difference that loses 60 digits still leaves with 25 right ones."""
    tiny = Decimal("1e-60")
    value = enclose(lambda: ball(tiny).exp() - 1)
    assert down(value) <= Decimal("1.0000000000000000000000001e-60")
    assert up(value) >= tiny


def test_a_hidden_zero_is_refused() -> None:
    """A value that no precision separates from zero has no relative enclosure; it is not guessed."""
    with pytest.raises(NoGuaranteeError):
        enclose(lambda: ball(2).sqrt() ** 2 - 2)


def test_below_the_smallest_amount() -> None:
    """An upper value under 1e-300 becomes 1e-300, a lower one 0: both stay sound."""
    value = enclose(lambda: ball(-1000).exp())
    assert up(value) == Decimal("1e-300")
    assert down(value) == 0


def test_precision_is_restored_and_exclusive() -> None:
    """The shared setting returns to what it was, also after an error, and two threads never mix it."""
    before = flint.ctx.prec
    with pytest.raises(ZeroDivisionError), precision(777):
        raise ZeroDivisionError
    assert flint.ctx.prec == before
    seen: list[int] = []

    def work(bits: int) -> None:
        for _ in range(200):
            with precision(bits):
                seen.append(flint.ctx.prec - bits)

    threads = [threading.Thread(target=work, args=(bits,)) for bits in (100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen) == {0}


_FORK = """
import os, signal, threading
from dosimeter.enclosure import precision
from dosimeter.notions import PureDP
from dosimeter.notions.convert import pure_to_zcdp
inside, leave = threading.Event(), threading.Event()
def work():
    with precision(64):
        inside.set()
        leave.wait()
thread = threading.Thread(target=work)
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    print(pure_to_zcdp(PureDP(1)).rho, flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
leave.set()
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_does_not_wait_for_its_parents_threads() -> None:
    """A fork while another thread computes leaves the child able to compute."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _FORK], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["0.4621171572600097585023185", "0"]


def test_a_precision_that_other_code_changes_is_set_again() -> None:
    """The setting belongs to the process; code that knows nothing of the lock may lower it in the middle of a sum."""
    calls = []

    def meddled() -> object:
        calls.append(flint.ctx.prec)
        if len(calls) <= 50:
            flint.ctx.prec = 10
        return ball(2).sqrt()

    before = flint.ctx.prec
    value = enclose(meddled)
    assert value.rel_accuracy_bits() >= 90
    assert len(set(calls)) == 1, "raising the precision would have ended in a refusal"
    assert len(calls) == 51
    assert flint.ctx.prec == before


def test_enclosures_survive_a_thread_that_changes_the_precision() -> None:
    before, stop = flint.ctx.prec, threading.Event()

    def meddle() -> None:
        while not stop.is_set():
            flint.ctx.prec = 20

    thread = threading.Thread(target=meddle)
    thread.start()
    try:
        values = [enclose(lambda k=k: (ball(k) + ball(2).sqrt()).log()) for k in range(1, 200)]  # type: ignore[misc]
    finally:
        stop.set()
        thread.join()
        flint.ctx.prec = before
    for k, value in enumerate(values, 1):
        assert value.rel_accuracy_bits() >= 90
        assert abs(float(value.mid()) - math.log(k + math.sqrt(2))) < 1e-12
