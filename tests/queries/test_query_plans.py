"""Plans: the price asked is the price charged, in every account that can hold it, from public facts only."""

import decimal
from decimal import Decimal
from fractions import Fraction

import pytest

from dosimeter.accounting import loss_for
from dosimeter.adaptive.filters import (
    ApproxFilter,
    BasicFilter,
    GDPFilter,
    PureFilter,
    RDPFilter,
    ZCDPFilter,
)
from dosimeter.errors import InputError, QueryError
from dosimeter.events import Composed, event_from_json
from dosimeter.exact import add_up
from dosimeter.mechanisms.accuracy import half_width
from dosimeter.neighbours import PrivacyUnit
from dosimeter.queries import Price, Schema, count, count_distinct_users, histogram, mean_of, plan, sum_of

SCHEMA = Schema.of(
    {"age": "integer", "spend": "real", "sex": "text", "user": "integer", "day": "date", "smoker": "boolean"}
)
USER = PrivacyUnit("user", 3)
FILTERS = {
    "pure": PureFilter(epsilon="1"),
    "basic": BasicFilter(epsilon="1", delta="1e-6"),
    "approx": ApproxFilter(epsilon="1", delta="1e-6"),
    "zcdp": ZCDPFilter(rho="1"),
    "rdp": RDPFilter(order="8", epsilon="1"),
    "gdp": GDPFilter(mu="1"),
}
QUERIES = {
    "count": count().where("age >= 18"),
    "sum": sum_of("spend", lower=-10, upper="50.5"),
    "mean": mean_of("age", lower=17, upper=90),
    "grouped": mean_of("age", lower=17, upper=90).by("sex", keys=["F", "M"]),
    "histogram": histogram("age", edges=[0, 18, 65]),
    "users": count_distinct_users().by("smoker", keys=[True, False, None]),
}


def planned(query, *, unit=USER, relation="add_remove", **kwargs):
    kwargs.setdefault("filter", None)
    if not {"price", "within"} & set(kwargs):
        kwargs["price"] = Price(epsilon="0.1")
    return plan(query, schema=SCHEMA, unit=unit, relation=relation, **kwargs)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one", "zero_out"])
@pytest.mark.parametrize("name", QUERIES)
def test_what_is_charged_is_what_was_offered(name, relation):
    """In the price's own notion the loss is the price: never more, and less only by rounding."""
    for price, account, read in [
        (Price(epsilon="0.1"), "pure", lambda loss: loss.epsilon),
        (Price(rho="0.013"), "zcdp", lambda loss: loss.rho),
        (Price(mu="0.7"), "gdp", lambda loss: loss.mu),
        (Price(epsilon="0.1", delta="1e-8"), "basic", lambda loss: loss.epsilon),
    ]:
        rule = FILTERS[account]
        made = planned(QUERIES[name], relation=relation, filter=rule, price=price)
        charged = read(loss_for(made.event, rule, delta=made.delta))
        offered = price.mu or price.rho or price.epsilon
        assert offered * (1 - Decimal("1e-20")) <= charged <= offered


@pytest.mark.parametrize("name", QUERIES)
def test_a_plan_does_not_depend_on_the_callers_decimal_context(name):
    """A plan is recognised by its digest: a precision set elsewhere in the program does not make another of it."""
    near = sum_of("spend", lower=0, upper="9999.5")  # a rounding to three digits would give it another lattice
    asked = {"price": Price(epsilon="0.1")}, {"within": "1234", "filter": FILTERS["zcdp"]}
    for query, terms in ((QUERIES[name], asked[0]), (near, asked[0]), (near, asked[1])):
        digest = planned(query, **terms).digest
        with decimal.localcontext(prec=3, rounding=decimal.ROUND_UP):
            assert planned(query, **terms).digest == digest


def test_ten_times_a_tenth_fits_a_budget_of_one():
    """No rounding between price and loss costs an analyst the last query."""
    for price, rule in ((Price(epsilon="0.1"), PureFilter(epsilon="1")), (Price(rho="0.1"), ZCDPFilter(rho="1"))):
        for query in QUERIES.values():
            state = rule.start()
            for _ in range(10):
                outcome = rule.admit(state, loss_for(planned(query, filter=rule, price=price).event, rule))
                assert hasattr(outcome, "state"), (query, price)
                state = outcome.state
            last = rule.admit(state, loss_for(planned(query, filter=rule, price=price).event, rule))
            assert not hasattr(last, "state")


def test_a_mean_costs_both_of_its_parts():
    """Half the price buys the count, half the sum; at 0.5 each the mean costs 1."""
    made = planned(mean_of("age", lower=17, upper=90), filter=FILTERS["pure"], price=Price(epsilon="1"))
    assert isinstance(made.event, Composed)
    parts = [loss_for(part.event, FILTERS["pure"]).epsilon for part in made.parts]
    assert parts == [Decimal("0.5"), Decimal("0.5")]
    assert loss_for(made.event, FILTERS["pure"]).epsilon == add_up(*parts) == 1


NOT_HELD = [
    ("pure", Price(rho="0.1"), r"ask with Price\(epsilon"),
    ("pure", Price(mu="0.1"), r"ask with Price\(epsilon"),
    ("pure", Price(epsilon="0.1", delta="1e-6"), r"ask with Price\(epsilon"),
    ("basic", Price(rho="0.1"), r"Price\(epsilon=..., delta=...\)"),
    ("gdp", Price(rho="0.1"), r"ask with Price\(mu"),
]


@pytest.mark.parametrize(("account", "price", "way_out"), NOT_HELD)
def test_a_price_the_account_cannot_hold_is_refused_with_the_way_out(account, price, way_out):
    """Before anything is charged, with the reason and a form that would do."""
    with pytest.raises(QueryError, match=f"does not fit a {account} account.*{way_out}"):
        planned(count(), filter=FILTERS[account], price=price)


@pytest.mark.parametrize("account", FILTERS)
@pytest.mark.parametrize("name", ["count", "sum", "histogram", "users"])
def test_a_wanted_accuracy_is_met_by_the_cheapest_noise(account, name):
    """The error bar is at most what was asked for, and no other noise that meets it costs this account less."""
    rule = FILTERS[account]
    made = planned(QUERIES[name], filter=rule, within=1000, confidence="0.9")
    part = made.parts[0]
    assert made.error <= 1000
    assert half_width(part.noise, "0.9", part.cells) * part.step == made.error
    expected = {"pure": "discrete_laplace", "basic": "discrete_laplace", "gdp": "rounded_gaussian"}
    assert part.noise.kind == expected.get(account, "discrete_gaussian")


def test_at_high_accuracy_laplace_is_cheaper_even_in_zcdp():
    """The choice is made by price, not by habit."""
    wide = sum_of("age", lower=0, upper=50)
    made = planned(wide, unit=PrivacyUnit(), filter=FILTERS["zcdp"], within=1, confidence="0.99")
    assert made.parts[0].noise.kind == "discrete_laplace"


@pytest.mark.parametrize(
    ("query", "arguments", "why"),
    [
        (count(), {"within": "0.5"}, "within=1 or more"),
        (count(), {"within": 0}, "within"),
        (count(), {"within": -5}, "within"),
        (count(), {"within": "nan"}, "within"),
        (count(), {"within": 5, "confidence": 1}, "confidence"),
        (count(), {"within": 5, "confidence": 0}, "confidence"),
        (count(), {"within": 5, "price": Price(mu=1)}, "say what"),
        (mean_of("age", lower=0, upper=9), {"within": 5}, "depends on how many rows"),
        (count(), {"price": None}, "say what"),
        (count(), {"step": 1}, "counts are whole"),
        (sum_of("age", lower=0, upper=9), {"step": 0}, "step"),
        (count(), {"salt": "a\nb"}, "salt"),
        ("count", {}, "is not a query"),
    ],
)
def test_a_plan_that_cannot_be_made_says_why(query, arguments, why):
    """Nothing is charged, nothing is read."""
    with pytest.raises(InputError, match=why):
        planned(query, filter=FILTERS["zcdp"], **arguments)


MISFITS = [
    (count().where("agee > 1"), "did you mean 'age'"),
    (sum_of("sex", lower=0, upper=1), "needs a number"),
    (mean_of("smoker", lower=0, upper=1), "needs a number"),
    (histogram("day", edges=[0, 1]), "needs a number"),
    (histogram("nope", edges=[0, 1]), "does not exist"),
    (count().by("spend", keys=[1]), "histogram with edges"),
    (count().by("age", keys=["18"]), "integer"),
    (count().by("age", keys=[True]), "integer"),
    (count().by("age", keys=[2**63]), "integer"),
    (count().by("sex", keys=[1]), "text"),
    (count().by("sex", keys=[""]), "key is None"),
    (count().by("smoker", keys=[1]), "boolean"),
    (count().by("day", keys=["yesterday"]), "date"),
    (count().by("day", keys=["2013-01-01", "20130101"]), "twice"),
]


@pytest.mark.parametrize(("query", "why"), MISFITS)
def test_a_question_that_does_not_fit_the_schema_is_refused(query, why):
    """Unknown columns, wrong types and keys that no row could have are found from the schema alone."""
    with pytest.raises(QueryError, match=why):
        planned(query)


def test_a_user_column_must_exist_and_tell_users_apart():
    """Real numbers do not; and without a user column there are no users to count."""
    with pytest.raises(QueryError, match="does not exist"):
        planned(count(), unit=PrivacyUnit("person", 2))
    with pytest.raises(QueryError, match="is real"):
        planned(count(), unit=PrivacyUnit("spend", 2))
    with pytest.raises(QueryError, match="privacy unit is a user"):
        planned(count_distinct_users(), unit=PrivacyUnit())


def test_a_plan_has_one_digest_and_every_public_fact_is_in_it():
    """Equal plans are recognised; anything that changes what is released or charged changes the digest."""
    base = planned(count().where("age >= 18"))
    assert base.digest == planned(count().where("18 <= age")).digest
    others = [
        planned(count().where("age >= 19")),
        planned(count().where("age >= 18"), price=Price(epsilon="0.2")),
        planned(count().where("age >= 18"), relation="replace_one"),
        planned(count().where("age >= 18"), unit=PrivacyUnit("user", 4)),
        planned(count().where("age >= 18"), unit=PrivacyUnit()),
        planned(count().where("age >= 18"), salt="another"),
        planned(count().where("age >= 18"), confidence="0.9"),
    ]
    digests = {base.digest, *(other.digest for other in others)}
    assert len(digests) == 1 + len(others)
    sums = [planned(sum_of("age", lower=0, upper=9), step=step).digest for step in (None, 1, "0.5")]
    assert sums[0] == sums[1] != sums[2]


@pytest.mark.parametrize("name", QUERIES)
def test_the_public_description_is_json_and_names_the_event(name):
    """What the ledger stores reads back, and prices the same."""
    import json

    made = planned(QUERIES[name])
    data = json.loads(json.dumps(made.to_json()))
    events = [event_from_json(part["event"]) for part in data["parts"]]
    assert events == [part.event for part in made.parts]
    assert data["query"] == QUERIES[name].to_json()
    text = made.describe()
    assert "protects: all rows of one user" in text
    assert "keeps of each user: at most" in text


def test_a_huge_bound_gets_a_coarser_lattice_instead_of_a_refusal():
    """Noise has at most 10^12 steps; a derived step is coarsened by public rule until it fits."""
    made = planned(sum_of("age", lower=0, upper=10**17), unit=PrivacyUnit(), price=Price(epsilon="0.01"))
    part = made.parts[0]
    assert part.step == 10**7
    assert Fraction(part.noise.scale) <= 10**12
    with pytest.raises(QueryError, match="coarser step"):
        planned(sum_of("age", lower=0, upper=10**17), unit=PrivacyUnit(), step=1)


@pytest.mark.parametrize("query", [count(), sum_of("spend", lower=0, upper=50), mean_of("age", lower=0, upper=9)])
@pytest.mark.parametrize("price", [Price(epsilon="1e-300"), Price(rho="1e-40"), Price(mu="1e-20")])
def test_a_price_too_small_for_any_noise_is_refused_as_such(query, price):
    """However coarse the step: the message speaks of the price."""
    with pytest.raises(QueryError, match="offer a higher price"):
        planned(query, price=price)


@pytest.mark.parametrize("within", ["1e9", "1e12"])
def test_a_very_wide_error_bar_is_still_met(within):
    """Noise has a largest width; less noise than allowed is no fault."""
    for query in (count(), sum_of("spend", lower=0, upper=50)):
        assert planned(query, filter=FILTERS["zcdp"], within=within).error <= Decimal(within)


def test_confidences_close_to_one_are_kept_exactly():
    """Thirty nines are not one, also when two parts share the remaining failure."""
    sure = "0." + "9" * 30
    made = planned(QUERIES["mean"], confidence=sure)
    assert made.answer([[10**6], [0]]).error > planned(QUERIES["mean"]).answer([[10**6], [0]]).error


def test_a_fine_accuracy_gets_a_finer_lattice():
    """An error bar of a ten-thousandth on a sum of reals is many steps wide."""
    made = planned(sum_of("spend", lower=0, upper=50), filter=FILTERS["zcdp"], within="0.0001")
    assert made.parts[0].step <= Decimal("1e-6")
    assert made.error <= Decimal("0.0001")


def test_error_bars_cover_all_cells_together():
    """More cells need a wider bar at the same noise; a mean states its error only with its answer."""
    one, many = (planned(count().by("age", keys=range(n)), unit=PrivacyUnit()) for n in (1, 100))
    assert one.parts[0].noise == many.parts[0].noise
    assert one.error < many.error
    assert planned(QUERIES["mean"]).error is None


def test_planning_imports_nothing_heavy():
    """Building a plan loads no engine and no numerical library."""
    import subprocess
    import sys

    code = (
        "import sys, dosimeter.queries, dosimeter.sources.port, dosimeter.sources.duckdb\n"
        "heavy = {'duckdb', 'sqlglot', 'numpy', 'scipy', 'opendp', 'sqlalchemy', 'flint'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
