# SPDX-License-Identifier: Apache-2.0
# Short names for everyday work; `make help` lists them. Needs Python >= 3.11, a C compiler and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# cmake and ninja come as wheels, so the environment's programs go first.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Tests start hundreds of programs in Python; without bytecode files each compiles the exporter again.
unexport PYTHONDONTWRITEBYTECODE
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
# One worker gets neighbouring tests, which share fixtures, and takes half of another's rest when it is done.
PYTEST_ARGS ?= -n $(JOBS) --dist worksteal
CC ?= cc

STAMP := $(VENV)/.installed
LIBRARY_NAME := libsamara.$(if $(filter Darwin,$(shell uname -s)),dylib,so)
BRIDGE_LIBRARY := pybridge/samara/pybridge/$(LIBRARY_NAME)
C_FORMATTED = $(shell git ls-files -co --exclude-standard -- '*.c' '*.h' '*.hpp')

.PHONY: help setup build library test demo ctest unity pytest check fmt lint types gen size \
        asan tsan fuzz fuzz-long bits bench bench-ops bench-web bench-train bench-text bench-distributed onnx-score tflite-score docs extended new-op test-op clean

help:  ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and "samara needs Python 3.11 or newer; this is %d.%d (make PYTHON=python3.12)" % v[:2])'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

setup: $(STAMP)  ## The environment .venv with everything that building and testing needs

# Builds all of build/dev, or one target; the checkout's Python finds the library there.
build_dev = cd runtime_c && cmake --preset dev --log-level=WARNING && \
	cd .. && cmake --build build/dev --parallel $(JOBS) $(1) && \
	ln -sfn ../../../build/dev/$(LIBRARY_NAME) $(BRIDGE_LIBRARY)

build: $(STAMP)  ## The native library, its programs and tests, in build/dev
	$(call build_dev)

library: $(STAMP)
	$(call build_dev,--target samara_shared samara_mirror samara_npu op_cases)

test: ctest unity pytest  ## Everything that a change must pass

# Runs the C tests of a build folder; what a machine cannot run is said even where all else passes.
run_ctest = ctest --test-dir $(1) --output-on-failure --parallel $(JOBS) $(2) && \
	{ grep -h '^NOT RUN' $(1)/Testing/Temporary/LastTest.log | sort -u || true; }

ctest: build
	$(call run_ctest,build/dev)

# Whether names meet and instruction sets are target regions does not depend on optimisation, which takes
# one processor a minute more; `.ci/run unity` optimises.
unity: $(STAMP)  ## One translation unit, one plain compiler line
	$(BIN)/python tools/unity.py --out build/unity --cc '$(CC)'

# What is quick and needs no build of its own: those with sanitizers belong to asan and tsan.
EVERYDAY := not extended and not emulated and not sanitized and not slow and not opencl

pytest: build
	$(BIN)/python -m pytest -m '$(EVERYDAY)' $(PYTEST_ARGS)

demo: build  ## Handwritten digits: train, export, run in C and in Python
	$(BIN)/samara demo

check: lint types  ## Formatting, types, generated files, quick tests
	$(MAKE) ctest
	$(BIN)/python -m pytest -q tests/meta tests/exporter tests/pybridge tests/cli \
	    -m '$(EVERYDAY)' $(PYTEST_ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@echo clang-format --dry-run
	@$(BIN)/clang-format --dry-run -Werror $(C_FORMATTED)

types: $(STAMP)
	$(BIN)/python -m mypy

fmt: $(STAMP)  ## Lay out C and Python
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(C_FORMATTED)

gen: $(STAMP)  ## Rewrite what is generated from the op table and the public headers
	$(BIN)/python tools/gen_ops.py
	$(BIN)/python tools/abi.py --write
	$(BIN)/python tools/gen_cdef.py
	$(BIN)/python tools/gen_kernels.py
	$(BIN)/python tools/make_corpus.py

bits: build  ## The same integers from every build and instruction set, as a table
	$(BIN)/python tools/bit_equality.py --build 'x86-64 gcc cmake=build/dev/samara-run'

onnx-score: build  ## ONNX's own test suite through the C runtime, into docs/reference/onnx-coverage.md
	$(BIN)/python -W ignore tools/onnx_score.py --page docs/reference/onnx-coverage.md

tflite-score: build  ## One-operator models against LiteRT, into docs/reference/tflite-coverage.md
	$(BIN)/python -W ignore tools/tflite_score.py --page docs/reference/tflite-coverage.md

# clang's sanitizers see more than gcc's: make asan SANITIZER_CC=clang-19. Its objects serve the
# fuzzers too, which stand beside the tests then.
asan: build  ## The C tests, mutants and damaged files under AddressSanitizer and UndefinedBehaviorSanitizer
	cd runtime_c && cmake --preset asan-ubsan $(if $(SANITIZER_CC),-DCMAKE_C_COMPILER=$(SANITIZER_CC)) \
	    $(if $(findstring clang,$(SANITIZER_CC)),-DSAMARA_BUILD_FUZZERS=ON) --log-level=WARNING
	cmake --build build/asan-ubsan --parallel $(JOBS)
	$(call run_ctest,build/asan-ubsan)
	$(BIN)/python -m pytest -q -m 'sanitized and not extended' $(PYTEST_ARGS) tests/ops tests/e2e/test_damage.py

tsan: build  ## The C tests of everything that meets threads under ThreadSanitizer
	cd runtime_c && cmake --preset tsan --log-level=WARNING
	cmake --build build/tsan --parallel $(JOBS) --target base_tests model_tests session_tests
	$(call run_ctest,build/tsan,--label-regex '^(base|model|session)$$$$')
	$(BIN)/python -m pytest -q -m 'sanitized and not extended' tests/e2e/test_threads.py

FUZZ_SECONDS ?= 60
fuzz: $(STAMP)  ## Every fuzz target for FUZZ_SECONDS (clang)
	cd runtime_c && cmake --preset fuzz --log-level=WARNING
	cmake --build build/fuzz --parallel $(JOBS)
	$(BIN)/python tools/fuzz.py --build build/fuzz --seconds $(FUZZ_SECONDS)

fuzz-long: library  ## Readers in C and Python for long, into docs/reference/reliability.md: make fuzz-long FUZZ_ARGS="--help"
	cd runtime_c && cmake --preset fuzz --log-level=WARNING
	cmake --build build/fuzz --parallel $(JOBS)
	$(BIN)/python tools/fuzz_long.py --build build/fuzz $(FUZZ_ARGS)

bench: build  ## Side by side with the peers, which it installs in build/bench: make bench BENCH_ARGS="--help"
	cd runtime_c && cmake --preset release --log-level=WARNING
	cmake --build build/release --parallel $(JOBS)
	SAMARA_LIBRARY=$(CURDIR)/build/release/$(LIBRARY_NAME) $(BIN)/python -m benchmarks.call_overhead
	SAMARA_LIBRARY=$(CURDIR)/build/release/$(LIBRARY_NAME) $(BIN)/python -W ignore -m benchmarks.run $(BENCH_ARGS)
	SAMARA_LIBRARY=$(CURDIR)/build/release/$(LIBRARY_NAME) $(BIN)/python -W ignore -m benchmarks.tflite_nets

bench-web: build  ## In Chromium beside onnxruntime-web and LiteRT.js, which it installs by npm: make bench-web BENCH_ARGS="--help"
	cd runtime_c && cmake --preset release --log-level=WARNING
	cmake --build build/release --parallel $(JOBS)
	SAMARA_LIBRARY=$(CURDIR)/build/release/$(LIBRARY_NAME) $(BIN)/python -W ignore -m benchmarks.web $(BENCH_ARGS)

bench-ops: build  ## Each operator beside ONNX Runtime, into docs/internals/operator-speed.md; import and export by stage
	cd runtime_c && cmake --preset release --log-level=WARNING
	cmake --build build/release --parallel $(JOBS)
	SAMARA_LIBRARY=$(CURDIR)/build/release/$(LIBRARY_NAME) $(BIN)/python -W ignore benchmarks/operators.py \
	    --limit 4 --page docs/internals/operator-speed.md
	$(BIN)/python -W ignore -m benchmarks.import_speed

bench-train: build  ## Training steps beside PyTorch, which it installs
	cd runtime_c && cmake --preset release --log-level=WARNING
	cmake --build build/release --parallel $(JOBS)
	$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python -m pip install --quiet torch==2.13.0
	SAMARA_LIBRARY=$(CURDIR)/build/release/$(LIBRARY_NAME) $(BIN)/python benchmarks/train.py

bench-text: build  ## Text models beside llama.cpp, which it builds from source: make bench-text BENCH_ARGS="--help"
	cd runtime_c && cmake --preset release --log-level=WARNING
	cmake --build build/release --parallel $(JOBS)
	SAMARA_LIBRARY=$(CURDIR)/build/release/$(LIBRARY_NAME) $(BIN)/python -m benchmarks.text_models $(BENCH_ARGS)

bench-distributed: build  ## Ranks, shards and two nodes; two nodes need root: make bench-distributed BENCH_ARGS="--help"
	cd runtime_c && cmake --preset release --log-level=WARNING
	cmake --build build/release --parallel $(JOBS)
	$(BIN)/python -c 'import mpi4py' 2>/dev/null || $(BIN)/python -m pip install --quiet --editable '.[distributed]'
	SAMARA_LIBRARY=$(CURDIR)/build/release/$(LIBRARY_NAME) $(BIN)/python -m benchmarks.distributed $(BENCH_ARGS)

size: build  ## Bytes of selective builds against runtime_c/size_budget.txt (SIZE_ARGS=--write: the budget and docs/internals/size.md again)
	$(BIN)/python tools/size.py $(SIZE_ARGS)

docs: library  ## The site, in build/docs/html: pages, and the reference from docstrings, headers and --help; LIVE=0: no models
	$(BIN)/python -c 'import furo, myst_parser' 2>/dev/null || $(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/python -m sphinx -q -W --keep-going -j $(JOBS) -d build/docs/doctrees docs build/docs/html
	$(if $(filter 0,$(LIVE)),,$(BIN)/python -m tools.docs_live build/docs/html/live)

extended: build  ## What takes too long for every change, and a summary of what ran and what could not
	JOBS=$(JOBS) .ci/run extended

new-op: $(STAMP)  ## Scaffold an operator: make new-op NAME=hard_swoosh [OPERANDS=2 | FAMILY=norm, with kernels of its own | OF=lrn, in int8]
	$(BIN)/python tools/new_op.py $(NAME) $(if $(OPERANDS),--operands $(OPERANDS)) $(if $(FAMILY),--family $(FAMILY)) $(if $(OF),--of $(OF))

test-op: library  ## The op suite of one operator: make test-op NAME=hard_swoosh
	$(BIN)/python -m pytest tests/ops -m 'not extended' -k '$(NAME)'

clean:  ## Remove what was built; the environment stays
	rm -rf build dist $(BRIDGE_LIBRARY)
