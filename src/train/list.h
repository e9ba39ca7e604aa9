/* SPDX-License-Identifier: Apache-2.0 */
/* train/list.h: every policy, one line each. X(NAME) stands for banyan_policy_NAME in its own file. */
X(wfbp)
X(single)
X(mg_wfbp)
X(asc_wfbp_printed)
X(asc_wfbp_theorem1)
X(asc_wfbp_released)
X(asc_wfbp)
X(ddp)
X(horovod)
X(optimal)
