"""The words that several commands share, each explained once."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import typer

DEFAULT_LEDGER: Final = "dosimeter.db"

LedgerPath: TypeAlias = Annotated[
    str,
    typer.Option(
        "--ledger", "-l", envvar="DOSIMETER_LEDGER", show_envvar=True, help="The ledger's file, or postgresql://..."
    ),
]
ReadOnly: TypeAlias = Annotated[
    bool, typer.Option("--read-only", help="Never write: for a file on a read-only disk, or a replica.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for a machine.")]
AccountName: TypeAlias = Annotated[
    str | None, typer.Option("--account", "-a", help="Name or id of the account; not needed when there is only one.")
]
Data: TypeAlias = Annotated[str, typer.Argument(help="A CSV or Parquet file, or a DuckDB database with --table.")]
Table: TypeAlias = Annotated[str | None, typer.Option("--table", help="The table of a DuckDB database.")]
Name: TypeAlias = Annotated[str | None, typer.Option("--name", help="The data set's name, if not the file's.")]
Reason: TypeAlias = Annotated[str, typer.Option("--reason", help="Why; it stays in the ledger for ever.")]
AuthorisedBy: TypeAlias = Annotated[str, typer.Option("--authorised-by", help="Who decided it.")]

Aggregate: TypeAlias = Annotated[str, typer.Argument(help="count, users, sum, mean or histogram.")]
Column: TypeAlias = Annotated[str | None, typer.Argument(help="The column of a sum, mean or histogram.")]
Lower: TypeAlias = Annotated[
    str | None, typer.Option("--lower", help="Public lower bound of a sum or mean; values are clipped.")
]
Upper: TypeAlias = Annotated[str | None, typer.Option("--upper", help="Public upper bound of a sum or mean.")]
Edges: TypeAlias = Annotated[str | None, typer.Option("--edges", help="Edges of a histogram, as in 0,18,65,100.")]
Where: TypeAlias = Annotated[
    str | None, typer.Option("--where", help="Which rows count, as in \"age >= 18 AND sex = 'F'\".")
]
By: TypeAlias = Annotated[
    list[str] | None, typer.Option("--by", help="Declared keys of a group, as in sex=F,M; repeatable.")
]
MaxGroups: TypeAlias = Annotated[int | None, typer.Option("--max-groups", help="Groups one person may contribute to.")]
MaxRowsPerGroup: TypeAlias = Annotated[
    int | None, typer.Option("--max-rows-per-group", help="Rows one person may contribute to a group.")
]

Analyst: TypeAlias = Annotated[
    str | None, typer.Option("--as", help="Who asks, where an account has members; quotas pay as well.")
]
Steward: TypeAlias = Annotated[str, typer.Option("--by", help="The steward who decides it.")]

Epsilon: TypeAlias = Annotated[str | None, typer.Option("--epsilon", help="Price: epsilon (Laplace noise).")]
Delta: TypeAlias = Annotated[str | None, typer.Option("--delta", help="With --epsilon: a Gaussian of that price.")]
Rho: TypeAlias = Annotated[str | None, typer.Option("--rho", help="Price: rho of zCDP (Gaussian noise).")]
Mu: TypeAlias = Annotated[str | None, typer.Option("--mu", help="Price: mu of Gaussian DP.")]
Within: TypeAlias = Annotated[
    str | None, typer.Option("--within", help="Or a wanted error bar; the cheapest noise that meets it is chosen.")
]
Confidence: TypeAlias = Annotated[str, typer.Option("--confidence", help="Of the error bars.")]
Step: TypeAlias = Annotated[
    str | None, typer.Option("--step", help="Lattice step of a sum; derived from the bounds when left out.")
]
RequestName: TypeAlias = Annotated[
    str | None, typer.Option("--request", help="Name this request; a new name draws (and pays for) fresh noise.")
]
