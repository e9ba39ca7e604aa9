#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pages of `banyan report` and `banyan reproduce` in a real browser: tests/browser/*.mjs with headless Chromium.
# Installs what it needs when it is missing: Debian's chromium, nodejs and npm, and playwright-core from npm below build/browser.
# Argument: the command line, by default that of build/dev. Screenshots lie in build/browser/pictures afterwards.
set -eu
cd "$(dirname "$0")/.."
banyan=${1:-build/dev/banyan}
place=build/browser

command -v chromium > /dev/null || scripts/setup.sh chromium
command -v npm > /dev/null || scripts/setup.sh nodejs npm
mkdir -p "$place"
[ -d "$place/node_modules/playwright-core" ] ||
    npm install --prefix "$place" --no-save --no-audit --no-fund --loglevel=error playwright-core@1.65.0
node tests/browser/report.mjs "$banyan" "$place" "$place/pictures"
node tests/browser/reproduce.mjs "$banyan" "$place" "$place/pictures"
