# SPDX-License-Identifier: Apache-2.0
"""torch.distributed meets by the variables RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, which torchrun sets. Other
launchers say the same in other words; here they are translated, for whatever is not set already.
"""

import os
import zlib

# Rank, number of ranks, ranks on this host, what names the job.
_LAUNCHERS = [
    ("BANYAN_RANK", "BANYAN_SIZE", "BANYAN_LOCAL_RANK", "BANYAN_LOCAL_SIZE", "BANYAN_ROOT"),
    (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        "OMPI_MCA_ess_base_jobid",
    ),
    ("PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK", "PMIX_LOCAL_SIZE", "PMIX_NAMESPACE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", "PMI_JOBID"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_JOBID"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE", "SLURM_JOB_ID"),
]


def _meeting_place(environment, size, local_size, job):
    """Address and port, or nothing where nobody has said on which host rank 0 is."""
    # Below the ports that systems give to outgoing connections: one of those may be taken at any moment.
    port = 20000 + zlib.crc32(job.encode()) % 10000
    address, _, own_port = environment.get("BANYAN_ROOT", "").rpartition(":")
    if address and own_port.isdigit():
        return address.strip("[]"), port if port != int(own_port) else port + 1
    if environment.get("SLURM_LAUNCH_NODE_IPADDR") and "SLURM_PROCID" in environment:
        return environment["SLURM_LAUNCH_NODE_IPADDR"], port
    if size == local_size:
        return "127.0.0.1", port
    return None


def adopt_launcher(environment=None):
    """Sets what torch looks for from what the launcher has set; the names that were set."""
    environment = os.environ if environment is None else environment
    if "RANK" in environment and "WORLD_SIZE" in environment:
        return []
    found = [names for names in _LAUNCHERS if names[0] in environment and names[1] in environment]
    if not found:
        return []
    rank, size, local_rank, local_size, job = found[0]
    wanted = {"RANK": environment[rank], "WORLD_SIZE": environment[size]}
    if local_rank in environment:
        wanted["LOCAL_RANK"] = environment[local_rank]
    place = _meeting_place(environment, environment[size], environment.get(local_size), environment.get(job, ""))
    if place:
        wanted["MASTER_ADDR"], wanted["MASTER_PORT"] = place[0], str(place[1])
    new = [name for name in wanted if name not in environment]
    for name in new:
        environment[name] = wanted[name]
    return new
