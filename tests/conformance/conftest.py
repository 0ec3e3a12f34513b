"""Let conformance suites use the helpers of the rooms they test."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "ledger"))
