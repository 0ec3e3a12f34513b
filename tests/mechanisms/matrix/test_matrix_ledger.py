"""Arrays and streams through a ledger's file: quoted, charged before the value is used, answered, replayed, audited."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dosimeter.adaptive.filters import GDPFilter, ResidueFilter, ZCDPFilter
from dosimeter.events import Event, event_from_json, event_to_json
from dosimeter.ledger import Account, DatasetIdentity, Ledger, RefusedRequest, Replayed, Request, Reserved
from dosimeter.mechanisms.entropy import SeededTestEntropy
from dosimeter.mechanisms.matrix import (
    Domain,
    FrobeniusBall,
    GaussianMechanism,
    KroneckerNoise,
    MatrixRelease,
    OneStepStream,
    Stream,
    plan_marginals,
    square_root_strategy,
)
from dosimeter.neighbours import NeighbouringRelation, PrivacyUnit
from dosimeter.stores import SQLiteStore

RELATION = NeighbouringRelation.ADD_REMOVE
GRADIENTS = DatasetIdentity("gradients", "7c31")


def _open(ledger: Ledger, rule: Any) -> Account:
    return ledger.open(GRADIENTS, unit=PrivacyUnit(), relation=RELATION, filter=rule, opened_by="steward")


def _ask(name: str, event: Event) -> Request:
    return Request(id=name, event=event, relation=RELATION, body_digest="ab12", description=name)


def _release() -> MatrixRelease:
    noise = KroneckerNoise(np.array([[1.0, 0.2], [0.0, 3.0]]), np.eye(3))
    return MatrixRelease(GaussianMechanism(noise, FrobeniusBall(1)).scaled_to("0.5"), entry_bound=10)


@pytest.mark.parametrize("rule", [GDPFilter("1"), ZCDPFilter("0.5"), ResidueFilter("6", "1e-5")], ids=lambda r: r.kind)
def test_a_matrix_is_charged_released_replayed_and_audited(tmp_path: Path, rule: Any) -> None:
    """Quote, reserve, release, settle; a second process replays the same numbers free, and the file proves itself."""
    release, value = _release(), np.arange(6.0).reshape(2, 3)
    store = SQLiteStore(tmp_path / "l.db")
    ledger = Ledger(store)
    account = _open(ledger, rule)
    quoted = ledger.quote(account, release.event(), RELATION)
    assert quoted.fits
    reserved = ledger.reserve(account, _ask("features", release.event()))
    assert isinstance(reserved, Reserved)
    assert reserved.loss == quoted.loss
    answer = ledger.settle(reserved, release.release(value, SeededTestEntropy(1)).tolist()).answer
    assert np.abs(np.array(answer) - value).max() < 40
    store.close()

    store = SQLiteStore(tmp_path / "l.db")
    again = Ledger(store)
    account = _open(again, rule)
    left = again.balance(account).remaining
    replayed = again.reserve(account, _ask("features", release.event()))
    assert isinstance(replayed, Replayed)
    assert replayed.answer == answer
    assert again.balance(account).remaining == left
    report = again.audit(account)
    assert report.ok
    assert report.charges == 1
    store.close()


def test_a_stream_stops_where_its_account_ends(tmp_path: Path) -> None:
    """Row by row until the filter refuses: the refused row is not taken, what was charged is the worst column's sum."""
    store = SQLiteStore(tmp_path / "l.db")
    ledger = Ledger(store)
    account = _open(ledger, GDPFilter("0.63"))
    strategy = square_root_strategy(64)
    stream = Stream(3, clip_norm=1, max_steps=64, entry_bound=50, entropy=SeededTestEntropy(2))
    charged, free = Fraction(0), 0
    for t in range(64):
        charges, event = stream.quote(strategy.matrix[t, : t + 1], 2)
        if event is None:
            free += 1
        else:
            reserved = ledger.reserve(account, _ask(f"row {t}", event))
            if isinstance(reserved, RefusedRequest):
                break
            assert isinstance(reserved, Reserved)
            measured = stream.follow([float(t), 1, -1], strategy, 2)
            ledger.settle(reserved, measured.tolist())
            charged += Fraction(event.l2_sensitivity) ** 2
        assert stream.charges == charges
    else:
        pytest.fail("the account never ended")
    ran = 64 - stream.steps_left
    assert 1 < ran < 64
    assert free == 0
    worst = Fraction(stream.charges.worst)
    assert worst <= charged <= worst * (1 + Fraction(1, 10**30))
    assert charged <= Fraction("0.63") ** 2
    exact = sum((Fraction(float(strategy.matrix[t, 0])) ** 2 for t in range(ran)), Fraction(0)) / 4
    assert exact <= worst <= exact * (1 + Fraction(1, 10**5))
    assert exact + Fraction(float(strategy.matrix[ran, 0])) ** 2 / 4 > Fraction("0.63") ** 2 * (1 - Fraction(1, 10**5))
    assert stream.running_totals().shape == (ran, 3)
    report = ledger.audit(account)
    assert report.ok
    assert report.charges == ran
    assert Fraction(Decimal(report.spent["mu_squared"])) >= worst
    store.close()


def test_a_stream_that_ends_early_leaves_the_rest_to_others(tmp_path: Path) -> None:
    """Three rows of a long stream are paid as three; a matrix fits into what they left, a larger one does not."""
    store = SQLiteStore(tmp_path / "l.db")
    ledger = Ledger(store)
    account = _open(ledger, GDPFilter("0.8"))
    stream = OneStepStream(2, "0.5", std=2, clip_norm=1, max_steps=1000, entry_bound=10, entropy=SeededTestEntropy(3))
    for t in range(3):
        reserved = ledger.reserve(account, _ask(f"step {t}", stream.event()))
        assert isinstance(reserved, Reserved)
        ledger.settle(reserved, stream.step([1.0, float(t)]).tolist())
    spent = Fraction(Decimal(ledger.balance(account).spent["mu_squared"]))
    column = (1 + Fraction(1, 4) + Fraction(1, 16)) / 4
    assert column <= Fraction(stream.worst) <= spent * (1 + Fraction(1, 10**20))
    assert spent <= column * (1 + Fraction(1, 10**5))
    assert isinstance(ledger.reserve(account, _ask("matrix", _release().event())), Reserved)  # 0.25 fits beside 0.33
    assert isinstance(ledger.reserve(account, _ask("another", _release().event())), RefusedRequest)
    assert ledger.audit(account).ok
    store.close()


def test_a_crash_between_charge_and_answer_costs_once(tmp_path: Path) -> None:
    """A retry of the same request goes on without a second charge, and what it stores is the answer for ever."""
    store = SQLiteStore(tmp_path / "l.db")
    ledger = Ledger(store)
    account = _open(ledger, GDPFilter("1"))
    release = _release()
    ledger.reserve(account, _ask("features", release.event()))
    left = ledger.balance(account).remaining
    store.close()
    store = SQLiteStore(tmp_path / "l.db")
    ledger = Ledger(store)
    retried = ledger.reserve(account, _ask("features", release.event()))
    assert isinstance(retried, Reserved)
    assert ledger.balance(account).remaining == left
    answer = ledger.settle(retried, release.release(np.zeros((2, 3)), SeededTestEntropy(4)).tolist()).answer
    replayed = ledger.reserve(account, _ask("features", release.event()))
    assert isinstance(replayed, Replayed)
    assert replayed.answer == answer
    store.close()


def test_every_event_of_this_room_survives_json() -> None:
    """No digit of a price is lost between the mechanism and the record."""
    stream = Stream(1, clip_norm="1/3", max_steps=5)
    events = [
        _release().event(),
        _release().mechanism.event(),
        stream.quote([1.0], "0.7")[1],
        OneStepStream(2, "0.3", std="0.7", clip_norm=1, max_steps=5).event(),
        plan_marginals(Domain({"a": 3, "b": 7}), [["a", "b"]], mu="0.3").event(),
    ]
    for event in events:
        assert event is not None
        assert event_from_json(json.loads(json.dumps(event_to_json(event)))) == event
