#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tables of results in README.md and docs/ are what bench/tables.py makes of the stored results, and a table that somebody has
# edited is noticed. Arguments: source folder, command line.
set -u
source=$(cd "$1" && pwd)
command -v python3 > /dev/null || { echo "python3 is not installed" && exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
PYTHONDONTWRITEBYTECODE=1 python3 "$source/bench/tables.py" --check || exit 1

mkdir -p "$place/tests/data" "$place/docs"
cp -r "$source/bench" "$source/README.md" "$place/"
cp "$source"/docs/*.md "$place/docs/"
cp -r "$source/tests/data/plans" "$place/tests/data/"
sed -i '/table: summary/,/end of table/s/[0-9]\.[0-9]* x bound/0.01 x bound/' "$place/README.md"
if python3 "$place/bench/tables.py" --check > "$place/log" 2>&1; then
    echo "an edited table was not noticed"
    exit 1
fi
grep -q '^README.md: its table is not what bench/results says' "$place/log" || { cat "$place/log" && exit 1; }
python3 "$place/bench/tables.py" && cmp "$place/README.md" "$source/README.md" && echo "the tables are what the results say"
