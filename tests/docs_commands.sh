#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every command that the documents show is run: in each document the lines of code blocks that begin with `banyan` (or
# `$ banyan`, or with settings before it) run one after the other in an empty folder and must end well. What a reader is to see fail, or what takes
# other programs or long, stands in a block marked ```text or ```long; a line ending with `# fails` must fail. What needs
# rights or a program that are not there is skipped, and the end says why. JOBS documents run side by side.
# Below a command that is shown with `$ `, the other lines of the block are its output: each must be printed, in this order, with these
# numbers. Lines may be left out; `...` stands for anything, at the end of a line or inside.
# What is timed is timed briefly: bench times two calls of each size, and tune sizes up to 1 MiB with 20 ms per candidate, unless the document says otherwise.
# Arguments: source folder, command line.
set -u
if [ $# = 2 ]; then
    source=$(cd "$1" && pwd)
    banyan=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
    place=$(mktemp -d)
    trap 'rm -rf "$place"' EXIT
    . "$source/tests/test_network.sh"
    no_network=$(cannot_make_test_network "$banyan")
    export no_network BANYAN_WISDOM=
    touch "$place/ran" "$place/skipped" "$place/failed"
    mkdir "$place/bin"
    cat > "$place/bin/banyan" << END
#!/bin/sh
case \${1-} in
bench) shift && set -- bench --iters 2 --warmup_iters 1 "\$@" ;;
tune) shift && set -- tune --budget 20ms --max 1MiB "\$@" ;;
esac
exec '$banyan' "\$@"
END
    chmod +x "$place/bin/banyan"
    (cd "$source" && find . -path ./build -prune -o -path ./.git -prune -o -name '*.md' -print | sort) |
        xargs -P "${JOBS:-$(nproc)}" -n 1 bash "$0" "$source" "$banyan" "$place" || echo "a document was not read to its end" | tee -a "$place/failed"
    sort "$place/skipped" | uniq -c | sed 's/^ *\([0-9]*\)/\1 skipped:/'
    [ ! -s "$place/failed" ] && echo "$(wc -l < "$place/ran") commands of the documents run"
    exit
fi

# One document: source folder, command line, folder of the results, document.
export HOME=$3/$4 # a command that writes there must not overwrite the settings of whoever runs this
source=$1 place=$3 file=$4
PATH=$place/bin:$PATH

# The commands of a document, and after each, behind a tab, the output that is shown; a backslash at the end joins lines.
commands() {
    awk '/^```/ { inside = !inside; code = inside && ($0 == "```" || $0 == "```sh"); shown = 0; next }
        code { line = line $0; if (sub(/\\$/, "", line)) next
               prompt = sub(/^\$ /, "", line)
               if (line ~ /^([A-Z_]+=[^ ]* )*banyan /) { print line; shown = prompt }
               else if (prompt) shown = 0
               else if (shown && line != "") print "\t" line
               line = "" }' "$1"
}

# The first shown line that the log does not have, in order; spaces count as one.
find_missing() { # FILE OF SHOWN LINES
    awk 'function squeezed(line) { gsub(/[ \t]+/, " ", line); sub(/^ /, "", line); sub(/ $/, "", line); return line }
        # Whether the line has the parts of pattern between ..., in order, from its begin to its end.
        function fits(line, pattern,    parts, count, i, at) {
            count = split(pattern, parts, /[ ]?\.\.\.[ ]?/)
            if (count == 1) return line == pattern
            if (index(line, parts[1]) != 1) return 0
            for (i = 1; i < count; i++) {
                at = index(line, parts[i])
                if (parts[i] != "" && !at) return 0
                line = substr(line, (parts[i] != "") * at + length(parts[i]))
            }
            return length(line) >= length(parts[count]) && substr(line, length(line) - length(parts[count]) + 1) == parts[count]
        }
        FILENAME == "log" { log_lines[++count] = squeezed($0); next }
        { wanted = squeezed($0); if (wanted == "...") next
          while (++at <= count && !fits(log_lines[at], wanted)) ;
          if (at > count) { print wanted; exit } }' log "$1"
}

# Why a command that failed is no failure here; nothing: it is one.
excuse() { # COMMAND CODE
    local file
    for file in "${unwritten[@]}"; do
        [[ $1 == *"$file"* ]] && echo "the command that writes $file was skipped"
    done
    [[ -n $no_network && $1 =~ banyan\ run.*\ --(net|hosts)\  ]] && echo "$no_network"
    [ "$2" = 127 ] && sed -n 's/^bash: line 1: \(.*\): command not found$/\1 is not installed/p' log | grep -v '^banyan '
}

unwritten=() # files that skipped commands would have written
mkdir -p "$place/$file" && cd "$place/$file" || exit 1
export BANYAN_STATUS_FOLDER=$PWD # other jobs of this machine are not the documents'
run_command() {
    timeout 60 bash -c "$command" > log 2>&1 < /dev/null
    code=$?
    [[ $command == *'# fails' ]] && code=$((!code))
    if [ $code = 0 ]; then
        echo "$command" >> "$place/ran"
        missing=$(find_missing shown)
        [ -z "$missing" ] || echo "${file#./}: '$command' does not print '$missing'" | tee -a "$place/failed"
        return
    fi
    why=$(excuse "$command" $code)
    if [ -n "$why" ]; then
        echo "$why" >> "$place/skipped"
        [[ $command =~ \ -o\ ([^ ]+) ]] && unwritten+=("${BASH_REMATCH[1]}")
    else
        echo "${file#./}: '$command' ended with $code: $(tail -c 300 log)" | tee -a "$place/failed"
    fi
}

command=
: > shown
while IFS= read -r line; do
    case $line in
    $'\t'*) echo "${line#?}" >> shown ;;
    *)
        [ -z "$command" ] || run_command
        command=$line
        : > shown
        ;;
    esac
done < <(commands "$source/$file")
[ -z "$command" ] || run_command
exit 0 # what failed is written down
