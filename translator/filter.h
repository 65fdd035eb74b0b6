// SPDX-License-Identifier: Apache-2.0
/*
 * The translator as a filter (--once): frames of the source link in, those for a provider out, by the same engine as in service. The provider is
 * known from its hello; it answers nothing, so nothing is pending and no addresses are known.
 *
 * README.md, "Once", says what is written where.
 */
#pragma once

#include "translator/config.h"

/* NULL, or what is wrong (allocated): with the options, with *ret_usage, or with what was read. */
char *filter_run(const struct translator_config *config, bool *ret_usage);
