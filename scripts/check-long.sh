#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What takes too long for every change: all cases of tests of which `make test` runs a part, tests that compute much under the sanitizers, the conformance and mutation tests with more cases, all clusters of the tree packing paper, the pages of reports and papers in a
# browser, half an hour (BANYAN_SOAK_SECONDS) of ranks that die at random and ten minutes of it with 64, a hundred rounds (BANYAN_PARTITIONS) of networks that are cut, the probe on shaped
# networks, a job of 256 processes, ranks started by Hydra, Open MPI, torchrun (also with etcd) and Slurm, the Debian packages, then ten minutes of fuzzing, spread over the targets.
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-2}

cmake --preset dev --log-level=NOTICE > /dev/null
cmake --build build/dev -j "$jobs" -- --quiet
BANYAN_NETWORKS=${BANYAN_NETWORKS:-2000} BANYAN_MUTANTS=${BANYAN_MUTANTS:-1000000} ctest --test-dir build/dev -j "$jobs" --output-on-failure --timeout 1500 \
    -R '^conformance/'
ctest --test-dir build/dev -j "$jobs" --output-on-failure --timeout 3000 -L 'computes|long' -E '^conformance/'

# Those of which `make test` runs a part, whole: under ASan and UBSan, and the ones with threads under TSan.
export BANYAN_TEST_ALL=1
ctest --test-dir build/dev -j "$jobs" --output-on-failure --timeout 3000 -R '^(unit/execute|multi/(learning|lent|lent_bits))$'
cmake --preset tsan --log-level=NOTICE > /dev/null
cmake --build build/tsan -j "$jobs" --target test_unit_execute test_multi_learning test_multi_lent -- --quiet
ctest --test-dir build/tsan -j "$jobs" --output-on-failure --timeout 3000 -R '^(unit/execute|multi/(learning|lent))$'
unset BANYAN_TEST_ALL

# Where ctest spares them the search for leaks (tests/CMakeLists.txt), they get it here; jobs of many processes never do.
case $(uname -m) in
aarch64 | arm64)
    for test in build/dev/tests/test_unit_*; do "$test"; done
    export ASAN_OPTIONS=detect_leaks=0
    ;;
esac

# Every record of the tree packing paper's clusters, bounds of thousands of networks against all their trees, every lost cable of a torus, clusters of 1,024
# workers and 10,000 schedules flit by flit, in an optimised build.
cmake --preset release --log-level=NOTICE > /dev/null
cmake --build build/release -j "$jobs" --target tested -- --quiet
BANYAN_TEST_ALL=1 ctest --test-dir build/release -j "$jobs" --output-on-failure --timeout 3000 -R '^(conformance/algorithms|unit/bound|python/cut)$'
BANYAN_TEST_ALL=1 build/release/tests/test_unit_clusters
BANYAN_TEST_ALL=1 build/release/tests/test_unit_forest
BANYAN_TEST_ALL=2-99 build/release/tests/test_unit_bound_exact
BANYAN_TEST_ALL=1 build/release/tests/test_unit_bound_same
BANYAN_TEST_ALL=1 build/release/tests/test_unit_packing_random
BANYAN_TEST_ALL=1 build/release/tests/test_unit_flit
BANYAN_TEST_ALL=1 build/release/tests/test_unit_relayed
BANYAN_TEST_ALL=1 build/release/tests/test_conformance_multitree
BANYAN_FLIT_SCHEDULES=${BANYAN_FLIT_SCHEDULES:-10000} build/release/tests/test_conformance_flit

cmake --build build/release -j "$jobs" --target banyan_cli -- --quiet
bench/check_plans.py build/release/banyan --jobs "$jobs"
scripts/browser.sh build/release/banyan

# The published results that are all reproduced; it takes minutes.
build/release/banyan reproduce field -o build/reproduce-field --quiet

# Another seed each time; a failure names its own.
BANYAN_SOAK_SECONDS=${BANYAN_SOAK_SECONDS:-1800} BANYAN_SEED=${BANYAN_SEED:-$(date +%s)} build/dev/tests/test_multi_soak

# The same with 64 ranks, whose control tree has two levels, for a third of that time.
cmake --build build/release -j "$jobs" --target test_multi_soak test_multi_faults -- --quiet
BANYAN_SOAK_RANKS=64 BANYAN_SOAK_SECONDS=$((${BANYAN_SOAK_SECONDS:-1800} / 3)) BANYAN_SEED=${BANYAN_SEED:-$(date +%s)} build/release/tests/test_multi_soak

# All fault tests with a control tree of several levels, which they have too few ranks for by default.
for transport in auto tcp; do
    BANYAN_CONTROL_FANOUT=2 BANYAN_TRANSPORT=$transport build/release/tests/test_multi_faults
done

# Speeds that change at random while ranks are killed and the others learn the network; needs root, and says so.
BANYAN_SOAK_SECONDS=${BANYAN_DRIFT_SECONDS:-300} BANYAN_SEED=${BANYAN_SEED:-$(date +%s)} build/dev/tests/test_multi_drift || [ $? = 77 ]

# Networks that are cut while ranks compute and shrink; needs root, and says so.
BANYAN_PARTITIONS=${BANYAN_PARTITIONS:-100} BANYAN_SEED=${BANYAN_SEED:-$(date +%s)} build/dev/tests/test_multi_partition

scripts/probe-networks.sh build/release/banyan

# 256 processes: start, compute, split, lose ten at once, shrink; BANYAN_RANKS for more.
cmake --build build/release -j "$jobs" --target bench_ranks -- --quiet
bench/ranks.sh build/release/bench/bench_ranks "${BANYAN_RANKS:-256}"

# Real launchers, as far as they can be installed; each says what is missing.
scripts/setup.sh mpich openmpi-bin libpmix2 python3-torch etcd-server python3-etcd slurm-wlm munge
for launcher in hydra openmpi torchrun slurm; do
    bash tests/launchers/$launcher.sh "$PWD" "$PWD/build/release/banyan" || [ $? = 77 ]
done

# The Debian packages, installed and used in an overlay of this system; needs root, and says so.
scripts/deb.sh
bash tests/deb.sh build/deb || [ $? = 77 ]

count=$(ls tests/fuzz/*.c 2> /dev/null | wc -l)
[ "$count" -eq 0 ] || scripts/fuzz.sh $((600 / count))
