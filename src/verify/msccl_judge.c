/* SPDX-License-Identifier: Apache-2.0 */
/* verify/msccl_judge.c: problems as they are found, and where a rank's cells are. */
#include "verify/msccl_judge.h"

#include <stdarg.h>
#include <stdio.h>

void banyan_msccl_complain(banyan_msccl_judge *judge, const char *format, ...)
{
    banyan_verdict *verdict = judge->verdict;
    char sentence[320];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (verdict->problem_count < BANYAN_VERDICT_SHOWN)
        snprintf(verdict->problems[verdict->problem_count], sizeof verdict->problems[0], "%s%s",
                 judge->prefix, sentence);
    verdict->problem_count++;
}

size_t banyan_msccl_cell_count(const banyan_msccl_judge *judge, int rank)
{
    return (size_t)judge->program->chunk_count * 2 + (size_t)judge->program->ranks[rank].s_chunks;
}

size_t banyan_msccl_cell(const banyan_msccl_judge *judge, int rank, char buffer, int offset)
{
    const banyan_msccl_program *program = judge->program;
    size_t chunks = (size_t)program->chunk_count;

    if (buffer == 's')
        return 2 * chunks + (size_t)offset;
    return (size_t)banyan_msccl_position(program, rank, buffer, offset) +
           (buffer == 'o' && !judge->in_place ? chunks : 0);
}
