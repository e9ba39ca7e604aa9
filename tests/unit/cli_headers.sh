#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command line asks the library through <banyan/banyan.h> and <banyan/plan.h>: a file of cli/ includes public headers,
# those of cli/ and helpers of src/core only. Files that still use other modules are listed here; the list may only get
# shorter. Arguments: the source folder.
set -u
cd "$1" || exit 1
failed=0

# Files whose own lines include modules other than core. list, completion and arguments print the registries; bench names collectives and
# measures the roofs of GPUs; run, status, reproduce, shapes and train have no public calls for what they do.
private="arguments.c bench.c bench_measure.c bench_options.c bench_processes.c bench_table.c bench_values.c \
completion.c list.c problem.h reproduce.c \
run.c run_job.c run_tree.h shapes.c status_show.c status_view.h train_accelerator.c train_bars.h \
train_cost.c train_cost.h train_measure.c"

complain() {
    echo "$*"
    failed=1
}

includes_private() { # FILE
    grep -hoE '^#include "[a-z]+/' "$1" | grep -qv '"core/'
}

for file in cli/*.[ch]; do
    name=$(basename "$file")
    case " $private " in
    *" $name "*)
        includes_private "$file" || complain "$file includes public headers only: take it off the list in tests/unit/cli_headers.sh"
        ;;
    *)
        includes_private "$file" && complain "$file includes a private header: ask the library through <banyan/plan.h>"
        ;;
    esac
done

# The verbs that are done, with all that they include from cli/, reach no private header by way of others either.
reach() { # FILE...: those files and all headers of cli/ that they include
    local seen=" " todo="$*" file header
    while [ -n "$todo" ]; do
        file=${todo%% *}
        todo=${todo#"$file"}
        todo=${todo# }
        [[ $seen == *" $file "* ]] && continue
        seen+="$file "
        for header in $(sed -n 's/^#include "\([a-z_]*\.h\)"$/\1/p' "cli/$file"); do todo+="${todo:+ }$header"; done
    done
    echo "$seen"
}
for file in $(reach topo.c bound.c verify.c sim.c sim_request.c plan.c plan_json.c replan.c question.c compare.c crossovers.c probe.c report.c); do
    [[ " $private " != *" $file "* ]] || complain "the planning verbs reach the private headers of cli/$file"
done
[ $failed = 0 ] && echo "what is not on the list uses public calls"
exit $failed
