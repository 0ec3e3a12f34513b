"""Measurements against limits and peers, all in one run: `make bench`, or `python -m benchmarks [NAME [OPTIONS]]`.

A benchmark is a module here with a `main()` that prints its tables. Ratios are taken within one run, because another
machine, or the same one an hour later, is another clock.
"""
