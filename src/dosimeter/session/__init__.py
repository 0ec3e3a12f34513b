"""Sessions: an analyst's conversation with a data set, paid for by its account."""

from dosimeter.session.answer import Answer
from dosimeter.session.opening import open, open_ledger
from dosimeter.session.session import Session

__all__ = ["Answer", "Session", "open", "open_ledger"]
