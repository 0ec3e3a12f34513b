# One place for every task. `make` alone lists them.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
TOOLS  := $(VENV)/.tools
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= auto
SEEDS  ?= 0-4999
STORE  ?= memory
SIM_WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test check format docs sim bench clean

help: ## List the tasks
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Dosimeter needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing Dosimeter into $(VENV) (once) ..."
	@$(PIP) -e .
	@touch $(READY)

$(TOOLS): $(READY)
	@echo "Installing the development tools into $(VENV) (once) ..."
	@$(PIP) -e '.[dev]'
	@touch $(TOOLS)

demo: $(READY) ## An adaptive analysis of real data, from opening the account to the statement
	$(BIN)/dosimeter demo

test: $(TOOLS) ## Every test
	$(BIN)/python -m pytest -n $(WORKERS) -q

check: $(TOOLS) ## Style, types, the layers between rooms, and a docs build without warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir $(VENV)/site

format: $(TOOLS) ## Put the code into the house style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(TOOLS) ## Serve the documentation at http://127.0.0.1:8000
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

sim: $(TOOLS) ## Run more seeds of the ledger's simulator: make sim SEEDS=0-9999 STORE=sqlite
	$(BIN)/python -m tests.simulator --seeds $(SEEDS) --store $(STORE) --workers $(SIM_WORKERS)

bench: $(TOOLS) ## Measure against the peers and limits named in benchmarks/
	$(BIN)/python -m benchmarks

clean: ## Remove the environment and everything built
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
