# lamina: `make help` lists the targets. Needs python3 >= 3.11 and make; everything else goes into .venv.

PYTHON ?= python3
JOBS ?= 2
# relative paths only: the folder may have any name, spaces included
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup test check lint types demo bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 10

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "python3 >= 3.11 is needed, PYTHON=... chooses one" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,dev]'
	@touch $@ $(VENV)/.test

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[demo]'
	@touch $@

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@

setup: $(VENV)/.dev  ## create .venv and install lamina with the test and dev extras

test: $(VENV)/.test  ## set up, then run every test (pytest and lit)
	$(BIN)/python -m pytest -c tests/pytest.ini --rootdir=. -n $(JOBS) tests
	$(BIN)/python -c 'from lit.main import main; main()' -j $(JOBS) -q filecheck

check: $(VENV)/.dev lint types test  ## what CI runs: ruff, types, tests

lint: $(VENV)/.dev  ## ruff: rules and formatting
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

types: $(VENV)/.dev  ## basedpyright on the package
	$(BIN)/basedpyright --level error

demo: $(VENV)/.demo  ## set up, then train on real handwritten digits (examples/digits)
	$(BIN)/python examples/digits/train.py

bench: $(VENV)/.bench  ## set up, then run the benchmarks beside their peers; the table goes into README.md (BENCH=... options)
	$(BIN)/python benchmarks/bench.py --update-readme $(BENCH)
	@set -e; for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python "$$file"; done

clean:  ## remove .venv and everything generated
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .lit_test_times.txt
	find . -name __pycache__ -prune -exec rm -rf {} + ; find filecheck -name Output -prune -exec rm -rf {} +
