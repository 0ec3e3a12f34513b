"""The tables of the accounting benchmark are well formed, whoever is installed."""

import json
from pathlib import Path

import pytest
from benchmarks.accounting import main
from benchmarks.accounting.rounds import Field
from benchmarks.accounting.systems import DEFAULT, KNOWN, YARDSTICK
from benchmarks.accounting.tables import TABLES, growing, prices
from benchmarks.accounting.tasks import shaped


def test_a_run_writes_tables_and_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ours answers, a system that is not installed says so, and the data say what the tables say."""
    out = tmp_path / "data.json"
    main(
        ["--systems", "dosimeter,autodp RDP", "--workloads", "a1,c1", "--tables", "prices,allocation"]
        + ["--quick", "--json", str(out)]
    )
    shown = capsys.readouterr().out
    data = json.loads(out.read_text())
    cell = data["tables"]["prices"]["c1"]["dosimeter"]
    assert cell["wrong"] == ""
    assert 0 <= cell["error"] < 1e-6
    assert 0 <= cell["gap"] < 1e-6
    assert {"wall", "cpu"} == set(cell["cold"])
    assert "the limit" in shown
    assert "3.14101413" in shown
    if "missing" in data["systems"]["autodp RDP"]:
        assert "not installed" in shown
    assert data["machine"]["cores"] >= 1


def test_growing_accounts_are_read_after_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    """Epsilon rises with every mechanism, and time with every read."""
    with Field(["dosimeter"], (_python(),), limit=60) as field:
        cells = growing(field, steps=2, patience=60)
    epsilons = [float(value) for value in cells["dosimeter"]["epsilons"]]
    assert len(epsilons) == 2
    assert 0 < epsilons[0] < epsilons[1]
    times = [seen["wall"] for seen in cells["dosimeter"]["seen"]]
    assert times == sorted(times)
    assert "An account that grows" in capsys.readouterr().out


def test_a_measurement_that_takes_too_long_ends_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """The limit ends one answer; the system lives on."""
    with Field(["dosimeter"], (_python(),), limit=0.0) as field:
        first = prices(field, ["a1"], 1)["a1"]["dosimeter"]
        field.limit = 60.0
        second = prices(field, ["a1"], 1)["a1"]["dosimeter"]
    assert "failed" in first
    assert second["wrong"] == ""
    assert "over 0 s" in capsys.readouterr().out


@pytest.mark.parametrize("option", [["--systems", "nobody"], ["--tables", "x"], ["--workloads", "zz"]])
def test_unknown_names_are_refused_with_the_known_ones(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error is met with the list of names."""
    with pytest.raises(SystemExit):
        main(option)
    assert "there are:" in capsys.readouterr().err


def test_the_lists_fit_together() -> None:
    """Every default system is known, the yardstick is measured, and every shape is a plan."""
    assert YARDSTICK in DEFAULT
    assert set(DEFAULT) <= set(KNOWN)
    assert len(TABLES) == len(set(TABLES))
    for shape in ("steps", "mechanisms", "digits"):
        parts, delta = shaped(shape, 3)
        assert parts
        assert 0 < delta < 1
    with pytest.raises(ValueError, match="no shape"):
        shaped("colour", 3)


def _python() -> str:
    import sys

    return sys.executable
