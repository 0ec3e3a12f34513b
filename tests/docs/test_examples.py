"""Every Python example in the documentation and the README runs, page by page, in order."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = sorted(page for page in [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"] if FENCE.search(page.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader who copies the examples of a page in order gets no error."""
    monkeypatch.chdir(tmp_path)
    data = ROOT / "src" / "dosimeter" / "data" / "rand_hie.csv.gz"
    (tmp_path / "rand_hie.csv.gz").write_bytes(data.read_bytes())  # the README speaks of a file in this folder
    scope: dict[str, object] = {"__name__": "example"}
    for number, code in enumerate(FENCE.findall(page.read_text()), start=1):
        exec(compile(code, f"{page.name}, example {number}", "exec"), scope)


def test_there_are_examples_to_run() -> None:
    """The pages that teach hold examples; a broken pattern would find none and prove nothing."""
    names = {page.name for page in PAGES}
    assert {"tutorial.md", "README.md", "ask.md", "open-an-account.md"} <= names
