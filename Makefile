# SPDX-License-Identifier: Apache-2.0
# A thin layer over CMake's presets: `make demo` and `make test` do all set-up themselves.
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
RIVALS ?=
JOBS ?= $(shell nproc)
CMAKE ?= cmake
C_FILES = $(shell find cli include src tests bench examples -name '*.[ch]' 2> /dev/null)

.PHONY: help setup setup-build setup-engines demo build test check-plans check-long bench bench-torch install uninstall deb wheel fuzz format check-format analyse clean

help: ## this list
	@echo "make TARGET, where TARGET is"
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16
	@echo "variables: PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) FUZZ_SECONDS=$(FUZZ_SECONDS) JOBS=$(JOBS)"

setup: ## install the Debian packages that are missing for building and testing
	@scripts/setup.sh

setup-build: ## install those that building needs
	@scripts/setup.sh --build

setup-engines: ## install what the transports ucx and mpi are built and tested with; without it they are left out
	@scripts/setup.sh openmpi-bin libopenmpi-dev mpich libmpich-dev libucx-dev

build: setup-build ## the optimised library and command line, in build/release
	@$(CMAKE) --preset release --log-level=NOTICE > /dev/null
	@$(CMAKE) --build build/release -j $(JOBS) --target product -- --quiet

demo: setup-build ## plan, prove and run an all-reduce on two uneven hosts
	@[ -e build/release/banyan ] || echo "building build/release/banyan: a minute or two"
	@$(CMAKE) --preset release --log-level=NOTICE > /dev/null
	@$(CMAKE) --build build/release -j $(JOBS) --target banyan_cli libbanyan -- --quiet
	@scripts/demo.sh build/release/banyan

test: setup setup-engines ## tests under ASan and UBSan, threads under TSan, long computations optimised, layout, static analysis, a clang build
	@JOBS=$(JOBS) scripts/test.sh

check-plans: build ## forest on the stored networks: none may become worse, or need a fifth more work
	@bench/check_plans.py build/release/banyan --jobs $(JOBS)

check-long: setup ## the long checks: all cases of tests that make test runs in part, more mutations, pages in a browser, half an hour of random kills, ten minutes of fuzzing
	@JOBS=$(JOBS) scripts/check-long.sh

bench: setup build ## beside Open MPI, MPICH and Gloo on shaped networks (root; half an hour), and this machine's memory
	@$(CMAKE) --build build/release -j $(JOBS) --target bench_shm bench_kernels -- --quiet
	build/release/banyan bench -n 4 -b 1K -e 64M -f 8
	build/release/bench/bench_shm
	build/release/bench/bench_kernels
	bench/rivals.py --json build/rivals.json --csv build/rivals.csv --markdown build/rivals.md $(RIVALS)

bench-torch: setup build ## DDP with Gloo and with Banyan, side by side, on shaped networks (needs root)
	@scripts/bench-torch.sh build/release/banyan

install: build ## to DESTDIR and PREFIX: library, header, command line, Python package, man pages, completions
	DESTDIR="$(DESTDIR)" $(CMAKE) --install build/release --prefix "$(PREFIX)"

uninstall: ## remove what the last install put there
	@DESTDIR="$(DESTDIR)" scripts/uninstall.sh build/release

deb: ## Debian packages in build/deb: libbanyan0, libbanyan-dev, banyan, python3-banyan
	@JOBS=$(JOBS) scripts/deb.sh

wheel: build ## a Python wheel with the library inside, in build/wheel; pip install takes it
	@scripts/wheel.sh build/release build/wheel

fuzz: setup ## each fuzz target for FUZZ_SECONDS
	@JOBS=$(JOBS) scripts/fuzz.sh $(FUZZ_SECONDS)

format: ## lay out all C files
	clang-format -i $(C_FILES)

# clang-format leaves comments as they are.
check-format: ## fail if a C file is not laid out, or has a line of more than 110 columns
	@clang-format --dry-run -Werror $(C_FILES)
	@! LC_ALL=C.UTF-8 grep -nE '.{111}' $(C_FILES) || \
	    { echo "these lines have more than 110 columns: break them" >&2; false; }

analyse: setup ## cppcheck, clang-tidy and gcc's analyzer
	@$(CMAKE) --preset release --log-level=NOTICE > /dev/null
	@JOBS=$(JOBS) scripts/analyse.sh build/release

clean: ## remove all that was built
	rm -rf build
