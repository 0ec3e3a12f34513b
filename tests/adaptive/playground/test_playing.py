"""Playing a strategy: the exact law is the exact law, estimates cover it, built-in strategies play as they say."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosimeter.accounting.menus import gaussian_options, response_options
from dosimeter.adaptive.filters import ApproxFilter, BasicFilter, GDPFilter, ResidueFilter, RogersFilter, ZCDPFilter
from dosimeter.adaptive.game import (
    Box,
    budget_rule,
    exact_law,
    filter_rule,
    from_laws,
    randomized_response,
    worst_crossing,
    worst_delta,
)
from dosimeter.adaptive.odometers import FilterOdometer, MixtureOdometer, StoppedRunOdometer
from dosimeter.adaptive.playground import (
    BUILT_IN,
    Claim,
    GameTooLargeError,
    Option,
    Seen,
    Strategy,
    Table,
    Verdict,
    built_in,
    claimed_delta,
    interval,
    play,
    run_law,
    run_sampled,
    sample_paths,
)
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.exact import Bound
from dosimeter.notions import ZCDP

D, F = Decimal, Fraction
BASE = F(6, 5)


def table(filter_: Any, multiples: tuple[int, ...] = (1, 2, 3), epsilon: str = "1", **more: Any) -> Table:
    """Randomized responses against a filter."""
    base = more.pop("base", BASE)
    options = response_options(filter_, base, multiples, more.pop("failures", (0,)))
    return Table(filter_, options, base, epsilon, more.pop("rounds", 200), more.pop("odometer", None))


SMALL = ApproxFilter("1", "0.05")


# --- the exact law


def test_the_law_is_that_of_exact_rationals() -> None:
    """A strategy that looks at the sign of the loss, followed in floating point and in fractions: the same delta."""
    game = table(SMALL, (1, 3), rounds=4)

    def steer(seen: Seen) -> int:
        return 1 if seen.steps < 0 else 0

    boxes = [option.box for option in game.options]

    def in_fractions(history: Any) -> Box:
        ratio = F(1)
        for box, outcome in history:
            p, q = box.outcomes[outcome]
            ratio *= p / q
        return boxes[1] if ratio < 1 else boxes[0]

    wide = Table(ZCDPFilter("100"), game.options, BASE, "0.5", 4)
    truth = exact_law(in_fractions, rounds=4)
    level = F(math.exp(0.5))
    found = play(wide, Strategy("by sign", steer)).delta.reached
    assert isinstance(found, Bound)
    assert abs(float(truth.hockey_stick(level)) - float(found.lower)) < 1e-12
    assert found.upper - found.lower < D("1e-12")


@settings(max_examples=12, deadline=None)
@given(st.lists(st.sampled_from([0, 1, 2, None]), min_size=1, max_size=5), st.sampled_from(["0", "0.4", "1.2"]))
def test_what_a_strategy_remembers_does_not_change_the_law(plan: list[int | None], epsilon: str) -> None:
    """A fixed plan that remembers nothing, and the same as a function with the whole history: one law."""
    game = Table(ZCDPFilter("50"), response_options(ZCDPFilter("50"), BASE, (1, 2, 4)), BASE, epsilon, 5)

    def by_round(seen: Seen) -> int | None:
        return plan[seen.rounds] if seen.rounds < len(plan) else None

    forgetful, mindful = run_law(game, Strategy("plan", by_round)), run_law(game, Strategy.of(by_round))
    assert dict(forgetful.losses) == pytest.approx(dict(mindful.losses), rel=1e-12)
    assert math.fsum(p for _, p in forgetful.losses) == pytest.approx(1, rel=1e-12)
    assert forgetful.states <= mindful.states


def test_a_game_without_choice_is_the_worst_case_of_its_only_box() -> None:
    """One box: every strategy that goes on is the best one, for delta and for crossing a reading."""
    odometer = FilterOdometer(D("0.2"), D("0.1"))
    game = table(SMALL, (2,), odometer=odometer)
    result = play(game, "steady-small")
    rule = filter_rule(SMALL, [(option.box, option.charge) for option in game.options])
    delta = worst_delta(rule, BASE, "1")
    crossing = worst_crossing(rule, BASE, lambda s: odometer.bound(s[0]))
    assert result.exact
    assert result.crossing is not None
    for claim, truth in ((result.delta, delta), (result.crossing, crossing)):
        low, high = claim.ends
        assert low <= truth.upper
        assert truth.lower <= high
        assert high - low < D("1e-11")


def test_failing_boxes_reveal_everything_and_refusals_cost_a_round() -> None:
    """With failing boxes the infinite loss counts in full; a request that does not fit takes a round."""
    filter_ = BasicFilter("0.8", "0.02")
    options = response_options(filter_, BASE, (2,), (F(1, 100),))
    game = Table(filter_, options, BASE, "0.8", 10)
    stubborn = play(game, lambda _: 0)
    assert stubborn.rounds == pytest.approx(1 + 0.99)
    assert stubborn.refused == pytest.approx(0.99**2 * 8)
    low, high = stubborn.delta.ends
    assert low <= 1 - D("0.99") ** 2 <= high
    assert stubborn.delta.verdict is Verdict.KEPT


def test_boxes_that_are_not_symmetric_are_played_in_both_directions() -> None:
    """A box that only reveals in one direction: the worse direction is reported."""
    tell = from_laws("tell", (F(1, 2), F(1, 2)), (F(1), F(0)))
    filter_ = ZCDPFilter("10", "0.6")
    for box, direction in ((tell, "remove"), (tell.reversed(), "add")):
        found = play(Table(filter_, [Option(box, ZCDP(1, "0.5"))], F(2), "1", 1), "steady-small", claim=D("0.6"))
        assert found.direction == direction
        assert found.delta.ends[0] <= D("0.5") <= found.delta.ends[1]


def test_a_law_that_is_too_large_is_played_by_monte_carlo() -> None:
    """A strategy that remembers everything outgrows the limit; the result is an estimate then, and says so."""
    game = table(SMALL, (1, 2), rounds=12)
    with pytest.raises(GameTooLargeError, match="Monte Carlo"):
        run_law(game, Strategy.of(lambda seen: seen.open[0] if seen.open else None), largest=200)
    estimated = play(game, lambda seen: seen.open[0] if seen.open else None, largest=200, seed=3)
    assert not estimated.exact
    assert estimated.seed == 3
    assert "an estimate" in estimated.in_words()
    assert "estimate" in estimated.to_json()["delta"]


# --- estimates


def test_the_interval_covers_as_often_as_it_says() -> None:
    """For counts of heads, summed exactly: the mean is outside with probability at most 1 - confidence."""
    for mean in (0.01, 0.3, 0.5, 0.95):
        for runs in (20, 200):
            missed = 0.0
            for heads in range(runs + 1):
                one = interval(heads, runs, 0.95)
                if not one.low <= mean <= one.high:
                    missed += math.comb(runs, heads) * mean**heads * (1 - mean) ** (runs - heads)
            assert missed <= 0.05


def test_the_interval_is_an_interval() -> None:
    """It holds the estimate, narrows with runs, and is one-sided at the ends."""
    for total, runs in ((0, 50), (50, 50), (7, 50), (7.5, 5000)):
        one = interval(total, runs)
        assert 0 <= one.low <= one.estimate <= one.high <= 1
    assert interval(0, 50).low == 0
    assert interval(50, 50).high == 1
    assert interval(70, 500).high - interval(70, 500).low < interval(7, 50).high - interval(7, 50).low


@pytest.mark.parametrize("strategy", ["doubling", "optimal", "threshold"])
def test_monte_carlo_agrees_with_the_exact_law(strategy: str) -> None:
    """The exact values lie in the intervals, whose false-alarm rate is 1 in 1000; the seed repeats the runs."""
    game = table(ApproxFilter("0.5", "0.2"), (1, 2), "0.3", odometer=MixtureOdometer(D("0.3"), D("0.1")))
    exact = play(game, strategy)
    drawn = play(game, strategy, runs=4000, seed=11)
    assert exact.exact
    assert not drawn.exact
    for truth, claim in ((exact.delta, drawn.delta), (exact.crossing, drawn.crossing)):
        assert truth is not None
        assert claim is not None
        assert claim.ends[0] <= truth.ends[1]
        assert truth.ends[0] <= claim.ends[1]
    assert drawn.rounds == pytest.approx(exact.rounds, rel=0.1)
    assert play(game, strategy, runs=4000, seed=11) == drawn
    assert play(game, strategy, runs=4000, seed=12) != drawn


def test_the_control_for_monte_carlo_is_rejected() -> None:
    """Playing in the other world (P and Q exchanged in one-sided boxes) is far outside the interval."""
    tell = from_laws("tell", (F(1, 2), F(1, 2)), (F(1), F(0)))
    options = [Option(tell, ZCDP(1, "0.5"))]
    game = Table(ZCDPFilter("10", "0.6"), options, F(2), "1", 1)
    right, wrong = (
        run_sampled(one, built_in("steady-small", one), runs=400, seed=5) for one in (game, game.reversed())
    )
    assert right.delta.low <= 0.5 <= right.delta.high
    assert wrong.delta.high < 0.5


def test_sample_paths_are_runs_of_the_game() -> None:
    """Each path starts at nothing, its clock rises, its steps are losses of boxes, and the seed repeats it."""
    game = table(SMALL, (1, 2))
    paths = sample_paths(game, built_in("doubling", game), paths=5, seed=2)
    assert len(paths) == 5
    for path in paths:
        assert path.times[0] == path.losses[0] == 0
        assert list(path.times) == sorted(path.times)
        jumps = {round(abs(b - a) / game.step, 6) for a, b in zip(path.losses, path.losses[1:], strict=False)}
        assert jumps <= {1.0, 2.0}
        assert path.times[-1] <= 2 * float(SMALL.rho)
    assert sample_paths(game, built_in("doubling", game), paths=5, seed=2) == paths


# --- strategies


@pytest.mark.parametrize(
    "filter_",
    [
        ApproxFilter("1", "0.05"),
        ZCDPFilter("0.2"),
        GDPFilter("0.8"),
        BasicFilter("1", "0.01"),
        RogersFilter("3", "0.3"),
    ],
    ids=lambda f: f.kind,
)
def test_no_strategy_is_better_than_the_worst_case_and_the_optimal_one_reaches_it(filter_: Any) -> None:
    """Against the certified worst case over all strategies: below it, and backward induction attains it."""
    game = table(filter_, epsilon="0.6" if filter_.kind != "rogers" else "3")
    claim: Any = {"claim": D(1)} if filter_.kind in {"basic", "rogers"} else {}
    rule = filter_rule(filter_, [(option.box, option.charge) for option in game.options])
    worst = worst_delta(rule, BASE, game.epsilon)
    reached = {name: play(game, name, **claim).delta.ends for name in BUILT_IN}
    assert all(low <= worst.upper for low, _ in reached.values())
    assert reached["optimal"][1] >= worst.lower * D("0.999999")
    assert max(reached.values()) == pytest.approx(reached["optimal"])


def test_the_best_strategy_found_against_a_residue_filter_is_the_optimal_one() -> None:
    """Where charges depend on what is left, backward induction over cells still beats the other built-in strategies."""
    game = table(ResidueFilter("1", "0.05", 0), (1, 2))
    reached = {name: play(game, name).delta.ends[1] for name in BUILT_IN}
    assert reached["optimal"] >= max(reached.values()) * D("0.999999")
    assert 0 < reached["optimal"] <= D("0.05")


def test_what_each_built_in_strategy_chooses() -> None:
    """The choices of the simple ones, on what they see."""
    game = table(ZCDPFilter("0.5"))

    def seen(loss: float, memory: Any = None, open_: tuple[int, ...] = (0, 1, 2)) -> Seen:
        return Seen(3, round(loss / game.step), loss, 1.0, 0.1, open_, memory)

    assert built_in("threshold", game).choose(seen(-0.2)) == 2
    assert built_in("threshold", game).choose(seen(0.8)) == 0
    assert built_in("steady-small", game).choose(seen(0)) == 0
    assert built_in("steady-large", game).choose(seen(0)) == 2
    doubling = built_in("doubling", game)
    memory = doubling.memory
    for jump, expected in ((None, 0), (-1, 1), (-1, 2), (-3, 2), (2, 0)):
        memory = doubling.remember(memory, 0, jump)
        assert doubling.choose(seen(0, memory)) == expected
    for name in BUILT_IN:
        strategy = built_in(name, game)
        assert strategy.choose(seen(0, strategy.memory, ())) is None


def test_a_player_sees_the_history_and_not_the_world() -> None:
    """A function gets every earlier box and loss, what is open, what is spent; and may stop."""
    log: list[Seen] = []

    def watcher(seen: Seen) -> int | None:
        log.append(seen)
        return seen.open[0] if len(seen.memory) < 2 else None

    game = table(SMALL)
    result = play(game, watcher, runs=1, seed=1)
    assert [len(seen.memory) for seen in log] == [0, 1, 2]
    assert log[2].steps == sum(jump for _, jump in log[2].memory)
    assert 0 == log[0].spent < log[1].spent < log[2].spent < 1
    assert result.rounds == 2
    assert not {"world", "secret"} & set(Seen.__dataclass_fields__)


# --- what is refused


def test_claims_and_verdicts() -> None:
    """Kept, beaten, undecided; a filter's claim at other levels, or that it makes none."""
    assert Claim("delta", D("0.1"), Bound(D("0.05"), D("0.1"))).verdict is Verdict.KEPT
    assert Claim("delta", D("0.1"), Bound(D("0.11"), D("0.2"))).verdict is Verdict.BEATEN
    assert Claim("delta", D("0.1"), Bound(D("0.05"), D("0.2"))).verdict is Verdict.UNDECIDED
    assert claimed_delta(SMALL, "1") <= D("0.05")
    assert claimed_delta(SMALL, "0.5") > D("0.05")
    with pytest.raises(NoGuaranteeError, match="its own"):
        claimed_delta(RogersFilter("1", "0.1"), "0.5")


def test_bad_games_and_choices_are_refused() -> None:
    """Unknown strategies, choices that are none, odometers about stopped runs, empty tables."""
    game = table(SMALL)
    for choice in (7, -1, True, 1.0):
        with pytest.raises(InputError, match="no option"):
            play(game, lambda _, c=choice: c)
    for bad in ("clever", 3):
        with pytest.raises(InputError):
            play(game, bad)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        Table(SMALL, [], BASE, "1", 5)
    with pytest.raises(InputError):
        Table(SMALL, game.options, F(1), "1", 5)
    with pytest.raises(InputError):
        Table(SMALL, game.options, BASE, "1", 0)
    with pytest.raises(InputError, match="seed"):
        play(game, "threshold", runs=5, seed="x")  # type: ignore[arg-type]
    stopped = StoppedRunOdometer(MixtureOdometer(D("0.1"), D("0.1")), D("0.1"))
    with pytest.raises(NoGuaranteeError, match="loss itself"):
        play(Table(SMALL, game.options, BASE, "1", 5, stopped), "threshold")


def test_results_are_json() -> None:
    """Numbers as texts, exact or named an estimate."""
    game = table(SMALL, odometer=MixtureOdometer(D("0.1"), D("0.1")))
    exact, drawn = play(game, "threshold").to_json(), play(game, "threshold", runs=50).to_json()
    assert json.loads(json.dumps(exact)) == exact
    assert {"lower", "upper"} <= set(exact["delta"])
    assert {"estimate", "low", "high", "confidence", "runs"} <= set(drawn["crossing"])


def test_gaussian_boxes_are_cells_of_the_noise_that_is_charged() -> None:
    """Against the GDP filter, cells reach most of what the budget allows and not more."""
    filter_ = GDPFilter("1")
    game = Table(filter_, gaussian_options(filter_, BASE, ("0.3", "0.5")), BASE, "1", 50)
    result = play(game, "optimal")
    assert D("0.9") * result.delta.claimed < result.delta.ends[0] <= result.delta.ends[1] <= result.delta.claimed


def test_menus_reject_what_is_no_lattice() -> None:
    """A base above 1 and whole multiples."""
    for base, multiples in (("1", (1,)), ("0.5", (1,)), (BASE, (0,))):
        with pytest.raises(InputError):
            response_options(SMALL, base, multiples)


def test_the_worst_fixed_plan_is_a_budget_rule_too() -> None:
    """The playground's law of a fixed plan is the game package's value for the same number of boxes."""
    game = Table(ZCDPFilter("10"), response_options(ZCDPFilter("10"), BASE, (1,)), BASE, "0.5", 9)
    truth = worst_delta(budget_rule([(randomized_response(BASE), (1,))], (9,)), BASE, "0.5")
    low, high = play(game, "steady-small").delta.ends
    assert low <= truth.upper
    assert truth.lower <= high
