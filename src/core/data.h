/* SPDX-License-Identifier: Apache-2.0 */
/* core/data.h: where the data lie that come with Banyan: models, networks, results of papers, the
 * Python package. */
#ifndef BANYAN_CORE_DATA_H
#define BANYAN_CORE_DATA_H

#include "core/status.h"

#define BANYAN_DATA_PATH_SIZE 4096

/* Whether name is a word such as 'resnet50', as opposed to a path. */
int banyan_data_is_word(const char *name);

/* The place of the file FOLDER/NAME ('models', 'resnet50.csv') or, with name "", of the folder itself; 0 when
 * it is not there. */
int banyan_data_find(const char *folder, const char *name, char path[BANYAN_DATA_PATH_SIZE]);

#endif
