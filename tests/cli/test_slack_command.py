"""`dosimeter slack-trade` says what the library says, as a table, as JSON and as a figure."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dosimeter.accounting import slack_trade
from dosimeter.adaptive.filters import ResidueFilter, filter_from_json
from dosimeter.cli.app import app
from dosimeter.events import Gaussian, PoissonSampled, loss_to_json

ACCOUNT = ["--epsilon", "2", "--delta", "1e-5"]
QUERY = ["--sgd", "0.05/2"]


def run(*words: str, code: int = 0) -> Any:
    outcome = CliRunner().invoke(app, ["slack-trade", *words])
    assert outcome.exit_code == code, outcome.output
    return outcome


def test_json_is_what_the_library_computes() -> None:
    """The same shares and price lists; more slack each makes a query cheaper, and leaves slack for fewer."""
    said = json.loads(run(*ACCOUNT, *QUERY, "--planned", "5", "--planned", "500", "--json").output)
    rule = ResidueFilter("2", "1e-5")
    assert filter_from_json(said["filter"]) == rule
    trades = slack_trade(PoissonSampled("0.05", Gaussian(2)), rule, relation="add_remove", queries=(5, 500))
    assert [one["price"] for one in said["trades"]] == [loss_to_json(one.price) for one in trades if one.price]
    few, many = said["trades"]
    assert float(few["price"]["charges"][-1]) < float(many["price"]["charges"][-1])
    assert few["fit"] == 5  # the slack ends before the budget does
    assert many["fit"] > 5


def test_the_table_and_the_figure(tmp_path: Path) -> None:
    """One row per plan; a plan too thin to prove a price says so; the figure is written."""
    figure = tmp_path / "trade.svg"
    plans = ["--planned", "5", "--planned", "50", "--planned", "1000000000"]
    shown = run(*ACCOUNT, *QUERY, *plans, "--figure", str(figure)).output
    assert "too little slack" in " ".join(shown.split())
    assert "where much is left" in figure.read_text(encoding="utf-8")


def test_an_account_that_follows_a_plan(tmp_path: Path) -> None:
    """Charges are steps of the plan."""
    plan = tmp_path / "plan.json"
    steps = [{"mechanism": "laplace", "scale": "20", "l1_sensitivity": "1", "count": 65}]
    plan.write_text(json.dumps({"relation": "add_remove", "steps": steps}), encoding="utf-8")
    said = json.loads(
        run("--plan", str(plan), "--delta", "1e-6", "--gaussian", "20", "--planned", "3", "--json").output
    )
    assert said["filter"]["kind"] == "residue_plan"
    assert set(said["trades"][0]["price"]["components"]) == {"1"}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([*ACCOUNT], "say which query"),
        ([*ACCOUNT, *QUERY, "--pure", "1"], "say which query"),
        ([*ACCOUNT, "--sgd", "0.05"], "not of the form"),
        ([*ACCOUNT, "--slack", "0", *QUERY], "no slack to trade"),
        ([*QUERY], "needs more"),
    ],
)
def test_what_cannot_be_traded_is_said_in_one_sentence(words: list[str], why: str) -> None:
    """No traceback, exit code 1."""
    assert why in run(*words, code=1).output
