"""Drill down until sure: each question, and its price, depends on the noisy answers before it.

Run it from anywhere: python examples/adaptive_analysis.py
"""

import tempfile
from importlib.resources import files
from pathlib import Path

import dosimeter as dm

data = files("dosimeter") / "data" / "rand_hie.csv.gz"

with tempfile.TemporaryDirectory() as folder:
    session = dm.open(
        str(data), epsilon="2", delta="1e-6", user="zper", max_contributions=5, ledger=Path(folder) / "health.db"
    )
    plans = session.ask(
        dm.count_distinct_users().by("coins", keys=[0, 25, 50, 95, 100]).bounded(max_groups=1), rho="0.002"
    )
    largest = max(plans.value, key=plans.value.get)
    print(f"most people pay {largest} % of the bill: {plans.value[largest]} ± {plans.error}")

    rho = 0.002
    while True:  # spend more only while the answer is not clear enough
        visits = session.ask(dm.mean_of("mdvis", lower=0, upper=20).where(f"coins = {largest}"), rho=rho)
        print(f"visits a year: {visits}")
        if visits.error < 0.3:
            break
        rho *= 2

    print("left:", session.remaining())
    print("audit:", session.audit().message())
