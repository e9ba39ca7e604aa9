/* SPDX-License-Identifier: Apache-2.0 */
/* report/use.h: how full each link is, moment by moment. */
#ifndef BANYAN_REPORT_USE_H
#define BANYAN_REPORT_USE_H

#include "core/text.h"
#include "report/report.h"

/* Appends a JSON array with one string a link; each character is a moment, from '0' (idle) to '-' (full) in
 * the order of BANYAN_REPORT_DIGITS. total_s is the time that all moments together make up. */
#define BANYAN_REPORT_DIGITS "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-"

banyan_status banyan_report_add_use(banyan_text *text, const banyan_report *report,
                                    const banyan_timeline *timeline, double total_s, banyan_error *err);

#endif
