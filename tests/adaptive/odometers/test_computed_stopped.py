"""Computed readings for GDP accounts: the worst moment to stop, whatever the account's mechanisms are."""

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from dosimeter.adaptive.adversary import Menu, Offer
from dosimeter.adaptive.filter import Admitted
from dosimeter.adaptive.filters import GDPFilter, ResidueFilter, ZCDPFilter
from dosimeter.adaptive.filters.gdp import GDPState
from dosimeter.adaptive.odometers import MixtureOdometer, StoppedGaussianOdometer, odometer_from_json
from dosimeter.adaptive.odometers.stopping import worst_stopping
from dosimeter.errors import InputError, NoGuaranteeError
from dosimeter.events import Gaussian
from dosimeter.ledger import DatasetIdentity, Ledger
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit
from dosimeter.notions import GDP
from dosimeter.notions.convert import gdp_to_approx
from dosimeter.notions.profiles import gaussian_delta
from dosimeter.report import odometer_figure
from dosimeter.stores import MemoryStore

D = Decimal
SHARE = D("0.05")


@cache
def computed() -> StoppedGaussianOdometer:
    """The square root between a tenth of the horizon and the horizon, at 0.05."""
    return StoppedGaussianOdometer.computed(delta=SHARE, horizon="1")


def with_scale(scale: Any, **changes: Any) -> StoppedGaussianOdometer:
    """The same with another scale, unchecked."""
    fields: dict[str, Any] = {"parameter": D("0.1"), "horizon": D(1), "steps": 400, **changes}
    return StoppedGaussianOdometer(SHARE, "square_root", scale=D(scale), trusted=True, **fields)


# --- the worst case


def test_against_a_constant_reading_the_game_is_one_gaussian() -> None:
    """Readings that stand still: not below the Gaussian's own delta, and within four percent of it."""
    menu = Menu((Offer(Gaussian(sigma=10), 1),), Fraction(1, 80))
    for epsilon in ("1", "2.5", "5"):
        found, truth = worst_stopping(menu, [D(epsilon)] * 101), gaussian_delta(1, epsilon)
        assert truth <= found <= truth * D("1.04")


def test_more_steps_agree_from_above() -> None:
    """The bound falls as time is cut finer, and by little in the end."""
    found = [with_scale("1.4", steps=steps).delta_upper() for steps in (100, 300, 900)]
    assert found[0] > found[1] > found[2] > 0.96 * found[1]


def simulated(scale: float, patience: float, paths: int = 30_000, steps: int = 300) -> tuple[float, float]:
    """What stopping at the first reward above a threshold is worth, and the standard error."""
    rng = np.random.default_rng(3)
    loss, reward, open_ = np.zeros(paths), np.zeros(paths), np.ones(paths, dtype=bool)
    for k in range(1, steps + 1):
        time = k / steps
        loss += 0.5 / steps + rng.standard_normal(paths) / math.sqrt(steps)
        reading = time / 2 + scale * math.sqrt(max(time, 0.1))
        now = np.maximum(-np.expm1(reading - loss), 0.0)
        stops = open_ & ((now > patience) if k < steps else open_)
        reward[stops] = now[stops]
        open_ &= ~stops
    return float(reward.mean()), float(reward.std() / math.sqrt(paths))


def test_a_simple_analyst_comes_near_delta_and_beats_lower_readings() -> None:
    """Stopping at the first reward above a third is worth 80 percent of the bound; against 0.85 of it, over delta."""
    scale = float(computed().scale)
    mean, error = simulated(scale, 0.33)
    assert 0.8 * float(SHARE) < mean - 4 * error < mean + 4 * error < 1.05 * float(SHARE)
    mean, error = simulated(0.85 * scale, 0.33)
    assert mean - 4 * error > float(SHARE)


def test_the_scale_is_certified_and_a_lower_one_is_refused() -> None:
    """Within a tenth of a percent of delta."""
    odometer = computed()
    assert 0.998 * float(SHARE) < odometer.delta_upper() <= float(SHARE)
    with pytest.raises(InputError, match="only certified for"):
        StoppedGaussianOdometer(
            SHARE, odometer.shape, odometer.parameter, odometer.horizon, odometer.scale * D("0.999")
        )


def test_delta_falls_with_the_scale_and_grows_with_the_horizon() -> None:
    """Both are what makes the search for a scale right."""
    assert with_scale("1.3").delta_upper() > with_scale("1.5").delta_upper()
    assert with_scale("1.4", horizon=D("0.5")).delta_upper() < with_scale("1.4").delta_upper()


def test_it_is_below_the_mixture_and_above_what_one_epsilon_needs() -> None:
    """At 1e-6 about twelve percent below the mixture tuned for its range, nine above the conversion at each time."""
    delta = D("1e-6")
    odometer = StoppedGaussianOdometer(delta, "square_root", D("0.1"), D(1), D("4.8146"))
    mixture = MixtureOdometer.tuned(delta=delta, intrinsic_time="0.5")
    for time in ("0.1", "0.3", "0.6", "1"):
        state = GDPState(D(time))
        reading = odometer.bound(state)
        assert D("0.83") < reading / mixture.bound(state) < D("0.89")
        assert 1 < reading / gdp_to_approx(GDP(D(time).sqrt()), target_delta=delta).epsilon < D("1.16")


# --- what it reads


def spent(filter_: Any, *losses: Any) -> Any:
    """The state after these."""
    state = filter_.start()
    for loss in losses:
        decision = filter_.admit(state, loss)
        assert isinstance(decision, Admitted)
        state = decision.state
    return state


def test_gdp_accounts_are_read_for_stopped_runs() -> None:
    """The clock is the sum of mu squared; the delta counts what rounds declared."""
    stopped = with_scale("1.5", declared_delta=D("0.01"))
    state = spent(GDPFilter(mu="1", delta="0.01"), GDP("0.3"), GDP("0.4", "0.001"))
    reading = stopped.read(state)
    assert reading.epsilon == D("0.125") + D("0.75")  # V = 1/4
    assert reading.delta == D("0.01") + SHARE - D("0.01") * SHARE
    with pytest.raises(NoGuaranteeError, match="declared delta"):
        computed().bound(state)
    with pytest.raises(NoGuaranteeError, match="beyond this odometer's horizon"):
        computed().bound(GDPState(D("1.01")))


@pytest.mark.parametrize("filter_", [ZCDPFilter(rho="1"), ResidueFilter(epsilon="1", delta="1e-6")])
def test_other_accounts_do_not_say_that_their_rounds_are_dominated(filter_: Any) -> None:
    """zCDP rounds have heavier tails than Gaussian ones; residue charges depend on what is left."""
    with pytest.raises(NoGuaranteeError, match="the account in GDP"):
        computed().bound(filter_.start())


def test_readings_never_fall() -> None:
    """Along an account."""
    readings = [computed().bound(GDPState(D(i) / 50)) for i in range(51)]
    assert readings == sorted(readings)


def test_a_ledger_keeps_it_and_proves_it_again() -> None:
    """An account opens with it, its balance reads it, its audit proves it; an edited one is refused."""
    ledger, rule, odometer = Ledger(MemoryStore()), GDPFilter(mu="1"), computed()
    terms: dict[str, Any] = {"unit": PrivacyUnit(), "relation": NeighbouringRelation.ADD_REMOVE, "opened_by": "steward"}
    account = ledger.open(DatasetIdentity("people", "5f2b"), filter=rule, odometers=[odometer], **terms)
    assert ledger.balance(account).readings[0].bound == odometer.bound(rule.start())
    assert ledger.audit(account).ok
    assert len(odometer_figure(ledger.statement(account)).curves[0].points) == 64
    edited = odometer_from_json({**odometer.to_json(), "scale": "1.2"})
    with pytest.raises(InputError, match="only certified for"):
        ledger.open(DatasetIdentity("more", "5f2c"), filter=rule, odometers=[edited], **terms)


def test_an_audit_finds_an_edited_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """An account that was opened without the check fails its audit."""
    ledger = Ledger(MemoryStore())
    terms: dict[str, Any] = {"unit": PrivacyUnit(), "relation": NeighbouringRelation.ADD_REMOVE, "opened_by": "steward"}
    with monkeypatch.context() as patched:
        patched.setattr("dosimeter.ledger.pricing.verify", lambda _: None)
        account = ledger.open(
            DatasetIdentity("people", "5f2b"), filter=GDPFilter(mu="1"), odometers=[with_scale("1.2")], **terms
        )
    report = ledger.audit(account)
    assert not report.ok
    assert "only certified for" in str(report)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": "circle"}, "is unknown"),
        ({"stopping_delta": "1e-250"}, "below 1e-200"),
        ({"horizon": "1e-13"}, "horizon"),
        ({"scale": "-1"}, "scale"),
        ({"steps": 0}, "steps"),
        ({"declared_delta": "1"}, "declared_delta"),
    ],
)
def test_what_cannot_be_computed_is_refused(change: dict[str, Any], message: str) -> None:
    """Each field has a range."""
    fields: dict[str, Any] = {
        "stopping_delta": "0.05",
        "shape": "line",
        "parameter": "0.1",
        "horizon": "1",
        "scale": "3",
    }
    with pytest.raises(InputError, match=message):
        StoppedGaussianOdometer(**{**fields, **change}, trusted=True)
