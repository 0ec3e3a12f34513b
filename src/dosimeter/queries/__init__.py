"""What is asked, and what it will cost: plans are made from public facts only."""

from dosimeter.queries.frame import Frame
from dosimeter.queries.planner import plan
from dosimeter.queries.plans import Part, Plan
from dosimeter.queries.price import Price
from dosimeter.queries.query import (
    Aggregate,
    Query,
    count,
    count_distinct_users,
    histogram,
    mean_of,
    query_from_json,
    sum_of,
)
from dosimeter.queries.result import Cell, Result, variance
from dosimeter.queries.schema import Column, ColumnType, Schema
from dosimeter.queries.sensitivity import Contribution, Sensitivity, sensitivity

__all__ = [
    "Aggregate",
    "Cell",
    "Column",
    "ColumnType",
    "Contribution",
    "Frame",
    "Part",
    "Plan",
    "Price",
    "Query",
    "Result",
    "Schema",
    "Sensitivity",
    "count",
    "count_distinct_users",
    "histogram",
    "mean_of",
    "plan",
    "query_from_json",
    "sensitivity",
    "sum_of",
    "variance",
]
