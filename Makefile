# The one front door. Needs Python 3.11, pip, Node 20, npm and make; sets up the rest by itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run test check types docs bench soak wheel clean tools web pictures

help: ## this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | awk -F'|' '{printf "  make %-8s %s\n", $$1, $$2}'

$(VENV)/ready: pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once) …"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Fourhands needs Python 3.11 or later")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,mcp]'
	@touch $@

web/node_modules/.ready: web/package.json web/package-lock.json
	@$(PYTHON) scripts/page.py packages
	@touch $@

WEB_SOURCES := $(shell find web/src web/index.html web/vite.config.ts web/tsconfig.json -type f 2>/dev/null)

src/fourhands/static/index.html: web/node_modules/.ready $(WEB_SOURCES)
	@$(PYTHON) scripts/page.py
	@touch $@

web: src/fourhands/static/index.html ## the page, built into src/fourhands/static

run: $(VENV)/ready src/fourhands/static/index.html ## the workbench, on the directory given by DIR (default: this one)
	@$(BIN)/fourhands $(or $(DIR),.) $(ARGS)

tools: ## Debian packages that the real tests need, where this may install them
	@scripts/install-test-tools

check: $(VENV)/ready web/node_modules/.ready ## format, lint, types, architecture, stale generated files
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@cd web && npm run --silent check
	@$(BIN)/pytest -q --timeout 300 tests/test_architecture.py tests/test_generated.py tests/test_types.py

types: $(VENV)/ready ## write the page's types from the Python structs
	@$(BIN)/python -m scripts.types

test: $(VENV)/ready tools check web ## check, then every test
	@cd web && npm test --silent
	@# A test takes at most 20 s by itself; beside others, on a busy machine, the limit is there for hangs only.
	@# Apart from the rest: the browser driver keeps an event loop of its own running in its process.
	@$(BIN)/pytest -n 2 --dist loadgroup -m 'not soak and not browser' --timeout 300 --durations 12 --cov --cov-report= $(ARGS)
	@$(BIN)/pytest -n 2 --dist loadfile -m browser --cov --cov-append --cov-report=term --cov-fail-under=85 $(ARGS)

soak: $(VENV)/ready tools ## the long forms of the tests (about an hour)
	@$(BIN)/pytest -m soak --timeout 7200 $(ARGS)

bench: $(VENV)/ready web ## ratios against a bare PTY reader, terminado and pexpect; writes bench/results.md
	@$(BIN)/python -m bench $(ARGS)

pictures: $(VENV)/ready web ## take the manual's pictures of the page anew, into docs/pictures
	@$(BIN)/python -m scripts.pictures $(ARGS)

docs: $(VENV)/ready ## write the generated reference pages
	@$(BIN)/python -m scripts.reference

wheel: $(VENV)/ready ## the wheel, with the page in it, into dist/
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist/*.whl

clean: ## remove everything that is built
	@rm -rf $(VENV) dist build web/node_modules web/.test tests/*-npm/node_modules src/fourhands/static
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "Removed what was built."
