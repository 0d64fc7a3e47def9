# Two commands do everything on a fresh machine, set-up included:
#   make demo    the whole story on the built-in world
#   make test    the tests, without the slow ones (make test-all: every test, as CI runs them)
VENV := .venv
PYTHON := $(VENV)/bin/python
TORCH := $(VENV)/.ready-torch
STAMP := $(VENV)/.ready
DEV := $(VENV)/.ready-dev

# Containers often set it. Every process would then compile torch and transformers again, for 10 seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test test-all test-long test-extras package docs numbers fuzz faults lint clean bench-smoke bench-compare bench-quick

setup: $(DEV)

# Not compiled: that takes half of the time, and Python compiles what it imports anyway.
INSTALL := $(PYTHON) -m pip install --quiet --no-compile --constraint constraints.txt

# torch first and alone: asked for together with the rest, pip may take the newest build and its CUDA packages. The pip
# of an old Python needs twice as long.
$(TORCH): pyproject.toml constraints.txt
	$(PYTHON) -m pip --version > /dev/null 2>&1 || python3 -m venv $(VENV)
	-$(INSTALL) --upgrade pip
	$(INSTALL) torch
	touch $@

$(STAMP): $(TORCH)
	$(INSTALL) --editable .
	touch $@

# What only the tests and the site need: nobody who wants to see the demo should wait for it.
$(DEV): $(TORCH)
	$(INSTALL) --editable '.[dev,docs]'
	touch $(STAMP) $@

demo: $(STAMP)
	$(VENV)/bin/equipoise demo

# Two processes with one torch thread each; the tests of one file stay together, and tests/conftest.py orders the files.
# -m is given here and not in pyproject.toml, so that a slow test named on pytest's command line runs.
PYTEST := OMP_NUM_THREADS=1 $(PYTHON) -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test: $(DEV)
	$(PYTEST) -m "not slow and not faults and not long"

test-all: $(DEV)
	$(PYTEST) -m "not faults and not long"

test-long: $(DEV)
	$(PYTEST) -m "long and not faults"

# Large packages (Ray is 590 MB) are installed only for their tests (hosted CI runs them). Harnesses want older versions
# of what we use, and open_clip brings torchvision: they have environments of their own.
HARNESS := .venv-harness
OPENCLIP := .venv-openclip
test-extras: $(DEV)
	$(INSTALL) --editable '.[scale,tensorboard,wandb]'
	$(INSTALL) datasets sentence-transformers lightning
	$(PYTHON) -m pytest tests/perturb/run/test_ray.py tests/api/test_notebook.py tests/train/run/test_loggers.py \
		tests/integrations
	python3 -m venv $(HARNESS)
	$(HARNESS)/bin/python -m pip install --quiet --constraint constraints.txt torch
	$(HARNESS)/bin/python -m pip install --quiet inspect-ai==0.3.285 lm_eval==0.4.13 pytest --editable .
	OMP_NUM_THREADS=1 $(HARNESS)/bin/python -m pytest tests/evaluation/export
	python3 -m venv $(OPENCLIP)
	$(OPENCLIP)/bin/python -m pip install --quiet --constraint constraints.txt torch
	$(OPENCLIP)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,openclip]'
	$(OPENCLIP)/bin/python -m pytest tests/integrations/test_open_clip.py tests/integrations/test_page.py

# Wheel and source distribution, tried in an empty environment without this folder.
package: $(DEV)
	.ci/bare

# The site, into site/: no warning, every link resolves. The tests run the code blocks of its pages.
docs: $(DEV)
	$(PYTHON) -m studies.docs_site

# Every number of a study or a bench on the pages is the one that its command prints from kept results: two minutes.
# `python -m studies.page_numbers --write` writes them into the pages.
numbers: $(DEV)
	OMP_NUM_THREADS=1 $(PYTHON) -m studies.page_numbers

# A full disk, a kill and a short write in every verb that writes: minutes, so not in CI.
faults: $(DEV)
	$(PYTEST) -m faults

# Damaged files for every reader, new ones each time, for long.
fuzz: $(DEV)
	FUZZ=20000 $(PYTEST) tests/fuzz

# Every script of bench/ on its smallest input: it must end well and come to the right outcome.
bench-smoke: $(DEV)
	$(PYTHON) bench/smoke.py

# The everyday commands of two commits in alternation; fails where one became slower by more than a quarter.
BASE := 67fbd537
bench-compare: $(DEV)
	$(PYTHON) bench/compare.py $(BASE)

# The quick ones, for CI.
QUICK := start-up,metrics,reading JSONL,reading Parquet,eval from cache,compare,perturb
bench-quick: $(DEV)
	$(PYTHON) bench/compare.py $(BASE) --turns 2 --items 600 --only "$(QUICK)"

lint: $(DEV)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

clean:
	rm -rf $(VENV) $(HARNESS) build dist demo-out site
