# Needs Python >= 3.11, make, and a compiler where a dependency has no wheel. Every target makes
# .venv by itself from requirements.lock; nothing is installed outside this folder.

PYTHON ?= python3
UV_VERSION := 0.13.9

VENV  := .venv
WHEEL := build/wheel
VLLM_USUAL := 0.32.0
VLLM ?= $(VLLM_USUAL)
VLLM_OTHER := $(filter-out $(VLLM_USUAL),$(VLLM))
# Versions without a build for the CPU: their Python files on the libraries of an earlier one.
VLLM_TRIALS := 0.33.0
VLLM_LOCK := requirements-vllm$(VLLM_OTHER:%=-%).lock
VLLM_VENV ?= .venv-vllm$(VLLM_OTHER:%=-%)
GPU_VENV ?=
SGLANG ?= 0.5.23
DYNAMO ?= 1.6.1
OTLP ?= 1.45.2
ROTEL ?= 0.0.1a15
NIXL ?= 1.5.1
MATERIAL ?= 9.8.2
MERMAID ?= 11.17.2
CYCLONEDX ?= 7.5.0
PLAYWRIGHT := 1.65.2
AXE := 0.1.8
PYSPARK := 4.1.4
BIN   := $(VENV)/bin
STAMP := $(VENV)/.stamp
PIP   := $(BIN)/python -m pip --disable-pip-version-check --no-input

# Else each of the many processes of a test run compiles every module again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-slow test-deep test-wheel native-core test-vllm test-vllm-part test-vllm-core test-sglang test-dynamo test-nixl test-otlp test-prometheus test-places test-browser test-fleet bench-fleet soak-fleet screenshots test-vllm-gpu setup-vllm witness repeat bench soak fuzz mutate runs lint docs site suite release lock clean

help: ## Show these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

demo: $(STAMP) ## Prove a mode, check a sample stream, draw the lifecycle
	@mkdir -p build
	@printf '\n== 1 of 3: what is the hard_protected mode worth? (printed below)\n\n'
	$(BIN)/python -m proofs check hard_protected
	@printf '\n== 2 of 3: does a stream of events keep it? (printed below)\n\n'
	$(BIN)/python -m monitor check monitor/samples/hard_protected_refusal.jsonl --mode hard_protected
	@printf '\n== 3 of 3: the lifecycle of a claim (build/lifecycle.svg and build/lifecycle.png)\n\n'
	$(BIN)/python -m spec diagram lifecycle -o build/lifecycle.svg
	$(BIN)/python -m spec diagram lifecycle -o build/lifecycle.png
	@printf '\nDone. The drawings: build/lifecycle.svg, build/lifecycle.png\n'
	@printf 'The command: $(BIN)/resident-claims --help\n'

test: $(STAMP) native-core ## Run the tests, but for those that take long
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow and not deep'

test-slow: $(STAMP) ## Run those that take long: every mode asked everything, by every engine
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'slow and not deep'

test-deep: $(STAMP) ## Run those that repeat at more places what the others show, which CI leaves out
	$(BIN)/python -m pytest -n 2 --dist worksteal -m deep
	@test ! -e $(VLLM_VENV)/.stamp || $(VLLM_VENV)/bin/python -m pytest -m deep tests_vllm

# With every extra, and with none; the versions are those of the lock.
test-wheel: $(STAMP) native-core ## Build the wheel, install it, and run the README's commands outside this folder
	@rm -rf $(WHEEL)
	$(BIN)/python -m hatchling build -t wheel -d $(WHEEL)
	@sed -n 's/^\([a-z0-9._-]*==.*\) \\$$/\1/p' requirements.lock > $(WHEEL)/versions.txt
	@for each in core all; do $(PYTHON) -m venv $(WHEEL)/$$each && \
		$(WHEEL)/$$each/bin/python -m pip --disable-pip-version-check --no-input install -qq \
		-c $(WHEEL)/versions.txt "resident-claims$$([ $$each = core ] || echo '[all]') @ \
		file://$$(ls $(CURDIR)/$(WHEEL)/*.whl)" || exit 1; done
	RESIDENT_CLAIMS_WHEEL_PYTHON=$(CURDIR)/$(WHEEL)/all/bin/python \
		RESIDENT_CLAIMS_CORE_PYTHON=$(CURDIR)/$(WHEEL)/core/bin/python \
		$(BIN)/python -m pytest -n 2 tests/test_readme.py \
		tests/spec/test_installed.py::TestShadowed tests/spec/test_installed.py::TestWheel

native-core: $(STAMP) ## Build the native core of the monitor (Rust) into build/, if there is cargo
	@$(BIN)/python -m monitor.native.build

setup-vllm: $(VLLM_VENV)/.stamp ## Install a vLLM that needs no GPU into .venv-vllm (1.8 GB; VLLM=0.31.0 for that version)

# Every trace of the table is judged, counted as evidence, and compared with the models, where Z3 is.
# Engines mostly wait when they start, so three at a time; long files are not left for the end.
test-vllm: $(STAMP) $(VLLM_VENV)/.stamp ## Run the tests of the plugin inside that vLLM (VLLM=0.31.0)
	@rm -rf build/table
	$(VLLM_VENV)/bin/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m 'not deep' tests_vllm \
		--keep build/table
	$(BIN)/python -m tests_vllm.witness build/table

PART := $(patsubst %,tests_vllm/test_%.py,adapters arming routing table random)
ROWS := L1 or L2 or L3 or L4 or L5 or L6 or success or tier-0

test-vllm-part: $(VLLM_VENV)/.stamp ## Run a part of them: what versions differ in, main rows of the table, one random run
	$(VLLM_VENV)/bin/python -m pytest -m 'not deep' -k 'not (test_table or test_random) or $(ROWS)' $(PART)

# The tests are in the source distribution, whose metadata pip makes by torch and these.
SDIST_TOOLS := setuptools==80.10.2 setuptools-scm==10.3.4 setuptools-rust==1.13.0 wheel==0.48.0
CORE := build/vllm/$(VLLM)

test-vllm-core: $(VLLM_VENV)/.stamp ## Run vLLM's own core tests with the plugin armed, off and without (VLLM=0.33.0)
	@rm -rf $(CORE) && mkdir -p $(CORE)
	@$(PYTHON) -m venv build/vllm/tools
	@build/vllm/tools/bin/python -m pip --disable-pip-version-check --no-input install -qq $(SDIST_TOOLS)
	@ls build/vllm/vllm-$(VLLM).tar.gz >/dev/null 2>&1 || \
		PYTHONPATH=$$(ls -d $(CURDIR)/$(VLLM_VENV)/lib/python3*/site-packages) \
		VLLM_VERSION_OVERRIDE=$(VLLM) VLLM_TARGET_DEVICE=empty \
		build/vllm/tools/bin/python -m pip --disable-pip-version-check --no-input download -qq \
		--no-deps --no-build-isolation --no-binary vllm -d build/vllm 'vllm==$(VLLM)'
	@tar -xzf build/vllm/vllm-$(VLLM).tar.gz -C $(CORE) --strip-components=1 \
		$(patsubst %,vllm-$(VLLM)/%,tests pyproject.toml)
	$(VLLM_VENV)/bin/python -m tests_vllm.core $(CORE)

test-sglang: $(STAMP) ## Read what SGLang's own publisher sends (fetches its wheel, 40 MB)
	@mkdir -p build/sglang
	@ls build/sglang/sglang-$(SGLANG)-*.whl >/dev/null 2>&1 || $(BIN)/python -m pip \
		--disable-pip-version-check download -q --no-deps -d build/sglang 'sglang==$(SGLANG)'
	$(BIN)/python -m pytest tests_sglang

# Of what ai-dynamo asks for, its frontend and its mock engine import these three.
test-dynamo: $(STAMP) $(VLLM_VENV)/.stamp ## Read the records of Dynamo's frontend; compare its KV indexer with a vLLM (80 MB)
	@test -e build/dynamo/.stamp-ai-$(DYNAMO) || { rm -rf build/dynamo && \
		$(PYTHON) -m venv build/dynamo && build/dynamo/bin/python -m pip \
		--disable-pip-version-check --no-input install -qq 'ai-dynamo-runtime==$(DYNAMO)' \
		'msgspec==0.22.0' 'packaging==26.3' 'pyyaml==6.0.3' && build/dynamo/bin/python -m pip \
		--disable-pip-version-check --no-input install -qq --no-deps 'ai-dynamo==$(DYNAMO)' && \
		touch build/dynamo/.stamp-ai-$(DYNAMO); }
	$(BIN)/python -m pytest tests_dynamo/test_routes.py tests_dynamo/test_workload.py
	$(VLLM_VENV)/bin/python -m pytest tests_dynamo --ignore tests_dynamo/test_routes.py \
		--ignore tests_dynamo/test_workload.py

test-otlp: $(STAMP) ## Follow OpenTelemetry's exporter, and a collector (fetches them, 15 MB)
	@test -e build/otlp/.stamp-$(OTLP) || { rm -rf build/otlp && $(PYTHON) -m venv build/otlp && \
		build/otlp/bin/python -m pip --disable-pip-version-check --no-input install -qq \
		'opentelemetry-exporter-otlp-proto-http==$(OTLP)' 'rotel==$(ROTEL)' && \
		touch build/otlp/.stamp-$(OTLP); }
	$(BIN)/python -m pytest tests_otlp

PROMETHEUS ?= build/prometheus/usr/bin

test-prometheus: $(STAMP) ## Scrape watch by a real Prometheus (fetches Debian's package, 19 MB; or PROMETHEUS=folder)
	@test -x $(PROMETHEUS)/prometheus || { mkdir -p build/prometheus && cd build/prometheus && \
		apt-get download -qq prometheus && dpkg-deb -x prometheus_*.deb .; } || { \
		echo "Name a folder that has prometheus and promtool: make test-prometheus PROMETHEUS=..." >&2; \
		exit 2; }
	RESIDENT_CLAIMS_PROMETHEUS=$(abspath $(PROMETHEUS)) $(BIN)/python -m pytest tests_prometheus

PLACES := kubernetes-validate==1.37.0 check-jsonschema==0.39.0 pre-commit==4.7.0 pipx==1.18.4

test-places: $(STAMP) ## Validate the manifests, the action and the hook; run the wheel by pipx (fetches the tools, 30 MB)
	@test -e build/places/.stamp || { rm -rf build/places && $(PYTHON) -m venv build/places && \
		build/places/bin/python -m pip --disable-pip-version-check --no-input install -qq $(PLACES) && \
		touch build/places/.stamp; }
	$(BIN)/python -m pytest tests_places

build/browser/.stamp-$(PLAYWRIGHT): $(STAMP)
	@rm -rf build/browser && $(PYTHON) -m venv build/browser && \
		ls -d $(CURDIR)/$(VENV)/lib/python3*/site-packages \
			> $$(ls -d build/browser/lib/python3*/site-packages)/project.pth && \
		build/browser/bin/python -m pip --disable-pip-version-check --no-input install -qq \
			'playwright==$(PLAYWRIGHT)' 'axe-playwright-python==$(AXE)' && touch $@

test-browser: build/browser/.stamp-$(PLAYWRIGHT) ## Open the pages of report, prove, label and explore in chromium (fetches Playwright, 45 MB)
	build/browser/bin/python -m pytest tests_browser

build/fleet/.stamp-$(PYSPARK): $(STAMP)
	@rm -rf build/fleet && $(PYTHON) -m venv build/fleet && \
		ls -d $(abspath $(VENV))/lib/python3*/site-packages \
			> $$(ls -d build/fleet/lib/python3*/site-packages)/project.pth && \
		build/fleet/bin/python -m pip --disable-pip-version-check --no-input install -qq \
			'pyspark==$(PYSPARK)' 'pandas==2.3.3' && touch $@

test-fleet: build/fleet/.stamp-$(PYSPARK) ## Judge a fleet on Spark, also killed (needs Java 17; fetches Spark, 460 MB)
	build/fleet/bin/python -m pytest -m 'not deep' tests_fleet

KILLS ?= 20

soak-fleet: build/fleet/.stamp-$(PYSPARK) ## Kill the driver and workers of a cluster on loopback (KILLS=20), and compare
	RESIDENT_CLAIMS_KILLS=$(KILLS) build/fleet/bin/python -m pytest -m deep tests_fleet

bench-fleet: build/fleet/.stamp-$(PYSPARK) ## Measure what a line costs on Spark, beside check on one core
	build/fleet/bin/python -m tests_fleet.bench

screenshots: build/browser/.stamp-$(PLAYWRIGHT) ## Make the pictures of pages in docs/pictures again
	build/browser/bin/python -m tests_browser.screenshots docs/pictures

test-nixl: $(VLLM_VENV)/.stamp ## Observe two engines of that vLLM with NIXL between them (fetches its wheels, 60 MB)
	@test -e build/nixl/.stamp-$(NIXL) || { rm -rf build/nixl && \
		$(VLLM_VENV)/bin/python -m venv build/nixl && \
		ls -d $(CURDIR)/$(VLLM_VENV)/lib/python3*/site-packages \
			> $$(ls -d build/nixl/lib/python3*/site-packages)/vllm.pth && \
		build/nixl/bin/python -m pip --disable-pip-version-check --no-input install -qq \
			--no-deps 'nixl==$(NIXL)' 'nixl-cu12==$(NIXL)' && \
		touch build/nixl/.stamp-$(NIXL); }
	$(VLLM_VENV)/bin/python -m pytest tests_nixl

test-vllm-gpu: $(STAMP) ## The same in GPU_VENV=..., with vLLM's own offloading, on a CUDA device
	@test -n "$(GPU_VENV)" && test -x "$(GPU_VENV)/bin/python" || { \
		echo "Name an environment that has vLLM 0.32 for CUDA, pytest and this project:" \
			"make test-vllm-gpu GPU_VENV=..." >&2; exit 2; }
	@$(GPU_VENV)/bin/python -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' || { \
		echo "There is no CUDA device here." >&2; exit 2; }
	@rm -rf build/table
	RESIDENT_CLAIMS_TINY_DEVICE=cuda $(GPU_VENV)/bin/python -m pytest -m 'not deep' tests_vllm \
		--keep build/table
	$(BIN)/python -m tests_vllm.witness build/table

witness: $(STAMP) $(VLLM_VENV)/.stamp ## Label the plugin by its traces of a real engine, and record them
	@test "$(VLLM)" = "$(VLLM_USUAL)" || \
		{ echo "The descriptor is of vLLM $(VLLM_USUAL), and not of $(VLLM)." >&2; exit 2; }
	@rm -rf build/table
	$(VLLM_VENV)/bin/python -m pytest tests_vllm/test_table.py --keep build/table
	$(BIN)/python -m tests_vllm.witness build/table --write

repeat: $(STAMP) $(VLLM_VENV)/.stamp ## Repeat the connector boundary in a real engine, 131 runs, and judge them
	@rm -rf build/repeat
	$(VLLM_VENV)/bin/python -m tests_vllm.repeat build/repeat
	$(BIN)/python -m monitor repeat build/repeat/runs.json

SECONDS ?= 600

soak: $(STAMP) ## Kill and disturb a follower for ten minutes (SECONDS=600), and compare its verdicts
	$(BIN)/python -m tests.soak --seconds $(SECONDS)

fuzz: $(STAMP) ## Look for bytes that break the readers, a minute each (needs pip install atheris)
	$(BIN)/python -m tests.fuzz lines --seconds 60
	$(BIN)/python -m tests.fuzz snapshot --seconds 60

bench: $(STAMP) native-core ## Measure speed, as ratios to a baseline of the same run (a few minutes)
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench_monitor
	$(BIN)/python -m tests.bench_start
	$(BIN)/python -m tests.bench_simulation
	@test ! -e build/browser/.stamp-$(PLAYWRIGHT) || build/browser/bin/python -m tests_browser.bench
	@test ! -e $(VLLM_VENV)/.stamp || $(VLLM_VENV)/bin/python -m tests_vllm.bench

mutate: $(STAMP) ## Plant each mistake in what a proof rests on, and see that it is noticed (hours)
	$(BIN)/python -m tests.mutation

runs: $(STAMP) ## Record what the specification makes of the recorded runs, and read the difference
	$(BIN)/python -m tests.mutation.record

lint: $(STAMP) ## Check style, formatting, types and imports between packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports

docs: $(STAMP) ## Regenerate the pages drawn from the specification
	$(BIN)/python -m spec docs
	$(BIN)/python -m monitor docs
	$(BIN)/python -m models docs
	$(BIN)/python -m models experiments -o docs
	$(BIN)/python -m proofs cores -o docs/cores.md
	$(BIN)/python -m proofs docs
	$(BIN)/python -m tests.docs_api
	$(BIN)/python -m tests.notebooks

# Not --quiet: strict counts the warnings that are printed.
site: $(STAMP) ## Build the documentation site in build/site/html, and test it (needs npm; fetches 40 MB)
	@test -e build/site/.stamp-$(MATERIAL)-$(MERMAID) || { rm -rf build/site && \
		$(PYTHON) -m venv build/site/venv && build/site/venv/bin/python -m pip \
		--disable-pip-version-check --no-input install -qq 'mkdocs==1.6.1' \
		'mkdocs-material==$(MATERIAL)' && \
		npm pack --silent --pack-destination build/site 'mermaid@$(MERMAID)' && \
		tar -xzf build/site/mermaid-$(MERMAID).tgz -C build/site --strip-components=2 \
		package/dist/mermaid.min.js && touch build/site/.stamp-$(MATERIAL)-$(MERMAID); }
	$(BIN)/python docs_site/pages.py build/site/pages
	@cp build/site/mermaid.min.js build/site/pages
	NO_MKDOCS_2_WARNING=1 build/site/venv/bin/mkdocs build -f docs_site/mkdocs.yml
	$(BIN)/python -m pytest tests_site

suite: $(STAMP) ## Make the recorded suite of bad lowerings again
	$(BIN)/python -m proofs counterexamples -o models/counterexamples/recorded

RELEASE := build/release

# From the commit, so what is not tracked stays out, and so does the native core. The second time in
# another folder, with other permissions, in another time zone.
release: $(STAMP) ## Build this commit twice, compare the bytes, and list what it installs (SBOM)
	@rm -rf $(RELEASE) && mkdir -p $(RELEASE)/dist $(RELEASE)/again
	@git clone -q . $(RELEASE)/tree && cd $(RELEASE)/tree && \
		$(abspath $(BIN))/python -m hatchling build -d ../dist
	@umask 077 && git clone -q . $(RELEASE)/again/tree && cd $(RELEASE)/again/tree && \
		TZ=Asia/Tokyo $(abspath $(BIN))/python -m hatchling build -d ../dist
	diff -r $(RELEASE)/dist $(RELEASE)/again/dist
	@sed -n 's/^\([a-z0-9._-]*==.*\) \\$$/\1/p' requirements.lock > $(RELEASE)/versions.txt
	@for each in all sbom; do $(PYTHON) -m venv $(RELEASE)/$$each || exit 1; done
	@$(RELEASE)/all/bin/python -m pip --disable-pip-version-check --no-input install -qq \
		-c $(RELEASE)/versions.txt \
		"resident-claims[all] @ file://$$(ls $(abspath $(RELEASE))/dist/*.whl)"
	@$(RELEASE)/sbom/bin/python -m pip --disable-pip-version-check --no-input install -qq \
		'cyclonedx-bom==$(CYCLONEDX)'
	$(RELEASE)/sbom/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
		-o $(RELEASE)/dist/sbom.json $(RELEASE)/all/bin/python
	cd $(RELEASE)/dist && sha256sum * > SHA256SUMS && cat SHA256SUMS

lock: ## Pin every dependency again in requirements.lock (LOCK_FLAGS=--upgrade for newer ones)
	@echo "Pinning the dependencies in requirements.lock ..."
	@$(PYTHON) -m venv build/lock
	@build/lock/bin/python -m pip --disable-pip-version-check install -qq 'uv==$(UV_VERSION)'
	@build/lock/bin/uv pip compile pyproject.toml --quiet --extra test --universal \
		--python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url \
		--no-emit-find-links --custom-compile-command 'make lock' $(LOCK_FLAGS) \
		--output-file requirements.lock

clean: ## Remove .venv, .venv-vllm*, build and caches
	rm -rf $(VENV) .venv-vllm .venv-vllm-* build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with make PYTHON=..."; exit 2; }
	@echo "Installing the locked dependencies into $(VENV) (once; a minute or so) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install -qq --require-hashes -r requirements.lock
	@$(PIP) install -qq --no-deps --no-build-isolation -e .
	@$(BIN)/python -m monitor.native.build
	@touch $@

requirements-vllm-%.lock:
	@echo "vLLM $* was not tried here; VLLM is $(VLLM_USUAL) or one of:" \
		"$(patsubst requirements-vllm-%.lock,%,$(wildcard requirements-vllm-*.lock))" >&2; exit 2

$(VLLM_VENV)/.stamp: $(VLLM_LOCK) pyproject.toml runtime_hooks/engines/distribution.py
	@$(PYTHON) runtime_hooks/engines/cpu.py
	@echo "Installing vLLM for the CPU into $(VLLM_VENV) (once; a few minutes) ..."
	@$(PYTHON) -m venv $(VLLM_VENV)
	@$(VLLM_VENV)/bin/python -m pip --disable-pip-version-check --no-input install -qq \
		-c $(VLLM_LOCK) torch
	@$(VLLM_VENV)/bin/python -m pip --disable-pip-version-check --no-input install -qq \
		--no-deps -r $(VLLM_LOCK)
	@$(VLLM_VENV)/bin/python runtime_hooks/engines/distribution.py
	@$(VLLM_VENV)/bin/python -m pip --disable-pip-version-check --no-input install -qq \
		--no-deps --no-build-isolation -e .
	@test -z "$(filter $(VLLM_TRIALS),$(VLLM))" || { \
		$(VLLM_VENV)/bin/python -m pip --disable-pip-version-check --no-input download -qq \
			--no-deps --only-binary :all: -d build/vllm 'vllm==$(VLLM)' && \
		$(VLLM_VENV)/bin/python -m tests_vllm.trial build/vllm/vllm-$(VLLM)-*.whl; }
	@touch $@
