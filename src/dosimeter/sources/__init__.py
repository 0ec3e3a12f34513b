"""Where rows live. A source computes a plan's frame exactly, in whole numbers, and says nothing else about its rows."""

from dosimeter.sources.duckdb import DuckDBSource
from dosimeter.sources.port import Source

__all__ = ["DuckDBSource", "Source"]
