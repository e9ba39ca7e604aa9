#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A rank that never comes to MPI_Comm_create_group, which MPI itself would wait for without end: a shim in front of each
# MPI holds rank 1 there. Every rank must end in time, with a sentence.
#   mpi_stuck.sh SOURCE BANYAN
set -u
banyan=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failed=0 tried=0

cat > "$place/shim.c" << 'EOF'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int PMPI_Comm_create_group(void *, void *, int, void *);
int MPI_Comm_create_group(void *comm, void *group, int tag, void *out)
{
    const char *rank = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");

    if (rank && !strcmp(rank, "1"))
        sleep(60);
    return PMPI_Comm_create_group(comm, group, tag, out);
}
EOF
if ! cc -shared -fPIC -o "$place/shim.so" "$place/shim.c"; then
    echo "skipped: no compiler"
    exit 0
fi

# Launchers end a job as soon as one process of it has ended without a goodbye: so each waits for the others' words.
cat > "$place/rank.sh" << EOF
export LD_PRELOAD=$place/shim.so
begin=\$(date +%s)
"$banyan" bench --transport mpi -T 3s -b 1K -e 1K --iters 1 > "$place/said.\${PMI_RANK:-\$OMPI_COMM_WORLD_RANK}" 2>&1
echo "code \$?, \$((\$(date +%s) - begin)) s" >> "$place/said.\${PMI_RANK:-\$OMPI_COMM_WORLD_RANK}"
for i in \$(seq 400); do [ "\$(cat "$place"/said.* | grep -c ^code)" = 3 ] && break; sleep 0.1; done
EOF

for mpi in openmpi mpich; do
    if [ ! -e "$(dirname "$banyan")/banyan-transport-mpi-$mpi.so" ] || ! command -v mpirun.$mpi > /dev/null; then
        echo "skipped over $mpi: it was not there when Banyan was built"
        continue
    fi
    tried=$((tried + 1))
    options=
    [ $mpi = mpich ] || options="--allow-run-as-root --oversubscribe --enable-recovery"
    rm -f "$place"/said.*
    BANYAN_MPI=$mpi BANYAN_SOCKET_IFNAME=lo OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1 UCX_LOG_LEVEL=fatal \
        ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 timeout 60 mpirun.$mpi $options -n 3 sh "$place/rank.sh" > /dev/null 2>&1
    for rank in 0 1 2; do
        said=$(cat "$place/said.$rank" 2> /dev/null)
        seconds=$(sed -n 's/^code [1-9][0-9]*, \([0-9]*\) s$/\1/p' <<< "$said")
        if ! grep -qF "not all ranks came to MPI_Comm_create_group within" <<< "$said" || [ "${seconds:-99}" -gt 45 ]; then
            echo "FAILED: over $mpi rank $rank says: $said"
            failed=1
        fi
    done
done
[ $failed = 0 ] && echo "$tried MPIs: a rank that does not come is a time-out"
exit $failed
