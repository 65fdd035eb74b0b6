// SPDX-License-Identifier: Apache-2.0
#include "common/must.h"

#include "common/fatal.h"

#include <stdio.h>
#include <stdlib.h>

void must_fail(const char *cond, const char *file, int line)
{
	char reason[512];
	snprintf(reason, sizeof(reason), "%s, at %s:%d", cond, file, line);
	fatal_tell(FATAL_BROKEN_INVARIANT, reason);
	abort();
}
