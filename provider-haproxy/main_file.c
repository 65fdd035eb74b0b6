// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/main_file.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "provider-proxy/checksum.h"
#include "provider-proxy/trusted_file.h"

#include <stdlib.h>

struct main_file {
	struct buf text;
	struct buf installed;
	char description[RENDER_DESCRIPTION_LEN];
	uint64_t trusted_digest; /* 0: not known */
	bool is_stale;
	bool had_default; /* a default certificate, when the text was made */
};

struct main_file *main_file_new(void)
{
	struct main_file *file = xcalloc(1, sizeof(*file));
	buf_init(&file->text, RENDER_LEN_MAX);
	buf_init(&file->installed, RENDER_LEN_MAX);
	return file;
}

void main_file_free(struct main_file *file)
{
	buf_fini(&file->text);
	buf_fini(&file->installed);
	free(file);
}

void main_file_set_stale(struct main_file *file)
{
	file->is_stale = true;
}

bool main_file_is_stale(const struct main_file *file, bool has_default)
{
	return file->is_stale || file->had_default != has_default;
}

bool main_file_read_trusted(struct main_file *file, const char *path, char **ret_problem)
{
	uint64_t before = file->trusted_digest;
	*ret_problem = trusted_file_read(path, &file->trusted_digest);
	if (file->trusted_digest == before)
		return false;
	file->is_stale = true;
	return true;
}

void main_file_make(struct main_file *file, struct render_input input)
{
	input.system_ca_digest = file->trusted_digest;
	buf_clear(&file->text);
	render_main(&file->text, &input, file->description);
	file->had_default = input.has_default;
	file->is_stale = false;
}

struct str main_file_text(const struct main_file *file)
{
	return buf_str(&file->text);
}

const char *main_file_description(const struct main_file *file)
{
	return file->description;
}

bool main_file_is_installed(const struct main_file *file)
{
	return buf_len(&file->installed) != 0;
}

struct str main_file_installed(const struct main_file *file)
{
	return buf_str(&file->installed);
}

void main_file_set_installed(struct main_file *file)
{
	buf_clear(&file->installed);
	/* Both have the same limit. */
	must(buf_append_str(&file->installed, buf_str(&file->text)) == 0);
}

const char *main_file_read_installed(struct main_file *file, const char *path)
{
	return checksum_read(path, &file->installed);
}
