/* SPDX-License-Identifier: Apache-2.0 */
/* core/job.h: what our launcher tells each process of a job: the names of the variables, in one place. */
#ifndef BANYAN_CORE_JOB_H
#define BANYAN_CORE_JOB_H

#define BANYAN_JOB_RANK "BANYAN_RANK"
#define BANYAN_JOB_SIZE "BANYAN_SIZE"
#define BANYAN_JOB_LOCAL_RANK "BANYAN_LOCAL_RANK" /* among the ranks of its host */
#define BANYAN_JOB_LOCAL_SIZE "BANYAN_LOCAL_SIZE"
#define BANYAN_JOB_ROOT "BANYAN_ROOT"     /* HOST:PORT where ranks meet */
#define BANYAN_JOB_SECRET "BANYAN_SECRET" /* fresh for each job */
#define BANYAN_JOB_TOPO "BANYAN_TOPO"     /* in a test network: what it was made from */
#define BANYAN_JOB_IFNAME "BANYAN_SOCKET_IFNAME"

#endif
