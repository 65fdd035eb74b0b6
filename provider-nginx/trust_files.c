// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/trust_files.h"

#include "common/xalloc.h"
#include "common/files.h"
#include "provider-proxy/trust.h"

int trust_files_write(const char *state_dir, const struct trusts *trusts)
{
	const struct trust_view *view = NULL;
	int err = 0;
	while (err == 0 && (view = trusts_next(trusts, view)) != NULL) {
		if (view->content.p == NULL)
			continue;
		char *path = xasprintf("%s/trust/%s.pem", state_dir, view->name.text);
		err = files_write(path, view->content, 0600);
		free(path);
	}
	return err;
}

static bool is_left(void *ctx, struct str file)
{
	struct name name;
	return trust_read_file_name(file, &name) && !trusts_has(ctx, &name);
}

void trust_files_sweep(const char *state_dir, const struct trusts *trusts)
{
	char *path = xasprintf("%s/trust", state_dir);
	(void)files_sweep(path, is_left, (void *)(uintptr_t)trusts);
	free(path);
}
