/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/multitree.c: the evaluation of the MultiTree paper (ISCA 2021): Fig. 9 to 11 and Table I. */
#include "reproduce/multitree.h"

#include "core/alloc.h"

static banyan_status run(banyan_reproduction *reproduction, banyan_error *err)
{
    multitree_torus *torus = banyan_alloc(1, sizeof *torus);
    banyan_status status = torus ? multitree_fig9(reproduction, torus, err) : banyan_fail_memory(err);

    banyan_free(torus);
    return status;
}

const banyan_paper banyan_paper_multitree = {
    .name = "multitree",
    .title = "J. Huang et al., Communication Algorithm-Architecture Co-Design for Distributed Deep Learning "
             "(MultiTree), 2021",
    .about =
        "All-reduce on eight networks at twelve sizes, weak scaling on tori and seven networks in training, "
        "cycle by cycle, with rivals that the paper lacks.",
    .run = run};
