/* SPDX-License-Identifier: Apache-2.0 */
/* transport/list.h: every transport, one line each. X(NAME) stands for banyan_transport_NAME in its own
 * file. */
X(memory)
X(shm)
X(tcp)
X(ucx)
X(mpi)
