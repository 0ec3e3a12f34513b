"""Every example in the documentation and the README runs, page by page, in order: Python, plan files, commands."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dosimeter.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(python|yaml|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = sorted(page for page in [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"] if FENCE.search(page.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader who copies the examples of a page in order gets no error."""
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "example"}
    for number, (kind, code) in enumerate(FENCE.findall(page.read_text()), start=1):
        if kind == "python":
            exec(compile(code, f"{page.name}, example {number}", "exec"), scope)
        elif kind == "yaml" and (named := re.match(r"# ([\w.-]+\.yaml)", code)):
            Path(named[1]).write_text(code)
        elif kind == "sh":
            commands = [line for line in code.splitlines() if line.startswith("dosimeter ")]
            for line in commands:
                result = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
                assert result.exit_code == 0, (line, result.output)


@pytest.mark.parametrize("script", sorted(ROOT.glob("examples/*.py")), ids=lambda path: path.name)
def test_each_example_runs(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every script in examples/ runs from any folder and says something."""
    monkeypatch.chdir(tmp_path)
    said = subprocess.run([sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stdout


def test_the_well_known_false_rule_is_shown_false() -> None:
    """The example's interaction exceeds the target that each of its paths meets."""
    said = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "attack_a_filter.py")], capture_output=True, text=True, check=True
    )
    assert "487" in said.stdout
    assert "34/135 > 1/5" in said.stdout


def test_there_are_examples_to_run() -> None:
    """The pages that teach hold examples; a broken pattern would find none and prove nothing."""
    names = {page.name for page in PAGES}
    assert {"tutorial.md", "README.md", "ask.md", "open-an-account.md"} <= names
