// SPDX-License-Identifier: Apache-2.0
#include "common/must.h"

#include <stdio.h>
#include <stdlib.h>

void must_fail(const char *cond, const char *file, int line)
{
	fprintf(stderr, "level=error event=broken-invariant cond=\"%s\" at=%s:%d\n", cond, file,
		line);
	abort();
}
