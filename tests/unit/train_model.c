/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/train_model.c: the CSV form of models: what is read, what is refused, what comes along. */
#include "unit/test.h"

#include <math.h>

#include "core/alloc.h"
#include "train/train.h"

static banyan_status parse(const char *text, banyan_model **model, banyan_error *err)
{
    return banyan_model_parse(text, strlen(text), "m", 4, model, err);
}

TEST(columns_are_found_by_name_and_times_add_up)
{
    banyan_model *model;
    banyan_error err;

    if (parse("# from a profile\r\n t_b , note,elements,name\r\n\r\n1e-3,x,10,fc.bias\r\n0,y,200,fc.weight\n"
              "0.5,,1000000000000,big",
              &model, &err))
        fail_msg("%s", err.text);
    assert_int_equal(model->tensor_count, 3);
    assert_string_equal(model->name, "m");
    assert_string_equal(model->tensors[1].name, "fc.weight");
    assert_int_equal(model->tensors[1].bytes, 800);
    assert_true(model->tensors[1].ready_s == model->tensors[0].ready_s);
    assert_true(fabs(model->tensors[2].ready_s - 0.501) < 1e-12);
    assert_true(fabs(model->backward_s - 0.501) < 1e-12 && fabs(model->forward_s - 0.2505) < 1e-12);
    banyan_model_destroy(model);
    banyan_model_destroy(NULL);
}

TEST(what_is_wrong_is_named_with_its_line)
{
#define HEAD "name,elements,t_b\n"
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"", "there is no header"},
        {"\n# only a comment\n", "there is no header"},
        {"name,elements\n", "line 1: no column is named t_b"},
        {"# c\nname,elements,t_b,name\n", "line 2: two columns are named name"},
        {HEAD, "the model has no tensors"},
        {HEAD "a,1,0\nb,1\n", "line 3: 2 values, but the header has 3 columns"},
        {HEAD "a,1,0,7\n", "line 2: 4 values, but the header has 3 columns"},
        {HEAD ",1,0\n", "line 2: name '' is not a name"},
        {HEAD "\"a\",1,0\n", "line 2: name '\"a\"' is not a name (quotes are not understood)"},
        {HEAD "a,0,0\n", "line 2: elements '0' is not a whole number from 1 to 1e12"},
        {HEAD "a,1.5,0\n", "line 2: elements '1.5' is not a whole number"},
        {HEAD "a,1e13,0\n", "line 2: elements '1e13' is not"},
        {HEAD "a,0x10,0\n", "line 2: elements '0x10' is not"},
        {HEAD "a,,0\n", "line 2: elements '' is not"},
        {HEAD "a,1,-1\n", "line 2: t_b '-1' is not a time from 0 to 3600 seconds"},
        {HEAD "a,1,nan\n", "line 2: t_b 'nan' is not"},
        {HEAD "a,1,3601\n", "line 2: t_b '3601' is not"},
        {HEAD "a,1,1e999\n", "line 2: t_b '1e999' is not"},
        {HEAD "a,1,123456789012345678901234567890123456789012345678901234567890\n",
         "line 2: t_b '1234567890123456789012345678901234567890' is not"},
    };
    banyan_model *model;
    banyan_error err;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (parse(wrong[i].text, &model, &err) != BANYAN_INVALID_ARGUMENT)
            fail_msg("'%s' is accepted", wrong[i].text);
        assert_null(model);
        CHECK_SAYS(err, wrong[i].says);
    }
}

TEST(sizes_beyond_reason_are_refused)
{
    char *text = calloc(1, 4u << 20), *end;
    banyan_model *model;
    banyan_error err;

    assert_non_null(text);
    end = text + sprintf(text, "name,elements,t_b\n");
    for (int i = 0; i <= BANYAN_MAX_TENSORS; i++)
        end += sprintf(end, "t,1,0\n");
    assert_int_equal(parse(text, &model, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "line 16386: more than 16384 tensors");
    end = text + sprintf(text, "name,elements,t_b\n");
    for (int i = 0; i < 300; i++)
        end += sprintf(end, "t,1e12,0\n");
    assert_int_equal(parse(text, &model, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "line 252: the model has more than 1e15 bytes");
    for (end = text; end < text + 200; end += 2)
        memcpy(end, "a,", 3);
    assert_int_equal(parse(text, &model, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "line 1: more than 64 columns");
    assert_int_equal(banyan_model_parse("", 0, "m", 0, &model, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "elements of 0 bytes are not from 1 to 16");
    free(text);
}

TEST(the_models_that_come_along_have_the_papers_sizes)
{
    static const struct {
        const char *name;
        int tensors;
        double elements, backward_s;
    } models[] = {{"resnet152", 467, 60192808, .1825},   {"densenet201", 604, 20013928, .1459},
                  {"inceptionv4", 449, 42679816, .1263}, {"bert_base", 206, 110106428, .2037},
                  {"resnet50", 161, 25557032, .0704},    {"vgg16", 32, 138357544, .1892},
                  {"gpt2_small", 148, 124439808, .1197}};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        banyan_model *model;
        banyan_error err;
        double bytes = 0;

        if (banyan_model_load(models[i].name, 2, &model, &err))
            fail_msg("%s", err.text);
        for (int t = 0; t < model->tensor_count; t++)
            bytes += (double)model->tensors[t].bytes;
        assert_int_equal(model->tensor_count, models[i].tensors);
        assert_true(bytes == 2 * models[i].elements);
        assert_true(fabs(model->backward_s - models[i].backward_s) < 1e-4);
        banyan_model_destroy(model);
    }
}

TEST(unknown_models_and_bad_files_are_named)
{
    banyan_model *model;
    banyan_error err;

    assert_int_equal(banyan_model_load("resnet", 4, &model, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "no model is named resnet, and no file either");
    assert_int_not_equal(banyan_model_load("./nowhere.csv", 4, &model, &err), 0);
    CHECK_SAYS(err, "./nowhere.csv");
    assert_int_not_equal(banyan_model_load("", 4, &model, &err), 0);
    assert_int_not_equal(banyan_model_load(TEST_DATA "/CMakeLists.txt", 4, &model, &err), 0);
    CHECK_SAYS(err, "CMakeLists.txt: line ");
    assert_null(model);
}

TEST(reading_survives_the_failure_of_each_allocation)
{
    banyan_status status = BANYAN_SYSTEM_ERROR;
    banyan_model *model;

    for (int calls = 0; status; calls++) {
        assert_true(calls < 1000000); /* it must succeed some time */
        banyan_alloc_fail_after(calls);
        status = banyan_model_load("vgg16", 4, &model, NULL);
        banyan_alloc_fail_after(-1);
        assert_true(!status == !!model);
    }
    banyan_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_found_by_name_and_times_add_up),
        cmocka_unit_test(what_is_wrong_is_named_with_its_line),
        cmocka_unit_test(sizes_beyond_reason_are_refused),
        cmocka_unit_test(the_models_that_come_along_have_the_papers_sizes),
        cmocka_unit_test(unknown_models_and_bad_files_are_named),
        cmocka_unit_test(reading_survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
