"""Menu files are read exactly and strictly: an entry that is misspelled or has no cost is an error that names it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dosimeter.adaptive.adversary import Menu, Offer
from dosimeter.errors import InputError, NoGuaranteeError, NotionError
from dosimeter.events import Gaussian, Laplace, PoissonSampled, RandomizedResponse
from dosimeter.interop.menufile import load_menu, parse_menu
from dosimeter.neighbours import NeighbouringRelation

YAML = """
relation: add_remove
step: 1/400
units: 100
entries:
  - name: a count
    mechanism: gaussian
    noise_multiplier: 50
    cost: 1
  - mechanism: laplace
    scale: 20
    l1_sensitivity: 1
    cost: 6
  - mechanism: gaussian
    noise_multiplier: 1
    sample: {batching: poisson, probability: 0.01}
    cost: 3
"""
RESPONSE = {"mechanism": "randomized_response", "epsilon": "0.01"}


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    """The menu, its lattice and its budget, in both forms."""
    offers = (Offer(Gaussian(50), 1), Offer(Laplace(20), 6), Offer(PoissonSampled("0.01", Gaussian(1)), 3))
    path = tmp_path / "menu.yaml"
    path.write_text(YAML)
    read = load_menu(path)
    assert read.menu == Menu(offers, Fraction(1, 400))
    assert (read.units, read.relation) == (100, NeighbouringRelation.ADD_REMOVE)
    said = {"relation": "replace_one", "entries": [RESPONSE | {"cost": 1}]}
    (tmp_path / "menu.json").write_text(json.dumps(said))
    read = load_menu(tmp_path / "menu.json")
    assert read.menu == Menu((Offer(RandomizedResponse("0.01"), 1),))
    assert read.units is None


def test_costs_left_out_are_in_proportion() -> None:
    """Of all entries or of none."""
    entries = [RESPONSE, RESPONSE | {"epsilon": "0.05"}]
    assert parse_menu({"relation": "add_remove", "entries": entries}).menu.costs == (1, 25)
    with pytest.raises(InputError, match="some entries"):
        parse_menu({"relation": "add_remove", "entries": [RESPONSE, RESPONSE | {"epsilon": "0.05", "cost": 3}]})


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "mapping"),
        ([], "mapping"),
        ({"relation": "add_remove"}, "entries, a list"),
        ({"relation": "add_remove", "entries": []}, "1 to 100 entries"),
        ({"relation": "add_remove", "entries": [RESPONSE] * 101}, "not 101"),
        ({"entries": [RESPONSE]}, "relation is one of"),
        ({"relation": "add_remove", "entries": [RESPONSE], "entrys": 1}, "no key 'entrys'"),
        ({"relation": "add_remove", "entries": [RESPONSE | {"count": 2}]}, "not a count"),
        ({"relation": "add_remove", "entries": [RESPONSE | {"cost": 0}]}, "cost=0"),
        ({"relation": "add_remove", "entries": [RESPONSE | {"cost": "1.5"}]}, "cost='1.5' is not a whole"),
        ({"relation": "add_remove", "entries": [RESPONSE | {"cost": True}]}, "cost=True"),
        ({"relation": "add_remove", "entries": [RESPONSE, 3]}, "some entries|entry 2"),
        ({"relation": "add_remove", "entries": [3]}, "entry 1"),
        ({"relation": "add_remove", "entries": [RESPONSE | {"epsilon": "-1", "cost": 1}]}, "entry 1"),
        ({"relation": "add_remove", "entries": [RESPONSE | {"epsilom": "1", "cost": 1}]}, "entry 1.*epsilom"),
        ({"relation": "add_remove", "entries": [RESPONSE | {"cost": 1}], "step": "0"}, "step"),
        ({"relation": "add_remove", "entries": [RESPONSE | {"cost": 1}, RESPONSE | {"cost": 1}]}, "every release once"),
    ],
)
def test_what_is_no_menu_is_refused(data: Any, says: str) -> None:
    """One sentence names what is wrong."""
    with pytest.raises((InputError, NotionError, NoGuaranteeError), match=says):
        parse_menu(data)


def test_an_entry_under_another_relation_is_refused() -> None:
    """A Poisson sample says nothing about replacing a record."""
    sampled = {
        "mechanism": "gaussian",
        "noise_multiplier": "1",
        "sample": {"batching": "poisson", "probability": "0.1"},
    }
    with pytest.raises(NotionError, match="entry 1"):
        parse_menu({"relation": "replace_one", "entries": [sampled | {"cost": 1}]})
