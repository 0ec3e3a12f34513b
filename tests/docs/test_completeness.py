"""What exists is documented, and what the documents name exists."""

import importlib
import inspect
import re
import tokenize
from pathlib import Path

import pytest
import typer.main

import dosimeter
import dosimeter.errors
from dosimeter.adaptive.filters import FILTER_KINDS
from dosimeter.adaptive.odometers import ODOMETER_KINDS
from dosimeter.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
DOCS = "\n".join(page.read_text() for page in ROOT.glob("docs/**/*.md"))
API = (ROOT / "docs/reference/api.md").read_text()


def test_every_command_and_option_is_explained() -> None:
    """Each command stands on the command line's page and has help; so has each of its options."""
    page = (ROOT / "docs/reference/cli.md").read_text()
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert set(commands) >= {"open", "ask", "quote", "remaining", "statement", "audit", "plot", "demo"}
    groups = {name: command.commands for name, command in commands.items() if hasattr(command, "commands")}
    for name, command in commands.items():
        assert f"`dosimeter {name}" in page, name
        assert command.help, name
    inside = {f"{group} {name}": command for group, members in groups.items() for name, command in members.items()}
    for name, command in {**{n: c for n, c in commands.items() if n not in groups}, **inside}.items():
        assert f"`dosimeter {name}" in page, name
        assert command.help, name
        options = {parameter.name: parameter for parameter in command.params}
        assert "as_json" in options, name
        for option in command.params:
            assert getattr(option, "help", None) or option.name == "help", f"{name} {option.name}"


def test_every_public_name_is_documented() -> None:
    """The few public names of the package all stand on the library's page."""
    for name in dosimeter.__all__:
        if name in {"__version__"} or hasattr(dosimeter.errors, name):
            continue
        assert name in API, name
        assert inspect.getdoc(getattr(dosimeter, name)), name


def test_every_error_has_a_docstring() -> None:
    """The error page is generated from docstrings, so each error has one."""
    errors = [e for _, e in inspect.getmembers(dosimeter.errors, inspect.isclass) if issubclass(e, Exception)]
    assert len(errors) >= 15
    assert all(error.__doc__ for error in errors)


@pytest.mark.parametrize("kind", sorted({**FILTER_KINDS, **ODOMETER_KINDS}))
def test_every_filter_and_odometer_is_documented(kind: str) -> None:
    """Each kind of filter and odometer is named in the documentation."""
    assert re.search(rf"\b{kind}\b", DOCS)


def test_the_documented_tests_and_functions_exist() -> None:
    """Each row of the claims pages names a test file that exists."""
    missing = []
    for page in ROOT.glob("docs/claims/*.md"):
        for path in re.findall(r"`(tests/[\w/]+\.py)", page.read_text()):
            if not (ROOT / path).exists():
                missing.append(f"{page.name}: {path}")
    assert not missing


@pytest.mark.parametrize(
    "package", ["dosimeter.notions.convert", "dosimeter.composition", "dosimeter.accounting.calibration"]
)
def test_every_theorem_says_guarantee_and_reference(package: str) -> None:
    """Each public function of the conversions, compositions and calibrations says what is guaranteed and where from."""
    room = importlib.import_module(package)
    own = [name for name, value in vars(room).items() if getattr(value, "__module__", "") == package]
    names = getattr(room, "__all__", own)
    functions = {name: f for name in names if inspect.isfunction(f := getattr(room, name)) and name[0] != "_"}
    assert len(functions) >= 5
    for name, function in functions.items():
        words = inspect.getdoc(function) or ""
        assert "Guarantee" in words or "Estimate" in words, f"{package}.{name} states no guarantee"
        assert "Reference" in words, f"{package}.{name} names no source"


def test_no_check_relies_on_assert() -> None:
    """Checks survive `python -O`: the library itself contains no assert statement."""
    for path in (ROOT / "src").rglob("*.py"):
        with path.open("rb") as file:
            words = [token for token in tokenize.tokenize(file.readline) if token.type == tokenize.NAME]
        found = [word.start[0] for word in words if word.string == "assert"]
        assert not found, f"{path.relative_to(ROOT)} line {found}"
