// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/cert.h"

#include "common/xalloc.h"
#include "provider-common/digest.h"

/* White space around PEM text is not significant. */
uint64_t cert_chain_digest(struct str chain)
{
	return digest_of(str_trim(chain));
}

void cert_lose(struct cert *cert)
{
	free(cert->id);
	cert->id = NULL;
	cert->must_read = false;
}

void cert_tell_users(struct cert *cert)
{
	struct arena arena;
	struct object **users;
	if (cert->object == NULL)
		return;
	arena_init(&arena);
	size_t count = state_users_of(cert->object, &arena, &users);
	for (size_t i = 0; i < count; i++)
		cert->config->on_change(cert->config->ctx, users[i]);
	arena_fini(&arena);
}
