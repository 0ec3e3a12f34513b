"""Residue filters: a query is charged so much that its whole profile fits into what the charge takes away.

Proven under full adaptivity like every other filter, and nearly as tight as composition of a plan fixed in advance.
"""

import dosimeter.adaptive.filters  # noqa: F401 - the registry names the filters of this package: it must load first
