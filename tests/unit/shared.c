/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/shared.c: memory that other processes can map: what is found where, and what is given back. */
#include "transport/shared.h"

#include <banyan/banyan.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/alloc.h"
#include "test.h"

TEST(memory_is_zeroed_begins_with_a_page_and_is_found_from_its_first_byte_to_its_last)
{
    char *memory = NULL;
    banyan_shared_memory found;

    assert_int_equal(banyan_shared_memory_alloc(10000, (void **)&memory, NULL), BANYAN_SUCCESS);
    assert_int_equal((uintptr_t)memory % 4096, 0);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(memory[i], 0);
    assert_true(banyan_shared_memory_find(memory, 10000, &found));
    assert_ptr_equal(found.begin, memory);
    assert_true(banyan_shared_memory_find(memory + 9999, 1, &found));
    assert_true(found.bytes >= 10000);
    assert_false(banyan_shared_memory_find(memory + 1, found.bytes, &found));
    assert_false(banyan_shared_memory_find(memory - 1, 1, &found));
    assert_false(banyan_shared_memory_find(memory + found.bytes, 1, &found));
    assert_false(banyan_shared_memory_find(&found, 1, &found));
    assert_int_equal(banyan_shared_memory_free(memory, NULL), BANYAN_SUCCESS);
    assert_false(banyan_shared_memory_find(memory, 1, &found));
}

TEST(each_of_many_pieces_is_found)
{
    void *memory[50];
    banyan_shared_memory found;

    for (size_t i = 0; i < 50; i++)
        assert_int_equal(banyan_shared_memory_alloc(1 + 1000 * i, &memory[i], NULL), BANYAN_SUCCESS);
    for (size_t i = 0; i < 50; i += 2)
        assert_int_equal(banyan_shared_memory_free(memory[i], NULL), BANYAN_SUCCESS);
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(banyan_shared_memory_find(memory[i], 1, &found), i % 2);
    for (size_t i = 1; i < 50; i += 2)
        assert_int_equal(banyan_shared_memory_free(memory[i], NULL), BANYAN_SUCCESS);
}

TEST(a_serial_number_is_not_used_again)
{
    banyan_shared_memory first, second;
    void *memory;

    assert_int_equal(banyan_shared_memory_alloc(1, &memory, NULL), BANYAN_SUCCESS);
    assert_true(banyan_shared_memory_find(memory, 1, &first));
    assert_true(banyan_shared_memory_is_alive(first.serial));
    banyan_shared_memory_free(memory, NULL);
    assert_false(banyan_shared_memory_is_alive(first.serial));
    assert_int_equal(banyan_shared_memory_alloc(1, &memory, NULL), BANYAN_SUCCESS);
    assert_true(banyan_shared_memory_find(memory, 1, &second));
    assert_true(second.serial != first.serial);
    banyan_shared_memory_free(memory, NULL);
}

TEST(what_was_not_allocated_cannot_be_freed)
{
    banyan_error err = {""};
    char *memory, other;

    assert_int_equal(banyan_shared_memory_alloc(5000, (void **)&memory, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_shared_memory_free(memory + 1, &err), BANYAN_INVALID_ARGUMENT);
    assert_string_equal(err.text, "shared memory: this is not the beginning of what was allocated");
    assert_int_equal(banyan_mem_free(&other), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_mem_free(NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_mem_free(memory), BANYAN_SUCCESS);
    assert_int_equal(banyan_mem_free(memory), BANYAN_INVALID_ARGUMENT);
}

TEST(wrong_sizes_and_places_are_refused)
{
    void *memory = &memory;
    banyan_error err = {""};

    assert_int_equal(banyan_mem_alloc(NULL, 1), BANYAN_INVALID_ARGUMENT);
    assert_int_equal(banyan_shared_memory_alloc(SIZE_MAX, &memory, &err), BANYAN_SYSTEM_ERROR);
    assert_string_equal(err.text, "shared memory: this machine does not have 18446744073709551615 bytes");
    assert_null(memory);
    assert_int_equal(banyan_mem_alloc(&memory, 0), BANYAN_SUCCESS);
    assert_non_null(memory);
    banyan_mem_free(memory);
}

TEST(a_failing_allocation_leaves_nothing)
{
    void *memory = NULL;

    for (int calls = 0; !memory; calls++) {
        banyan_status status;

        banyan_alloc_fail_after(calls);
        status = banyan_shared_memory_alloc(1, &memory, NULL);
        assert_int_equal(status, memory ? BANYAN_SUCCESS : BANYAN_SYSTEM_ERROR);
    }
    banyan_alloc_fail_after(-1);
    banyan_shared_memory_free(memory, NULL);
}

static char *map_again(const char *memory)
{
    banyan_shared_memory found;
    char *other;

    assert_true(banyan_shared_memory_find(memory, 1, &found));
    other = mmap(NULL, found.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, found.fd, 0);
    assert_true(other != MAP_FAILED);
    return other;
}

TEST(what_is_cut_off_keeps_its_contents_and_is_no_longer_written_by_others)
{
    char *memory, *other;
    banyan_shared_memory found;

    assert_int_equal(banyan_shared_memory_alloc(5 * 4096, (void **)&memory, NULL), BANYAN_SUCCESS);
    other = map_again(memory);
    for (int i = 0; i < 5 * 4096; i++)
        memory[i] = (char)(i % 101);
    banyan_shared_memory_cut_off(memory + 4100, 4096); /* pages 1 and 2 */
    for (int i = 0; i < 5 * 4096; i++)
        assert_int_equal(memory[i], i % 101);
    other[4200] = other[2 * 4096 + 5] = other[0] = 120;
    assert_int_equal(memory[4200], 4200 % 101);
    assert_int_equal(memory[2 * 4096 + 5], (2 * 4096 + 5) % 101);
    assert_int_equal(memory[0], 120);
    assert_false(banyan_shared_memory_find(memory, 1, &found));
    assert_int_equal(banyan_shared_memory_free(memory, NULL), BANYAN_SUCCESS);
    munmap(other, 5 * 4096);
}

TEST(memory_goes_back_to_the_system_although_others_have_it_mapped)
{
    char *memory, *other;

    assert_int_equal(banyan_shared_memory_alloc(4096, (void **)&memory, NULL), BANYAN_SUCCESS);
    other = map_again(memory);
    memory[7] = 7;
    assert_int_equal(other[7], 7);
    banyan_shared_memory_free(memory, NULL);
    assert_int_equal(other[7], 0);
    munmap(other, 4096);
}

TEST(a_fork_that_frees_takes_nothing_from_its_parent)
{
    char *memory;
    pid_t process;
    int how;

    assert_int_equal(banyan_shared_memory_alloc(4096, (void **)&memory, NULL), BANYAN_SUCCESS);
    memory[7] = 7;
    process = fork();
    if (!process)
        _exit(banyan_mem_free(memory) != BANYAN_SUCCESS);
    waitpid(process, &how, 0);
    assert_int_equal(how, 0);
    assert_int_equal(memory[7], 7);
    banyan_shared_memory_free(memory, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_begins_with_a_page_and_is_found_from_its_first_byte_to_its_last),
        cmocka_unit_test(each_of_many_pieces_is_found),
        cmocka_unit_test(a_serial_number_is_not_used_again),
        cmocka_unit_test(what_was_not_allocated_cannot_be_freed),
        cmocka_unit_test(wrong_sizes_and_places_are_refused),
        cmocka_unit_test(a_failing_allocation_leaves_nothing),
        cmocka_unit_test(what_is_cut_off_keeps_its_contents_and_is_no_longer_written_by_others),
        cmocka_unit_test(memory_goes_back_to_the_system_although_others_have_it_mapped),
        cmocka_unit_test(a_fork_that_frees_takes_nothing_from_its_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
