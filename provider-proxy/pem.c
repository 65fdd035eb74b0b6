// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/pem.h"

#include "common/ascii.h"
#include "common/xalloc.h"

#include <errno.h>
#include <stdio.h>

struct pem_name pem_name_of(const struct certificate *certificate, size_t first)
{
	struct pem_name name;
	size_t count = certificate->hosts.count - first;
	struct name object = name_of(NAME_CERTIFICATE, certificate->key.id);
	uint64_t digest = name_digest(certificate->hosts.items + first,
		count < PEM_HOSTS_MAX ? count : (size_t)PEM_HOSTS_MAX);
	snprintf(name.text, sizeof(name.text), "%s-%016llx.pem", object.text,
		(unsigned long long)digest);
	return name;
}

/* One line of a PEM block: printable ASCII, without anything special to a proxy's socket. */
static bool is_pem_line(struct str line)
{
	return line.len != 0 && line.len <= 1024 && ascii_is_printable(line);
}

static int append_line(struct buf *out, struct str line)
{
	int err = buf_append_str(out, line);
	return err != 0 ? err : buf_append(out, "\n", 1);
}

static struct str next_line(struct str *rest)
{
	struct str line = str_cut(rest, '\n');
	while (line.len != 0 && (line.p[line.len - 1] == '\r' || line.p[line.len - 1] == ' ' ||
					line.p[line.len - 1] == '\t'))
		line.len--;
	return line;
}

int pem_blocks(struct str pem, struct buf *out)
{
	bool is_inside = false;
	size_t blocks = 0;
	while (pem.len != 0) {
		struct str line = next_line(&pem);
		bool is_begin = str_starts_with(line, STR("-----BEGIN "));
		bool is_end = str_starts_with(line, STR("-----END "));
		if (is_begin == is_inside && (is_begin || is_end))
			return -EBADMSG;
		is_inside = is_inside || is_begin;
		if (!is_inside || line.len == 0)
			continue;
		if (!is_pem_line(line))
			return -EBADMSG;
		int err = append_line(out, line);
		if (err != 0)
			return err;
		is_inside = !is_end;
		blocks += is_end;
	}
	return is_inside || blocks == 0 ? -EBADMSG : 0;
}

int pem_content(const struct certificate *certificate, struct buf *out)
{
	size_t len = buf_len(out);
	int err = pem_blocks(certificate->chain, out);
	if (err == 0)
		err = pem_blocks(certificate->private_key, out);
	if (err != 0)
		buf_cut(out, len);
	return err;
}

bool pem_is_file_name(struct str name)
{
	return name.len == PEM_NAME_LEN && name.p[NAME_LEN] == '-' &&
	       name_is_one(NAME_CERTIFICATE, (struct str){name.p, NAME_LEN}) &&
	       str_ends_with(name, STR(".pem"));
}
