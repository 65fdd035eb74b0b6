// SPDX-License-Identifier: Apache-2.0
/* Checks the list and the files of certificates before HAProxy is started or reloaded; see repair.h. */
#include "provider-haproxy/certs.h"

#include "common/xalloc.h"
#include "provider-proxy/checksum.h"
#include "common/files.h"
#include "provider-proxy/placeholder.h"

#include <errno.h>

static int repair_file(struct certs *certs, struct str file_name, bool is_known,
	certs_damaged *on_damage, void *ctx)
{
	struct buf content;
	char *name = str_dup(file_name);
	char *path = certs_path(certs, name);
	int err = 0;
	buf_init(&content, PEM_LEN_MAX + 1024);
	const char *problem = checksum_read(path, &content);
	buf_wipe_fini(&content);
	if (problem != NULL) {
		struct cert *cert = certs_find(certs, file_name);
		on_damage(ctx, path, problem);
		/* Not what HAProxy has refused. */
		if (is_known && cert != NULL && cert->wanted != 0 &&
			cert->wanted != cert->refused) {
			err = certs_write_file(certs, cert);
		} else {
			/* In place of what nobody knows: it is shown for the names of the file, and nobody takes it for another. */
			err = placeholder_write(path);
			if (cert != NULL)
				cert->filed = 0;
		}
	}
	free(path);
	free(name);
	return err;
}

static int repair_named(
	struct certs *certs, struct str list, bool is_known, certs_damaged *on_damage, void *ctx)
{
	int err = 0;
	while (err == 0 && list.len != 0) {
		struct str line = str_cut(&list, '\n');
		struct str path = str_before(line, ' ');
		size_t dir_len = strlen(certs->dir) + 1;
		if (path.len > dir_len)
			err = repair_file(certs, str_skip(path, dir_len), is_known, on_damage, ctx);
	}
	return err;
}

int certs_repair(struct certs *certs, bool is_known, certs_damaged *on_damage, void *ctx)
{
	struct buf list;
	char *path = certs_path(certs, CERTS_LIST);
	buf_init(&list, CERTS_LIST_LEN_MAX);
	int err = 0;
	const char *problem = checksum_read(path, &list);
	if (problem != NULL) {
		on_damage(ctx, path, problem);
		certs->is_list_changed = true;
		err = is_known ? certs_write_list(certs) : certs_write_default_list(certs);
		if (err == 0 && checksum_read(path, &list) != NULL)
			err = -EIO;
	}
	if (err == 0)
		err = repair_named(certs, buf_str(&list), is_known, on_damage, ctx);
	buf_fini(&list);
	free(path);
	return err;
}
