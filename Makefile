# The one front door. Needs Python 3.11, Node 20.19, npm and make; sets up the rest by itself.

VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

# The first Python that is new enough: where python3 itself is older, another one may lie beside it.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(or $(shell for one in python3 python3.13 python3.12 python3.11; do \
	$$one -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$one && break; done),python3)

# An environment names its place in its scripts: where the directory was moved or copied, it is made anew.
ifneq ($(shell test -f $(VENV)/pyvenv.cfg && { grep -qF "$(CURDIR)/$(VENV)" $(VENV)/pyvenv.cfg || echo moved; }),)
$(shell rm -f $(VENV)/ready $(VENV)/runs)
endif

.DEFAULT_GOAL := help
.PHONY: help run test coverage check types docs bench counterparts soak mutate wheel clean tools web web-journeys pictures

help: ## this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'

define NEED_PYTHON
@$(PYTHON) -c '$(NEW_ENOUGH)' 2>/dev/null || { echo "Fourhands: it needs Python 3.11 or later, and $(PYTHON) is \
	$$(command -v $(PYTHON) >/dev/null && $(PYTHON) --version 2>&1 || echo not there). To install: apt install python3 python3-venv (Debian 12 on)\
	 | dnf install python3.12 | brew install python; another one is chosen by PYTHON=path" >&2; exit 1; }
endef

# Two stamps: what `make run` needs, and all that the tests and tools need besides.
$(VENV)/runs: pyproject.toml constraints.txt
	$(NEED_PYTHON)
	@$(PYTHON) -m scripts.environment $@ mcp

$(VENV)/ready: pyproject.toml constraints.txt
	$(NEED_PYTHON)
	@$(PYTHON) -m scripts.environment $@ dev,mcp
	@cp $@ $(VENV)/runs

web/node_modules/.ready: web/package.json web/package-lock.json
	$(NEED_PYTHON)
	@$(PYTHON) -m scripts.page packages
	@touch $@

WEB_SOURCES := $(shell find web/src web/*.html web/*.ts web/*.json -type f 2>/dev/null)

src/fourhands/static/index.html: $(WEB_SOURCES)
	$(NEED_PYTHON)
	@$(PYTHON) -m scripts.page
	@touch $@

build/journeys/index.html: $(WEB_SOURCES)
	$(NEED_PYTHON)
	@$(PYTHON) -m scripts.page journeys
	@touch $@

web-journeys: build/journeys/index.html ## the page that tests look into, built into build/journeys

web: src/fourhands/static/index.html ## the page, built into src/fourhands/static

run: $(VENV)/runs web ## the workbench, on the directory given by DIR (default: this one)
	@exec $(BIN)/fourhands "$(or $(DIR),.)" $(ARGS)

tools: ## Debian packages that the real tests need, where this may install them
	@scripts/install-test-tools

check: $(VENV)/ready web/node_modules/.ready ## format, lint, types, architecture, stale generated files
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@cd web && npm run --silent check
	@$(BIN)/pytest -q -m 'not slow' --timeout 300 tests/test_architecture.py tests/test_generated.py tests/test_counterparts.py tests/test_types.py tests/test_names.py \
		tests/test_mutants.py tests/test_patching.py tests/test_sizes.py tests/test_walks.py

types: $(VENV)/ready ## write the page's types from the Python structs
	@$(BIN)/python -m scripts.wire_types
	@$(BIN)/python -m scripts.widths

test: $(VENV)/ready tools check web web-journeys ## check, then every test
	@cd web && npm test --silent
	@# A test takes at most 20 s by itself; beside others, on a busy machine, the limit is there for hangs only.
	@# Apart from the rest: the browser driver keeps an event loop of its own running in its process.
	@# Three at once on two cores: many tests wait for programs most of the time.
	@$(BIN)/pytest -n 3 --dist loadgroup -m 'not soak and not browser' --timeout 300 --durations 12 $(ARGS)
	@$(BIN)/pytest -n 2 --dist loadfile -m browser tests/journeys $(ARGS)

coverage: $(VENV)/ready tools web web-journeys ## every test once more, and how much of the code they run: at least 85 % (a third slower)
	@$(BIN)/pytest -n 3 --dist loadgroup -m 'not soak and not browser' --timeout 300 --cov --cov-report= $(ARGS)
	@$(BIN)/pytest -n 2 --dist loadfile -m browser tests/journeys --cov --cov-append --cov-report=term --cov-fail-under=85 $(ARGS)

soak: $(VENV)/ready tools ## the long forms of the tests (about an hour)
	@$(BIN)/pytest -m soak --timeout 7200 $(ARGS)

mutate: $(VENV)/ready tools web web-journeys ## break guards on purpose, one at a time: each must be noticed (ARGS='--area agents --jobs 2')
	@$(BIN)/python -m scripts.mutate $(ARGS)

bench: $(VENV)/ready tools web web-journeys ## ratios against bare PTYs, terminado, pexpect and DesktopCommander; writes bench/results.md
	@$(BIN)/python -m bench $(ARGS)

pictures: $(VENV)/ready tools web web-journeys ## take the manual's pictures of the page anew, into docs/pictures
	@$(BIN)/python -m scripts.pictures $(ARGS)

counterparts: $(VENV)/ready tools ## let real agents and clients run their errands, into the table of docs/agents.md (3 minutes)
	@$(BIN)/python -m scripts.counterparts $(ARGS)

docs: $(VENV)/ready ## write the generated reference pages
	@$(BIN)/python -m scripts.reference

wheel: $(VENV)/runs web ## the wheel, with the page in it, into dist/
	@echo "Making the wheel …"
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist/*.whl

clean: ## remove everything that is built
	@rm -rf $(VENV) dist build web/node_modules web/.test tests/*-npm/node_modules src/fourhands/static
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* *.log web/*.log
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "Removed what was built."
