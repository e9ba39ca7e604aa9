# SPDX-License-Identifier: Apache-2.0
# tests/verb.sh: what tests of verbs begin with; they source it. Arguments of such a test: source folder, command line.
# Leaves them in a folder of their own that goes when they end. A test of one verb sets `one_verb`, and then does not repeat it.
set -u
banyan=$2
one_verb=
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 1
failed=0

complain() {
    echo "$*"
    failed=1
}

says() { # WORDS EXIT-CODE ARGUMENTS...
    local words=$1 code=$2 got
    shift 2
    timeout 100 "$banyan" $one_verb "$@" > out 2>&1
    got=$?
    [ $got = "$code" ] || complain "$one_verb $*: exit $got instead of $code: $(head -c 300 out)"
    grep -qF -- "$words" out || complain "$one_verb $*: does not say '$words' but: $(head -c 300 out)"
}
