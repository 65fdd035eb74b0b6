// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/placeholder.h"

#include "common/cert_make.h"
#include "common/files.h"
#include "provider-proxy/checksum.h"
#include "provider-proxy/trust.h"

int placeholder_write(const char *path)
{
	struct buf pem;
	buf_init(&pem, TRUST_CONTENT_LEN_MAX);
	int err = cert_make(&pem, &pem);
	if (err == 0)
		err = checksum_write(path, buf_str(&pem), 0600);
	buf_wipe_fini(&pem);
	return err;
}

const char *placeholder_find_problem(
	const char *path, const struct name *name, bool *ret_is_placeholder)
{
	struct buf content;
	buf_init(&content, TRUST_CONTENT_LEN_MAX);
	const char *problem = files_read_own(path, &content);
	struct str text = buf_str(&content);
	struct name right = name_of(name->text[0], text);
	/* It has a checksum, which the others do not have. */
	*ret_is_placeholder = problem == NULL && checksum_take(&text);
	if (problem == NULL && !*ret_is_placeholder && strcmp(right.text, name->text) != 0)
		problem = "is not as it was written";
	buf_wipe_fini(&content);
	return problem;
}
