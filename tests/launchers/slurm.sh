#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Slurm: a controller and two nodes of its own on this machine, in a folder and at ports of their own, with a munge daemon of
# their own. Ranks are started by srun: by Slurm's variables, through PMI-1 and, where Slurm has the plugin, through PMIx.
#   slurm.sh SOURCE BANYAN
set -u
. "$1/tests/launchers/launchers.sh"
need slurmctld slurmd srun munged
[ "$(id -u)" = 0 ] || skip "slurmd starts ranks as other users, which needs root"

stop() {
    local file pids=()
    for file in "$place"/slurmd-*.pid "$place"/slurmctld.pid "$place"/munged.pid; do
        [ ! -s "$file" ] || pids+=("$(cat "$file")")
    done
    if [ ${#pids[@]} != 0 ]; then
        kill "${pids[@]}" 2> /dev/null
        for _ in $(seq 100); do # they write until they have ended
            kill -0 "${pids[@]}" 2> /dev/null || break
            sleep 0.1
        done
    fi
    rm -rf "$place"
}
trap stop EXIT

read -r controller first second <<< "$(free_ports 3)"
host=$(hostname)
head -c 1024 /dev/urandom > "$place/munge.key"
chmod 400 "$place/munge.key"
mkdir "$place/state" "$place/spool-n1" "$place/spool-n2" "$place/tmp-n1" "$place/tmp-n2"
cat > "$place/slurm.conf" << END
ClusterName=banyan
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$place/munge.sock
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool-%n
TmpFS=$place/tmp-%n
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd-%n.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdLogFile=$place/slurmd-%n.log
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$first CPUs=64
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$second CPUs=64
PartitionName=all Nodes=n1,n2 Default=YES State=UP OverSubscribe=FORCE
END
echo 'CgroupPlugin=cgroup/v1' > "$place/cgroup.conf"
export SLURM_CONF=$place/slurm.conf
munged --force --key-file="$place/munge.key" --socket="$place/munge.sock" --pid-file="$place/munged.pid" \
    --log-file="$place/munged.log" --seed-file="$place/munged.seed" 2> "$place/out" || skip "munged does not start: $(tail -n 1 "$place/out")"
slurmctld -i 2> "$place/out" || skip "slurmctld does not start: $(tail -n 1 "$place/out")"
for node in n1 n2; do
    slurmd -N $node 2> "$place/out" || skip "slurmd does not start: $(tail -n 1 "$place/out")"
done
for _ in $(seq 300); do
    sinfo -h -o %T 2> /dev/null | grep -q '^idle$' && break
    sleep 0.2
done

# Two steps of one job, at once and on one node.
cat > "$place/two-steps" << 'STEPS'
#!/bin/bash
srun --overlap --mpi=none -N1 -n4 -w n1 "$@" &
first=$!
srun --overlap --mpi=none -N1 -n4 -w n1 "$@" || exit
wait $first
STEPS
chmod 755 "$place/two-steps"
check_bench "Slurm, two steps of a job" salloc -N1 -n8 -w n1 "$place/two-steps"
check_launcher "Slurm, one node" srun --mpi=none -N1 -n4
if srun --mpi=list 2>&1 | grep -q pmi2; then
    check_launcher "Slurm, two nodes, PMI-1" env BANYAN_ROOT=pmi srun --mpi=pmi2 -N2 -n4
    check_bench "Slurm, 24 ranks on two nodes" env BANYAN_ROOT=pmi srun --mpi=pmi2 -N2 -n24
fi
if srun --mpi=list 2>&1 | grep -q pmix; then
    check_bench "Slurm, with PMIx beside it" srun --mpi=pmix -N1 -n4
    check_launcher "Slurm, two nodes, PMIx" env BANYAN_ROOT=pmix srun --mpi=pmix -N2 -n4
fi
conclude
