#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pages of `banyan report` and `banyan reproduce` in a real browser: tests/browser/*.mjs with headless Chromium.
# Installs what it needs when it is missing: Debian's chromium, nodejs and npm, and playwright-core from npm below build/browser.
# A Node.js that did not come from Debian is left alone: Debian's packages nodejs and npm would conflict with it.
# Argument: the command line, by default that of build/dev. Screenshots lie in build/browser/pictures afterwards.
set -eu
cd "$(dirname "$0")/.."
banyan=${1:-build/dev/banyan}
place=build/browser

command -v chromium > /dev/null || scripts/setup.sh chromium
command -v node > /dev/null || scripts/setup.sh nodejs npm
for program in chromium node npm; do
    command -v $program > /dev/null || { echo "browser.sh: $program is missing" >&2; exit 77; }
done
mkdir -p "$place"
[ -d "$place/node_modules/playwright-core" ] ||
    npm install --prefix "$place" --no-save --no-audit --no-fund --loglevel=error playwright-core@1.65.0
node tests/browser/report.mjs "$banyan" "$place" "$place/pictures"
node tests/browser/reproduce.mjs "$banyan" "$place" "$place/pictures"
