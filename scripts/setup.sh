#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that building and testing need and that are missing. Says nothing and calls
# nothing when all are there. Needs root or sudo. Without either, and where packages cannot be had, it names what is
# missing and the command, and fails only if Banyan cannot be built without it: tests of the rest are skipped.
#   scripts/setup.sh            for building and testing
#   scripts/setup.sh --build    for building alone
#   scripts/setup.sh PACKAGE... these, each of which can be done without
set -eu

needed="
build-essential cmake ninja-build pkg-config
libjansson-dev libexpat1-dev libhwloc-dev coinor-libclp-dev zlib1g-dev libsodium-dev
libcmocka-dev
"
useful="lowdown iproute2"
case ${1-} in
--build) ;;
"")
    useful="$useful
clang clang-format clang-tidy cppcheck libclang-rt-dev less procps
python3 python3-numpy python3-torch python3-pip python3-venv python3-wheel libopenblas0-openmp
ibsim-utils infiniband-diags
"
    ;;
*) needed='' useful=$* ;;
esac

if ! command -v dpkg-query > /dev/null; then
    echo "setup: this is not Debian, so nothing was installed; needed are the likes of:" $needed $useful >&2
    exit 0
fi

# The packages of a list that are not there.
missing() {
    for package; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true) in
        installed) ;;
        *) printf ' %s' "$package" ;;
        esac
    done
}

# Ends the set-up where packages cannot be installed.
give_up() { # WHY
    needed=$(missing $needed)
    useful=$(missing $useful)
    install="apt-get update && apt-get install -y --no-install-recommends"
    if [ -n "$needed" ]; then
        echo "setup: $1, and Banyan cannot be built without:$needed" >&2
        echo "setup: please run, as root: $install$needed$useful" >&2
        exit 3
    fi
    echo "setup: $1, so what needs these packages is left out:$useful" >&2
    echo "setup: to have it, run, as root: $install$useful" >&2
    exit 0
}

wanted=$(missing $needed $useful)
[ -n "$wanted" ] || exit 0
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo > /dev/null && { sudo -n true 2> /dev/null || [ -t 0 ]; }; then
    as_root=sudo
else
    give_up "only root can install packages"
fi

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
# Of what apt-get says, how much it fetches, before it does.
run() {
    rm -f "$place/failed"
    { $as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@" 2>&1 || : > "$place/failed"; } | tee "$place/log" |
        sed -un 's/^Need to get \(.*\) of archives.*/setup: fetching \1/p
            s/^After this operation, \(.*\) of additional disk space.*/setup: taking \1 on disk/p'
    [ ! -e "$place/failed" ]
}

echo "setup: installing$wanted"
# A fresh machine has no package lists, and an old one may have stale ones: update only when it is needed.
if ! run apt-get install -y --no-install-recommends $wanted; then
    if ! run apt-get update || ! run apt-get install -y --no-install-recommends $wanted; then
        cat "$place/log" >&2
        give_up "apt-get failed"
    fi
fi
