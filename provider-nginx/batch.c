// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/batch.h"

#include "common/ascii.h"
#include "common/must.h"

#include <errno.h>
#include <md5.h>

enum { ROW_HEAD_LEN = 7, SERIAL_LEN = 16, DIGEST_LEN = MD5_DIGEST_LENGTH * 2 };

void batch_begin(struct buf *out)
{
	buf_clear(out);
	uint8_t *head = buf_reserve(out, BATCH_HEAD_LEN);
	must(head != NULL);
	memset(head, ' ', BATCH_HEAD_LEN);
	buf_commit(out, BATCH_HEAD_LEN);
}

int batch_add(struct buf *out, struct str key, struct str value)
{
	if (key.len == 0 || key.len > BATCH_KEY_LEN_MAX)
		return -EMSGSIZE;
	uint8_t *at = buf_reserve(out, ROW_HEAD_LEN + key.len + value.len);
	if (at == NULL)
		return -EMSGSIZE;
	at[0] = value.p != NULL ? 'S' : 'D';
	at[1] = (uint8_t)(key.len >> 8);
	at[2] = (uint8_t)key.len;
	for (unsigned i = 0; i < 4; i++)
		at[3 + i] = (uint8_t)(value.len >> (24 - 8 * i));
	str_put(at + ROW_HEAD_LEN, key);
	str_put(at + ROW_HEAD_LEN + key.len, value);
	buf_commit(out, ROW_HEAD_LEN + key.len + value.len);
	return 0;
}

bool batch_is_empty(const struct buf *batch)
{
	return buf_len(batch) <= BATCH_HEAD_LEN;
}

bool batch_is_full(const struct buf *batch)
{
	return buf_len(batch) >= BATCH_FULL_LEN;
}

static void digest_of(struct str rows, char text[DIGEST_LEN + 1])
{
	MD5Data((const uint8_t *)(rows.len != 0 ? rows.p : ""), rows.len, text);
}

void batch_end(struct buf *batch, const struct batch_head *head)
{
	char line[BATCH_HEAD_LEN + 1];
	char digits[4][SERIAL_LEN];
	char digest[DIGEST_LEN + 1];
	struct str rows = str_skip(buf_str(batch), BATCH_HEAD_LEN);
	digest_of(rows, digest);
	struct str text = str_join(line, sizeof(line),
		STR_PARTS(STR("SLN1 "), str_from_hex(head->flags & 3, 1, digits[0]), STR(" "),
			str_from_hex(head->base, SERIAL_LEN, digits[1]), STR(" "),
			str_from_hex(head->serial, SERIAL_LEN, digits[2]), STR(" "),
			str_from_hex(rows.len, 8, digits[3]), STR(" "), {digest, DIGEST_LEN},
			STR("\n")));
	must(text.len == BATCH_HEAD_LEN);
	memcpy(batch->data + batch->start, line, BATCH_HEAD_LEN);
}

/* Exactly `len` lower-case hexadecimal digits, followed by the byte `behind`. */
static bool take_hex(struct str *text, size_t len, char behind, uint64_t *ret_value)
{
	uint64_t value = 0;
	for (size_t i = 0; i < len; i++) {
		char c = text->p[i];
		if (ascii_is_digit(c))
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return false;
	}
	if (text->p[len] != behind)
		return false;
	*text = str_skip(*text, len + 1);
	*ret_value = value;
	return true;
}

static uint32_t row_len(struct str rows, size_t *ret_key_len)
{
	const uint8_t *at = (const uint8_t *)rows.p;
	*ret_key_len = (size_t)(at[1] << 8 | at[2]);
	return (uint32_t)at[3] << 24 | (uint32_t)at[4] << 16 | (uint32_t)at[5] << 8 | at[6];
}

static bool rows_are_whole(struct str rows)
{
	while (rows.len != 0) {
		size_t key_len = 0;
		if (rows.len < ROW_HEAD_LEN)
			return false;
		size_t len = row_len(rows, &key_len);
		if ((rows.p[0] != 'S' && rows.p[0] != 'D') || key_len == 0)
			return false;
		if (len > BATCH_LEN_MAX || rows.len < ROW_HEAD_LEN + key_len + len)
			return false;
		rows = str_skip(rows, ROW_HEAD_LEN + key_len + len);
	}
	return true;
}

int batch_read(struct str text, struct batch_head *ret_head, struct str *ret_rows, size_t *ret_len)
{
	struct str at = str_skip(text, 5);
	uint64_t flags = 0;
	uint64_t base = 0;
	uint64_t serial = 0;
	uint64_t len = 0;
	char digest[DIGEST_LEN + 1];
	if (text.len < BATCH_HEAD_LEN || !str_starts_with(text, STR("SLN1 ")))
		return -EBADMSG;
	if (!take_hex(&at, 1, ' ', &flags) || !take_hex(&at, 16, ' ', &base) ||
		!take_hex(&at, 16, ' ', &serial) || !take_hex(&at, 8, ' ', &len))
		return -EBADMSG;
	if (flags > 3 || len > BATCH_LEN_MAX || text.len - BATCH_HEAD_LEN < len)
		return -EBADMSG;
	struct str rows = {text.p + BATCH_HEAD_LEN, (size_t)len};
	digest_of(rows, digest);
	if (memcmp(at.p, digest, DIGEST_LEN) != 0 || at.p[DIGEST_LEN] != '\n' ||
		!rows_are_whole(rows))
		return -EBADMSG;
	*ret_head = (struct batch_head){(unsigned)flags, base, serial};
	*ret_rows = rows;
	*ret_len = BATCH_HEAD_LEN + (size_t)len;
	return 0;
}

bool batch_next(struct str *rows, struct batch_row *ret_row)
{
	if (rows->len == 0)
		return false;
	size_t key_len = 0;
	size_t len = row_len(*rows, &key_len);
	bool is_set = rows->p[0] == 'S';
	ret_row->key = (struct str){rows->p + ROW_HEAD_LEN, key_len};
	ret_row->value = is_set ? (struct str){ret_row->key.p + key_len, len} : STR_NONE;
	*rows = str_skip(*rows, ROW_HEAD_LEN + key_len + len);
	return true;
}
