/* SPDX-License-Identifier: Apache-2.0 */
/* core/show.h: sizes, times and rates as people read them: '64 MiB', '12.1 ms', '1.25 GB/s'. What is not
 * finite is '-'. Each returns the buffer. */
#ifndef BANYAN_SHOW_H
#define BANYAN_SHOW_H

#include <stddef.h>

const char *banyan_show_bytes(double bytes, char *buffer, size_t size);
const char *banyan_show_seconds(double seconds, char *buffer, size_t size);
const char *banyan_show_rate(double bytes_per_s, char *buffer, size_t size);

#endif
