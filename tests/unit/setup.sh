#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scripts/setup.sh against a pretended Debian: what it calls when all is there, when something is missing, when
# package lists are stale, and when it may not install. Arguments: the source folder.
set -u
script=$1/scripts/setup.sh
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failed=0

pretend() { # NAME, its text on standard input
    { echo '#!/bin/sh'; cat; } > "$place/bin/$1"
    chmod +x "$place/bin/$1"
}

# A machine that lacks the packages named, with nothing else in its PATH but what the script may use.
machine() { # USER MISSING...
    local user=$1
    shift
    rm -rf "$place/bin" "$place/calls"
    mkdir "$place/bin"
    : > "$place/calls"
    for tool in sh mktemp rm cat env tee sed; do
        ln -s "$(command -v $tool)" "$place/bin/$tool"
    done
    pretend id <<< "echo $user"
    pretend dpkg-query << END
for package; do :; done
case " $* " in *" \$package "*) exit 1 ;; esac
printf installed
END
    pretend apt-get <<< "echo \"apt-get \$*\" >> $place/calls"
}

expect() { # WHAT CODE OUTPUT CALLS ARGUMENTS...
    local output code
    output=$(PATH=$place/bin sh "$script" "${@:5}" 2>&1 < /dev/null)
    code=$?
    [ "$code" = "$2" ] || { echo "$1: exit $code, not $2"; failed=1; }
    [ "$output" = "$3" ] || { echo "$1: said '$output', not '$3'"; failed=1; }
    [ "$(cat "$place/calls")" = "$4" ] || { echo "$1: called '$(cat "$place/calls")', not '$4'"; failed=1; }
}

install='apt-get install -y --no-install-recommends'

machine 0
expect "all is there" 0 "" ""

machine 1000
expect "all is there, for an ordinary user" 0 "" ""

machine 0 lowdown ninja-build
expect "two are missing" 0 "setup: installing ninja-build lowdown" "$install ninja-build lowdown"

machine 0 lowdown
pretend apt-get << END
echo "apt-get \$*" >> $place/calls
echo "Need to get 5,120 kB/91.2 MB of archives."
echo "After this operation, 402 MB of additional disk space will be used."
END
expect "how much it fetches" 0 "setup: installing lowdown
setup: fetching 5,120 kB/91.2 MB
setup: taking 402 MB on disk" "$install lowdown"

machine 0 lowdown clang
expect "building alone needs less" 0 "setup: installing lowdown" "$install lowdown" --build

machine 0 mpich
expect "others are asked for" 0 "setup: installing mpich" "$install mpich" libmpich-dev mpich

machine 0 lowdown
pretend apt-get << END
echo "apt-get \$*" >> $place/calls
[ "\$1" = update ] && : > $place/bin/updated
[ -e $place/bin/updated ]
END
expect "there are no package lists" 0 "setup: installing lowdown" "$install lowdown
apt-get update
$install lowdown"

machine 0 lowdown cmake
pretend apt-get <<< "echo \"apt-get \$*\" >> $place/calls; echo E: no network; exit 100"
expect "apt fails, and nothing can be built" 3 "setup: installing cmake lowdown
E: no network
setup: apt-get failed, and Banyan cannot be built without: cmake
setup: please run, as root: apt-get update && $install cmake lowdown" "$install cmake lowdown
apt-get update"

machine 0 lowdown
pretend apt-get <<< "echo \"apt-get \$*\" >> $place/calls; echo E: no network; exit 100"
expect "apt fails, but what is missing can be done without" 0 "setup: installing lowdown
E: no network
setup: apt-get failed, so what needs these packages is left out: lowdown
setup: to have it, run, as root: apt-get update && $install lowdown" "$install lowdown
apt-get update"

machine 1000 lowdown libjansson-dev
expect "neither root nor sudo, and nothing can be built" 3 "setup: only root can install packages, and Banyan cannot be built without: libjansson-dev
setup: please run, as root: apt-get update && $install libjansson-dev lowdown" ""

machine 1000 lowdown clang
expect "neither root nor sudo, and what is missing can be done without" 0 "setup: only root can install packages, so what needs these packages is left out: lowdown clang
setup: to have it, run, as root: apt-get update && $install lowdown clang" ""

machine 1000 lowdown
pretend sudo << END
[ "\$1" = -n ] && exit 0
echo "sudo" >> $place/calls
exec "\$@"
END
expect "with sudo" 0 "setup: installing lowdown" "sudo
$install lowdown"

machine 0
rm "$place/bin/dpkg-query"
output=$(PATH=$place/bin sh "$script" 2>&1)
[[ $? = 0 && $output == "setup: this is not Debian"*"libjansson-dev"* ]] || { echo "elsewhere: $output"; failed=1; }

[ $failed = 0 ] && echo "set-up does what it should"
exit $failed
