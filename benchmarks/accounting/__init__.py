"""Accountants of fixed plans: who is right, how narrow, how fast, on the same plans in one run.

`python -m benchmarks accounting [--quick] [--systems ...]`; see docs/reference/benchmarks.md.
"""

from benchmarks.accounting.command import main

__all__ = ["main"]
