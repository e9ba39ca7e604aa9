#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The packages of scripts/deb.sh, installed and used: the command line plans and runs, a C program is built with pkg-config and with CMake,
# Python plans, man shows pages, and after removal nothing is left. All this happens in an overlay of this system that is gone
# afterwards; it needs root, and ends with 77 without. Argument: the folder of the packages.
set -u
if [ "${2-}" != inside ]; then
    folder=$(cd "$1" && pwd)
    [ "$(id -u)" = 0 ] || { echo "skipped: packages can be installed by root only" && exit 77; }
    place=$(mktemp -d)
    trap 'rmdir "$place"' EXIT
    unshare --mount --pid --fork --kill-child -- bash -c '
        place=$1 folder=$2 script=$3
        mount -t tmpfs tmpfs "$place" && mkdir "$place"/{upper,work,root} &&
            mount -t overlay overlay -o "lowerdir=/,upperdir=$place/upper,workdir=$place/work" "$place/root" || exit 77
        mkdir -p "$place/root/deb" && cp "$folder"/*.deb "$place/root/deb" && cp "$script" "$place/root/deb/test.sh" &&
            mount -t proc proc "$place/root/proc" && mount --rbind /dev "$place/root/dev" &&
            mount -t tmpfs tmpfs "$place/root/dev/shm" && mount -t tmpfs tmpfs "$place/root/tmp" || exit 77
        exec chroot "$place/root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin BANYAN_STATUS_FOLDER=off bash /deb/test.sh /deb inside
    ' bash "$place" "$folder" "$0"
    code=$?
    [ $code != 77 ] || echo "skipped: this system makes no overlay of itself"
    exit $code
fi

cd "$1" || exit 1
failed=0
complain() {
    echo "$*"
    sed 's/^/  | /' log
    failed=1
}
check() { # WHAT COMMAND...
    local what=$1
    shift
    "$@" > log 2>&1 || complain "$what"
}

find / -xdev \( -path /proc -o -path /tmp -o -path /deb -o -path /var \) -prune -o -print 2> /dev/null | sort > before
check "the packages cannot be installed" env DEBIAN_FRONTEND=noninteractive dpkg -i libbanyan0_*.deb libbanyan-dev_*.deb banyan_*.deb python3-banyan_*.deb

check "the command line does not plan" banyan plan hosts:3+3+4 --algo forest -o plan.json
check "the command line does not verify" banyan verify plan.json --topo hosts:3+3+4
check "the solver is not found" banyan bound hosts:4+3+2 --active 0-3,5
check "two ranks do not run" banyan bench -n 2 -b 1K -e 1K --iters 2
check "all_reduce_perf does not run" all_reduce_perf -g 2 -b 1K -e 1K -n 2 -w 1
check "the models are not found" banyan train --model resnet50 --policy ddp --cost linear:1e-3,1e-9
check "the plug-in for NCCL is not found" banyan nccl-env
for page in 1/banyan 1/banyan-plan 1/all_reduce_perf 3/banyan_allreduce 5/banyan-topology 7/BANYAN_TOPO; do
    [ -e "/usr/share/man/man$page.${page%%/*}.gz" ] || [ -e "/usr/share/man/man${page%%/*}/${page#*/}.${page%%/*}.gz" ] ||
        complain "there is no man page $page"
done

cat > main.c << 'END'
#include <banyan/plan.h>
#include <stdio.h>

int main(void)
{
    banyan_topology *network;
    banyan_error err;

    if (banyan_topology_load("hosts:2+3", &network, &err))
        return 1;
    banyan_topology_destroy(network);
    return puts("loaded") < 0;
}
END
cat > CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.16)
project(program C)
find_package(banyan REQUIRED)
add_executable(program main.c)
target_link_libraries(program banyan::banyan)
END
check "no program is built with pkg-config" bash -c 'cc main.c -o program $(pkg-config --cflags --libs banyan) && ./program'
check "no program is built with CMake" bash -c 'cmake -B cmake . && cmake --build cmake && cmake/program'
cat > plan.py << 'END'
import banyan
print(banyan.plan("hosts:2+3", bytes=1 << 20).algorithm)
END
check "Python does not plan" /usr/bin/python3 plan.py
check "Python does not plan under banyan run" banyan run -n 2 /usr/bin/python3 plan.py

check "the packages cannot be removed" dpkg --purge python3-banyan banyan libbanyan-dev libbanyan0
find / -xdev \( -path /proc -o -path /tmp -o -path /deb -o -path /var \) -prune -o -print 2> /dev/null | sort > after
comm -13 before after | grep -i banyan > log && complain "something is left after removal:"
[ $failed = 0 ] && echo "the packages can be installed, used and removed"
exit $failed
