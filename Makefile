# `make demo`, `make test` and the other goals install what they need first (tools/bootstrap) and build. `make build` and
# `make install` never install a package: they say what is missing, and `make setup` installs it. The work is done by the
# scripts in tools/.
.PHONY: help setup build demo demo-spacecraft demo-heat-cube test stress chaos sim sim-mutants bench bench-against check check-model test-cross fuzz fuzz-short asan tsan docs generate format install clean test-cluster compile-alone demo-bloodflow table-bloodflow demo-cg demo-tile-io scale
.DEFAULT_GOAL := help
PREFIX ?= /usr/local

help:          ## this list
	@sed -n 's/^\([a-z-]*\):[a-z ]*## */  make \1\t/p' Makefile | expand -t 20

setup:         ## installs what `make build` needs: packages (as root or with sudo), and .venv
	@tools/bootstrap build

build:         ## the library for each MPI found, the Python package in .venv
	@tools/bootstrap build --report
	@tools/build release
	@tools/install-python

demo:          ## the tsunami example: Open MPI, MPICH and a program without MPI, coupled
	@tools/bootstrap demo
	@tools/build release
	@tools/install-python
	@tools/demo

demo-spacecraft: ## the spacecraft example: a solver asks workers for a closer look at what it has just computed
	@tools/bootstrap demo
	@tools/build release
	@tools/install-python
	@tools/demo spacecraft

demo-heat-cube: ## three heat codes coupled by files, by messages, and by couplet convert; one solver split over two MPIs
	@tools/bootstrap demo
	@tools/build release
	@tools/install-python
	@tools/demo heat-cube

demo-bloodflow: ## blood in a vessel: coalesced clients, pictures while it flows, a viewer that steers; bits, a death, times
	@tools/bootstrap demo
	@tools/build release
	@tools/install-python
	@tools/demo bloodflow

table-bloodflow: ## only the table of times of the blood flow, each figure the median of five interleaved pairs
	@tools/bootstrap demo
	@tools/build release
	@tools/install-python
	@tools/demo bloodflow table

demo-cg:       ## conjugate gradients with every method of exchange: the same iterations, and a table of times
	@tools/bootstrap demo
	@tools/build release
	@tools/install-python
	@tools/demo cg

demo-tile-io:  ## tiles written and read by two-phase I/O: messages and times against what couplet predict says; SIZE=quick or full
	@tools/bootstrap demo
	@tools/build release
	@tools/install-python
	@tools/demo tile-io $(SIZE)

test:          ## all tests but those of the targets below
	@tools/bootstrap test
	@tools/test

test-cluster:  ## coupled runs, the probe and placements on a Slurm cluster of eight nodes, in namespaces of this machine (root)
	@tools/bootstrap test
	@tools/test-cluster

stress:        ## the long versions of tests: 100,000 steps under both MPIs, 200 kills at random moments, messages beyond 2 GB
	@tools/bootstrap test
	@tools/stress

compile-alone: ## each source of the library by itself, as in a tree without COUPLET_UNITY
	@tools/bootstrap check
	@.venv/bin/python tools/compile_alone.py

scale:         ## MPI programs on simulated clusters (SimGrid): the cost model, exchange methods, coalesced rounds; NIGHTLY=1
	@tools/bootstrap test
	@tools/build release
	@tools/install-python
	@tools/scale $(if $(NIGHTLY),--nightly)

chaos:         ## real processes under seeded faults, and a checker of their histories; SECONDS=600, SEED=n
	@tools/bootstrap test
	@tools/build release
	@tools/chaos/run --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED))

sim:           ## whole universes on a simulated kernel, one for each seed, and a checker of what they saw; SEEDS=10000, SEED=n
	@tools/bootstrap test
	@tools/build release world
	@build/release/tests/play-worlds $(if $(SEED),--seed $(SEED),--first 50000000 --seeds $(or $(SEEDS),10000))

sim-mutants:   ## does the simulator find old faults? builds it with each of tests/world/mutants, and plays seeds
	@tools/bootstrap test
	@tools/build release world
	@.venv/bin/python tests/world/mutants/check_mutants.py

bench:         ## the benchmarks, one JSON object a line
	@tools/bootstrap bench
	@tools/build release
	@tools/install-python
	@tools/bench

bench-against: ## this tree against another commit, samples in pairs: BASE=<commit> SUITES="message series"
	@tools/bootstrap bench
	@tools/bench-against $(BASE) $(SUITES)

check:         ## formatting, layers, sizes, linters, types, symbols, headers, documents
	@tools/bootstrap check
	@tools/check/run

check-model:   ## the protocols of slots and of halves, every state of a model, and mutants that must fail
	@tools/bootstrap check-model
	@tools/check-model

test-cross:    ## programs of s390x (big-endian) and arm64, in qemu-user, coupled with those of this machine; ARCH=s390x
	@tools/bootstrap test
	@tools/bootstrap test-cross
	@tools/cross/test $(ARCH)

fuzz:          ## each fuzz target for a minute
	@tools/bootstrap test
	@tools/fuzz 60

fuzz-short:    ## each fuzz target for three seconds
	@tools/bootstrap test
	@tools/fuzz 3

asan tsan:
	@tools/bootstrap test
	@tools/build $@
	@ctest --preset $@ --no-tests=ignore

asan:          ## the C++ tests with AddressSanitizer and UndefinedBehaviorSanitizer
tsan:          ## the C++ tests with ThreadSanitizer

docs:          ## the site in build/docs, without a link that leads nowhere; opened in a headless browser
	@tools/bootstrap docs
	@tools/docs

generate:      ## writes what follows from the C headers: the Fortran binding, Python's exceptions, the reference
	@tools/bootstrap check
	@.venv/bin/python tools/generate/generate.py

format:        ## formats the sources in place
	@tools/bootstrap check
	@tools/format

install: build ## cmake --install below PREFIX (/usr/local)
	@cmake --install build/release --prefix "$(PREFIX)"

clean:         ## removes what was built, but not .venv
	@rm -rf build
