// SPDX-License-Identifier: Apache-2.0
#include "common/must.h"

#include "common/last_words.h"

#include <stdio.h>
#include <stdlib.h>

void must_fail(const char *cond, const char *file, int line)
{
	char reason[512];
	snprintf(reason, sizeof(reason), "%s, at %s:%d", cond, file, line);
	last_words_say(LAST_WORDS_BROKEN_INVARIANT, reason);
	abort();
}
