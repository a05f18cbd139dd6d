# numgrad from a fresh clone: `make demo` trains a network, `make test` runs the tests. Both set everything up in .venv/.

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
FIND_PYTHON := for p in python3.13 python3.12 python3.11 python3; do \
    $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done

.PHONY: help demo test test-all oracle lint bench clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo      train two networks on handwritten digits, with a picture of the result'
	@echo 'make test      the tests'
	@echo 'make test-all  the tests in every dtype and layout'
	@echo 'make oracle    compare with PyTorch itself (installs it)'
	@echo 'make lint      ruff and mypy'
	@echo 'make bench     numgrad and PyTorch side by side, in ratios (installs PyTorch)'
	@echo 'make clean     remove .venv and everything that was built'

demo: $(VENV)/.demo
	$(BIN)/python examples/digits.py
	$(BIN)/python examples/digits_conv.py

test: $(VENV)/.test
	$(BIN)/pytest -m "not slow" $(ARGS)

test-all: $(VENV)/.test
	$(BIN)/pytest $(ARGS)

oracle: $(VENV)/.test $(VENV)/.oracle
	$(BIN)/pytest tests/oracle $(ARGS)

lint: $(VENV)/.test $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy kernels

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/compare.py $(ARGS)

clean:
	rm -rf $(VENV) .venv-* .asv build dist *.egg-info examples/output
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp per set of extras: a second run starts at once, and an edited pyproject.toml installs again.
$(VENV)/.demo: EXTRAS := examples
$(VENV)/.test: EXTRAS := test,examples
$(VENV)/.oracle: EXTRAS := oracle
$(VENV)/.bench: EXTRAS := bench
$(VENV)/.dev: EXTRAS := dev

$(VENV)/.%: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) --editable '.[$(EXTRAS)]'
	@touch $@

$(BIN)/python:
	@python=$$($(FIND_PYTHON)); \
	if [ -z "$$python" ] || ! command -v git >/dev/null; then \
	    echo 'numgrad needs git, make and Python >= 3.11 with venv:' >&2; \
	    echo '    sudo apt install git make python3 python3-venv' >&2; \
	    exit 1; \
	fi; \
	echo "$$python -m venv $(VENV)"; $$python -m venv $(VENV)
