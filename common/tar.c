// SPDX-License-Identifier: Apache-2.0
#include "common/tar.h"

#include "common/must.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { BLOCK_LEN = 512, TYPE_LONG_NAME = 'L', TYPE_FILE = '0', TYPE_OLD_FILE = '\0' };

/* POSIX.1-1988, ustar interchange format. */
struct header {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char checksum[8];
	char type;
	char link[100];
	char magic[6];
	char version[2];
	char user[32];
	char group[32];
	char major[8];
	char minor[8];
	char prefix[155];
	char rest[12];
};

_Static_assert(sizeof(struct header) == BLOCK_LEN, "a header is a block");

/* The checksum field itself counts as spaces. */
static unsigned checksum_of(const struct header *header)
{
	const unsigned char *bytes = (const unsigned char *)header;
	size_t from = offsetof(struct header, checksum);
	unsigned sum = 0;
	for (size_t i = 0; i < sizeof(*header); i++)
		sum += i >= from && i < from + sizeof(header->checksum) ? ' ' : bytes[i];
	return sum;
}

/* ---- writing ---- */

static int write_padded(FILE *out, const void *data, size_t len)
{
	static const char zeros[BLOCK_LEN];
	size_t padding = (BLOCK_LEN - len % BLOCK_LEN) % BLOCK_LEN;
	if (len != 0 && fwrite(data, 1, len, out) != len)
		return -1;
	return fwrite(zeros, 1, padding, out) == padding ? 0 : -1;
}

static int write_entry(FILE *out, struct str name, char type, const void *data, size_t len)
{
	struct header header = {
		.mode = "0000600",
		.uid = "0000000",
		.gid = "0000000",
		.mtime = "00000000000",
		.type = type,
		.magic = "ustar",
		.version = {'0', '0'},
	};
	memcpy(header.name, name.p,
		name.len < sizeof(header.name) ? name.len : sizeof(header.name));
	(void)snprintf(header.size, sizeof(header.size), "%011zo", len);
	(void)snprintf(header.checksum, sizeof(header.checksum), "%06o", checksum_of(&header));
	header.checksum[7] = ' ';
	return write_padded(out, &header, sizeof(header)) == 0 ? write_padded(out, data, len) : -1;
}

int tar_write(FILE *out, const char *name, struct str content)
{
	struct str text = str_from(name);
	if (text.len > sizeof(((struct header *)NULL)->name) &&
		write_entry(out, STR("././@LongLink"), TYPE_LONG_NAME, name, text.len + 1) != 0)
		return -1;
	return write_entry(out, text, TYPE_FILE, content.p, content.len);
}

int tar_end(FILE *out)
{
	static const char zeros[2 * BLOCK_LEN];
	return fwrite(zeros, 1, sizeof(zeros), out) == sizeof(zeros) ? 0 : -1;
}

/* ---- reading ---- */

static bool read_octal(const char *text, size_t len, size_t *ret_value)
{
	size_t value = 0;
	size_t i = 0;
	while (i < len && text[i] == ' ')
		i++;
	size_t from = i;
	for (; i < len && text[i] >= '0' && text[i] <= '7'; i++)
		value = value * 8 + (size_t)(text[i] - '0');
	if (i == from || (i < len && text[i] != '\0' && text[i] != ' '))
		return false;
	*ret_value = value;
	return true;
}

static struct str text_within(const char *text, size_t len)
{
	must(text != NULL);
	return (struct str){text, strnlen(text, len)};
}

static bool is_end(const struct header *header)
{
	const char *bytes = (const char *)header;
	for (size_t i = 0; i < sizeof(*header); i++) {
		if (bytes[i] != '\0')
			return false;
	}
	return true;
}

/* The first entry; false: no complete one. */
static bool take_entry(struct str *archive, char *ret_type, struct tar_file *ret_entry)
{
	struct header header;
	size_t size = 0;
	size_t sum = 0;
	memcpy(&header, archive->p, sizeof(header));
	if (!read_octal(header.checksum, sizeof(header.checksum), &sum) ||
		sum != checksum_of(&header) || memcmp(header.magic, "ustar", 5) != 0 ||
		!read_octal(header.size, sizeof(header.size), &size))
		return false;
	struct str rest = str_skip(*archive, sizeof(header));
	size_t padded = size + (BLOCK_LEN - size % BLOCK_LEN) % BLOCK_LEN;
	if (size > rest.len || padded > rest.len)
		return false;
	ret_entry->name = text_within(archive->p, sizeof(header.name));
	ret_entry->content = (struct str){rest.p, size};
	*ret_type = header.type;
	*archive = str_skip(rest, padded);
	return true;
}

enum tar_outcome tar_next(struct str *archive, struct tar_file *ret_file)
{
	struct str long_name = STR_NONE;
	while (archive->len >= BLOCK_LEN && !is_end((const struct header *)archive->p)) {
		struct tar_file entry;
		char type = 0;
		if (!take_entry(archive, &type, &entry))
			return TAR_BAD;
		if (type == TYPE_LONG_NAME) {
			long_name = text_within(entry.content.p, entry.content.len);
			if (long_name.len > TAR_NAME_LEN_MAX)
				return TAR_BAD;
		} else if (type == TYPE_FILE || type == TYPE_OLD_FILE) {
			*ret_file = entry;
			if (!str_is_empty(long_name))
				ret_file->name = long_name;
			return TAR_FILE;
		}
	}
	return archive->len >= BLOCK_LEN ? TAR_END : TAR_BAD;
}
