# One place for every task. `make` alone lists them.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
WORKERS ?= auto

.DEFAULT_GOAL := help
.PHONY: help demo test check format docs bench clean

help: ## List the tasks
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Dosimeter needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing Dosimeter and its tools into $(VENV) (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

demo: $(STAMP) ## An adaptive analysis of real data, from opening the account to the statement
	$(BIN)/dosimeter demo

test: $(STAMP) ## Every test
	$(BIN)/python -m pytest -n $(WORKERS) -q

check: $(STAMP) ## Style, types, the layers between rooms, and a docs build without warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir $(VENV)/site

format: $(STAMP) ## Put the code into the house style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP) ## Serve the documentation at http://127.0.0.1:8000
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

bench: $(STAMP) ## Measure against the peers and limits named in benchmarks/
	$(BIN)/python -m benchmarks

clean: ## Remove the environment and everything built
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
