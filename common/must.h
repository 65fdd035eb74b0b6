// SPDX-License-Identifier: Apache-2.0
/*
 * must(): a broken invariant of ours ends the process, also in release builds. Never use it on
 * anything that came from outside; bad input is data, not a bug.
 */
#pragma once

#define must(cond)                                            \
	do {                                                  \
		if (!(cond))                                  \
			must_fail(#cond, __FILE__, __LINE__); \
	} while (0)

[[gnu::noreturn, gnu::cold]] void must_fail(const char *cond, const char *file, int line);
