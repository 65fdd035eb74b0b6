// SPDX-License-Identifier: Apache-2.0
/* What the unit tests of the translator share: cmocka's headers, and short ways to write tables. */
#pragma once

/* The rows of tables leave out what is zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wmissing-braces"

#include "translator/diag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define assert_text(str_, c_string)                                                   \
	do {                                                                          \
		struct str text_ = (str_);                                            \
		const char *want_ = (c_string);                                       \
		if (!str_eq_c(text_, want_))                                          \
			fail_msg("got \"%.*s\", want \"%s\"", STR_FMT(text_), want_); \
	} while (0)

/* "Reason Reason" of all diagnostics, in their order; in the list's arena. */
static inline const char *reasons_of(struct diag_list *diags)
{
	struct str text = STR("");
	diag_list_finish(diags);
	for (size_t i = 0; i < diags->count; i++)
		text = arena_printf(diags->arena, "%.*s%s%.*s", STR_FMT(text), i != 0 ? " " : "",
			STR_FMT(diags->items[i].reason));
	return text.p;
}
