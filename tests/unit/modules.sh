#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Holds every #include in src/ against src/modules.txt: a module may include its own headers, those of the modules
# that its line names, system headers and <banyan/banyan.h>. The public header may include system headers only. File names are
# snake_case.
# Arguments: the source folder.
set -u
cd "$1" || exit 1
failed=0

complain() {
    echo "$*"
    failed=1
}

# FILE LINE KIND NAME for each include below the folders; KIND is '"' or '<'.
includes() {
    grep -rnE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include' "$@" |
        sed -E 's/^([^:]*):([0-9]+):[^"<]*(["<])([^">]*)[">].*/\1 \2 \3 \4/'
}

check_order() {
    declare -A seen
    local module uses use
    while IFS=: read -r module uses; do
        for use in $uses; do
            [ -n "${seen[$use]-}" ] ||
                complain "src/modules.txt: $module uses $use, which is not a module above it"
        done
        seen[$module]=1
    done < <(grep -E '^[a-z]+:' src/modules.txt)
    for folder in src/*/; do
        module=$(basename "$folder")
        [ -n "${seen[$module]-}" ] || complain "src/$module is not in src/modules.txt"
    done
}

check_sources() {
    local file line kind name module uses target
    declare -A allowed
    while IFS=: read -r module uses; do
        allowed[$module]=" $module$uses "
    done < <(grep -E '^[a-z]+:' src/modules.txt)
    while read -r file line kind name; do
        module=${file#src/}
        module=${module%%/*}
        target=${name%%/*}
        if [ "$kind" = '<' ]; then
            [ -d "src/$target" ] && [ "$target" != "$name" ] &&
                complain "$file:$line: <$name> is ours: write it with quotes"
            continue
        fi
        if [ ! -f "src/$name" ]; then
            complain "$file:$line: there is no src/$name (includes are written from src/)"
            continue
        fi
        [[ ${allowed[$module]-} == *" $target "* ]] ||
            complain "$file:$line: $module may not use $target (it includes \"$name\"; see src/modules.txt)"
    done < <(includes src)
}

check_public_header() {
    local file line kind name
    while read -r file line kind name; do
        [ "$kind" = '<' ] && [ ! -e "src/$name" ] || complain "$file:$line: the public header includes $name"
    done < <(includes include)
}

# The table of docs/architecture.md says the same as src/modules.txt.
check_table() {
    local module uses
    while IFS=: read -r module uses; do
        uses=${uses# }
        grep -qF "| $module | ${uses:--} |" docs/architecture.md ||
            complain "docs/architecture.md: no row '| $module | ${uses:--} | ...', as src/modules.txt has it"
    done < <(grep -E '^[a-z]+:' src/modules.txt)
}

# Each outside library is met in one file, and the environment in one.
check_met_once() { # PATTERN FILE
    local found
    found=$(grep -rlE --include='*.[ch]' "$1" src | grep -vx "$2")
    [ -z "$found" ] || complain "only $2 may hold '$1', but so do:" $found
}

# File names are snake_case.
check_file_names() {
    local file
    while read -r file; do
        complain "$file: file names are snake_case"
    done < <(find src cli include -name '*.[ch]' | grep -vE '/[a-z][a-z0-9_]*\.[ch]$')
}

check_order
check_sources
check_file_names
check_public_header
check_table
check_met_once '#include <jansson' src/core/json.c
check_met_once '#include <expat' src/core/xml.c
check_met_once '#include <hwloc' src/topology/discover.c
check_met_once '#include <(coin/)?Clp' src/solve/engines/clp.c
check_met_once '#include <sodium' src/core/auth.c
check_met_once '#include <zlib' src/core/gzip.c
check_met_once '\b(secure_)?getenv *\(|\benviron\b' src/core/settings.c

[ $failed = 0 ] && echo "every include keeps to src/modules.txt"
exit $failed
