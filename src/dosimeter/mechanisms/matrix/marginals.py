"""All wanted marginals of a table at once, from residuals: independent noisy pieces that add up to consistent answers.

A table over attributes of sizes k_1, ..., k_d has a residual for every set A of attributes: the marginal on A with
the mean taken out along every axis. In coordinates (an orthonormal basis of the vectors of mean zero per axis) it has
prod_(i in A) (k_i - 1) numbers. Residuals of different sets do not overlap, and a marginal on B is a fixed linear map
of the residuals of the subsets of B, so marginals that share attributes always agree.

One record changes the residual of A by a vector of squared norm p_A = prod_(i in A) (1 - 1/k_i). Measured with noise of
variance s_A it costs p_A/s_A in squared GDP parameter, and a cell of the marginal on B gets the variance
sum_(A subset of B) s_A prod_(i in A) (1 - 1/k_i) prod_(j in B, not in A) k_j^-2. Both are linear or convex, so the best
noise for a set of marginals has a closed form (weighted sum of variances) or a small dual problem (largest variance).

Reference: Xiao, He, Zhang, Kifer, "An optimal and scalable matrix mechanism for noisy marginals under convex loss
functions" (2023).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from dosimeter.errors import InputError
from dosimeter.events import Gaussian
from dosimeter.exact import ONE, Number, add_up, amount, count, divide_up, fraction_up, multiply_up, show, sqrt_up
from dosimeter.mechanisms.entropy import Entropy
from dosimeter.mechanisms.matrix.arrays import MAX_ENTRIES, off, read_private
from dosimeter.mechanisms.matrix.covariance import IidNoise
from dosimeter.mechanisms.matrix.gaussian import GaussianMechanism
from dosimeter.mechanisms.matrix.release import MatrixRelease
from dosimeter.mechanisms.matrix.sensitivity import FrobeniusBall

if TYPE_CHECKING:
    from dosimeter.mechanisms.matrix.arrays import Array

Attributes: TypeAlias = tuple[str, ...]
MAX_ATTRIBUTES: Final = 200
MAX_SETS: Final = 200_000
MAX_WAYS: Final = 12
OBJECTIVES: Final = ("sum", "max")
MOST_RECORDS: Final = 10**9
_ROUNDS: Final = 3_000
_SMALLEST_PRICE: Final = Decimal("1e-12")
_LARGEST_SPREAD: Final = Decimal("1e12")


@dataclass(frozen=True)
class Domain:
    """The attributes of a table and how many values each can take, fixed without looking at the rows.

    Args:
        sizes: attribute -> number of values, at least 2; an attribute with one value tells nothing.
    """

    sizes: Mapping[str, int]
    order: Attributes = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.sizes, Mapping) or not 1 <= len(self.sizes) <= MAX_ATTRIBUTES:
            raise InputError(f"a domain has 1 to {MAX_ATTRIBUTES} attributes with their number of values")
        read = {}
        for name, size in self.sizes.items():
            if not isinstance(name, str) or not name:
                raise InputError(f"an attribute's name is a text; got {show(name)}")
            read[name] = count(size, f"size of {show(name)}", smallest=2, largest=10**6)
        object.__setattr__(self, "sizes", read)
        object.__setattr__(self, "order", tuple(read))

    def marginal(self, attributes: Iterable[str]) -> Attributes:
        """A set of attributes in the domain's order.

        Raises:
            InputError: an unknown attribute, one twice, or a marginal with too many cells.
        """
        names = cast("object", attributes)
        if isinstance(names, str):
            raise InputError(f"a marginal is a list of attributes; write [{show(names)}]")
        if not isinstance(names, Iterable):
            raise InputError(f"a marginal is a list of attributes; got {show(names)}")
        given = list(names)
        if unknown := [a for a in given if not isinstance(a, str) or a not in self.sizes]:
            raise InputError(f"attribute {show(unknown[0])} is not in the domain ({', '.join(self.order)})")
        if len(set(given)) != len(given):
            raise InputError("a marginal names an attribute twice")
        if len(given) > MAX_WAYS or self.cells(given) > MAX_ENTRIES:
            raise InputError(f"a marginal of {len(given)} attributes has too many cells; ask for smaller ones")
        return tuple(a for a in self.order if a in given)

    def cells(self, attributes: Iterable[str]) -> int:
        """How many cells a marginal has."""
        return math.prod(self.sizes[a] for a in attributes)

    def residual_size(self, attributes: Iterable[str]) -> int:
        """How many numbers a residual has."""
        return math.prod(self.sizes[a] - 1 for a in attributes)

    def share(self, attributes: Iterable[str]) -> float:
        """p_A: how much of one record's squared norm a residual sees."""
        return math.prod(1 - 1 / self.sizes[a] for a in attributes)

    def all_marginals(self, ways: int) -> tuple[Attributes, ...]:
        """Every marginal of exactly `ways` attributes.

        Raises:
            InputError: not a whole number from 0 to the number of attributes (at most 12), or too many marginals.
        """
        k = count(ways, "ways", smallest=0, largest=min(MAX_WAYS, len(self.order)))
        if math.comb(len(self.order), k) > MAX_SETS:
            raise InputError(f"{len(self.order)} attributes have too many marginals of {k}; name the ones you need")
        return tuple(combinations(self.order, k))


def _subsets(attributes: Attributes) -> Iterable[Attributes]:
    return chain.from_iterable(combinations(attributes, k) for k in range(len(attributes) + 1))


@dataclass(frozen=True)
class MarginalPlan:
    """Which residuals to measure and with how much noise, for a set of marginals.

    Args:
        domain: the table's attributes.
        marginals: what is wanted.
        stds: residual -> standard deviation of its noise.
        change: how many records come or go between neighbours; replacing one counts as two.
        least_error: a lower bound on the objective of any Gaussian mechanism at this price (floating point).
        most_records: a public bound on the number of records: sums of so many are exact enough for the lattice.
    """

    domain: Domain
    marginals: tuple[Attributes, ...]
    stds: Mapping[Attributes, Decimal]
    change: int = 1
    least_error: float = 0.0
    most_records: int = MOST_RECORDS

    @cached_property
    def mu(self) -> Decimal:
        """The GDP parameter of all measurements together, rounded up, lattice included."""
        squares: dict[tuple[object, ...], Decimal] = {}  # residuals of the same sizes and noise have the same price
        terms = []
        for residual, std in self.stds.items():
            alike = (std, *sorted(self.domain.sizes[a] for a in residual))
            if alike not in squares:
                price = self.measurement(residual).mu
                squares[alike] = multiply_up(price, price)
            terms.append(squares[alike])
        return sqrt_up(add_up(*terms))

    def measurement(self, residual: Attributes) -> MatrixRelease:
        """The release of one residual: priced by its own event, so that measurements may be chosen one by one."""
        radius = _movement(self.domain, residual, self.change)
        mechanism = GaussianMechanism(
            IidNoise(self.stds[residual], (self.domain.residual_size(residual), 1)), FrobeniusBall(radius)
        )
        # an orthonormal coordinate is a sum of as many products as its axes are long, over at most all records
        terms = sum(self.domain.sizes[a] + 6 for a in residual) + 4
        return MatrixRelease(
            mechanism, entry_bound=float(self.most_records), value_error=off(terms) * self.most_records
        )

    def event(self) -> Gaussian:
        """What an account charges for the whole plan at once."""
        return Gaussian(ONE, self.mu)

    def variance(self, marginal: Iterable[str]) -> float:
        """The variance of every cell of a marginal (floating point).

        Raises:
            InputError: the plan does not measure everything this marginal needs.
        """
        wanted = self.domain.marginal(marginal)
        total = 0.0
        for a in _subsets(wanted):
            if a not in self.stds:
                raise InputError(f"the plan does not measure {show(a)}, which this marginal needs")
            total += float(self.stds[a]) ** 2 * _weight(self.domain, a, wanted)
        return total

    @property
    def total_error(self) -> float:
        """The expected squared error summed over all cells of all wanted marginals (floating point)."""
        return sum(self.variance(m) * self.domain.cells(m) for m in self.marginals)


def _movement(domain: Domain, residual: Attributes, change: int) -> Decimal:
    """change sqrt(p_A), rounded up: how far the residual moves between neighbours."""
    exact = math.prod((1 - Fraction(1, domain.sizes[a]) for a in residual), start=Fraction(1))
    return sqrt_up(fraction_up(exact * change * change))


def _weight(domain: Domain, residual: Attributes, marginal: Attributes) -> float:
    """The part of a residual's noise variance that reaches a cell of the marginal."""
    inside = domain.share(residual)
    return inside * math.prod(float(domain.sizes[a]) ** -2 for a in marginal if a not in residual)


def plan_marginals(
    domain: Domain,
    marginals: Sequence[Iterable[str]],
    *,
    mu: Number,
    weights: Sequence[Number] | None = None,
    objective: str = "sum",
    replace_one: bool = False,
    records: int = 1,
    known: Collection[Attributes] = (),
    most_records: int = MOST_RECORDS,
) -> MarginalPlan:
    """The noise of least error for a set of marginals at a price of mu.

    Guarantee: the plan is `mu`-GDP, whatever the objective; lattice and floating point included.

    Args:
        domain: the table's attributes.
        marginals: the wanted ones, each a list of attributes; the empty list is the total count.
        mu: the GDP parameter that everything together may cost, above 0.
        weights: one positive number per marginal; 1 when left out.
        objective: "sum": the weighted sum over marginals of their cells' variances added up; "max": the largest
            weighted variance of a cell.
        replace_one: whether neighbours differ in the values of one record instead of its presence. It is charged as two
            records that change, an upper bound.
        records: how many records one protected unit may contribute; the price is for all of them together.
        known: residuals that have been measured already and need no more noise.
        most_records: a public bound on the number of records, 1 to 10^12.

    Raises:
        InputError: unknown attributes, too many sets, weights that are not positive, an unknown objective.

    Reference: Xiao, He, Zhang, Kifer (2023), Theorems 5 and 6.
    """
    if not isinstance(cast("object", domain), Domain):
        raise InputError(f"domain={show(domain)} is not a Domain of attributes")
    asked = _listed(marginals, "marginals")
    wanted = tuple(dict.fromkeys(domain.marginal(m) for m in asked))
    if not wanted:
        raise InputError("no marginal is asked for; name at least one")
    if objective not in OBJECTIVES:
        raise InputError(f"objective={show(objective)} is unknown; use one of: {', '.join(OBJECTIVES)}")
    if sum(2 ** len(m) for m in wanted) > MAX_SETS * 16:
        raise InputError("these marginals need too many residuals; ask for fewer or smaller ones")
    price = amount(mu, "mu", round_up=False)
    if price < _SMALLEST_PRICE:
        raise InputError(f"mu={show(mu)} is below {_SMALLEST_PRICE:g}: its noise would drown every count there can be")
    count(most_records, "most_records", largest=10**12)
    given = [ONE] * len(wanted) if weights is None else [amount(w, "a weight") for w in _listed(weights, "weights")]
    if max(given) > min(given) * _LARGEST_SPREAD:
        raise InputError(f"the weights span more than {_LARGEST_SPREAD:g}; leave out what matters so little")
    given = [w / max(given) for w in given]
    if len(given) != len(wanted):
        raise InputError(f"{len(given)} weights for {len(wanted)} different marginals; give one for each")
    change = count(records, "records", largest=10**6) * (2 if replace_one else 1)
    spread = np.array([float(w) for w in given]) * (
        np.array([domain.cells(m) for m in wanted], dtype=float) if objective == "sum" else 1.0
    )
    needed = dict.fromkeys(chain.from_iterable(_subsets(m) for m in wanted))
    measured = {domain.marginal(a) for a in _listed(known, "known")}
    residuals = tuple(a for a in needed if a not in measured)
    if not residuals:
        raise InputError("everything that these marginals need is known already; read them off, free")
    index = {a: i for i, a in enumerate(residuals)}
    shares = np.array([domain.share(a) for a in residuals]) * change**2
    rows, columns, entries = [], [], []
    for row, m in enumerate(wanted):
        for a in (a for a in _subsets(m) if a in index):
            rows.append(row)
            columns.append(index[a])
            entries.append(spread[row] * _weight(domain, a, m))
    parts = (np.array(rows), np.array(columns), np.array(entries))
    budget = float(price) ** 2
    variances, least = _least_sum(parts, shares, budget) if objective == "sum" else _least_max(parts, shares, budget)
    stds = {a: Decimal(float(np.sqrt(v))) for a, v in zip(residuals, variances.tolist(), strict=True)}
    return _within(MarginalPlan(domain, wanted, stds, change, least, most_records), price)


def _within(plan: MarginalPlan, price: Decimal) -> MarginalPlan:
    """The plan with its noise enlarged until everything that is charged fits the price."""
    for _ in range(8):
        if plan.mu <= price:
            return plan
        factor = divide_up(plan.mu, price) * (1 + Decimal("1e-15"))
        stds = {a: s * factor for a, s in plan.stds.items()}
        plan = replace(plan, stds=stds)
    raise InputError(f"mu={price:.6g} leaves no room for the lattice of these marginals; ask for a larger one")


def _listed(given: object, name: str) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{name}={show(given)} must be a list")
    return list(given)


_Parts: TypeAlias = "tuple[Array, Array, Array]"


def _least_sum(parts: _Parts, shares: Array, budget: float) -> tuple[Array, float]:
    """argmin of sum v_A s_A subject to sum p_A/s_A <= budget: s_A = sqrt(p_A/v_A) sum sqrt(p v)/budget."""
    _, columns, entries = parts
    v = np.bincount(columns, weights=entries, minlength=shares.size)
    root = np.sqrt(shares * v)
    return np.sqrt(shares / v) * root.sum() / budget, float(root.sum()) ** 2 / budget


def _least_max(parts: _Parts, shares: Array, budget: float) -> tuple[Array, float]:
    """argmin of the largest row of the variance map, by multiplicative steps on its dual weights.

    For weights w on the rows the least weighted sum is a lower bound of the least maximum; the best weights make the
    two meet.
    """
    rows, columns, entries = parts
    size = int(rows.max()) + 1
    w = np.full(size, 1.0 / size)
    best, least, found = np.inf, 0.0, np.ones(shares.size)
    for step in range(_ROUNDS):
        variances, bound = _least_sum((rows, columns, entries * w[rows]), shares, budget)
        each = np.bincount(rows, weights=entries * variances[columns], minlength=size)
        least = max(least, bound)
        if each.max() < best:
            best, found = float(each.max()), variances
        if best <= least * (1 + 1e-6):
            break
        w = w * (each / each.max()) ** (1.0 if step < _ROUNDS // 2 else 0.5)
        w /= w.sum()
        w = np.maximum(w, 1e-12)
    return found, least


class Marginals:
    """Measured residuals, and the consistent marginals they determine. Grows: later measurements may depend on answers.

    Args:
        domain: the table's attributes.
        entropy: where the randomness comes from; the operating system when left out.
    """

    def __init__(self, domain: Domain, entropy: Entropy | None = None) -> None:
        if not isinstance(cast("object", domain), Domain):
            raise InputError(f"domain={show(domain)} is not a Domain of attributes")
        self._domain = domain
        self._entropy = entropy
        self._known: dict[Attributes, tuple[Array, float]] = {}

    @property
    def measured(self) -> dict[Attributes, float]:
        """The residuals known so far and the variance of their numbers."""
        return {a: variance for a, (_, variance) in self._known.items()}

    def to_json(self) -> list[dict[str, Any]]:
        """The noisy residuals as JSON, numbers as the shortest texts that read back to the same floats."""
        return [
            {"residual": list(a), "variance": repr(v), "values": [repr(x) for x in answer.ravel().tolist()]}
            for a, (answer, v) in self._known.items()
        ]

    @classmethod
    def from_json(cls, domain: Domain, data: object, entropy: Entropy | None = None) -> Marginals:
        """Read noisy residuals back; raises InputError for anything that `to_json` does not write."""
        found = cls(domain, entropy)
        try:
            for row in data:  # type: ignore[attr-defined]
                a = domain.marginal(row["residual"])
                values = np.array([float(x) for x in row["values"]])
                variance = float(row["variance"])
                if not (np.isfinite(values).all() and 0 < variance < math.inf) or list(a) != row["residual"]:
                    raise InputError("a noisy residual holds a number that is not finite")
                found._known[a] = values.reshape(tuple(domain.sizes[b] - 1 for b in a)), variance
        except (TypeError, KeyError, ValueError, AttributeError):
            raise InputError("noisy residuals are a list of residual, variance and values") from None
        return found

    def copy(self) -> Marginals:
        """The same noisy residuals, to which others may be added without changing these."""
        found = Marginals(self._domain, self._entropy)
        found._known = dict(self._known)
        return found

    def add(self, other: Marginals) -> None:
        """Take over another's noisy residuals; one that both have is averaged by precision."""
        for a, (answer, variance) in other._known.items():
            self._take(a, answer, variance)

    def _take(self, residual: Attributes, answer: Array, variance: float) -> None:
        if residual in self._known:
            earlier, its = self._known[residual]
            answer = (answer / variance + earlier / its) / (1 / variance + 1 / its)
            variance = 1 / (1 / variance + 1 / its)
        self._known[residual] = answer, variance

    def needs(self, marginal: Iterable[str]) -> tuple[Attributes, ...]:
        """The residuals that a marginal needs and that are not measured yet."""
        return tuple(a for a in _subsets(self._domain.marginal(marginal)) if a not in self._known)

    def measure(self, plan: MarginalPlan, residual: Attributes, table: Array) -> None:
        """Measure one residual of a table of counts with the plan's noise. Charge `plan.measurement(residual)` first.

        A residual that is known already is averaged with the new measurement, each by its precision.

        Args:
            plan: says how much noise.
            residual: which one; a key of `plan.stds`.
            table: the exact marginal of counts on exactly these attributes, axes in the domain's order. It is private;
                what is not a number counts as 0, what is below 0 or above the plan's `most_records` as that bound.

        Raises:
            InputError: a plan for another domain, a residual that is not in it, or a table of another shape.
            EntropyError: the randomness failed; nothing was released.
        """
        if not isinstance(cast("object", plan), MarginalPlan) or plan.domain.sizes != self._domain.sizes:
            raise InputError("the plan is not one for these attributes and sizes; make it with plan_marginals")
        if not isinstance(cast("object", residual), tuple) or residual not in plan.stds:
            raise InputError(f"the plan does not measure {show(residual)}")
        shape = tuple(self._domain.sizes[a] for a in residual)
        counts = read_private(table, "the table of counts")
        if counts.shape != shape:
            raise InputError(f"the table of {show(residual)} has shape {shape}; got {counts.shape}")
        coordinates = np.clip(np.nan_to_num(counts, nan=0.0), 0.0, float(plan.most_records))
        for axis in range(coordinates.ndim):
            coordinates = _contrasts(coordinates, axis)
        answer = plan.measurement(residual).release(coordinates.reshape(-1), self._entropy).reshape(coordinates.shape)
        self._take(residual, answer, float(plan.stds[residual]) ** 2)

    def answer(self, marginal: Iterable[str]) -> Array:
        """The marginal's counts from what has been measured: axes in the domain's order, post-processing.

        Raises:
            InputError: a residual that it needs has not been measured.
        """
        wanted = self._domain.marginal(marginal)
        if missing := self.needs(wanted):
            raise InputError(f"{show(missing[0])} has not been measured, and this marginal needs it")
        total = np.zeros(tuple(self._domain.sizes[a] for a in wanted))
        for a in _subsets(wanted):
            shape = tuple(self._domain.sizes[b] - 1 if b in a else 1 for b in wanted)
            part = self._known[a][0].reshape(shape)
            for axis, b in enumerate(wanted):
                part = _spread(part, axis) if b in a else part / self._domain.sizes[b]
            total += part
        return total

    def variance(self, marginal: Iterable[str]) -> float:
        """The variance of every cell of a marginal (floating point).

        Raises:
            InputError: a residual that it needs has not been measured.
        """
        wanted = self._domain.marginal(marginal)
        if missing := self.needs(wanted):
            raise InputError(f"{show(missing[0])} has not been measured, and this marginal needs it")
        return sum(self._known[a][1] * _weight(self._domain, a, wanted) for a in _subsets(wanted))


def _roots(array: Array, axis: int) -> tuple[Array, Array]:
    """j = 1, 2, ... along an axis, and sqrt(j (j + 1))."""
    j = np.arange(1.0, array.shape[axis] + 1).reshape(tuple(-1 if i == axis else 1 for i in range(array.ndim)))
    return j, np.sqrt(j * (j + 1))


def _contrasts(array: Array, axis: int) -> Array:
    """Coordinates along an axis in an orthonormal basis of the vectors of mean zero (Helmert's): k entries to k - 1.

    Coordinate j is (x_0 + ... + x_(j-1) - j x_j)/sqrt(j (j + 1)): running sums, so that no k x k matrix is made.
    """
    before, x = np.split(np.cumsum(array, axis=axis), [-1], axis)[0], np.split(array, [1], axis)[1]
    j, root = _roots(x, axis)
    return np.asarray((before - j * x) / root)


def _spread(array: Array, axis: int) -> Array:
    """The transpose of `_contrasts`: k - 1 coordinates to k entries that sum to zero along the axis."""
    j, root = _roots(array, axis)
    z = array / root
    later = np.flip(np.cumsum(np.flip(z, axis), axis=axis), axis)
    nothing = np.zeros_like(np.split(z, [1], axis)[0])
    return np.asarray(np.concatenate([later, nothing], axis) - np.concatenate([nothing, j * z], axis))
