#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The documents: relative links lead somewhere, every verb has a page that names each of its options, examples of the
# formats are accepted, and nothing speaks of the machine that it was written on. Pages of calls and settings: manual.sh.
# Arguments: source folder, command line.
set -u
cd "$1" || exit 1
banyan=$2
failed=0

complain() {
    echo "$*"
    failed=1
}

markdown() {
    find . -path ./build -prune -o -path ./.git -prune -o -name '*.md' -print | sed 's|^\./||' | sort
}

check_links() {
    local file target
    for file in $(markdown); do
        while read -r target; do
            case $target in
            http://* | https://* | mailto:* | '#'*) continue ;;
            esac
            [ -e "$(dirname "$file")/${target%%#*}" ] || complain "$file: the link to $target leads nowhere"
        done < <(sed '/^```/,/^```/d' "$file" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//')
    done
}

# A link to a part of a document names one of its headings.
check_anchors() {
    command -v python3 > /dev/null || return
    markdown | python3 -c '
import os, re, sys
def anchor(heading):
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip())
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
texts = {os.path.normpath(name): re.sub(r"```.*?```", "", open(name, encoding="utf-8").read(), flags=re.S) for name in sys.stdin.read().split()}
found = {name: {anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.M)} for name, text in texts.items()}
wrong = 0
for name, text in texts.items():
    for path, part in re.findall(r"\]\(([^)\s#]*)#([^)\s]+)\)", text):
        target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        if target in found and part not in found[target]:
            print(f"{name}: {target} has no heading for #{part}")
            wrong = 1
sys.exit(wrong)' || failed=1
}

check_man_headers() {
    local file
    for file in docs/verbs/*.md docs/programs/*.md docs/formats/*.md docs/api.md docs/api/*.md docs/settings/*.md; do
        [[ $(sed -n 1p "$file") == '# '* ]] || complain "$file: the first line is not a title"
        [[ $(sed -n 3p "$file") == '## NAME' ]] || complain "$file: the third line is not ## NAME"
    done
}

# Every verb has a page and every page a verb; a page names the options that --help shows, and no others.
check_verbs() {
    local verb page option
    local verbs help
    verbs=$("$banyan" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
    [ -n "$verbs" ] || complain "'banyan --help' lists no verbs"
    for verb in $verbs; do
        page=docs/verbs/banyan-$verb.md
        if [ ! -e "$page" ]; then
            complain "the verb $verb has no page $page"
            continue
        fi
        grep -q "banyan-$verb.md" docs/verbs/banyan.md || complain "docs/verbs/banyan.md does not name $verb"
        help=$("$banyan" "$verb" --help)
        for option in $(sed -n '/^[A-Z].*:$/,$s/^  *\(-.,\)\{0,1\} *\(--[a-z_-]*\).*/\2/p' <<< "$help" | sort -u); do
            grep -qe "\`$option\`" "$page" || is_parameter "$option" || complain "$page does not name $option"
        done
        for option in $(sed -n '/^## OPTIONS/,/^## /p' "$page" | grep -o '`--[a-z_-]*`' | tr -d '`' | sort -u); do
            grep -qe "$option" <<< "$help" || is_parameter "$option" ||
                complain "$page names $option, which $verb does not have"
        done
    done
    for page in docs/verbs/banyan-*.md; do
        verb=$(basename "$page" .md)
        verb=${verb#banyan-}
        [[ " ${verbs//$'\n'/ } " == *" $verb "* ]] || complain "$page: there is no verb $verb"
    done
}

# Options of algorithms stand in 'banyan list'.
is_parameter() {
    [ -n "${listed-}" ] || listed=$("$banyan" list --json)
    grep -qF "\"key\":\"${1#--}\"" <<< "$listed"
}

check_examples() {
    local place example
    place=$(mktemp -d)
    awk -v place="$place" '/^```json/ {n++; on = 1; next} /^```/ {on = 0} on {print > (place "/topology" n ".json")}' \
        docs/formats/topology.md
    sed -n '/^```json/,/^```/p' docs/formats/schedule.md | sed '/^```/d' > "$place/schedule.json"
    for example in "$place"/topology*.json; do
        "$banyan" topo check "$example" > "$place/log" 2>&1 ||
            complain "docs/formats/topology.md: an example is refused: $(cat "$place/log")"
    done
    "$banyan" verify "$place/schedule.json" > "$place/log" 2>&1 ||
        complain "docs/formats/schedule.md: the example is refused: $(cat "$place/log")"
    rm -r "$place"
}

check_places() {
    local found
    found=$(grep -rnIE --exclude-dir=build --exclude-dir=.git --exclude=.git --exclude=docs.sh \
        '(^|[^A-Za-z0-9_.])(/work/|/root/|/home/|/mnt/)|\.\./shared/' . )
    [ -z "$found" ] || complain "these lines name places of one machine:"$'\n'"$found"
}

check_links
check_anchors
check_man_headers
check_verbs
check_examples
check_places
[ $failed = 0 ] && echo "the documents hold together"
exit $failed
