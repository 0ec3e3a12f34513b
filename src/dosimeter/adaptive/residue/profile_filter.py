"""What residue filters share: charges are read off price lists at what is left now. No theorem stands here."""

from __future__ import annotations

import abc
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar

from dosimeter.adaptive.filter import Admitted, Refused
from dosimeter.adaptive.filters.sums import SumFilter, left, texts
from dosimeter.adaptive.residue.folding import charges
from dosimeter.adaptive.residue.prices import RULE
from dosimeter.errors import InputError, NotionError
from dosimeter.exact import add_up, amount, divide_down, multiply_down, multiply_up, show, to_decimal
from dosimeter.exact import count as read_count
from dosimeter.notions import Loss
from dosimeter.notions.residue import Digest, ResiduePrice

if TYPE_CHECKING:
    from dosimeter.pld.laws.law import Law

SLACK_SHARE: Final = Decimal("0.01")
QUERIES: Final = Decimal(1000)


class HasClock(Protocol):
    """A state that keeps the zCDP of the admitted queries."""

    @property
    def rho(self) -> Decimal: ...


State = TypeVar("State", bound=HasClock)


class ProfileFilter(SumFilter[State, ResiduePrice]):
    """A budget of components, each paid by the rows of a price list, and of slack. A subclass says which family."""

    __slots__ = ()
    notion: ClassVar[str] = "residue"
    loss_type: ClassVar[type[Any]] = ResiduePrice
    slack: Decimal
    queries: Decimal

    @property
    def share(self) -> Decimal:
        """The slack that one query may take if it needs any."""
        return divide_down(self.slack, self.queries)

    @abc.abstractmethod
    def price(self, law: Law, share: Decimal, count: int = 1) -> ResiduePrice:
        """What `count` runs of a law cost, as a list; each may take `share` of the slack if it needs any."""

    @abc.abstractmethod
    def proves(self, law: Law, count: int, stored: ResiduePrice) -> bool:
        """Whether every row of a stored list for `count` runs of a law satisfies the rule with the slack it takes.

        This asks less than that the same list is computed again: floating point may differ between machines.
        """

    @abc.abstractmethod
    def rest(self, state: State) -> list[int]:
        """What is left of each component, in quanta."""

    @abc.abstractmethod
    def named(self, paid: list[int]) -> dict[str, Decimal]:
        """Charges of the components by the names of the caps."""

    @abc.abstractmethod
    def built(self, totals: dict[str, Decimal], rho: Decimal) -> State:
        """The state with these totals."""

    def asked(self, state: State, loss: ResiduePrice, count: int) -> dict[str, Decimal]:
        """What `count` such queries take at what is left now, one after the other."""
        return self._wanted(state, loss.digest, count)

    def advance(self, state: State, loss: ResiduePrice, count: int) -> State:
        """The state after them."""
        return self._after(state, loss.digest, count, self._totals(state, self.asked(state, loss, count)))

    def admit(self, state: State, loss: Loss, count: int = 1) -> Admitted[State] | Refused:
        """Decide about one query before it runs. The state given is never changed.

        Args:
            state: from `start`, from the last `Admitted`, or read back from JSON.
            loss: the query's price list for this filter.
            count: decide about so many such queries at once, all or none, exactly as if they came one by one.

        Returns:
            `Admitted` with the next state when every total certainly fits, else `Refused`.

        Raises:
            NotionError: the loss is no price list, or one for a budget with other components.
            InputError: the state is another filter's.
        """
        price, count = self._take(loss).digest, read_count(count, "count")
        wanted = self._wanted(self._own(state), price, count)
        totals = self._totals(state, wanted)
        over = self.exceeded(totals)
        if not over:
            return Admitted(self._after(state, price, count, totals))
        code, caps, used = "over_delta" if over == ("delta",) else "over_budget", self.caps(), self.sums(state)
        remaining = texts(left(used, caps) | self.equivalents(state))
        return Refused(code, texts(wanted), texts(used), remaining, texts(caps), over)

    def _wanted(self, state: State, price: Digest, count: int) -> dict[str, Decimal]:
        wanted = self.named(charges(price, self.rest(state), count))
        wanted["delta"] = price.delta if count == 1 else multiply_up(price.delta, count)
        return wanted

    def _totals(self, state: State, wanted: dict[str, Decimal]) -> dict[str, Decimal]:
        used = self.sums(state)
        return {name: add_up(used[name], wanted[name]) for name in wanted}

    def _after(self, state: State, price: Digest, count: int, totals: dict[str, Decimal]) -> State:
        rho = price.rho if count == 1 else multiply_up(price.rho, count)
        return self.built(totals, add_up(state.rho, rho))

    def _take(self, loss: Loss) -> ResiduePrice:
        if type(loss) is not ResiduePrice:
            given = getattr(loss, "notion", type(loss).__name__)
            raise NotionError(
                f"a loss in the notion {show(given)} cannot be charged to a filter of kind {self.kind!r}, which prices "
                "whole profiles; no conversion makes a profile of a number: let the account price the event"
            )
        if loss.digest.reach >= len(self.caps()) - 1:
            raise NotionError("this price list charges a part of a budget that this account does not have")
        return loss


def read_slack(value: object, delta: Decimal) -> Decimal:
    """Read the slack: a hundredth of delta if not given, else 0 or in [1e-300, delta).

    Raises:
        InputError: it leaves nothing of delta for the queries themselves.
    """
    if value is None:
        return multiply_down(delta, SLACK_SHARE)
    slack = amount(value, "slack", round_up=False, zero=True, below_one=True)  # type: ignore[arg-type]
    if slack >= delta:
        raise InputError(f"slack={show(value)} leaves nothing of delta={delta}; it is a part of delta, below it")
    return slack


def read_queries(value: object) -> Decimal:
    """Read a planned number of queries, 1 to 1e9."""
    number = value if isinstance(value, bool) else to_decimal(value, "queries")  # type: ignore[arg-type]
    whole = int(number) if number == int(number) else value
    return Decimal(read_count(whole, "queries"))


def read_rule(value: object) -> Decimal:
    """Read the version of the pricing rules.

    Raises:
        InputError: this version of Dosimeter does not have those rules.
    """
    if isinstance(value, bool) or value not in (RULE, int(RULE), str(RULE)):
        raise InputError(f"rule={show(value)} is unknown; this version prices by rule {RULE}")
    return RULE
