/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/replay/replay.c: gives a fuzz target every input of its corpus, each in memory of just its size,
 * and an empty one: test_fuzz TARGET FOLDER. So the corpora are met in every build, also without
 * libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/file.h"

typedef int fuzz_target(const uint8_t *data, size_t size);

#define TARGET(name) fuzz_target fuzz_##name;
#include "fuzz_targets.h"
#undef TARGET

static const struct {
    const char *name;
    fuzz_target *run;
} targets[] = {
#define TARGET(name) {#name, fuzz_##name},
#include "fuzz_targets.h"
#undef TARGET
};

static fuzz_target *find(const char *name)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (!strcmp(targets[i].name, name))
            return targets[i].run;
    return NULL;
}

static int replay(fuzz_target *run, const char *folder, const char *name)
{
    char path[4096], *text;
    size_t length;
    uint8_t *data;
    banyan_error err;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (banyan_file_load(path, &text, &length, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 0;
    }
    data = malloc(length ? length : 1);
    if (data)
        memcpy(data, text, length);
    banyan_free(text);
    if (data)
        run(data, length);
    free(data);
    return data != NULL;
}

int main(int argc, char **argv)
{
    fuzz_target *run = argc == 3 ? find(argv[1]) : NULL;
    DIR *folder = run ? opendir(argv[2]) : NULL;
    int count = 0, failed = 0;

    if (!folder) {
        fprintf(stderr, "usage: test_fuzz TARGET FOLDER\n");
        return 1;
    }
    run((const uint8_t *)"", 0);
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') {
            failed += !replay(run, argv[2], entry->d_name);
            count++;
        }
    closedir(folder);
    printf("%s: %d inputs\n", argv[1], count);
    return failed || !count;
}
