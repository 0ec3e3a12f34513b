"""Reference values computed in high precision by other routes lie inside the certified intervals."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from dosimeter.pld.accountant import Accountant
from dosimeter.pld.laws.jsonform import law_from_json
from dosimeter.pld.reads import trade_off
from dosimeter.pld.renyi import renyi

VALUES = json.loads((Path(__file__).parent / "vectors.json").read_text())["values"]


@pytest.mark.parametrize("case", VALUES, ids=[case["id"] for case in VALUES])
def test_an_interval_holds_the_reference_value_and_is_narrow(case: dict) -> None:
    accountant = Accountant()
    for law, count in case["laws"]:
        accountant.append(law_from_json(law), count)
    if case["question"] == "delta":
        found = accountant.delta(case["at"], direction=case["direction"])
    elif case["question"] == "epsilon":
        found = accountant.epsilon(case["at"])
    elif case["question"] == "renyi":
        found = renyi(accountant, case["at"], direction=case["direction"])
    else:
        (found,) = trade_off(accountant, [case["at"]])
    truth = Decimal(case["value"])
    digits = abs(truth) * Decimal("1e-18")  # the value is given to 20 digits
    assert found.lower - digits <= truth <= found.upper + digits
    assert found.upper - found.lower <= Decimal("1e-6") * found.upper
