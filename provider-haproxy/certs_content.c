// SPDX-License-Identifier: Apache-2.0
/* What is in the files of certificates; part of certs.h. */
#include "common/xalloc.h"
#include "provider-haproxy/certs.h"

#include <errno.h>

bool certs_decode(
	const struct certs *certs, struct str id, struct arena *arena, struct certificate *ret)
{
	const struct object *object = state_find(certs->state, LB_CERTIFICATE, id);
	if (object == NULL)
		return false;
	state_decode(certs->state, object, arena, ret);
	return true;
}

int certs_content(struct certs *certs, const struct cert *cert, struct buf *out)
{
	struct arena arena;
	struct certificate value;
	int err = -ENOENT;
	arena_init(&arena);
	if (cert->id != NULL && certs_decode(certs, str_from(cert->id), &arena, &value))
		err = pem_content(&value, out);
	arena_fini(&arena);
	return err;
}

uint64_t certs_digest(const struct certificate *value)
{
	struct buf content;
	uint64_t digest = 0;
	buf_init(&content, PEM_LEN_MAX);
	if (pem_content(value, &content) == 0) {
		struct str text = buf_str(&content);
		digest = name_digest(&text, 1);
	}
	buf_wipe_fini(&content);
	return digest;
}
