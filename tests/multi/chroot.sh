#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A test network that is made in a chroot: ranks keep its root folder and their working folder, each host has a
# /dev/shm, boot id and name of its own, and the machine outside gets none of the mounts. The root is a plain folder, no mount point.
# Needs root and namespaces. Arguments: source folder, command line.
set -u
export without_dev=
. "$1/tests/test_network.sh"
banyan=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failed=0

if why=$(cannot_make_test_network "$banyan"); then
    echo "skipped: $why"
    exit $skipped
fi

if ! why=$(unshare -m true 2>&1); then
    echo "skipped: no mounts can be made apart from the machine's (in a chroot already?): $why"
    exit $skipped
fi

complain() {
    echo "$*"
    sed 's/^/  | /' "$place/log"
    failed=1
}

mkdir -p "$place"/top/{usr,proc,dev,sys,etc,build,only/here}
for folder in bin lib lib32 lib64 libx32 sbin; do
    [ ! -L /$folder ] || ln -s "$(readlink /$folder)" "$place/top/$folder"
done
cp -rP /etc/ld.so.cache /etc/alternatives "$place/top/etc/" # where programs find their libraries
echo "inside" > "$place/top/etc/where"

# in_chroot FOLDER COMMAND: mounts are made in a namespace that ends with the command, so that nothing that is removed
# below is anybody else's. Ranks append to the log, because programs that copy files overtake each other elsewhere.
in_chroot() {
    : > "$place/log"
    unshare -m bash -c '
        set -e
        cd "$1"
        mount --rbind /usr usr
        mount --rbind "$2" build
        mount --rbind /proc proc
        [ -n "$without_dev" ] || mount --rbind /dev dev
        mount --make-rshared / # as systemd has it: mounts of one namespace are seen in others
        before=$(cat /proc/self/mounts)
        status=0
        chroot . /bin/sh -c "cd $3 && $4" || status=$?
        [ "$before" = "$(cat /proc/self/mounts)" ] || echo "mounts are left"
        exit $status' in_chroot "$place/top" "$(dirname "$banyan")" "$1" "$2" >> "$place/log" 2>&1
}

run="ASAN_OPTIONS=detect_leaks=0 /build/banyan run --net hosts:1+1,gbps=1"
in_chroot /only/here "$run --tag /bin/sh -c 'cat /etc/where; pwd; hostname; ls /; echo > /dev/shm/\$BANYAN_RANK; ls /dev/shm'" ||
    complain "banyan run --net fails in a chroot"
for rank in 0 1; do
    for line in inside /only/here h$rank build $rank; do
        grep -qx "\[$rank\] $line" "$place/log" || complain "rank $rank does not say '$line'"
    done
    ! grep -qx "\[$rank\] \(home\|tmp\|$((1 - rank))\)" "$place/log" || complain "rank $rank sees what is not its own"
done
! grep -q "mounts are left" "$place/log" || complain "mounts of a host are seen outside of it"

in_chroot / "$run sh -c 'cat /etc/where'" || complain "banyan run --net fails in the root folder of a chroot"
[ "$(grep -c '^inside$' "$place/log")" = 2 ] || complain "ranks that start in / do not see the files of the chroot"

in_chroot /only/here "$run /nonesuch" && complain "a command that is not there starts"
grep -q "cannot start /nonesuch: No such file or directory" "$place/log" || complain "what cannot be started is not named"

# A root folder where a host cannot have a /dev/shm of its own is refused: hosts would share their memory.
without_dev=yes in_chroot /only/here "$run true"
grep -q "nothing can be mounted on /dev/shm: No such file or directory" "$place/log" || complain "a missing /dev/shm is not named"
[ $failed = 0 ] && echo "a test network keeps the files of its chroot"
exit $failed
