# make serve: the search page on http://127.0.0.1:8000.  make test: everything that CI checks.
# Both set up what they need in .venv and can be run again at once.

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar on -c constraints.txt
SOURCES := kb sandbox webapp tests bench

# Where neither Docker nor bubblewrap works, the entries of your own checkout run as plain processes.
PROVE = if $(BIN)/python -c 'import sandbox; sandbox.choose("auto")' 2>/dev/null; \
	then $(BIN)/kb verify --isolation corpus; \
	else echo "no sandbox here (kb doctor tells why): the entries of this checkout run as plain processes"; \
	  $(BIN)/kb verify --isolation corpus --backend process; fi

.PHONY: serve test lint verify bench clean python

serve: $(VENV)/.web
	@$(BIN)/kb index
	@$(BIN)/kb serve --host $(HOST) --port $(PORT)

test: $(VENV)/.dev lint
	@$(BIN)/kb check
	@$(PROVE)
	@$(BIN)/python -m pytest

lint: $(VENV)/.dev
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/zizmor --offline --no-progress --quiet .github/workflows
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/missing-error.yml

verify: $(VENV)/.dev
	@$(PROVE)

bench: $(VENV)/.bench
	@$(BIN)/python -m bench

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "kb needs Python 3.11 or later: install it, or name one with make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(PYTHON) cannot make virtual environments: install its venv package (Debian: python3-venv)" >&2; exit 1; }

$(BIN)/python: | python
	@echo "Setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.pinned: constraints-hashed.txt | $(BIN)/python
	@$(PIP) --require-hashes --no-deps -r constraints-hashed.txt
	@touch $@

$(VENV)/.web: pyproject.toml constraints.txt $(VENV)/.pinned
	@echo "Installing kb and what the web page needs …"
	@$(PIP) -e '.[web]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt $(VENV)/.pinned
	@echo "Installing kb, PyTorch and what the tests need (PyTorch is large) …"
	@$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.web

$(VENV)/.bench: $(VENV)/.dev
	@$(PIP) -e '.[bench]'
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
