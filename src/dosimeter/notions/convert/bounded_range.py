"""What bounded range implies: the loss stays inside an interval of length eta, wherever that interval lies.

The exponential mechanism run at epsilon has range epsilon, which is half of what pure DP would allow it.
"""

from __future__ import annotations

from dosimeter.exact import Number, divide_up, multiply_up, visible
from dosimeter.notions.profiles.reading import read_loss
from dosimeter.notions.pure import PureDP
from dosimeter.notions.zcdp import ZCDP


def bounded_range_to_zcdp(eta: Number) -> ZCDP:
    """An eta-bounded-range mechanism is (eta^2 / 8)-zCDP.

    Guarantee: rounded up.

    Args:
        eta: the length of the interval, in nats, 0 or in [1e-300, 1e12].

    Reference: Cesar, Rogers (2021), Bounding, concentrating and truncating.
    """
    eta = read_loss(eta, "eta")
    return ZCDP(visible(divide_up(multiply_up(eta, eta), 8)))


def bounded_range_to_pure(eta: Number) -> PureDP:
    """An eta-bounded-range mechanism is eta-DP: the loss of a pair is never of one sign only.

    Guarantee: exact.

    Args:
        eta: the length of the interval, in nats, 0 or in [1e-300, 1e12].

    Reference: Durfee, Rogers (2019), section 2.
    """
    return PureDP(read_loss(eta, "eta"))
