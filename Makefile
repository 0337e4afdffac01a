# Everything a newcomer needs: `make demo` shows it, `make test` proves it. Both set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
.DEFAULT_GOAL := help
.PHONY: help demo test quick check bench pin clean

help:  ## Show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# pip 25.1 is the first that knows dependency groups; an older one is upgraded inside the environment.
$(STAMP): pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (first time only) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Askfirst needs Python 3.11 or newer; set PYTHON=python3.12 or similar")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group dev --editable '.[postgres]'
	@touch $@

demo: $(STAMP)  ## Try everything in a small Slack in your browser (offline model unless ANTHROPIC_API_KEY is set)
	@exec $(BIN)/askfirst playground

test: $(STAMP)  ## Run every test
	@$(BIN)/python -m pytest -n auto $(ARGS)

quick: $(STAMP)  ## Run the tests that take milliseconds
	@$(BIN)/python -m pytest -n auto -m 'not slow' $(ARGS)

check: $(STAMP)  ## Format, lint, types, layers, dependencies
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright
	@$(BIN)/lint-imports
	@$(BIN)/deptry .

bench: $(STAMP)  ## Measure speed as ratios against the raw floor
	@$(BIN)/python -m benchmarks

pin:  ## Write constraints.txt anew (needs uv)
	@echo '# Exact versions of everything, for the application and its tools. Written by `make pin`.' > constraints.txt
	@uv pip compile pyproject.toml --group dev --extra postgres --python-version 3.11 --universal --no-annotate --no-header --quiet --output-file - >> constraints.txt

clean:  ## Remove what was built
	@rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
