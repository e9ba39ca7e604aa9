#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The manual's pages of calls and settings: each call of src/banyan.map and each setting has one and no page is about anything
# else; synopses are the header's, values and defaults the table's, the lists of both agree with the pages; 'banyan help' knows
# every name; the examples of calls are built and run by three ranks; the commands that settings' pages show failing say the sentence
# that stands below them, and the sentences of calls are in the source. Arguments: source folder, command line.
set -u
source=$(cd "$1" && pwd)
banyan=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
build=$(dirname "$banyan")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$source" || exit 1
failed=0

complain() {
    echo "$*"
    failed=1
}

# The names on a page's NAME line, and what it says about them.
names_of() {
    sed -n '5{s/ - .*//; s/,//g; p}' "$1"
}

summary_of() {
    sed -n '5s/^[^-]* - //p' "$1"
}

section() { # PAGE TITLE
    awk -v title="## $2" '$0 == title { on = 1; next } /^## / { on = 0 } on' "$1"
}

one_line() {
    tr -s ' \n' '  ' | sed 's/( /(/g; s/^ //; s/ $//'
}

check_calls() {
    local page name
    { sed -n '/global:/,/local:/s/^ *\([a-z_0-9]*\);$/\1/p' src/banyan.map && echo banyan_comm_init_mpi; } | sort > "$place/calls"
    for page in docs/api/*.md; do names_of "$page" | tr ' ' '\n'; done | sort > "$place/described"
    diff "$place/calls" "$place/described" > "$place/log" ||
        complain "pages under docs/api describe (>) other calls than there are (<):"$'\n'"$(cat "$place/log")"
    cat include/banyan/{banyan,plan,status}.h | sed 's/BANYAN_API //' | one_line > "$place/header"
    sed 's/static inline //; s/^{/;/' include/banyan/banyan_mpi.h | one_line | sed 's/) ;/);/g' >> "$place/header"
    for page in docs/api/*.md; do
        [ "$(sed -n 1p "$page")" = "# $(basename "$page" .md)(3)" ] || complain "$page: the title is another"
        for name in $(names_of "$page"); do
            section "$page" SYNOPSIS | one_line | grep -oE "[a-z_ ]+[ *]+$name\([^;]*\);" > "$place/synopsis" ||
                complain "$page: the synopsis has no $name"
            grep -qF -- "$(sed 's/^ //' "$place/synopsis")" "$place/header" ||
                complain "$page: the synopsis of $name is not the header's: $(cat "$place/synopsis")"
            grep -qF "[$name](api/$(basename "$page"))(3)" docs/api.md || complain "docs/api.md does not list $name"
        done
        grep -qF "(api/$(basename "$page"))(3): $(summary_of "$page")" docs/api.md ||
            complain "docs/api.md says something else about $page"
        check_sections "$page" SYNOPSIS DESCRIPTION ERRORS THREADS EXAMPLE 'SEE ALSO'
    done
}

check_sections() {
    local page=$1 title
    shift
    for title in "$@"; do
        section "$page" "$title" | grep -q . || complain "$page has no text under $title"
    done
}

# Types and defaults are those of 'banyan info -c'.
check_settings() {
    local page name
    env -i HOME=/nonexistent "$banyan" info -c > "$place/conf"
    sed -n 's/^#\{0,1\}\(BANYAN_[A-Z_]*\)=.*/\1/p' "$place/conf" | sort > "$place/settings"
    for page in docs/settings/*.md; do names_of "$page"; done | sort > "$place/described"
    diff "$place/settings" "$place/described" > "$place/log" ||
        complain "pages under docs/settings describe (>) other settings than there are (<):"$'\n'"$(cat "$place/log")"
    for page in docs/settings/*.md; do
        name=$(basename "$page" .md)
        [ "$(sed -n 1p "$page")" = "# $name(7)" ] || complain "$page: the title is another"
        section "$page" VALUES | sed -n '2s/`//gp' > "$place/page"
        grep -B1 "^#\{0,1\}$name=" "$place/conf" | sed -n 's/^# type: \(.*\); from: .*/\1/p' > "$place/table"
        diff "$place/table" "$place/page" > "$place/log" ||
            complain "$page: the values (>) are not the table's (<):"$'\n'"$(cat "$place/log")"
        grep -qxF -- "- [$name](../settings/$name.md)(7): $(summary_of "$page")" docs/verbs/banyan-info.md ||
            complain "docs/verbs/banyan-info.md does not list $name as its page does"
        check_sections "$page" DESCRIPTION VALUES 'READ BY' EXAMPLE ERRORS 'SEE ALSO'
    done
}

check_help() {
    local name
    for name in $(cat "$place/calls" "$place/settings"); do
        "$banyan" help "$name" 2>&1 | head -n 10 | tr '\n' ' ' | grep -q "\b$name\b.* - " || complain "'banyan help $name' does not show its page"
    done
}

# Names are whole in the man pages, too, and each leads to one.
check_man() {
    local name
    [ -d "$build/man" ] || return
    for name in $(cat "$place/calls" "$place/settings"); do
        case $name in
        banyan_*) set -- "$build/man/$name.3" ;;
        *) set -- "$build/man/$name.7" ;;
        esac
        [ -e "$1" ] || { complain "there is no man page $1" && continue; }
        grep -q '^\.so ' "$1" && set -- "$build/man/$(sed -n 's|^\.so man3/||p' "$1")"
        sed -n '/^\.SH NAME/,/^\.SH [^N]/p' "$1" | sed 's/\\//g' | grep -qw -- "$name" || complain "$1 does not name $name"
    done
}

# Bold and italic words are roff's, not Markdown's.
check_asterisks() {
    local found
    [ -d "$build/man" ] || return
    found=$(grep -nE '[[(|][*][*][^* ]|[*][A-Za-z][A-Za-z0-9_|]*[*]' "$build"/man/*)
    [ -z "$found" ] || complain "man pages with asterisks:"$'\n'"$found"
}

# What must fail says so, in the words of the page.
check_failures() {
    local page command sentence
    for page in docs/settings/*.md; do
        section "$page" ERRORS | sed -n '/^```text/,/^```$/{/^```/d;p}' > "$place/failure"
        command=$(sed -n '1s/^\$ //p' "$place/failure")
        sentence=$(sed -n 2p "$place/failure")
        [ -n "$command" ] && [ -n "$sentence" ] || complain "$page shows no wrong value"
        mkdir -p "$place/empty"
        (cd "$place/empty" && PATH=$build:$PATH timeout 60 bash -c "$command") > "$place/log" 2>&1 < /dev/null
        grep -qF -- "$sentence" "$place/log" || complain "$page: '$command' does not say '$sentence':"$'\n'"$(cat "$place/log")"
    done
}

# A quoted sentence is what some format of the source prints.
check_sentences() {
    python3 - << 'END' || failed=1
import glob, re, sys
source = "".join(open(f, encoding="utf-8").read() for f in glob.glob("src/*/*.c"))
source = re.sub(r'"\s*\n\s*"', "", source)
formats = set()
for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', source):
    literal = literal.replace('\\"', '"').replace("%%", "%")
    fixed = re.split(r"%[-+ 0#]*[0-9]*(?:\.(?:[0-9]+|\*))?(?:ll|z|l)?[a-zA-Z]", literal)
    if sum(len(words.strip()) for words in fixed) >= 10:
        formats.add("(?:.*)".join(re.escape(words) for words in fixed))
printed = re.compile("|".join("(?:%s)" % f for f in sorted(formats)))
wrong = 0
for page in sorted(glob.glob("docs/api/*.md") + ["docs/api.md"]):
    text = re.sub(r"```.*?```|`[^`]*`", "", open(page, encoding="utf-8").read(), flags=re.S)
    for sentence in re.findall(r'"([^"]+)"', re.sub(r"\s+", " ", text)):
        if len(sentence.split()) > 2 and not printed.fullmatch(sentence):
            print('%s: nothing in the source prints "%s"' % (page, sentence))
            wrong = 1
sys.exit(wrong)
END
}

cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

# The C blocks of every page's example: one that begins with 'static' stands outside, another is a function of its own.
write_program() {
    local page name
    printf '#include <banyan/plan.h>\n#include <stdio.h>\n'
    for page in docs/api/*.md; do
        name=$(basename "$page" .md)
        [ "$name" != banyan_comm_init_mpi ] || continue
        section "$page" EXAMPLE | awk -v name="example_$name" '
            /^```/ { if (inside) { if (!outside) print "}"; } inside = /^```c$/; first = 1; next }
            inside { if (first) { outside = /^static /; if (!outside) print "static void " name "(banyan_comm *comm)\n{\n(void)comm;" }
                     first = 0; print }'
    done
    printf 'int main(void)\n{\nbanyan_comm *comm;\nif (banyan_comm_init_env(&comm, NULL) != BANYAN_SUCCESS)\n    return 1;\n'
    for page in docs/api/*.md; do
        name=$(basename "$page" .md)
        [ "$name" = banyan_comm_init_mpi ] ||
            printf 'example_%s(comm);\nif (banyan_barrier(comm) != BANYAN_SUCCESS)\n    return fprintf(stderr, "%s: %%s\\n", banyan_last_error(comm)), 1;\n' "$name" "$name"
    done
    printf 'banyan_comm_destroy(comm);\nreturn 0;\n}\n'
}

check_examples() {
    local sanitize
    sanitize=$(cached BANYAN_SANITIZE)
    write_program > "$place/program.c"
    if ! "$(cached CMAKE_C_COMPILER)" -std=c11 -Wall -Wextra -Wpedantic -Werror ${sanitize:+-fsanitize=$sanitize} -Iinclude \
        "$place/program.c" -o "$place/program" -L"$build" -lbanyan > "$place/log" 2>&1; then
        complain "the examples of docs/api do not build:"$'\n'"$(cat "$place/log")"
        return
    fi
    LD_LIBRARY_PATH=$build timeout 200 "$banyan" run -n 3 "$place/program" > "$place/log" 2>&1 ||
        complain "the examples of docs/api do not run:"$'\n'"$(cat "$place/log")"
    grep -q '^the recv buffer is NULL$' "$place/log" || complain "the example of banyan_last_error prints something else"
    grep -q '^there is no gradient 7 of 1$' "$place/log" || complain "the example of banyan_train_last_error prints something else"
    [ -e "$build/banyan-transport-mpi-openmpi.so" ] || return
    { printf '#include <banyan/banyan_mpi.h>\nint main(void)\n{\n'
      sed -n '/^```mpi$/,/^```$/{/^```/d;p}' docs/api/banyan_comm_init_mpi.md
      printf '}\n'; } > "$place/mpi.c"
    OMPI_CC=$(cached CMAKE_C_COMPILER) mpicc.openmpi -std=c11 -Wall -Wextra -Werror ${sanitize:+-fsanitize=$sanitize} -Iinclude \
        "$place/mpi.c" -o "$place/mpi" -L"$build" -lbanyan > "$place/log" 2>&1 ||
        complain "the example of banyan_comm_init_mpi does not build:"$'\n'"$(cat "$place/log")"
}

check_calls
check_settings
check_help
check_man
check_asterisks
check_failures
check_sentences
check_examples
[ $failed = 0 ] && echo "$(wc -l < "$place/calls") calls and $(wc -l < "$place/settings") settings have their pages"
exit $failed
