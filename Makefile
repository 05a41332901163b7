# Everything that can be done with a clone, each as one word. `make` alone lists the words.
#
# The first target that needs it sets up .venv, with the first Python >= 3.11 that is found; choose another with
# `make PYTHON=/path/to/python ...`. The stamps are written last, so an interrupted set-up is done again.

PYTHON ?=
PYTEST_ARGS ?=
ON_ALL_CORES := -n auto --dist worksteal
BENCH_ARGS ?=
FUZZ_EXAMPLES ?= 2000
SWEEP_ARGS ?=

unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
JITKIT := $(BIN)/python -m jitkit.kata
CHOSEN := $(if $(PYTHON),"$(PYTHON)")
USE := .venv/.installed
TEST := .venv/.installed-for-tests
COMPILERS := .venv/.installed-compilers
TARGETS := .venv/.installed-for-targets
NBGRADER := .venv/.installed-for-nbgrader
DOCS := .venv-docs/.installed
DOCS_TEST := .venv-docs/.installed-for-tests
LIBRARIES := .venv-libraries/.installed
BROWSER := .venv/.installed-for-browser

.DEFAULT_GOAL := help
.PHONY: help tour test test-rest test-all test-tails test-targets compilers test-browser test-nbgrader test-libraries nbgrader docs test-docs verify generated lint fuzz sweep bench benchmarks clean

help:
	@echo "make tour    one function through every stage of the JIT, on this machine (under a minute; first sets up .venv)"
	@echo "make test    the tests, against real JAX (about ten minutes on two cores)"
	@echo "make test-rest  the rest of what decides about a commit: more rows of tables, what takes long (about eleven minutes)"
	@echo "make test-all  every test: the tails of tables, hundreds of random programs, compiled as users do (make test-tails: only those)"
	@echo "make compilers  those of GPUs and TPUs, for 'jitkit targets' (Linux; 435 MB to download, 1.3 GB on disk)"
	@echo "make test-targets  every primitive compiled for these chips (with the compilers; about five minutes)"
	@echo "make test-browser  the Explorer's page in the Chromium that is on the PATH; flax and equinox explored (two minutes)"
	@echo "make test-nbgrader  a course of nbgrader's, built, released, taken and graded (installs Jupyter; a few minutes)"
	@echo "make test-libraries  libraries' own tests, on JAX and on jitkit in its place (its own .venv-libraries; a quarter of an hour)"
	@echo "make docs    the site: docs/_build/html/index.html, every program on it run (its own .venv-docs; four minutes)"
	@echo "make test-docs  its links, and its pages in a real browser (Chromium, and Node.js for axe; CHROMIUM=/path/to/it)"
	@echo "make verify  every exercise of the labs proven: stub red, solution green, each mutant caught, and the ladder (about four minutes)"
	@echo "make generated  write all that is generated, for you to commit: the labs, docs/parity.md, a JIT in one sitting (about ten minutes)"
	@echo "make lint    ruff (rules and format) and mypy only"
	@echo "make fuzz    the random programs, many more of them (FUZZ_EXAMPLES=$(FUZZ_EXAMPLES))"
	@echo "make sweep   every public function in every way with operands of every kind, beside JAX (an hour and more; SWEEP_ARGS='--module jax.numpy')"
	@echo "make bench   jitkit measured beside JAX (BENCH_ARGS=--quick for a short look)"
	@echo "make benchmarks  the tables in docs/benchmarks.md and docs/what_xla_did_for_us.md, measured anew here (quarter of an hour, on a machine that does nothing else)"
	@echo "make clean   remove .venv and everything that tools have left behind"

tour: $(USE)
	@$(JITKIT) tour

test: $(TEST)
	@$(BIN)/python -m pytest $(ON_ALL_CORES) $(PYTEST_ARGS)

test-rest: $(TEST)
	@$(BIN)/python -m pytest $(ON_ALL_CORES) -m 'not tail and rest' $(PYTEST_ARGS)

test-all: $(TEST)
	@$(BIN)/python -m pytest $(ON_ALL_CORES) -m '' $(PYTEST_ARGS)

test-tails: $(TEST)
	@$(BIN)/python -m pytest $(ON_ALL_CORES) -m 'tail or hypothesis' $(PYTEST_ARGS)

test-targets: $(TARGETS)
	@$(BIN)/python -m pytest tests/targets $(PYTEST_ARGS)

compilers: $(COMPILERS)

test-browser: $(BROWSER)
	@$(BIN)/python -m pytest tests/test_explorer_page.py tests/test_explorer_programs.py $(PYTEST_ARGS)

test-nbgrader: $(NBGRADER)
	@$(BIN)/python -m pytest tests/test_nbgrader.py $(PYTEST_ARGS)

nbgrader: $(NBGRADER)

test-libraries: $(LIBRARIES)
	@.venv-libraries/bin/python tests/libraries.py

docs: $(DOCS)
	@.venv-docs/bin/python -m sphinx -n -W --keep-going -q docs docs/_build/html
	@echo "docs/_build/html/index.html"

test-docs: $(DOCS_TEST) docs
	@.venv-docs/bin/python -m pytest docs/tests $(PYTEST_ARGS)

verify: $(USE)
	@$(BIN)/python -m grading verify

generated: $(TEST)
	@$(BIN)/python -m grading generate
	@$(BIN)/python -m grading.authoring.one_sitting
	@$(BIN)/python tests/parity.py --write

lint: $(TEST)
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check --quiet . || { echo "Not formatted: run .venv/bin/ruff format"; exit 1; }
	@$(BIN)/python -m mypy

fuzz: $(TEST)
	@JITKIT_FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/python -m pytest $(ON_ALL_CORES) -m hypothesis $(PYTEST_ARGS)

sweep: $(TEST)
	@$(BIN)/python tests/sweep.py $(SWEEP_ARGS)

bench: $(USE)
	@$(JITKIT) bench peers $(BENCH_ARGS)

benchmarks: $(TEST)
	@$(BIN)/python tests/benchmarks.py

clean:
	rm -rf .venv .venv-* docs/_build docs/generated .pytest_cache .hypothesis .mypy_cache .ruff_cache dist jitkit-tour bench-results
	find jitkit tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(USE): pyproject.toml .ci/venv
	@.ci/venv .venv . $(CHOSEN)
	@touch $@

$(TEST): pyproject.toml .ci/venv
	@.ci/venv .venv '.[test]' $(CHOSEN)
	@touch $@ $(USE)

$(COMPILERS): pyproject.toml .ci/venv
	@.ci/venv .venv '.[tpu,gpu]' $(CHOSEN)
	@touch $@ $(USE)

$(TARGETS): pyproject.toml .ci/venv
	@.ci/venv .venv '.[test,tpu,gpu]' $(CHOSEN)
	@touch $@ $(COMPILERS) $(TEST) $(USE)

$(BROWSER): pyproject.toml .ci/venv
	@.ci/venv .venv '.[test,browser]' $(CHOSEN)
	@touch $@ $(TEST) $(USE)

$(NBGRADER): pyproject.toml .ci/venv
	@.ci/venv .venv '.[test,nbgrader]' $(CHOSEN)
	@touch $@ $(TEST) $(USE)

$(LIBRARIES): pyproject.toml .ci/venv
	@.ci/venv .venv-libraries '.[libraries]' $(CHOSEN)
	@touch $@

$(DOCS): pyproject.toml .ci/venv
	@.ci/venv .venv-docs '.[docs]' $(CHOSEN)
	@touch $@

$(DOCS_TEST): pyproject.toml .ci/venv
	@.ci/venv .venv-docs '.[test-docs]' $(CHOSEN)
	@touch $@ $(DOCS)
