# Every target sets itself up first: on a fresh machine `make demo` and `make test` are all there is to type.
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
JAVA   := scripts/java
# How many processes share the tests; each that comes to a test with Spark starts one of its own.
TESTERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast thorough lint format bench bench-flink shell clean

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## virtual environment, packages, Java
	@$(JAVA) --check

$(STAMP): pyproject.toml benchmarks/pyproject.toml constraints.txt scripts/python scripts/java millstream/spark/process/LocalFiles.java
	@$(JAVA) --install
	@scripts/python -m venv $(VENV)
	@echo "installing the packages into $(VENV) (about two minutes the first time)"
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' -e './benchmarks[plots]'
	@$(BIN)/python -m millstream.mill.make_java_files
	@touch $(STAMP)

demo: setup  ## two minutes of a soccer match, four queries over its sensors, and a page of results
	@$(BIN)/millstream demo

test: setup  ## all tests: seventeen minutes on two cores
	@$(BIN)/pytest -n $(TESTERS) --dist worksteal

test-fast: setup  ## the tests that need no Spark and are quick: under a minute on two cores
	@$(BIN)/pytest -n $(TESTERS) --dist worksteal -m 'not spark and not slow'

thorough: setup  ## property tests with all their cases, long fuzz runs, queries in more orders and stops: over an hour
	@MILLSTREAM_THOROUGH=1 MILLSTREAM_FUZZ=10000 $(BIN)/pytest -n $(TESTERS) --dist worksteal -m 'not spark'
	@MILLSTREAM_THOROUGH=1 $(BIN)/pytest -n $(TESTERS) --dist worksteal --timeout 1200 tests/queries

lint: setup  ## ruff, strict mypy, layer order
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: setup  ## let ruff lay out the code
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: setup  ## Millstream beside hand-written Spark, as a ratio
	@$(BIN)/millstream bench passthrough --against spark

bench-flink: setup  ## Flink in an environment of its own, for bench --against flink
	@$(BIN)/python -m millstream_bench.flink.environment

shell: setup  ## the interactive shell
	@$(BIN)/millstream shell

clean:  ## remove what the other targets made
	rm -rf $(VENV) .flink .mypy_cache .ruff_cache .hypothesis build dist out examples/auctions/out
