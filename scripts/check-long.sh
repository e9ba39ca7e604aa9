#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What takes too long for every change, stage by stage (scripts/stages.sh); hours in all.
#   scripts/check-long.sh           all of it
#   scripts/check-long.sh WORD...   the stages that have one of these words in their name
set -u
cd "$(dirname "$0")/.."
. scripts/stages.sh
words=$*

# NAME FUNCTION, where the name has one of the words, or there are none.
chosen() {
    [ -n "$words" ] || stage "$@"
    for word in $words; do
        case $1 in
        *"$word"*)
            stage "$@"
            return
            ;;
        esac
    done
}

run_tests() { # PRESET [OPTION...]
    preset=$1
    shift
    ctest --test-dir "build/$preset" -j "$jobs" --timeout 3000 --output-on-failure "$@"
}

conformance() {
    build dev
    BANYAN_NETWORKS=${BANYAN_NETWORKS:-2000} BANYAN_MUTANTS=${BANYAN_MUTANTS:-1000000} run_tests dev -R '^conformance/'
}

computing() {
    build dev
    run_tests dev -L 'computes|long' -E '^conformance/'
}

# Those of which `make test` runs a part.
whole='unit/execute|multi/(learning|registered|registered_bits)'
whole_dev() {
    build dev
    BANYAN_TEST_ALL=1 run_tests dev -R "^($whole)\$"
}

whole_tsan() {
    build tsan test_unit_execute test_multi_learning test_multi_registered
    BANYAN_TEST_ALL=1 run_tests tsan -R "^($whole)\$" -E '_bits$'
}

# Where ctest spares tests the search for leaks (tests/CMakeLists.txt), they get it here; jobs of many processes never do.
leaks() {
    case $(uname -m) in
    aarch64 | arm64) ;;
    *)
        echo ": ctest looks for leaks on this machine" > "$place/why"
        exit $skipped
        ;;
    esac
    build dev
    for test in build/dev/tests/test_unit_*; do "$test"; done
}

# Every record of the tree packing paper's clusters, bounds of thousands of networks against all their trees, every lost cable of a torus, clusters of
# 1,024 workers and 10,000 schedules flit by flit.
optimised() {
    build release tested
    export BANYAN_TEST_ALL=1
    run_tests release -R '^(conformance/algorithms|unit/bound|python/cut)$'
    for test in unit_clusters unit_forest unit_bound_same unit_packing_random unit_flit unit_relayed conformance_multitree; do
        build/release/tests/test_$test
    done
    BANYAN_TEST_ALL=2-99 build/release/tests/test_unit_bound_exact
    BANYAN_FLIT_SCHEDULES=${BANYAN_FLIT_SCHEDULES:-10000} build/release/tests/test_conformance_flit
}

plans() {
    build release product
    bench/check_plans.py build/release/banyan --jobs "$jobs"
}

pages() {
    build release product
    scripts/browser.sh build/release/banyan
}

# The published results that are all reproduced.
papers() {
    build release product
    build/release/banyan reproduce field -o build/reproduce-field --quiet
}

# Another seed each time; a failure names its own.
seed=${BANYAN_SEED:-$(date +%s)}
soak_s=${BANYAN_SOAK_SECONDS:-1800}
kills() {
    build dev test_multi_soak
    BANYAN_SOAK_SECONDS=$soak_s BANYAN_SEED=$seed build/dev/tests/test_multi_soak
}

# With 64 ranks the control tree has two levels.
kills_of_64() {
    build release test_multi_soak
    BANYAN_SOAK_RANKS=64 BANYAN_SOAK_SECONDS=$((soak_s / 3)) BANYAN_SEED=$seed build/release/tests/test_multi_soak
}

# A control tree of several levels, for which the tests of faults have too few ranks by default.
faults() {
    build release test_multi_faults
    for transport in auto tcp; do
        BANYAN_CONTROL_FANOUT=2 BANYAN_TRANSPORT=$transport build/release/tests/test_multi_faults
    done
}

# Speeds that change at random while ranks are killed and the others learn the network; needs root, and says so.
drift() {
    build dev test_multi_drift
    BANYAN_SOAK_SECONDS=${BANYAN_DRIFT_SECONDS:-300} BANYAN_SEED=$seed build/dev/tests/test_multi_drift
}

# Networks that are cut while ranks compute and shrink; needs root, and says so.
partitions() {
    build dev test_multi_partition
    BANYAN_PARTITIONS=${BANYAN_PARTITIONS:-100} BANYAN_SEED=$seed build/dev/tests/test_multi_partition
}

probes() {
    build release product
    scripts/probe-networks.sh build/release/banyan
}

# Start, compute, split, lose ten at once, shrink.
many_ranks() {
    build release bench_ranks
    bench/ranks.sh build/release/bench/bench_ranks "${BANYAN_RANKS:-256}"
}

# As far as they can be installed; each says what is missing.
launchers() {
    build release product
    scripts/setup.sh mpich openmpi-bin libpmix2 python3-torch etcd-server python3-etcd slurm-wlm munge
    for launcher in hydra openmpi torchrun slurm; do
        bash tests/launchers/$launcher.sh "$PWD" "$PWD/build/release/banyan" || [ $? = $skipped ]
    done
}

# Installed and used in an overlay of this system; needs root, and says so.
packages() {
    scripts/deb.sh
    bash tests/deb.sh build/deb
}

fuzzing() {
    count=$(ls tests/fuzz/*.c | wc -l)
    scripts/fuzz.sh $((600 / count))
}

chosen "conformance and mutation tests with more cases" conformance
chosen "tests that compute much, under ASan and UBSan" computing
chosen "all cases of tests that make test runs in part, under ASan and UBSan" whole_dev
chosen "the same under TSan" whole_tsan
chosen "leaks" leaks
chosen "all cases of tests that compute much, optimised" optimised
chosen "plans against stored ones" plans
chosen "pages in a browser" pages
chosen "papers reproduced" papers
chosen "ranks that die at random, $((soak_s / 60)) minutes" kills
chosen "the same with 64 ranks, $((soak_s / 180)) minutes" kills_of_64
chosen "faults in a control tree of several levels" faults
chosen "speeds that change while ranks die" drift
chosen "networks that are cut" partitions
chosen "the probe on test networks" probes
chosen "a job of ${BANYAN_RANKS:-256} processes" many_ranks
chosen "launchers: Hydra, Open MPI, torchrun, Slurm" launchers
chosen "Debian packages" packages
chosen "ten minutes of fuzzing" fuzzing
end_of_stages
