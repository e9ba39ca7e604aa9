#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Removes what the last 'make install' from a build folder has installed, and Banyan's own folders where they are empty then.
#   DESTDIR=... scripts/uninstall.sh BUILD
set -eu
list=$1/install_manifest.txt
[ -f "$list" ] || { echo "uninstall: nothing was installed from $1" >&2 && exit 3; }
while IFS= read -r file || [ -n "$file" ]; do
    rm -f "${DESTDIR-}$file"
done < "$list"
# Bytecode that Python has written beside its package is of no use without it.
sed -n 's|/__init__\.py$||p' "$list" | while IFS= read -r folder; do
    rm -rf "${DESTDIR-}$folder/__pycache__"
done
# From the inside out: a/b comes before a.
sed -n ':up
    s|/[^/]*$||
    /\/banyan\(\/\|$\)/{p
        b up
    }' "$list" | sort -ru | while IFS= read -r folder; do
    rmdir "${DESTDIR-}$folder" 2> /dev/null || :
done
