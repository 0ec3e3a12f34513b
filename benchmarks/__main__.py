"""Run every benchmark beside this file, or those that are named."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main(wanted: list[str]) -> None:
    """Import each module with a `main()` and run it; a name that does not exist is an error."""
    names = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")]
    if unknown := sorted(set(wanted) - set(names)):
        raise SystemExit(f"no benchmark {unknown[0]!r}; there are: {', '.join(names)}")
    for name in wanted or names:
        run = getattr(importlib.import_module(f"benchmarks.{name}"), "main", None)
        if run is not None:
            print(f"\n== {name} ==", flush=True)
            run()


if __name__ == "__main__":
    main(sys.argv[1:])
