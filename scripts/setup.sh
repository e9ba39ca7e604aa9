#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that building and testing need and that are missing. Says nothing and calls
# nothing when all are there. Needs root or sudo; without either it names what is missing and the command.
# Arguments: other packages instead of these.
set -eu

packages="
build-essential cmake ninja-build pkg-config
clang clang-format libclang-rt-dev
libjansson-dev libexpat1-dev libhwloc-dev coinor-libclp-dev zlib1g-dev libsodium-dev
libcmocka-dev lowdown iproute2
python3 python3-numpy python3-torch libopenblas0-openmp
"
[ $# -eq 0 ] || packages=$*

if ! command -v dpkg-query > /dev/null; then
    echo "setup: this is not Debian, so nothing was installed; needed are the likes of:" $packages >&2
    exit 0
fi

missing=
for package in $packages; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true) in
    installed) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

install="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo > /dev/null && { sudo -n true 2> /dev/null || [ -t 0 ]; }; then
    as_root=sudo
else
    echo "setup: these packages are missing:$missing" >&2
    echo "setup: please run, as root: apt-get update && $install" >&2
    exit 3
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
run() {
    $as_root env DEBIAN_FRONTEND=noninteractive "$@" > "$log" 2>&1
}

echo "setup: installing$missing"
# A fresh machine has no package lists, and an old one may have stale ones: update only when it is needed.
if ! run $install; then
    run apt-get update || { cat "$log" >&2; exit 3; }
    run $install || { cat "$log" >&2; exit 3; }
fi
