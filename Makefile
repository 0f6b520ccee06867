# Two commands do everything on a fresh machine: `make demo` and `make test`.
# PYTHON picks the interpreter the environment is made with, VENV where it is made.
PYTHON ?= python3
VENV ?= .venv
REQUIREMENTS ?= requirements.txt
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast lint ci install requirements extras tensorflow test-tensorflow test-tensorflow-if-changed nbgrader scale bench notebooks check-notebooks docs check-docs check-readme clean

help:  ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

# The stamp holds the time of the last complete installation: a broken one is made again.
install: $(VENV)/installed  ## Make .venv and install the pinned packages (done by the others when needed)

$(VENV)/installed: $(REQUIREMENTS) setup.cfg
	@$(PYTHON) -c 'import sys; sys.exit("siamese needs Python 3.11 or newer; %s is %d.%d. Try: make PYTHON=python3.12 ..." % (sys.executable, *sys.version_info[:2])) if sys.version_info < (3, 11) else 0'
	@echo "Making $(VENV) with $$($(PYTHON) --version) and installing $(REQUIREMENTS) (once, about a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r $(REQUIREMENTS)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
	@echo "Installed: $$(du -sh $(VENV) | cut -f1) in $(VENV)."

demo: install  ## Train the assignment in Trax, then find duplicates in questions written by hand
	@$(BIN)/siamese demo

# A file stays with one worker, for its fixtures; the order of the files puts no long one last.
PARALLEL := -n auto --dist loadfile --no-loadscope-reorder

test: extras  ## All tests, with every optional part but TensorFlow, Ray and nbgrader
	@$(BIN)/python -m pytest $(PARALLEL)

test-fast: install  ## The quick tests (TESTS="tests/cli tests/reading": those of some folders)
	@$(BIN)/python -m pytest -m "not slow" $(PARALLEL) $(TESTS)

lint: install  ## Style and mistakes, with ruff; types, with mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

ci:  ## Everything that has to pass before a change lands
	@.ci/run

requirements: install  ## Write the pinned lists again (UPGRADE=--upgrade takes the newest versions)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@PATH=$(BIN):$$PATH $(BIN)/python tools/pin_requirements.py $(UPGRADE)

bench: install .venv-bench/installed  ## Speed beside stock Trax and PyTorch (QUESTIONS=, SPLITS=, BENCH="--rounds 5")
	@$(BIN)/python benchmarks/speed.py --peer-python .venv-bench/bin/python $(if $(QUESTIONS),--questions $(QUESTIONS)) $(if $(SPLITS),--splits $(SPLITS)) $(BENCH)

.venv-bench/installed: requirements/bench.txt $(VENV)/installed
	@$(BIN)/python -m venv .venv-bench
	@.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/bench.txt "$$($(BIN)/python -c 'import jax; print("jax==" + jax.__version__)')"
	@touch $@

extras: $(VENV)/extras-installed  ## Add Parquet, the encoders wordllama and minilm, the page, and what tests them in a browser

$(VENV)/extras-installed: requirements/extras.txt $(VENV)/notebooks-installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/extras.txt
	@touch $@

tensorflow: install  ## Add TensorFlow, for Trax's TensorFlow parts (3 GB)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/tensorflow.txt

# What the tests that need TensorFlow test. CI runs them where this has changed since they last passed.
OF_TENSORFLOW := docs/course/tensorflow.md requirements/tensorflow.txt siamese/course siamese/nn/triplet.py siamese/teaching/checks
TENSORFLOW_SUM = git ls-files -z $(OF_TENSORFLOW) | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum

test-tensorflow: tensorflow  ## The tests that need TensorFlow; notes in .ci/tensorflow.sha256 what they passed for
	@$(BIN)/python -m pytest -m tensorflow
	@$(TENSORFLOW_SUM) > .ci/tensorflow.sha256

test-tensorflow-if-changed:
	@$(TENSORFLOW_SUM) | cmp -s - .ci/tensorflow.sha256 || $(MAKE) test-tensorflow

nbgrader: .venv-nbg/installed  ## Does nbgrader give a class the marks that `siamese grade` gives?
	@.venv-nbg/bin/python -m pytest tests/teaching/test_nbgrader.py

# nbgrader's packages come before those of the environment that trains, which it sees as well.
.venv-nbg/installed: $(VENV)/notebooks-installed
	@$(PYTHON) -m venv .venv-nbg
	@.venv-nbg/bin/python -m pip install --quiet --disable-pip-version-check nbgrader==0.9.6
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > $$(.venv-nbg/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/siamese.pth
	@touch $@

scale: .venv-scale/installed  ## Test the examples beyond one machine, in an environment of their own (1.5 GB)
	@.venv-scale/bin/python -m pytest tests/index/test_scale.py

.venv-scale/installed: requirements/scale.txt $(REQUIREMENTS) setup.cfg
	@$(PYTHON) -m venv .venv-scale
	@.venv-scale/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $(REQUIREMENTS) -r requirements/scale.txt
	@.venv-scale/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

notebooks: $(VENV)/notebooks-installed  ## Make the notebooks of notebooks/src whose code has changed (NOTEBOOKS="01 04 --all" executes both)
	@$(BIN)/python notebooks/build.py $(NOTEBOOKS)

check-notebooks: $(VENV)/notebooks-installed  ## Are the notebooks up to date, and does each run from a clean kernel?
	@$(BIN)/python notebooks/build.py --check
	@$(BIN)/python notebooks/build.py --execute

$(VENV)/notebooks-installed: requirements/notebooks.txt $(VENV)/installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/notebooks.txt
	@touch $@

docs: .venv-docs/installed  ## The documentation as HTML in docs/_build; warnings are errors
	@.venv-docs/bin/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

check-docs: install  ## Do the links, commands and code blocks of README and docs/*.md work?
	@$(BIN)/python -m pytest tests/docs

check-readme: install  ## The README's commands, word by word, in an empty environment (0.9 GB)
	@$(BIN)/python tools/run_readme.py

# An environment of its own: the tools for pages stay out of the one that trains.
.venv-docs/installed: requirements/docs.txt requirements/notebooks.txt $(REQUIREMENTS) setup.cfg
	@$(PYTHON) -m venv .venv-docs
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $(REQUIREMENTS) -r requirements/notebooks.txt -r requirements/docs.txt
	@touch $@

clean:  ## Remove the environment and what the commands above left
	rm -rf $(VENV) .venv-docs .venv-nbg .venv-scale docs/_build docs/notebooks build *.egg-info .pytest_cache .ruff_cache .hypothesis demo
