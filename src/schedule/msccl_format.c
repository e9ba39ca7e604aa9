/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_format.c: an MSCCL program as XML, with every attribute that the Azure, RCCL and
 * microsoft/msccl parsers want, and the small questions about a program. No XML declaration: those parsers
 * take the first element of the file for the algorithm. */
#include "schedule/msccl.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/text.h"

const banyan_msccl_ability *banyan_msccl_can(banyan_msccl_type type)
{
    static const banyan_msccl_ability abilities[] = {
#define BANYAN_MSCCL_TYPE_ENTRY(name, text, sends, receives, reads, writes)                                  \
    {text, sends, receives, reads, writes},
        BANYAN_MSCCL_TYPE_MAP(BANYAN_MSCCL_TYPE_ENTRY)
#undef BANYAN_MSCCL_TYPE_ENTRY
    };

    return &abilities[type];
}

void banyan_msccl_destroy(banyan_msccl_program *program)
{
    if (!program)
        return;
    banyan_free(program->name);
    banyan_free(program->ranks);
    banyan_free(program->blocks);
    banyan_free(program->steps);
    banyan_free(program);
}

int banyan_msccl_input_chunks(const banyan_msccl_program *program)
{
    return program->collective == BANYAN_COLLECTIVE_ALLGATHER ? program->chunk_count / program->rank_count
                                                              : program->chunk_count;
}

int banyan_msccl_output_chunks(const banyan_msccl_program *program)
{
    return program->collective == BANYAN_COLLECTIVE_REDUCE_SCATTER
               ? program->chunk_count / program->rank_count
               : program->chunk_count;
}

int banyan_msccl_position(const banyan_msccl_program *program, int rank, char buffer, int offset)
{
    int is_share = (buffer == 'i' && program->collective == BANYAN_COLLECTIVE_ALLGATHER) ||
                   (buffer == 'o' && program->collective == BANYAN_COLLECTIVE_REDUCE_SCATTER);

    return is_share ? rank * (program->chunk_count / program->rank_count) + offset : offset;
}

int banyan_msccl_node_count(const banyan_msccl_program *program, int rank)
{
    const banyan_msccl_rank *r = &program->ranks[rank];
    int count = 1 + program->rank_count + r->block_count;

    for (int b = r->first_block; b < r->first_block + r->block_count; b++)
        count += program->blocks[b].step_count;
    return count;
}

int banyan_msccl_step_number(const banyan_msccl_program *program, int step)
{
    return step - program->blocks[program->steps[step].block].first_step;
}

const char *banyan_msccl_step_name(const banyan_msccl_program *program, int step, char *buffer, size_t size)
{
    const banyan_msccl_block *block = &program->blocks[program->steps[step].block];
    int number = banyan_msccl_step_number(program, step), line = program->steps[step].line;

    if (line)
        snprintf(buffer, size, "rank %d, tb %d, step %d (line %d)", block->rank, block->id, number, line);
    else
        snprintf(buffer, size, "rank %d, tb %d, step %d", block->rank, block->id, number);
    return buffer;
}

static void add_step(banyan_text *text, const banyan_msccl_step *step, int number)
{
    banyan_text_add(
        text,
        "      <step s=\"%d\" type=\"%s\" srcbuf=\"%c\" srcoff=\"%d\" dstbuf=\"%c\" dstoff=\"%d\" "
        "cnt=\"%d\" depid=\"%d\" deps=\"%d\" hasdep=\"%d\"/>\n",
        number, banyan_msccl_can(step->type)->text, step->srcbuf, step->srcoff, step->dstbuf, step->dstoff,
        step->cnt, step->depid, step->deps, step->hasdep);
}

static void add_rank(banyan_text *text, const banyan_msccl_program *program, int rank)
{
    const banyan_msccl_rank *r = &program->ranks[rank];

    banyan_text_add(text, "  <gpu id=\"%d\" i_chunks=\"%d\" o_chunks=\"%d\" s_chunks=\"%d\">\n", rank,
                    r->i_chunks, r->o_chunks, r->s_chunks);
    for (int b = 0; b < r->block_count; b++) {
        const banyan_msccl_block *block = &program->blocks[r->first_block + b];

        banyan_text_add(text, "    <tb id=\"%d\" send=\"%d\" recv=\"%d\" chan=\"%d\">\n", b, block->send,
                        block->recv, block->chan);
        for (int s = 0; s < block->step_count; s++)
            add_step(text, &program->steps[block->first_step + s], s);
        banyan_text_add(text, "    </tb>\n");
    }
    banyan_text_add(text, "  </gpu>\n");
}

banyan_status banyan_msccl_format(const banyan_msccl_program *program, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    banyan_text_add(&text, "<algo name=\"");
    banyan_text_add_xml(&text, program->name);
    banyan_text_add(&text, "\" proto=\"%s\" nchannels=\"%d\" nchunksperloop=\"%d\" ngpus=\"%d\" coll=\"%s\"",
                    program->proto, program->channel_count, program->chunk_count, program->rank_count,
                    banyan_collective_name(program->collective));
    banyan_text_add(&text, " inplace=\"%d\"", program->in_place);
    if (!program->lacks_out_of_place)
        banyan_text_add(&text, " outofplace=\"%d\"", program->out_of_place);
    if (!program->lacks_bytes)
        banyan_text_add(&text, " minBytes=\"%" PRId64 "\" maxBytes=\"%" PRId64 "\"", program->min_bytes,
                        program->max_bytes);
    if (program->root >= 0)
        banyan_text_add(&text, " root=\"%d\"", program->root);
    banyan_text_add(&text, ">\n");
    for (int rank = 0; rank < program->rank_count; rank++)
        add_rank(&text, program, rank);
    banyan_text_add(&text, "</algo>\n");
    return banyan_text_take(&text, out, err);
}
