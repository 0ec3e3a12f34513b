"""An account in the shape of the public registries of deployments: what an organisation publishes about its use of DP.

Dwork, Kohli and Mulligan (2019) proposed that organisations publish their parameters; registries now collect them
(Nanayakkara et al. 2025, and the registry that OpenDP and its partners keep). A ledger knows the technical half of
such an entry, and knows it better than anybody's memory: notion, parameters, privacy unit, mechanisms, composition. The
other half is for people: it is left as texts that begin with ``TODO``, so that nothing is invented.

The keys are those of the registry's files (``deployment``, ``dp_flavor``, ``privacy_loss``, ``model``, ``accounting``,
``implementation``); the parameters are those of all epochs together, rounded up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from dosimeter.events import event_from_json, loss_to_json
from dosimeter.events.nesting import everything_in
from dosimeter.ledger import Statement
from dosimeter.notions.words import in_words

TODO: Final = "TODO: "
_FLAVOURS: Final = {
    "pure": "Pure DP",
    "approx": "Approximate DP",
    "probabilistic": "Approximate DP",
    "zcdp": "Zero-concentrated DP",
    "rdp": "Renyi DP",
    "gdp": "Gaussian DP",
}
_RELATIONS: Final = {
    "add_remove": "adding or removing",
    "replace_one": "replacing",
    "zero_out": "emptying (zeroing out)",
}


def registry_entry(statement: Statement) -> dict[str, Any]:
    """The registry's entry for an account, as JSON; what only people know is left as texts that begin with TODO."""
    account, promise = statement.account, statement.guarantee_of_all_epochs
    who, unit = _unit(statement)
    answered = [entry for entry in statement.entries if entry.status in {"reserved", "settled"}]
    parameters = {name: _number(value) for name, value in loss_to_json(promise).items() if name != "notion"}
    return {
        "status": "Draft",
        "deployment": {
            "product": {
                "name": account.name,
                "data_curators": [account.opened_by],
                "intended_use": TODO + "what the releases are for",
                "data_product_type": "Summary statistics",
                "description": TODO + "what is released",
                "publication_date": account.opened_at.partition("T")[0],
            },
            "dp_flavor": {
                "name": _FLAVOURS.get(promise.notion, promise.notion),
                "data_domain": TODO + "which data sets are possible",
                "unprotected_quantities": TODO + "anything released without noise; the ledger knows of nothing",
            },
            "privacy_loss": {
                "privacy_unit": who,
                "privacy_unit_description": unit,
                "privacy_parameters": parameters,
                "privacy_parameters_description": (
                    f"A cap on everything released, whatever is asked ({in_words(promise, 12)}; rounded up). "
                    f"Spent in the current epoch: {_words(statement.spent)}."
                ),
            },
            "model": {
                "model_name": "Central",
                "release_type": "Many releases",
                "release_type_description": (
                    f"{len(answered)} charged releases in {len(statement.epochs)} epoch(s); "
                    "the parameters cover all of them"
                ),
                "data_source_type": "Dynamic" if _changed(statement) else "Static",
                "access_type": "Interactive",
                "access_type_description": "Queries and their parameters may depend on every earlier answer.",
                "actors": TODO + "who sees the answers, who is trusted with the rows",
            },
            "accounting": {
                "composition": (
                    f"Fully adaptive composition by a privacy filter ({account.filter.kind}); each release is charged "
                    "durably before rows are read, and refused if the total would not certainly stay within the cap."
                ),
                "post_processing": TODO + "what is done with the answers before they are shown",
            },
            "implementation": {
                "mechanisms": _mechanisms(entry.event for entry in answered),
                "pre_processing_eda_hyperparameter_tuning": TODO + "what was decided by looking at the data",
                "justification": TODO + "why this budget",
            },
            "resources": {"sources": f"Ledger head {statement.head} after {statement.records} records."},
        },
    }


def _number(value: Any) -> Any:
    """The registry takes numbers: the double at or above the exact decimal."""
    if isinstance(value, list):
        return [_number(item) for item in value]
    nearest, exact = float(value), Decimal(value)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def _unit(statement: Statement) -> tuple[str, str]:
    unit, relation = statement.account.unit, statement.account.relation
    who = "Row" if unit.column is None else f"Person (column {unit.column})"
    rows = "one row" if unit.column is None else f"all rows of one {unit.column}"
    bound = "" if unit.column is None else f"; one query uses at most {unit.max_contributions} of them"
    return who, f"Neighbouring data sets differ by {_RELATIONS[str(relation)]} {rows}{bound}."


def _changed(statement: Statement) -> bool:
    return any(decision.kind == "data_changed" for decision in statement.decisions)


def _words(amounts: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in amounts.items())


def _mechanisms(events: Iterable[dict[str, Any]]) -> str:
    """How often each kind of mechanism was used, one line each, the most frequent first."""
    counts = Counter(kind for event in events for kind in _kinds(event))
    lines = [f"- {kind}: {times} release{'s' if times > 1 else ''}" for kind, times in counts.most_common()]
    return "\n".join([*lines, "- noise from OpenDP's exact samplers; answers are rounded to a lattice before noise"])


def _kinds(event: dict[str, Any]) -> set[str]:
    names = {type(part).__name__ for part in everything_in(event_from_json(event))}
    return names - {"Composed", "Repeated"}
