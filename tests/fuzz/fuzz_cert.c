// SPDX-License-Identifier: Apache-2.0
/* A chain and a key, parted by the first NUL: what is good stays good, and the same, when its own output is read. */
#include "common/cert.h"
#include "common/must.h"

#include <stddef.h>
#include <stdint.h>

static void check_info(const struct cert_info *info, struct arena *arena)
{
	struct cert_info again;
	must(info->name_count <= CERT_NAMES_MAX);
	for (size_t i = 0; i < info->name_count; i++) {
		must(cert_covers(info->names, info->name_count, info->names[i]));
		must(i == 0 || str_cmp(info->names[i - 1], info->names[i]) < 0);
	}
	must(cert_check(info->chain, STR_NONE, arena, &again) == NULL);
	must(again.name_count <= CERT_NAMES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct str chain = {(const char *)data, len};
	struct str key = STR_NONE;
	const char *nul = len != 0 ? memchr(data, 0, len) : NULL;
	if (nul != NULL) {
		chain.len = (size_t)(nul - chain.p);
		key = str_skip((struct str){(const char *)data, len}, chain.len + 1);
	}
	struct arena arena;
	struct cert_info info;
	arena_init(&arena);
	if (cert_check(chain, key, &arena, &info) == NULL)
		check_info(&info, &arena);
	arena_fini(&arena);
	return 0;
}
