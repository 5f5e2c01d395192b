# Every target makes what it needs by itself, from the hashed locks in requirements/, with nothing but python3, python3-venv, git and make.
# The environments lie in .venv/ and are made anew only when their lock changes. pip is used as the user has configured it.

.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.PHONY: help demo test lint format bench lock clean

PYTHON ?= python3
# The servers that tests start are many megabytes of wheels, so they are installed from when on some test wants one.
LOCK ?= $(if $(shell grep -rl --include='*.py' 'mark\.services' tests),services,test)
ARGS ?=

# What is tested is the installed wheel, whatever the caller's shell puts on Python's path.
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP MYPYPATH VIRTUAL_ENV

# $(call with_wheel,LOCK): an environment of that lock with the wheel of this tree in it (or $(WHEEL), built before), as $$env
with_wheel = env=$$(.ci/env $(1) $(PYTHON)); wheel=$${WHEEL:-$$(.ci/wheel $(PYTHON))}; \
  "$$env/bin/python" -m pip install -qq --disable-pip-version-check --no-index --no-deps --force-reinstall "$$wheel"

help:
	@echo "make demo     a real LangGraph agent, sealed, stopped, resumed, attacked: the main job on real input"
	@echo "make test     the tests, against the built wheel            ARGS='-k header'  LOCK=oldest  PYTHON=python3.12"
	@echo "make lint     ruff, mypy --strict, the floors between the rooms, shellcheck"
	@echo "make format   what ruff can mend by itself"
	@echo "make bench    speed and memory, as ratios                   ARGS=…"
	@echo "make lock     requirements/*.txt anew from *.in             ARGS=--upgrade"
	@echo "make clean    removes environments, caches and builds"
	@echo ".ci/run       what continuous integration runs: lint, and the tests on every Python and set of versions that is supported"

demo:
	@$(call with_wheel,demo); "$$env/bin/sealpoint" demo $(ARGS)

test:
	@$(call with_wheel,$(LOCK)); "$$env/bin/python" -m pytest $(ARGS)

bench:
	@$(call with_wheel,bench); "$$env/bin/python" -m benchmarks $(ARGS)

# mypy and import-linter find the package by its name through a link, because its folder is called src.
lint:
	@env=$$(.ci/env lint $(PYTHON)); export PATH="$$env/bin:$$PATH"
	mkdir -p build/pkg; ln -sfn ../../src build/pkg/sealpoint
	ruff check .
	ruff format --check .
	MYPYPATH=build/pkg mypy -p sealpoint $(patsubst %,-p %,$(wildcard tests benchmarks))
	PYTHONPATH=build/pkg lint-imports
	shellcheck .ci/env .ci/lock .ci/run .ci/wheel

format:
	@env=$$(.ci/env lint $(PYTHON)); "$$env/bin/ruff" check --quiet --fix-only .; "$$env/bin/ruff" format .

lock:
	@.ci/lock $(ARGS)

clean:
	rm -rf .venv build dist .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis ./*.egg-info
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
