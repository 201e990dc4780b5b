# make serve: the search page on http://127.0.0.1:8000.  make test: the checks and the tests, in some minutes.  make ci: all that CI runs.
# Each sets up what it needs in .venv and can be run again at once.

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
SECONDS ?= 3600
FOR ?= 3.12
MACHINE ?= x86_64
CARRY := .carry
JOBS ?= 1
PART :=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar on -c constraints.txt
LOCK := --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet
SOURCES := kb sandbox webapp tests bench
# Three on two cores, because many tests wait for a sandbox or a server; a module's tests stay together, so that what they share is made once.
SPREAD := -n 3 --dist loadscope

# Where neither Docker nor bubblewrap works, the entries of your own checkout run as plain processes.
PROVE = if $(BIN)/python -c 'import sandbox; sandbox.choose("auto")' 2>/dev/null; \
	then $(BIN)/kb verify --isolation corpus; \
	else echo "no sandbox here (kb doctor tells why): the entries of this checkout run as plain processes"; \
	  $(BIN)/kb verify --isolation corpus --backend process; fi

# A shell may forbid Python to keep what it compiles: the hundreds of processes of the tests would then compile kb each anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: serve test ci quick lint verify carry verify-cuda bench fuzz lock release clean python

serve: $(VENV)/.web
	@$(BIN)/kb index
	@$(BIN)/kb serve --host $(HOST) --port $(PORT)

test: $(VENV)/.dev lint
	@$(BIN)/kb check
	@$(BIN)/python -m pytest $(SPREAD) -m "not slow"

# And every entry in the sandbox, the hostile programs on every backend, servers and clusters, packages.
ci: $(VENV)/.dev lint
	@$(BIN)/kb check
	@$(PROVE)
	@$(BIN)/python -m pytest $(SPREAD)

# In a minute: what needs neither torch nor docker nor a browser nor Redis, and does not take long.
quick: $(VENV)/.dev lint
	@$(BIN)/kb check
	@$(BIN)/python -m pytest -n 2 -q -m "not (torch or docker or bubblewrap or browser or redis or gpu or slow)"

lint: $(VENV)/.dev
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy
	@printed=$$($(BIN)/lint-imports --no-logo) || { echo "$$printed"; exit 1; }
	@$(BIN)/zizmor --offline --no-progress --quiet .github/workflows
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec compose.yaml
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/missing-error.yml

verify: $(VENV)/.dev
	@$(PROVE)

# What kb needs beside torch, as wheels for the Python of a machine that has a GPU and no network: make carry FOR=3.12
carry: $(VENV)/.dev
	@rm -rf $(CARRY)
	@$(BIN)/python -m pip wheel -q -c constraints.txt --no-deps -w $(CARRY) jieba
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' > $(CARRY)/needed
	@$(BIN)/python -m pip download -q -c constraints.txt --only-binary=:all: --find-links $(CARRY) --implementation cp --python-version $(FOR) \
	  $(foreach name,_2_28 _2_17 2014,--platform manylinux$(name)_$(MACHINE)) -d $(CARRY) -r $(CARRY)/needed

# There, without docker: every case that needs CUDA, run by the torch of PYTHON as a plain process, and its ledger written. Some fill the GPU, so
# one runs at a time; JOBS=4 is faster, and what fails beside others can be run again alone: make verify-cuda CASES=cublas-status-errors
verify-cuda:
	@$(PYTHON) -c 'import torch; assert torch.cuda.is_available(), f"torch {torch.__version__} finds no CUDA device"'
	@if [ -d $(CARRY) ]; then set -- --no-index --no-deps $(CARRY)/*.whl; else set -- -c constraints.txt .; fi; \
	  $(PYTHON) -m pip install -q --disable-pip-version-check --upgrade --target $(CARRY)-site "$$@"
	@PYTHONPATH=$(CURDIR):$(CARRY)-site $(PYTHON) -m kb verify --device cuda --backend process --python "$$(command -v $(PYTHON))" \
	  --isolation corpus --trust-gpu --jobs $(JOBS) --record $(CASES)

# What the tests do with forty cases each, with new cases for an hour: make fuzz SECONDS=3600
fuzz: $(VENV)/.dev
	@$(BIN)/python -m bench fuzz --seconds $(SECONDS)

# One of them: make bench PART=cluster
bench: $(VENV)/.bench
	@$(BIN)/python -m bench $(PART)

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

$(VENV)/.release: $(VENV)/.dev
	@$(PIP) -e '.[release]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	@$(PIP) -e '.[bench]'
	@touch $@

# The exact versions and hashes of what the web image holds, of what builds a wheel, and of the environments of entries.
lock: $(VENV)/.release
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], "setuptools", sep="\n")' \
	  | $(BIN)/uv pip compile - $(LOCK) -o locks/build.txt
	@$(BIN)/uv pip compile pyproject.toml --extra web --extra cluster $(LOCK) -o locks/web.txt
	@$(BIN)/kb env lock

# Wheel and source archive, built twice and compared; a bill of materials of each image; the hash of every file.
release: $(VENV)/.release
	@rm -rf dist
	@for folder in dist dist/again; do \
	  SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/hatchling build -d $$folder || exit 1; done
	@for file in dist/again/*; do cmp $$file dist/$${file##*/} || exit 1; done; rm -r dist/again
	@$(BIN)/cyclonedx-py requirements locks/web.txt --output-reproducible -o dist/web-image.cdx.json
	@bash sandbox/engine/prepare.sh
	@docker run --rm -i --network none kb-sandbox - < sandbox/engine/packages.py \
	  | $(BIN)/cyclonedx-py requirements - -o dist/sandbox-image.cdx.json
	@docker image inspect --format 'kb-sandbox {{.Id}}' kb-sandbox > dist/sandbox-image.id
	@cd dist && sha256sum * > SHA256SUMS && cat SHA256SUMS

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
