"""The demo is a real adaptive analysis: twelve answers or more, a refusal, a cheaper question that fits, a page."""

import json
from pathlib import Path

from typer.testing import CliRunner

from dosimeter.cli.app import app


def test_the_demo_tells_its_story(tmp_path: Path) -> None:
    """It ends with a refusal and an answer, the audit holds, and its page and figure stand beside the ledger."""
    result = CliRunner().invoke(app, ["demo", "-o", str(tmp_path / "out"), "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    asked = [step for step in told["steps"] if "question" in step]
    answers = [step for step in asked if "answer" in step]
    assert len(answers) >= 12
    assert "refused" in asked[-2]
    assert "answer" in asked[-1]
    assert told["audit"]["ok"] is True
    folder = Path(told["folder"])
    assert {"ledger.db", "statement.html", "odometer.svg"} <= {path.name for path in folder.iterdir()}
    left = [float(step["remaining"]["rho"]) for step in answers]
    assert left == sorted(left, reverse=True)
    assert left[-1] > 0


def test_every_run_has_its_own_folder(tmp_path: Path) -> None:
    """A second run neither deletes nor reuses the first one's ledger."""
    places = []
    for _ in range(2):
        result = CliRunner().invoke(app, ["demo", "-o", str(tmp_path), "--json"])
        places.append(json.loads(result.stdout)["folder"])
    assert places[0] != places[1]
    assert all((Path(place) / "ledger.db").exists() for place in places)
