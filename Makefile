# Every target sets up what it needs in .venv and .cache and touches nothing else.
# What a machine lacks is named; `.ci/setup` installs it on Debian.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
PIP_INSTALL = pip install --quiet --disable-pip-version-check
export PATH := $(CURDIR)/.cache/bin:$(PATH)
# Python on every machine alike: no packages of the user's own, text is UTF-8, bytecode and examples
# lie in the cache.
export PYTHONNOUSERSITE := 1
export PYTHONUTF8 := 1
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/bytecode
# Empty is unset: without bytecode each program that a test starts is compiled anew, which takes a
# second.
export PYTHONDONTWRITEBYTECODE :=
export HYPOTHESIS_STORAGE_DIRECTORY := $(CURDIR)/.cache/hypothesis

.DEFAULT_GOAL := help
.PHONY: help demo test test-orchestrators test-browser test-all coverage mutants fuzz e2e cluster-up cluster-down check \
	format weight generate screenshots bench bench-cluster image image-server dist requirements renew-images audit site clean

help:
	@echo 'make demo      show the coming week of examples/no-deploy-friday, and build it'
	@echo 'make test      run the quick tests (TESTS=…: some); what a machine lacks is skipped'
	@echo 'make test-orchestrators  run what runs kustomize and kpt, with containers, as CI does'
	@echo 'make test-browser  look at the pages with Chromium, as CI does'
	@echo 'make test-all  run the slow tests, too, and every property with all its examples'
	@echo 'make coverage  the lines and branches that no quick test reaches'
	@echo 'make mutants   change one operator at a time; tests have to notice (MUTANTS=room)'
	@echo 'make fuzz      read inputs changed at random, for FUZZ_SECONDS (300), or FUZZ_INPUT alone'
	@echo 'make e2e       run tests/cluster on a real control plane (as root, after .ci/setup cluster)'
	@echo 'make check     lint, types, layers, generated files, rules of the repository'
	@echo 'make format    format the sources'
	@echo 'make weight    lower the rows of pyproject.toml to what each room weighs, and print that'
	@echo 'make generate  write schema, definition, field reference and expected results again'
	@echo 'make screenshots  photograph the pages of serve for docs/, with Chromium'
	@echo 'make bench     time and memory, beside a Go function (BENCH=function: only that)'
	@echo 'make bench-cluster  edge to patched, and what a run of the gate costs, as in make e2e'
	@echo 'make image     the container image, with podman or docker'
	@echo 'make image-server  the image of krm-windows serve: that one, with Git in it'
	@echo 'make dist      wheel, source archive, SBOM and checksums of the commit, in dist/'
	@echo 'make requirements  resolve and hash requirements/ again, from constraints.txt'
	@echo 'make renew-images  look up the digests of the images that are named here, and write them'
	@echo 'make site      the pages of docs/ as HTML with search, in .cache/site/html'
	@echo 'make audit     ask for known vulnerabilities of what the image is made from'
	@echo 'make clean     remove .venv and .cache'

need_python = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'krm-windows needs Python 3.11 or later: make PYTHON=python3.13 …'; exit 1; }

# An environment in the directory of the target, with what pip is told to install; `ready` is put
# there once it is complete.
define environment
@$(need_python)
@echo 'setting up $(@D)'
@$(PYTHON) -m venv $(@D) || \
  { echo 'python3 lacks venv (Debian: apt install python3-venv)'; exit 1; }
@$(@D)/bin/$(PIP_INSTALL) $(1)
@touch $@
endef

# As it is developed: by constraints, anew where they change.
EDITABLE := --constraint constraints.txt --editable
# A list of programs that is complete: by hash, without what an older list had.
LISTED := --require-hashes --no-deps --only-binary :all: --requirement

$(READY): pyproject.toml constraints.txt
	$(call environment,$(EDITABLE) '.[dev]')

# What the product needs and nothing else; the developers' environment, where there is one, has it.
DEMO := $(if $(wildcard $(READY)),.venv,.cache/demo)

.cache/demo/ready: pyproject.toml constraints.txt
	$(call environment,$(EDITABLE) .)

demo: $(DEMO)/ready
	@$(DEMO)/bin/python .ci/demo.py

PYTEST = $(BIN)/python -m pytest --numprocesses auto --dist worksteal --ignore tests/cluster

# Said before the first environment is set up, which takes a minute.
comma := ,
.PHONY: how-long
how-long:
	@echo '$(if $(TESTS),these of the quick tests: $(subst ','\'',$(TESTS)),the quick tests: some three minutes on two cores)$(if $(wildcard $(READY)),,$(comma) after a minute to set up .venv)'

test: how-long $(READY)
	@$(PYTEST) -m 'not slow' $(TESTS)

test-all: $(READY)
	@$(if $(TESTS),:,echo 'the quick tests$(comma) then the slow ones$(comma) with all examples: some twenty-five minutes on two cores')
	@$(PYTEST) --hypothesis-profile full $(TESTS)

# Of the slow tests those that run kustomize and kpt.
test-orchestrators: $(READY)
	@$(PYTEST) -m slow tests/orchestrators tests/real_input tests/function/test_examples.py \
	  tests/function/test_fleet.py tests/unit/cli/test_signals.py

# Pages as a real browser shows them.
test-browser: $(READY)
	@$(PYTEST) -m slow tests/browser

coverage: $(READY)
	@mkdir -p .cache/coverage
	@$(PYTEST) --quiet -m 'not slow' --cov --cov-report=term-missing:skip-covered

# `make mutants MUTANTS='schedule --all'` takes every mutant of one target; without, some of each.
mutants: $(READY)
	@$(BIN)/python .ci/mutants.py $(MUTANTS)

# `make fuzz FUZZ_TARGET=policy` reads into one way in; `FUZZ_INPUT=file` shows a finding again.
FUZZ_SECONDS ?= 300
FUZZ_TARGET ?= all
FUZZ_INPUT ?=

fuzz: $(READY)
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(BIN)/$(PIP_INSTALL) --constraint constraints.txt atheris
	@PYTHONPATH=tests:tests/property:tests/fuzz $(BIN)/python tests/fuzz/run.py \
	  --seconds $(FUZZ_SECONDS) --target $(FUZZ_TARGET) $(FUZZ_INPUT)

# `make e2e E2E='-k person'` runs some of them.
LAB = PYTHONPATH=tests/cluster:. $(BIN)/python -m lab

e2e: $(READY)
	@$(LAB) all $(E2E)

cluster-up: $(READY)
	@$(LAB) build
	@$(LAB) up

bench-cluster: $(READY)
	@$(LAB) measure

cluster-down: $(READY)
	@$(LAB) down

check: $(READY)
	@$(BIN)/python .ci/check.py

format: $(READY)
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

weight: $(READY)
	@$(BIN)/python .ci/checks/weight.py

generate: $(READY)
	@echo 'generated files, expected results, and what the pages show: some two minutes on two cores'
	@$(BIN)/python tests/repositories.py
	@PYTHONPATH=.ci $(BIN)/python -m catalogue
	@$(BIN)/python tests/function/cases.py
	@$(BIN)/python tests/golden.py
	@$(BIN)/python tests/shown.py
	@$(BIN)/python tests/commands_page.py --write
	@$(SUPPLY).licences
	@$(BIN)/python .ci/checks/weight.py

screenshots: $(READY)
	@PYTHONPATH=tests $(BIN)/python tests/screenshots.py

bench: $(READY)
	@$(BIN)/python bench/bench.py $(BENCH)

image:
	@bash .ci/image

image-server:
	@bash .ci/image server

# What goes into a release, and how it is pinned: docs/how-to/supply-chain.md.
SUPPLY = PYTHONPATH=.ci $(BIN)/python -m supply
TOOLS := .cache/tools

# The programs that only these targets use, installed by hash.
$(TOOLS)/ready: requirements/tools.txt
	@rm -rf $(@D)
	$(call environment,$(LISTED) $<)

dist: $(READY)
	@$(SUPPLY).dist

requirements: $(READY) $(TOOLS)/ready
	@$(SUPPLY).requirements --uv $(TOOLS)/bin/uv

renew-images: $(READY)
	@$(SUPPLY).images $(IMAGES)

audit: $(TOOLS)/ready
	@bash .ci/audit $(AUDIT)

SITE := .cache/site
SITE_TOOLS := .cache/site-tools

$(SITE_TOOLS)/ready: requirements/site.txt
	@rm -rf $(@D)
	$(call environment,$(LISTED) $<)

# A warning is an error: a dead link, a page that the index lacks, a block that cannot be read.
site: $(SITE_TOOLS)/ready
	@rm -rf $(SITE)/html
	@$(SITE_TOOLS)/bin/sphinx-build --quiet --fail-on-warning --keep-going --nitpicky \
	  --doctree-dir $(SITE)/doctrees docs $(SITE)/html
	@echo 'site: $(SITE)/html/index.html'

clean:
	@chmod -R u+w .cache 2>/dev/null || true
	@rm -rf .venv .cache
