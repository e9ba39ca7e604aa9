/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/iteration.c: an iteration on accelerators, by hand and for the networks that come along. */
#include "unit/test.h"

#include <math.h>

#include "accelerate/iteration.h"
#include "core/alloc.h"

static const double sizes[] = {1000, 2000, 4000}, seconds[] = {1, 2, 6};
static const banyan_time_by_size times = {3, sizes, seconds};

TEST(times_go_straight_between_sizes_and_on_beyond_the_last)
{
    banyan_time_by_size one = {1, sizes, seconds};

    assert_true(banyan_time_at(&times, 10) == 1);
    assert_true(banyan_time_at(&times, 1500) == 1.5);
    assert_true(banyan_time_at(&times, 2000) == 2);
    assert_true(banyan_time_at(&times, 3000) == 4);
    assert_true(banyan_time_at(&times, 5000) == 8);
    assert_true(banyan_time_at(&one, 5000) == 1);
}

/* Two layers of one multiplication each: passes of a few cycles, gradients of 4 bytes. */
TEST(exposed_and_hidden_time_add_up_as_computed_by_hand)
{
    banyan_layer layers[2] = {{"a", 1, 1, 1, 1, 1, 1, 1}, {"b", 1, 1, 1, 1, 1, 1, 1}};
    banyan_dnn dnn = {"two", 2, layers};
    banyan_accelerator array = {
        .rows = 1, .columns = 1, .element_count = 1, .bytes_per_value = 4, .clock_hz = 1};
    banyan_layer_cycles c = banyan_accelerate_layer(&array, &layers[0]);
    double back = (double)(c.input_gradient + c.weight_gradient), forward = (double)c.forward;
    double size = 4, long_s = back / 2 + 10, short_s = back / 2;
    banyan_time_by_size slow = {1, &size, &long_s}, quick = {1, &size, &short_s};
    banyan_iteration i;

    banyan_iterate(&array, &dnn, 1, 0, &slow, &i);
    assert_true(i.forward_s == 2 * forward && i.backward_s == 2 * back);
    assert_true(i.exposed_s == long_s && i.overlapped_s == 0 && i.reduce_count == 1);
    assert_true(i.gradient_bytes == 8);
    assert_true(fabs(i.iteration_s - (2 * forward + 2 * back + long_s)) < 1e-9);

    /* The first all-reduce begins after one layer's backward; the second ends after both. */
    banyan_iterate(&array, &dnn, 1, 1, &slow, &i);
    assert_int_equal(i.reduce_count, 2);
    assert_true(fabs(i.iteration_s - (2 * forward + back + fmax(back, long_s) + long_s)) < 1e-9);
    assert_true(fabs(i.communication_s - 2 * long_s) < 1e-9);
    assert_true(fabs(i.overlapped_s + i.exposed_s - i.communication_s) < 1e-9);

    banyan_iterate(&array, &dnn, 1, 1, &quick, &i);
    assert_true(fabs(i.exposed_s - short_s) < 1e-9 && fabs(i.overlapped_s - short_s) < 1e-9);

    banyan_iterate(&array, &dnn, 3, 0, &slow, &i); /* samples take turns on one array */
    assert_true(i.forward_s == 6 * forward);
}

TEST(every_network_overlaps_to_no_longer_an_iteration_and_hides_no_more_than_backward)
{
    static const char *const names[] = {"alexnet",  "alphagozero", "fasterrcnn", "googlenet",
                                        "resnet50", "transformer", "ncf"};
    static const double bytes[] = {1e3, 1e9}, linear[] = {1e3 / 32e9, 1e9 / 32e9};
    banyan_time_by_size ideal = {2, bytes, linear}; /* no start-up: cutting costs nothing */
    banyan_accelerator array = banyan_accelerator_default();

    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        banyan_iteration whole, layers;
        banyan_dnn *dnn;

        assert_int_equal(banyan_dnn_load(names[n], &dnn, NULL), 0);
        banyan_iterate(&array, dnn, 16, 0, &ideal, &whole);
        banyan_iterate(&array, dnn, 16, 1, &ideal, &layers);
        assert_int_equal(layers.reduce_count, dnn->layer_count);
        assert_true(layers.iteration_s <= whole.iteration_s * (1 + 1e-3));
        assert_true(layers.overlapped_s <= layers.backward_s);
        assert_true(whole.gradient_bytes == layers.gradient_bytes);
        assert_true(whole.gradient_bytes == 4.0 * (double)banyan_dnn_parameters(dnn));
        banyan_dnn_destroy(dnn);
    }
}

TEST(an_accelerator_is_read_from_a_short_text)
{
    banyan_accelerator a;
    banyan_error err;

    assert_int_equal(banyan_accelerator_parse("default", &a, &err), 0);
    assert_int_equal(a.rows * 1000 + a.element_count, 32016);
    assert_int_equal(banyan_accelerator_parse("128x64x4,clock=1.5GHz,bytes=2", &a, &err), 0);
    assert_true(a.rows == 128 && a.columns == 64 && a.element_count == 4 && a.clock_hz == 1.5e9);
    assert_int_equal(a.bytes_per_value, 2);
    assert_int_equal(banyan_accelerator_parse("8x8", &a, &err), 0);
    assert_true(a.rows == 8 && a.element_count == 16);
}

TEST(a_wrong_accelerator_is_told)
{
    static const struct {
        const char *text, *says;
    } cases[] = {{"tpu", "not 'tpu'"},
                 {"0x8", "each from 1 to 65536"},
                 {"8x8x", "ROWSxCOLUMNS"},
                 {"", "not ''"},
                 {"8x8,clock=0", "is impossible"},
                 {"8x8,clock=1PHz", "is impossible"},
                 {"8x8,bytes=0", "is not an integer from 1 to 16"},
                 {"8x8,speed=1", "expected clock=HZ or bytes=N"},
                 {"8x8,fast", "expected clock=HZ or bytes=N, not 'fast'"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_accelerator a;
        banyan_error err = {""};

        assert_int_equal(banyan_accelerator_parse(cases[i].text, &a, &err), BANYAN_INVALID_ARGUMENT);
        CHECK_SAYS(err, cases[i].says);
    }
}

TEST(bars_are_drawn_with_what_was_given)
{
    banyan_iteration_row rows[2] = {{"ring & co", {1, 2, 3, 1, 2, 5, 8, 1}},
                                    {"tree", {1, 2, 0, 0, 0, 3, 8, 1}}};
    char *text = NULL;

    for (long calls = 0; !text; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_iterations_draw_svg("title", rows, 2, &text, NULL);
    }
    banyan_alloc_fail_after(-1);
    assert_non_null(strstr(text, "ring &amp; co"));
    assert_non_null(strstr(text, "communication alone: 2000 ms"));
    banyan_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_go_straight_between_sizes_and_on_beyond_the_last),
        cmocka_unit_test(exposed_and_hidden_time_add_up_as_computed_by_hand),
        cmocka_unit_test(every_network_overlaps_to_no_longer_an_iteration_and_hides_no_more_than_backward),
        cmocka_unit_test(an_accelerator_is_read_from_a_short_text),
        cmocka_unit_test(a_wrong_accelerator_is_told),
        cmocka_unit_test(bars_are_drawn_with_what_was_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
