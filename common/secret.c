// SPDX-License-Identifier: Apache-2.0
#include "common/secret.h"

#include "common/files.h"
#include "common/xalloc.h"

#include <errno.h>

enum { BLANKS_LEN_MAX = 4096 /* around the text in a file */ };

void secret_fini(struct secret *s)
{
	if (s->text != NULL)
		explicit_bzero(s->text, s->len);
	free(s->text);
	*s = (struct secret){0};
}

int secret_set(struct secret *s, struct str text)
{
	if (text.len > SECRET_LEN_MAX)
		return -EMSGSIZE;
	char *copy = str_dup(text);
	secret_fini(s);
	s->text = copy;
	s->len = text.len;
	return 0;
}

int secret_load_file(struct secret *s, const char *path)
{
	struct buf content;
	buf_init(&content, SECRET_LEN_MAX + BLANKS_LEN_MAX);
	int err = files_read(path, &content);
	if (err == 0) {
		struct str text = str_trim(buf_str(&content));
		err = text.len == 0 ? -ENODATA : secret_set(s, text);
	}
	buf_wipe_fini(&content);
	return err;
}

bool secret_eq(const struct secret *a, const struct secret *b)
{
	if (a->text == NULL || b->text == NULL)
		return a->text == b->text;
	if (a->len != b->len)
		return false;
	unsigned char differs = 0;
	for (size_t i = 0; i < a->len; i++)
		differs |= (unsigned char)(a->text[i] ^ b->text[i]);
	return differs == 0;
}
