# Each target sets up .venv by itself; nothing but Python >= 3.11 and make is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is installed beside the package: dev for people, ci for everything that a test or benchmark can use.
EXTRAS ?= dev
STAMP := $(VENV)/.installed-$(EXTRAS)
# pytest's workers: two cores are the smallest machine we aim at.
WORKERS ?= 2
# What `make test` leaves to longer runs.
QUICK := not long and not slow and not spark
# Bytecode is kept even where the environment forbids it: tests start hundreds of processes that would compile everything anew.
KEPT := PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/build/bytecode

.PHONY: demo test test-long test-spark test-all test-pythons coverage mutation mutation-sample package lint types hooks bench bench-peers bench-service docs site studio trace proofs proofs-check clean setup

setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS)]"
	touch $@

demo: $(STAMP)
	$(BIN)/python examples/demo.py

test: $(STAMP)
	$(KEPT) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "$(QUICK)"

# Tests of a second or more each: browsers, whole universes of small tables, samples of every benchmark. CI runs them beside `make test`.
test-long: $(STAMP)
	$(KEPT) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "long and not slow and not spark"

# Spark keeps a process of its own busy, so its part of the conformance suite runs by itself; it is skipped without Java.
test-spark: $(STAMP)
	$(BIN)/python -m pytest -m spark

test-all: $(STAMP)
	$(KEPT) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# A quick part of the tests on every Python that is found (PYTHONS="python3.12 python3.13" names them); says which are missing.
test-pythons: $(STAMP)
	$(BIN)/python -m tools.every_python

# Which lines no test runs; build/coverage has the pages.
coverage: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow and not spark" --cov --cov-report=term:skip-covered --cov-report=html

# Small faults, one at a time, in copies of the tree: which of them do the tests notice? TARGETS="privacy ledger" for some
# packages; a run that is interrupted goes on where it stopped. The sample takes two minutes; SEED repeats one.
TARGETS ?=
SEED ?= $(shell git rev-parse --short HEAD 2>/dev/null || echo 1)
mutation: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS),mutation]"
	$(BIN)/python -m tools.mutation $(TARGETS) --workers $(WORKERS) --most 10

mutation-sample: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS),mutation]"
	$(BIN)/python -m tools.mutation $(TARGETS) --workers $(WORKERS) --seconds 110 --pick 3 --seed $(SEED) --each 4 --most 20

# Build, check the metadata, and try the wheel in clean environments.
package: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS),package]"
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/python -m tools.packaging.try_wheel

lint: $(STAMP)
	$(BIN)/ruff check src tests benchmarks examples docs tools
	$(BIN)/ruff format --check src tests benchmarks examples docs/conf.py docs/generate tools
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy

# Lint before each commit.
hooks: $(STAMP)
	$(BIN)/pre-commit install

# Strict: a broken link, a missing reference or a failing example fails.
docs: $(STAMP) site
	$(BIN)/python -m pytest tests/docs -m "not slow and not spark" -n $(WORKERS)

# The pages, and the one that verifies releases in a browser: npm brings Python for it, and without npm it is left out.
site: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS),docs]"
	$(BIN)/sphinx-build -E -W --keep-going -n -q -b html docs build/docs
	$(BIN)/python -m tools.verify_page build/docs/verify

# The machine-checked theorems (Debian's coq package is enough; without coqc both targets say so and do nothing): compile them, and
# check what they rest on, that our own functions still compute the values in them, and every proof again by a second checker.
proofs: $(STAMP)
	$(BIN)/python -m tools.proofs build

proofs-check: $(STAMP)
	$(BIN)/python -m tools.proofs check

# Which packages six real calls pass through; docs/architecture.md has the pictures.
trace: $(STAMP)
	$(BIN)/python docs/generate/architecture.py

studio: $(STAMP)
	mkdir -p demo-output
	$(BIN)/optimaldp studio --data examples/data/anes1996.csv --ledger demo-output/studio.ledger --budget 3 --budget-delta 1e-5

# The peers are development packages; bench installs them on top of what is there.
bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS),peers]"
	$(BIN)/python -m benchmarks

# The peers of the comparison in docs/peers.md. Those that make synthetic rows get an environment each, under build/peers.
# One thread on either side, so that the processor time of a work is what it takes: several would wait for each other by spinning.
bench-peers: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS),peers,sanitise]"
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m benchmarks.peers

# The curator under load and under faults (kill -9 of workers and of the database), on a PostgreSQL of its own; some ten minutes.
bench-service: $(STAMP)
	$(BIN)/python -m benchmarks.service

clean:
	rm -rf $(VENV) build dist src/*.egg-info
