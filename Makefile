# lamina: `make help` lists the targets. Needs python3 >= 3.11 and make; everything else goes into .venv.

PYTHON ?= python3
JOBS ?= 2
EXAMPLES ?= 20
# relative paths only: the folder may have any name, spaces included
ifeq ($(origin PYTHON),file)
VENV := .venv
else  # an interpreter that was asked for has an environment of its own
VENV := .venv-$(shell "$(PYTHON)" -c 'import sys; print("%d.%d%s" % (*sys.version_info[:2], sys.abiflags))' || echo none)
endif
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest -c tests/pytest.ini --rootdir=. -n $(JOBS)
LIT := $(BIN)/python -c "from lit.main import main; main()" -j $(JOBS) -q
# FileCheck files whose tools `test-all` starts as users do, and those where forks do: `test` forks everywhere
PROCESSES := filecheck/tools filecheck/pipeline
FORKED := $(filter-out $(PROCESSES) filecheck/Output filecheck/__pycache__,$(patsubst %/,%,$(wildcard filecheck/*/)))
# runs each of its arguments, whatever became of those before it, and fails at the end with those that failed
RUN_ALL := run() { failed=; for part; do echo "$$part"; eval "$$part" || failed="$$failed  $$part\n"; done; \
  [ -z "$$failed" ] || { printf "failed:\n$$failed" >&2; return 1; }; }; run
# a part of the tests on xDSL as it is, without what dialects/xdsl_patches.py replaces for speed
WITHOUT_PATCHES := 'LAMINA_XDSL_PATCHES=off $(PYTEST) -m "not slow and not thorough" tests/dialects --ignore=tests/dialects/test_ops.py' \
  'LAMINA_XDSL_PATCHES=off $(LIT) filecheck/transforms'

# what reads CPython's objects and the source of functions
ENTRY := $(patsubst %,tests/runtime/test_%.py,abi call call_fuzz call_threads kernel_call kernel_fuzz pool signature threads) \
  tests/frontend/kernel/test_facts.py tests/frontend/run/test_dispatch.py

# tests start thousands of processes, each of which would compile the package anew
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup oracles test test-thorough test-all test-entry test-pythons test-targets conformance conformance-harnesses conformance-onnx conformance-torch libraries array-api mutants planted fuzz check lint types names docs demo bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 14
	@echo 'PYTHON=python3.13 takes another interpreter, in an environment .venv-3.13 of its own; JOBS=4 runs more tests at a time'

$(VENV)/bin/python:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "python3 >= 3.11 is needed, PYTHON=... chooses one" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

$(VENV)/.entry: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[entry]'
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[test]'
	@touch $@ $(VENV)/.entry

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[test,dev]'
	@touch $@ $(VENV)/.test $(VENV)/.entry

$(VENV)/.oracles: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[oracles]'
	@touch $@

$(VENV)/.array-api: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[array-api]'
	@touch $@

$(VENV)/.libraries: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[libraries]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[docs]'
	@touch $@

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[demo]'
	@touch $@

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[bench]'
	@touch $@

setup: $(VENV)/.dev  ## create .venv and install lamina with the test and dev extras

oracles: $(VENV)/.oracles  ## install jax and torch, which some tests compare with; without them these are skipped

test: $(VENV)/.test  ## set up, then run what every change needs: pytest without the thorough tests, and lit
	@$(RUN_ALL) '$(PYTEST) -m "not slow and not thorough" tests' \
	  '$(LIT) filecheck'

test-thorough: $(VENV)/.test  ## run the sweeps and whole programs that `test` leaves out (tests/pytest.ini)
	@$(RUN_ALL) '$(PYTEST) -m "thorough and not slow" tests' \
	  '$(LIT) --param validate=1 filecheck/schedule' \
	  '$(LIT) --param processes=1 $(PROCESSES)' $(WITHOUT_PATCHES)

test-all: $(VENV)/.test  ## every test, as CI runs them: `test` and `test-thorough`, in one session
	@$(RUN_ALL) '$(PYTEST) tests' \
	  '$(LIT) --param validate=1 $(FORKED)' \
	  '$(LIT) --param processes=1 $(PROCESSES)' $(WITHOUT_PATCHES)

fuzz: $(VENV)/.test  ## changed copies of all IR texts (COUNT=20000), attributes and types that ops cannot have, sessions of the language server (SESSIONS=20), random programs against the interpreter (PROGRAMS=1000), random Python (FUNCTIONS=200)
	$(BIN)/python tests/tools/mutants.py --count $(or $(COUNT),20000) --jobs $(JOBS)
	$(BIN)/python tests/tools/lies.py --jobs $(JOBS)
	$(BIN)/python tests/tools/language_server_fuzz.py --count $(or $(SESSIONS),20)
	$(BIN)/python tests/random_programs.py $(or $(PROGRAMS),1000)
	$(BIN)/python tests/random_python.py $(or $(FUNCTIONS),200)
	$(BIN)/python tests/random_python.py --state $(or $(FUNCTIONS),200)

test-targets: $(VENV)/.test  ## run what depends on the target for other targets than this machine (TARGETS='v2 --share 1/1')
	$(BIN)/python tests/on_targets.py -n $(JOBS) $(TARGETS)

conformance: $(VENV)/.test $(VENV)/.oracles conformance-harnesses  ## compare 1,100 small programs with jax, and the result with tests/conformance/passes.txt
	nice $(BIN)/python tests/conformance/run.py --jobs $(JOBS) $(CONFORMANCE)

conformance-harnesses: $(VENV)/.test $(VENV)/.oracles  ## run jax's harnesses through StableHLO, and compare with jax (HARNESSES='--sample 6')
	nice $(BIN)/python tests/conformance/run_harnesses.py --jobs $(JOBS) $(HARNESSES)

conformance-onnx: $(VENV)/.test  ## ONNX's own backend tests through from_onnx, and the result with tests/conformance/onnx_passes.txt
	nice $(BIN)/python tests/conformance/onnx_cases.py --jobs $(JOBS) $(CONFORMANCE)

conformance-torch: $(VENV)/.test $(VENV)/.oracles  ## samples of torch's own table of ops through from_torch, and the result with tests/conformance/torch_passes.txt
	nice $(BIN)/python tests/conformance/torch_cases.py --jobs $(JOBS) $(CONFORMANCE)

libraries: $(VENV)/.test $(VENV)/.libraries  ## run libraries that are written for jax on lamina, and compare with jax (LIBRARIES='with_optax')
	nice $(BIN)/python tests/libraries/run.py $(LIBRARIES)

array-api: $(VENV)/.array-api  ## run a local copy of the Array API's tests, with its submodule: make array-api SUITE=../array-api-tests EXAMPLES=20
	@test -d "$(SUITE)/array_api_tests" || { echo "SUITE=... names a copy of github.com/data-apis/array-api-tests" >&2; exit 1; }
	ARRAY_API_TESTS_MODULE=lamina.numpy ARRAY_API_TESTS_VERSION=2025.12 $(BIN)/python -m pytest "$(SUITE)/array_api_tests" \
	  --rootdir="$(SUITE)" --xfails-file="$(CURDIR)/tests/array_api_xfails.txt" --max-examples=$(EXAMPLES) --disable-deadline -n $(JOBS) -q

test-entry: $(VENV)/.entry  ## run the tests of native calls, which read CPython's objects
	$(PYTEST) $(ENTRY)

test-pythons: $(VENV)/bin/python  ## test-entry with every Python >= 3.11 that this machine has
	$(BIN)/python tests/on_pythons.py

mutants: $(VENV)/.test  ## plant faults in rules, derivatives and batching rules; name the test that notices each (MUTANTS='--area rules')
	$(BIN)/python tests/mutation/run.py --jobs $(JOBS) $(MUTANTS)

planted: $(VENV)/.test  ## plant faults in copies of modules; --validate-each must name each (PLANTED='rule --jobs 2'), and blame no valid program
	$(BIN)/python tests/debugging/planted.py $(PLANTED)
	$(BIN)/python tests/debugging/valid_programs.py $(VALID)

check: lint types test  ## ruff, types, tests: before a commit. CI (.ci/run) runs test-all and the matrices of targets and Pythons

lint: $(VENV)/.dev  ## ruff: rules and formatting
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

types: $(VENV)/.dev  ## basedpyright on the package; editors find `lamina` in tests, too
	@$(BIN)/python -m lamina.tools.names --links .venv/types
	$(BIN)/basedpyright --level error

names: $(VENV)/.test  ## write what follows from the table of public names, names.toml: name_table.py and the stubs
	$(BIN)/python -m lamina.tools.names

docs: $(VENV)/.docs  ## build the site: pages, tutorials, and the reference of ops and passes from their classes (build/site)
	$(BIN)/mkdocs build --quiet --strict
	@echo build/site/index.html

demo: $(VENV)/.demo  ## set up, then train on real handwritten digits (examples/digits)
	$(BIN)/python examples/digits/train.py

bench: $(VENV)/.bench  ## set up, then run the benchmarks beside their peers; the tables go into docs/benchmarks.md and README.md (BENCH=... options)
	$(BIN)/python benchmarks/bench.py --update-docs $(BENCH)
	@set -e; for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python "$$file"; done

clean:  ## remove the environments and everything generated
	rm -rf .venv .venv-* build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .lit_test_times.txt
	find . -name __pycache__ -prune -exec rm -rf {} + ; find filecheck -name Output -prune -exec rm -rf {} +
