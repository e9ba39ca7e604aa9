/* SPDX-License-Identifier: Apache-2.0 */
/* cli/verbs.h: every verb, one line each, in the order of «banyan help». X(NAME) stands for cli_verb_NAME. */
X(topo)
X(plan)
X(compare)
X(bound)
X(verify)
X(sim)
X(report)
X(train)
X(bench)
X(list)
X(info)
X(completion)
