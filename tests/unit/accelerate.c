/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/accelerate.c: cycles of a systolic array against recorded ones, and the layer tables. */
#include "unit/test.h"

#include "accelerate/accelerate.h"
#include "core/alloc.h"
#include "core/file.h"

static banyan_dnn *load(const char *name)
{
    banyan_dnn *dnn;
    banyan_error err;

    if (banyan_dnn_load(name, &dnn, &err))
        fail_msg("%s", err.text);
    return dnn;
}

TEST(cycles_are_those_of_the_recorded_array_for_every_layer_shape)
{
    banyan_accelerator array = banyan_accelerator_default();
    char *text, *line;
    int shapes = 0;

    assert_int_equal(banyan_file_load(TEST_DATA "/data/cycles.csv", &text, NULL, NULL), 0);
    for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        banyan_layer l = {.name = "recorded"};
        long long forward, input, weight;
        banyan_layer_cycles found;

        if (sscanf(line, "%d,%d,%d,%d,%d,%d,%d,%lld,%lld,%lld", &l.input_height, &l.input_width,
                   &l.filter_height, &l.filter_width, &l.channels, &l.filters, &l.stride, &forward, &input,
                   &weight) != 10)
            continue;
        found = banyan_accelerate_layer(&array, &l);
        if (found.forward != forward || found.input_gradient != input || found.weight_gradient != weight)
            fail_msg("%s: found %lld,%lld,%lld", line, (long long)found.forward,
                     (long long)found.input_gradient, (long long)found.weight_gradient);
        shapes++;
    }
    assert_int_equal(shapes, 88);
    banyan_free(text);
}

TEST(whole_networks_add_up)
{
    static const struct {
        const char *name;
        int layers;
        long long forward, input, weight, parameters;
    } wanted[] = {{"alexnet", 5, 25217015, 44522651, 25196426, 3745824},
                  {"alphagozero", 8, 398990, 487396, 362380, 1573620},
                  {"googlenet", 58, 1468034, 6527530, 1391290, 6854208},
                  {"resnet50", 54, 3745827, 10216586, 3453223, 25502912},
                  {"transformer", 891, 3561312, 3559925, 3561104, 77418328},
                  {"fasterrcnn", 46, -1, -1, -1, -1},
                  {"ncf", 8, -1, -1, -1, -1}};
    banyan_accelerator array = banyan_accelerator_default();

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        banyan_dnn *dnn = load(wanted[i].name);
        long long forward = 0, input = 0, weight = 0;

        assert_int_equal(dnn->layer_count, wanted[i].layers);
        for (int j = 0; j < dnn->layer_count; j++) {
            banyan_layer_cycles c = banyan_accelerate_layer(&array, &dnn->layers[j]);

            forward += c.forward;
            input += c.input_gradient;
            weight += c.weight_gradient;
        }
        if (wanted[i].forward >= 0) {
            assert_int_equal(forward, wanted[i].forward);
            assert_int_equal(input, wanted[i].input);
            assert_int_equal(weight, wanted[i].weight);
            assert_int_equal(banyan_dnn_parameters(dnn), wanted[i].parameters);
        }
        banyan_dnn_destroy(dnn);
    }
}

TEST(arrays_share_the_samples_of_a_batch)
{
    banyan_accelerator a = banyan_accelerator_default();

    assert_true(banyan_accelerate_seconds(&a, 1000, 16) == 1e-6);
    assert_true(banyan_accelerate_seconds(&a, 1000, 17) == 2e-6);
}

TEST(a_repeat_stands_for_its_layers_that_often)
{
    const char *text = "layer,input,filter,channels,filters,stride\nrepeat,2\na,1x1,1x1,1,2,1\nrepeat,3\n"
                       "b,4x4,3x3,1,2,1\nend\nend\n";
    banyan_dnn *dnn;

    assert_int_equal(banyan_dnn_parse("two", text, &dnn, NULL), 0);
    assert_int_equal(dnn->layer_count, 8);
    assert_string_equal(dnn->layers[4].name, "a");
    assert_string_equal(dnn->layers[7].name, "b");
    assert_int_equal(banyan_layer_parameters(&dnn->layers[7]), 18);
    assert_int_equal(banyan_layer_multiplications(&dnn->layers[7]), 72);
    banyan_dnn_destroy(dnn);
}

TEST(a_bad_table_is_a_sentence_that_names_the_line)
{
#define HEADER "layer,input,filter,channels,filters,stride\n"
    static const struct {
        const char *text, *words;
    } cases[] = {{"", "no layers"},
                 {"name,input\n", "line 1: expected the header"},
                 {HEADER "a,1x1,1x1,1,1\n", "line 2: expected layer"},
                 {HEADER "a,1x1,1x1,1,1,1,1\n", "line 2: expected layer"},
                 {HEADER "a,11,1x1,1,1,1\n", "line 2: the input must be"},
                 {HEADER "a,1x1,1by1,1,1,1\n", "line 2: the filter must be"},
                 {HEADER "a,1x1,1x1,0,1,1\n", "line 2: channels"},
                 {HEADER "\na,2x2,3x1,1,1,1\n", "line 3: layer 'a': a filter of 3x1 does not fit"},
                 {HEADER "a,9999999x9999999,9999999x9999999,1,1,1\n", "more than 2^53"},
                 {HEADER "end\n", "line 2: 'end' without"},
                 {HEADER "repeat,x\n", "line 2: 'repeat' needs"},
                 {HEADER "a,1x1,1x1,1,1,1\nrepeat,2\n", "line 3: 'repeat' has no 'end'"},
                 {HEADER "repeat,90000\na,1x1,1x1,1,1,1\na,1x1,1x1,1,1,1\nend\n", "more than 100000 layers"},
                 {HEADER ",1x1,1x1,1,1,1\n", "line 2: a layer's name"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_dnn *dnn = (banyan_dnn *)1;
        banyan_error err = {{0}};

        assert_int_not_equal(banyan_dnn_parse("bad", cases[i].text, &dnn, &err), 0);
        assert_null(dnn);
        CHECK_SAYS(err, cases[i].words);
    }
}

TEST(an_unknown_network_is_a_sentence)
{
    banyan_dnn *dnn;
    banyan_error err;

    assert_int_not_equal(banyan_dnn_load("nonesuch", &dnn, &err), 0);
    CHECK_SAYS(err, "no file and no network 'nonesuch'");
}

TEST(each_failing_allocation_is_survived)
{
    banyan_dnn *dnn = NULL;

    for (long calls = 0; !dnn; calls++) {
        assert_true(calls < 1000000); /* it must succeed some time */
        banyan_alloc_fail_after(calls);
        banyan_dnn_load("transformer", &dnn, NULL);
        banyan_alloc_fail_after(-1);
    }
    banyan_dnn_destroy(dnn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_are_those_of_the_recorded_array_for_every_layer_shape),
        cmocka_unit_test(whole_networks_add_up),
        cmocka_unit_test(arrays_share_the_samples_of_a_batch),
        cmocka_unit_test(a_repeat_stands_for_its_layers_that_often),
        cmocka_unit_test(a_bad_table_is_a_sentence_that_names_the_line),
        cmocka_unit_test(an_unknown_network_is_a_sentence),
        cmocka_unit_test(each_failing_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
