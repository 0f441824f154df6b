# Everything runs in a virtual environment inside the checkout; the first target that needs it makes it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test test-exhaustive faults lint format figures docs bench clean

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "isl needs Python 3.11 or newer, found " + sys.version.split()[0] + "; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(STAMP)  ## solve Deep Sea 20 with four seeds and draw what happened
	$(BIN)/isl train deep_sea/20 --agent isl --seeds 4 --until-solved --snapshots --out runs/demo
	$(BIN)/isl report runs/demo --picture runs/demo/demo.png
	@echo 'look into it: $(BIN)/isl report runs/demo'

test: lint  ## lint, then the whole test suite
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-exhaustive: test faults  ## the suite, then everything that it only samples (an hour)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[minigrid]'
	ISL_MINIGRID_FULL=1 $(BIN)/python -m pytest tests/envs/minigrid
	ISL_OBSERVATIONS_FULL=1 $(BIN)/python -m pytest tests/model/test_observations.py
	ISL_MASKED_FULL=1 $(BIN)/python -m pytest tests/model/test_masked_environments.py

faults: $(STAMP)  ## break everything on purpose, as often as docs/reliability.md says (half an hour)
	$(BIN)/python -m pytest tests/faults --long
	$(BIN)/python -m tests.faults.costs

lint: $(STAMP)  ## ruff, mypy (strict on src/) and codespell
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell

format: $(STAMP)  ## rewrite the code the way lint wants it
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

figures: $(STAMP)  ## draw the figures of the README, the theory and the results again
	$(BIN)/python docs/tools/draw_theory.py
	$(BIN)/python docs/tools/draw_charts.py
	$(BIN)/python docs/tools/draw_logo.py
	$(BIN)/isl reproduce deep_sea --figures
	$(BIN)/isl reproduce deep_sea_stochastic --figures
	$(BIN)/isl reproduce cartpole_swingup --figures
	$(BIN)/isl reproduce ablation --figures
	$(BIN)/isl reproduce untuned --figures
	$(BIN)/isl reproduce minigrid --figures
	$(BIN)/isl reproduce seeker_ablation --figures
	$(BIN)/python docs/tools/draw_learning.py draw docs/results/cartpole_learning.csv docs/results/cartpole_learning.svg

SAMPLE := deep_sea --agents isl seeker dqn --sizes 10 14 20 --seeds 3 --until-solved --episodes 800 --snapshots
docs: $(STAMP)  ## the documentation site with a sample report, in site/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/mkdocs build --strict
	$(BIN)/isl sweep $(SAMPLE) --out build/sample
	$(BIN)/isl report build/sample --out site/sample-report

bench: $(STAMP)  ## speed beside softmax, peers and the machine's limit
	$(BIN)/isl bench --what exploration
	$(BIN)/isl bench --out bench

clean:  ## remove what was built, keep runs/
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
