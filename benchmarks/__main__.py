"""Run every benchmark beside this file, or one: `python -m benchmarks [NAME [ITS OPTIONS]]`."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main(arguments: list[str]) -> None:
    """Run what is asked; a name that does not exist is an error. A benchmark reads its options from `sys.argv`."""
    names = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")]
    wanted, options = arguments[:1], arguments[1:]
    if wanted and wanted[0] not in names:
        raise SystemExit(f"no benchmark {wanted[0]!r}; there are: {', '.join(names)}")
    for name in wanted or names:
        run = getattr(importlib.import_module(f"benchmarks.{name}"), "main", None)
        if run is not None:
            print(f"\n== {name} ==", flush=True)
            sys.argv = [f"benchmarks {name}", *options]
            run()


if __name__ == "__main__":
    main(sys.argv[1:])
