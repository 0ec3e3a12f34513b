"""The package as a whole: cheap to import, typed, with the names it promises."""

import subprocess
import sys
from importlib import resources

import dosimeter

HEAVY = ("numpy", "scipy", "opendp", "duckdb", "sqlalchemy", "alembic", "sqlglot", "flint", "rich", "typer")


def test_importing_loads_nothing_heavy() -> None:
    """`import dosimeter` loads no dependency at all; each loads when it is used."""
    code = f"import sys, dosimeter; print([m for m in {HEAVY!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_public_name_loads() -> None:
    """Names that load when used do load."""
    for name in dosimeter.__all__:
        assert getattr(dosimeter, name) is not None
    assert set(dosimeter.__all__) <= set(dir(dosimeter))


def test_the_package_is_typed_and_ships_its_data() -> None:
    """`py.typed`, the demo's data and the statement's page travel in the package."""
    root = resources.files("dosimeter")
    for part in ("py.typed", "data/rand_hie.csv.gz", "data/README.md", "report/statement.html", "report/figure.css"):
        assert root.joinpath(part).is_file(), part
