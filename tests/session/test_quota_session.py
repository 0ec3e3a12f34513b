"""Sessions and the command line with members: who asks pays from a quota too, and who refused is told apart."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dosimeter as dm
from dosimeter.adaptive.filters import PureFilter
from dosimeter.cli.app import app
from dosimeter.errors import AccountConflict, InputError, NotAuthorised, QuotaExceeded
from dosimeter.ledger.block_quotas import BlockMembers
from dosimeter.ledger.split import Split, TimeWindows

RUNNER = CliRunner()
MONTHS = Split(TimeWindows("day", "month", datetime.date(2026, 1, 1)))


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rows of three months."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DOSIMETER_LEDGER", raising=False)
    rows = [f"2026-{1 + i % 3:02d}-{1 + i % 28:02d},{i % 50}" for i in range(300)]
    (tmp_path / "visits.csv").write_text("day,spend\n" + "\n".join(rows) + "\n")
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    """Run a command, check its exit code, and return what it printed on both streams."""
    result = RUNNER.invoke(app, list(words))
    assert result.exit_code == code, result.output
    return result.output


def opened(**changes: Any) -> dm.Session:
    """An account with members; Bob may use 0.3."""
    session = dm.open("visits.csv", epsilon="1", members=True, opened_by="Ada", **changes)
    assert session.members is not None
    session.members.grant("Bob", "analyst", by="Ada", quota=PureFilter("0.3"))
    session.members.grant("Cleo", "analyst", by="Ada")
    return session


def test_an_analyst_asks_within_a_quota() -> None:
    """The account and the quota pay once; the same question from somebody else is replayed, free for both."""
    opened()
    bob = dm.open("visits.csv", analyst="Bob")
    answer = bob.ask(dm.count(), epsilon="0.2")
    assert bob.quota().remaining == {"epsilon": "0.1"}
    assert bob.remaining()["epsilon"] == "0.8"
    cleo = dm.open("visits.csv", analyst="Cleo")
    again = cleo.ask(dm.count(), epsilon="0.2")
    assert again.replayed
    assert again.value == answer.value
    assert cleo.quota().spent == {"epsilon": "0"}


def test_a_quota_that_refuses_is_another_error_than_a_filter_that_refuses() -> None:
    """Both are QueryRefused, so a program that knows no quotas still works; nothing was charged by either."""
    opened()
    bob, cleo = dm.open("visits.csv", analyst="Bob"), dm.open("visits.csv", analyst="Cleo")
    with pytest.raises(QuotaExceeded, match="quota of analyst Bob") as over:
        bob.ask(dm.count(), epsilon="0.4")
    assert isinstance(over.value, dm.QueryRefused)
    assert (over.value.quota.whose, over.value.quota.name) == ("analyst", "Bob")
    assert over.value.refusal.remaining == {"epsilon": "0.3"}
    cleo.ask(dm.count(), epsilon="0.9")
    with pytest.raises(dm.QueryRefused) as refused:
        bob.ask(dm.count().where("spend >= 7"), epsilon="0.2")
    assert not isinstance(refused.value, QuotaExceeded)
    assert bob.quota().spent == {"epsilon": "0"}
    assert bob.remaining()["epsilon"].startswith("0.1000")


def test_a_quote_tells_both_apart_too() -> None:
    """Fits; fits the account and not the quota; fits neither."""
    opened()
    bob = dm.open("visits.csv", analyst="Bob")
    fits, over, refused = (bob.quote(dm.count(), epsilon=price) for price in ("0.2", "0.4", "1.1"))
    assert fits.fits
    assert fits.quota is None
    assert not over.fits
    assert over.quota.name == "Bob"
    assert not refused.fits
    assert refused.quota is None


def test_nobody_asks_without_a_name_or_a_role() -> None:
    """And an account without members takes no name."""
    session = opened()
    with pytest.raises(NotAuthorised, match="say who asks"):
        session.ask(dm.count(), epsilon="0.1")
    with pytest.raises(NotAuthorised):
        dm.open("visits.csv", analyst="Mallory").ask(dm.count(), epsilon="0.1")
    with pytest.raises(NotAuthorised):
        session.quota()
    Path("other.csv").write_text("x\n1\n2\n")
    with pytest.raises(InputError, match="without members"):
        dm.open("other.csv", epsilon="1", analyst="Bob")
    plain = dm.open("other.csv", epsilon="1")
    with pytest.raises(InputError, match="nobody has a quota"):
        plain.quota()
    with pytest.raises(AccountConflict, match="without members"):
        dm.open("other.csv", epsilon="1", members=True)


def test_quotas_over_blocks_in_a_session() -> None:
    """A quota is one of each block: used up in one month, whole in the next."""
    opened(split=MONTHS, columns={"day": "date", "spend": "integer"})
    bob = dm.open("visits.csv", analyst="Bob")
    assert isinstance(bob.members, BlockMembers)
    bob.ask(dm.count(), blocks=["2026-01"], epsilon="0.25")
    with pytest.raises(QuotaExceeded, match="quota of analyst Bob"):
        bob.ask(dm.count(), blocks=["2026-01", "2026-02"], epsilon="0.2")
    assert not bob.quote(dm.count(), blocks=["2026-01"], epsilon="0.2").fits
    assert bob.quote(dm.count(), blocks=["2026-02"], epsilon="0.2").fits
    bob.ask(dm.count(), blocks=["2026-02"], epsilon="0.2")
    left = [bob.block_quota(key).remaining["epsilon"] for key in ("2026-01", "2026-02", "2026-03")]  # type: ignore[attr-defined]
    assert left == ["0.05", "0.1", "0.3"]
    with pytest.raises(InputError, match="block_quota"):
        bob.quota()
    with pytest.raises(dm.QueryRefused) as refused:
        dm.open("visits.csv", analyst="Cleo").ask(dm.count(), blocks=["2026-01"], epsilon="0.8")
    assert not isinstance(refused.value, QuotaExceeded)


# -- on the command line ---------------------------------------------------------------------------------------------


def test_the_whole_story_on_the_command_line() -> None:
    """Open with members, share out, ask as somebody, be refused by a quota (5) and by the filter (3), look, renew."""
    run("open", "visits.csv", "--epsilon", "1", "--members", "--by", "Ada")
    run("quota", "team", "red", "--epsilon", "0.6", "--by", "Ada")
    run("quota", "grant", "Bob", "--epsilon", "0.3", "--team", "red", "--by", "Ada")
    run("quota", "grant", "Cleo", "--by", "Ada")
    run("quota", "grant", "Eve", "--role", "auditor", "--by", "Ada")
    assert "has members" in run("ask", "visits.csv", "count", "--epsilon", "0.1", code=1)
    run("ask", "visits.csv", "count", "--epsilon", "0.2", "--as", "Bob")
    over = json.loads(run("ask", "visits.csv", "count", "--epsilon", "0.25", "--as", "Bob", "--json", code=5))
    assert (over["error"]["kind"], over["error"]["whose"], over["error"]["name"]) == ("over_quota", "analyst", "Bob")
    quoted = run("quote", "visits.csv", "count", "--epsilon", "0.25", "--as", "Bob")
    assert "not into a quota" in quoted
    refused = json.loads(run("ask", "visits.csv", "count", "--epsilon", "0.9", "--as", "Cleo", "--json", code=3))
    assert refused["error"]["kind"] == "refused"
    told = json.loads(run("quota", "show", "--json"))
    assert [(one["name"], one["role"], one["team"]) for one in told["members"]] == [
        ("Bob", "analyst", "red"),
        ("Cleo", "analyst", None),
        ("Eve", "auditor", None),
    ]
    assert told["members"][0]["quota"]["spent"] == {"epsilon": "0.2"}
    assert told["teams"][0]["quota"]["remaining"] == {"epsilon": "0.4"}
    shown = run("quota", "show")
    assert "Bob" in shown
    assert "epsilon 0.1" in shown
    run("quota", "renew", "Bob", "--reason", "second study", "--by", "Ada")
    run("quota", "renew", "red", "--team", "--reason", "second study", "--by", "Ada")
    run("ask", "visits.csv", "count", "--epsilon", "0.25", "--as", "Bob")
    assert json.loads(run("remaining", "--json"))["spent"] == {"epsilon": "0.45"}  # the filter forgot nothing
    run("quota", "withdraw", "Bob", "--reason", "left", "--by", "Ada")
    assert "has no role" in run("ask", "visits.csv", "count", "--epsilon", "0.01", "--as", "Bob", code=1)
    assert "hold" in run("audit")


def test_what_is_not_allowed_on_the_command_line() -> None:
    """One sentence each: no steward, no members, half an unlocking, a role that is none."""
    run("open", "visits.csv", "--epsilon", "1", "--members", "--by", "Ada")
    run("quota", "grant", "Bob", "--by", "Ada", "--unlock-from", "2026-01-01", "--unlock-days", "10")
    assert "for its stewards" in run("quota", "grant", "Cleo", "--by", "Bob", code=1)
    assert "belong together" in run("quota", "grant", "Cleo", "--by", "Ada", "--unlock-days", "10", code=1)
    assert "is unknown" in run("quota", "grant", "Cleo", "--by", "Ada", "--role", "owner", code=1)
    assert "no role" in run("quota", "renew", "Zoe", "--reason", "x", "--by", "Ada", code=1)
    Path("other.csv").write_text("x\n1\n2\n")
    run("open", "other.csv", "--epsilon", "1", "--ledger", "plain.db")
    assert "not opened with members" in run("quota", "show", "--ledger", "plain.db", code=1)
