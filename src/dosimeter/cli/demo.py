"""The demo: does free medical care change how much care people use?

The RAND Health Insurance Experiment assigned families at random to plans that paid all or part of the bill. The
analysis below is a conversation: which plan to look at, whom to compare, how much to spend and when to stop all depend
on noisy answers seen before. Nothing about it was fixed in advance, and the budget holds all the same.
"""

from __future__ import annotations

from decimal import Decimal
from importlib import resources
from itertools import count as numbers
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dosimeter.cli.output import emit
from dosimeter.errors import InputError, QueryRefused

if TYPE_CHECKING:
    from dosimeter.queries import Query
    from dosimeter.session import Answer, Session

EPSILON, DELTA = "2", "1e-6"
PLANS = [0, 25, 50, 95, 100]
SITES = [1, 2, 3, 4, 5, 6]
VISITS: dict[str, Any] = {"lower": "0", "upper": "20"}


def run(folder: Path, *, as_json: bool = False) -> None:
    """Run the analysis into a new folder below `folder`, and print every step."""
    import dosimeter

    place = _new_folder(folder)
    data = resources.files("dosimeter").joinpath("data", "rand_hie.csv.gz")
    with resources.as_file(data) as path:
        session = dosimeter.open(
            path,
            epsilon=EPSILON,
            delta=DELTA,
            user="zper",
            max_contributions=5,
            name="rand_hie",
            ledger=place / "ledger.db",
            opened_by="the demo's steward",
        )
        talk = Conversation(session, quiet=as_json)
        talk.say(
            f"A steward opens an account on the RAND Health Insurance Experiment: epsilon {EPSILON}, delta {DELTA}\n"
            "for everything anybody will ask, protecting each person with up to five yearly rows."
        )
        analyse(talk)
    report = session.audit()
    _publish(session, place)
    if as_json:
        emit({"steps": talk.steps, "audit": report.to_json(), "folder": str(place)})
        return
    talk.say(f"Audit: {report.message()}")
    talk.say(f"The ledger is {place / 'ledger.db'}; the statement with its figure is {place / 'statement.html'}.")


def analyse(talk: Conversation) -> None:
    """Ask, look, decide, ask again; ends with a refusal and a cheaper question that fits."""
    from dosimeter.queries import count_distinct_users, histogram, mean_of

    people = count_distinct_users()
    talk.ask("How many people took part?", people, rho="0.001")
    by_plan = talk.ask(
        "How many in each plan, by the share of the bill they pay?",
        people.by("coins", keys=PLANS).bounded(max_groups=1),
        rho="0.002",
    )
    largest = max(PLANS, key=lambda plan: by_plan.value[plan])
    clear = [plan for plan in PLANS if plan != largest and by_plan.value[plan] > 12 * by_plan.error]
    other = max(clear, default=max(plan for plan in PLANS if plan != largest))
    talk.say(f"The largest plan pays all but {largest} %; the dearest one with enough people leaves them {other} %.")

    talk.say("Compare doctor visits, and spend more only while the two error bars overlap.")
    for attempt, rho in enumerate(("0.002", "0.004", "0.008"), start=1):
        if attempt > 1:
            talk.say("The bars overlap: ask again at twice the price.")
        means = [
            talk.ask(
                f"Visits a year where people pay {plan} %?",
                mean_of("mdvis", **VISITS).where(f"coins = {plan}"),
                rho=rho,
            )
            for plan in (largest, other)
        ]
        if abs(means[0].value - means[1].value) > means[0].error + means[1].error:
            talk.say(f"The bars do not overlap (attempt {attempt}): sure enough, stop here.")
            break
    else:
        talk.say("The bars still overlap, and a sharper answer would cost too much of the budget: leave it there.")

    ages = [
        talk.ask(
            f"Adults and children, where people pay {plan} %?",
            mean_of("mdvis", **VISITS).where(f"coins = {plan}").by("child", keys=[0, 1]),
            rho="0.004",
        )
        for plan in (largest, other)
    ]
    gaps = {child: abs(ages[0].value[child] - ages[1].value[child]) for child in (0, 1)}
    group = max(gaps, key=lambda child: gaps[child])
    talk.say(f"The gap is wider among {'children' if group else 'adults'}: drill down there.")
    talk.ask(
        "By sex, in the largest plan?",
        mean_of("mdvis", **VISITS).where(f"coins = {largest} AND child = {group}").by("female", keys=[0, 1]),
        rho="0.004",
    )
    visits = talk.ask(
        "How are yearly visits spread in this group?",
        histogram("mdvis", edges=[0, 1, 3, 6, 11, 21, 101]).where(f"coins = {largest} AND child = {group}"),
        rho="0.003",
    )
    heavy = visits.value["[11, 21)"] + visits.value["[21, 101]"]
    talk.say(f"About {max(0, heavy)} person-years have eleven visits or more.")

    admitted = talk.ask(
        "How many people were in hospital at least once? Within 90 people will do.",
        people.where("totadm >= 1"),
        within=90,
    )
    if admitted.value < 10 * admitted.error:
        talk.say("The signal is weak for that error bar: ask for a sharper one.")
        talk.ask("The same, within 45.", people.where("totadm >= 1"), within=45)

    sites = talk.ask("Where do they live?", people.by("site", keys=SITES).bounded(max_groups=1), rho="0.002")
    site = max(SITES, key=lambda s: sites.value[s])
    talk.ask(
        f"Outpatient spending in site {site}, the largest?",
        mean_of("outpdol", lower="0", upper="500").where(f"site = {site}"),
        rho="0.003",
    )
    heavy_users = people.where(f"child = {group} AND mdvis >= 11").by("coins", keys=PLANS).bounded(max_groups=1)
    talk.ask("How many heavy users in each plan, as exactly as can be?", heavy_users, rho="0.08")
    left = Decimal(talk.session.remaining()["rho"])
    talk.ask("That was too much. The same, for half of what is left?", heavy_users, rho=left / 2)
    talk.say(
        "The filter promises the budget for all of this, whatever else is asked. The odometer says something else:\n"
        "how large the loss itself can be by now, at every moment; near the end it may read above the budget."
    )


class Conversation:
    """Asks, and shows each step as the analyst sees it."""

    def __init__(self, session: Session, *, quiet: bool) -> None:
        self.session = session
        self.steps: list[dict[str, Any]] = []
        self._quiet = quiet
        self._numbers = numbers(1)

    def say(self, words: str) -> None:
        """A remark between two questions."""
        self.steps.append({"remark": words})
        if not self._quiet:
            _print(f"\n{words}")

    def ask(self, why: str, query: Query, **price: Any) -> Any:
        """Ask and show question, mechanism, answer, what is left and the odometer. A refusal is shown, not raised."""
        from dosimeter.session.words import left_in_words, loss_in_words

        plan = self.session.plan(query, **price)
        number = next(self._numbers)
        if not self._quiet:
            _print(f"\n{number:2}. {why}")
            for part in plan.parts:
                parameter = Decimal(getattr(part.noise, part.noise.parameter)) * part.step
                kind = part.noise.kind.replace("_", " ")
                _print(f"    {part.cells} x {part.name}, {kind} noise of {part.noise.parameter} {parameter:.4g}")
        try:
            answer: Answer = self.session.ask(query, **price)
        except QueryRefused as refusal:
            self.steps.append({"number": number, "why": why, "question": str(query), "refused": str(refusal)})
            if not self._quiet:
                _print(f"    {refusal}")
            return None
        self.steps.append({"number": number, "why": why, **answer.to_json()})
        if not self._quiet:
            for line in str(answer).splitlines():
                _print(f"    {line}")
            _print(f"    left: {left_in_words(answer.remaining)}")
            _print(f"    {loss_in_words(answer.odometer)}")
        return answer


def _print(words: str) -> None:
    import typer

    typer.echo(words)


def _publish(session: Session, place: Path) -> None:
    from dosimeter.report import html, odometer_figure, svg

    statement = session.statement()
    place.joinpath("statement.html").write_text(html(statement), encoding="utf-8")
    place.joinpath("odometer.svg").write_text(svg(odometer_figure(statement)), encoding="utf-8")


def _new_folder(folder: Path) -> Path:
    """A folder of its own for every run: a ledger is never deleted, and an old one would replay its answers."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number in numbers(1):
            place = folder / f"run-{number:03}"
            try:
                place.mkdir()
            except FileExistsError:
                continue
            return place
    except OSError as error:
        raise InputError(f"cannot write into {folder}: {error.strerror}; give another folder with --output") from None
    raise InputError(f"no folder could be made in {folder}")
