#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The checks themselves, on a pretended machine: what scripts/test.sh and check-long.sh do when a stage fails or cannot run, what
# tests/docs_commands.sh takes for a failure, and what scripts/demo.sh does where test networks fail. Arguments: source folder, command line.
set -u
source=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failed=0

complain() {
    echo "$*"
    sed 's/^/  | /' "$place/log"
    failed=1
}

pretend() { # NAME, its text on standard input
    { echo '#!/bin/sh'; cat; } > "$place/bin/$1"
    chmod +x "$place/bin/$1"
}

# A tree with the scripts alone, and nothing in the PATH but what they use and what is pretended.
mkdir -p "$place"/{bin,tree/scripts,tree/cli,tree/src/{bootstrap,group,calls,engine},tree/tests/unit,tree/build/release}
cp "$source"/scripts/{test,check-long,stages,analyse}.sh "$place/tree/scripts/"
cp "$source/tests/docs_commands.sh" "$source/tests/test_network.sh" "$place/tree/tests/"
touch "$place/tree/tests/unit/execute.c"
echo : > "$place/tree/tests/unit/lp_module.sh"
for tool in sh bash cat chmod date rm mktemp dirname basename sed awk grep sort uniq wc xargs find timeout tail tee tr touch nproc mkdir; do
    ln -s "$(command -v $tool)" "$place/bin/$tool"
done

# The documents' commands.
cat > "$place/tree/page.md" << 'END'
```
banyan well
banyan run --net hosts:1+1 banyan probe -o net.json
banyan load net.json
banyan well | nosuchprogram
```
END
pretend banyan << 'END'
case $1 in
run) echo "banyan run: a test network needs root" >&2 && exit 3 ;;
bad) exit 5 ;;
load) [ -e "$2" ] || exit 2 ;;
esac
END
cp "$place/bin/banyan" "$place/tree/build/release/banyan"
documents() {
    (cd "$place/tree" && PATH=$place/bin bash tests/docs_commands.sh . "$place/bin/banyan") > "$place/log" 2>&1
}
pretend unshare <<< 'exit 1'
documents || complain "commands that cannot run here fail"
grep -qx "1 skipped: no test network can be made here: a test network needs root" "$place/log" || complain "the missing right is not told"
grep -qx "1 skipped: the command that writes net.json was skipped" "$place/log" || complain "a command that needs a skipped one fails"
grep -qx "1 skipped: nosuchprogram is not installed" "$place/log" || complain "the missing program is not told"
grep -qx "1 commands of the documents run" "$place/log" || complain "what did run is not told"
pretend unshare <<< 'exit 0'
documents && complain "a test network that Banyan alone cannot make is skipped"
grep -qF "page.md: 'banyan run --net hosts:1+1 banyan probe -o net.json' ended with 3" "$place/log" || complain "the command that failed is not told"
pretend unshare <<< 'exit 1'
sed -i 's/banyan well$/banyan bad/' "$place/tree/page.md"
documents && complain "a command that fails is skipped"
sed -i 's/banyan bad$/banyan well/' "$place/tree/page.md"

# Output that is shown below a command.
pretend banyan << 'END'
printf '%s\n' "algorithm  rounds" "ring   8   62.5 %" "forest 11 100.0 %"
END
shown() { # LINE...
    { printf '%s\n' '```' '$ banyan compare' && printf '%s\n' "$@" && printf '%s\n' '```'; } > "$place/tree/shown.md"
    mv "$place/tree/page.md" "$place/page.md"
    documents
    local code=$?
    mv "$place/page.md" "$place/tree/page.md"
    rm "$place/tree/shown.md"
    return $code
}
shown "algorithm rounds" "forest  11  100.0 %" || complain "output that is as shown fails"
shown "ring ... 62.5 %" "..." "forest ..." || complain "dots do not stand for what is left out"
shown "ring 8 61.5 %" && complain "another number is not noticed"
grep -qF "shown.md: 'banyan compare' does not print 'ring 8 61.5 %'" "$place/log" || complain "the line that differs is not told"
shown "forest 11 100.0 %" "ring 8 62.5 %" && complain "another order is not noticed"
shown "ring ... 62.4 %" && complain "another number after dots is not noticed"
cp "$place/tree/build/release/banyan" "$place/bin/banyan"

# The stages. The compiler and the tests are pretended.
stages() {
    PATH=$place/bin sh "$place/tree/scripts/test.sh" > "$place/log" 2>&1
}
summary() { # LINE...: the last lines but one, which sums up, without times
    printf '%s\n' "$@" > "$place/wanted"
    sed -n '/^== stages$/,$p' "$place/log" | sed '1d; $d; s/ *[0-9]* s *[0-9]* s of CPU  / /' > "$place/found"
    cmp -s "$place/wanted" "$place/found"
}
pretend make <<< 'echo laid out'
pretend cmake <<< ''
pretend ctest <<< 'echo 100% tests passed'
pretend clang-format <<< ''
pretend clang <<< ''
pretend clang-tidy <<< ''
pretend gcc <<< ''
pretend python3 <<< ''
mkdir -p "$place/tree/build/clang" && cp "$place/bin/banyan" "$place/tree/build/clang/banyan"
stages || complain "all stages are well, but the whole is not"
summary "passed layout (make check-format)" "passed clang, all warnings are errors" \
    "passed static analysis (make analyse)" "passed the commands that the documents show" \
    "passed little address space" "passed plans against stored ones, some of the small networks" \
    "passed tests that compute much, optimised" "passed TSan: the tests with threads" "passed all other tests under ASan and UBSan" || complain "the stages that passed are not told"

grep -qx "left out: cppcheck is not installed" "$place/log" || complain "a missing program of the analysis is not told"
pretend cppcheck <<< 'echo "a.c:1: a mistake"'
stages && complain "a mistake that the analysis finds is no failure"
rm "$place/bin/clang" "$place/bin/clang-format" "$place/bin/clang-tidy" "$place/bin/cppcheck"
stages || complain "a stage that cannot run here fails"
summary "skipped layout (make check-format): clang-format is not installed" "skipped clang, all warnings are errors: clang is not installed" \
    "skipped static analysis (make analyse): clang-tidy is not installed" \
    "passed the commands that the documents show" "passed little address space" \
    "passed plans against stored ones, some of the small networks" "passed tests that compute much, optimised" \
    "passed TSan: the tests with threads" "passed all other tests under ASan and UBSan" ||
    complain "the stages that were skipped are not told"

pretend ctest <<< 'case "$*" in *tsan*) exit 8 ;; esac'
sed -i 's/banyan well$/banyan bad/' "$place/tree/page.md"
stages && complain "stages fail, but the whole does not"
summary "skipped layout (make check-format): clang-format is not installed" "skipped clang, all warnings are errors: clang is not installed" \
    "skipped static analysis (make analyse): clang-tidy is not installed" \
    "failed the commands that the documents show" "passed little address space" \
    "passed plans against stored ones, some of the small networks" "passed tests that compute much, optimised" \
    "failed TSan: the tests with threads" "passed all other tests under ASan and UBSan" ||
    complain "a stage that failed is not told, or keeps others from running"

# The long checks are stages, too, and one can choose among them.
long() { # WORD...
    PATH=$place/bin sh "$place/tree/scripts/check-long.sh" "$@" > "$place/log" 2>&1
}
long TSan && complain "a long check fails, but the whole does not"
summary "failed the same under TSan" || complain "the long checks cannot be chosen"
long TSan conformance && complain "a long check that failed is hidden by one that passed"
summary "passed conformance and mutation tests with more cases" "failed the same under TSan" || complain "two long checks cannot be chosen"

# The demo: what this user cannot do is left out with the sentence, what fails is a failure.
demo() { # CODE SENTENCE
    pretend demo-banyan << END
case "\$1" in
run) echo "banyan run: $2" >&2; exit $1 ;;
plan) for file; do :; done; case \$file in *.json) echo > "\$file" ;; esac ;;
esac
END
    (cd "$place" && bash "$source/scripts/demo.sh" "$place/bin/demo-banyan") > "$place/log" 2>&1
}
demo 3 "a test network needs root" || complain "the demo fails where test networks cannot be made"
grep -qx "(left out: a test network needs root)" "$place/log" || complain "the demo does not say what it leaves out"
demo 127 "rank 0 cannot start true" && complain "the demo hides a failure"
grep -q "rank 0 cannot start true" "$place/log" || complain "the demo does not say what failed"

[ $failed = 0 ] && echo "failures are failures, and what cannot run here is skipped"
exit $failed
