// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/pair.h"

#include "provider-proxy/names.h"

#include <inttypes.h>
#include <stdio.h>

struct str pair_digest(struct str chain, struct str key, char text[PAIR_DIGEST_LEN])
{
	/* nginx reports absent texts as empty. */
	struct str parts[] = {chain.p != NULL ? chain : STR(""), key.p != NULL ? key : STR("")};
	int len = snprintf(text, PAIR_DIGEST_LEN, "%016" PRIx64, name_digest(parts, 2));
	return (struct str){text, (size_t)len};
}
