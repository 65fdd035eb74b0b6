// SPDX-License-Identifier: Apache-2.0
/* A Secret (Kubernetes API reference, core/v1) as a record: of one of type kubernetes.io/tls what certificates need, of any other all of its data, for it
 * was asked for by name. */
#include "watcher/project.h"

#include <limits.h>
#include <openssl/evp.h>
#include <stdlib.h>

/* As in PROTOCOL.md. */
enum { ENTRIES_MAX = 1000, KEY_LEN_MAX = 253 };

/* Where decoded bytes are in p->secret, which may move. */
struct piece_of_secret {
	size_t at;
	size_t len;
};

/* Standard base64 with padding, as in all []byte fields of the API. */
static bool decode_text(struct projection *p, const struct project_place *place, struct str text,
	struct piece_of_secret *ret)
{
	*ret = (struct piece_of_secret){.at = buf_len(p->secret)};
	if (text.len == 0)
		return true;
	if (text.len % 4 != 0 || text.len > INT_MAX)
		return project_refuse(p, place, "is no base64");
	uint8_t *room = buf_reserve(p->secret, text.len / 4 * 3);
	if (room == NULL)
		return project_refuse(p, place, "is too long");
	int len = EVP_DecodeBlock(room, (const unsigned char *)text.p, (int)text.len);
	if (len < 0)
		return project_refuse(p, place, "is no base64");
	size_t padding = str_ends_with(text, STR("==")) ? 2 : str_ends_with(text, STR("=")) ? 1 : 0;
	ret->len = (size_t)len - padding;
	buf_commit(p->secret, ret->len);
	return true;
}

static bool decode(struct projection *p, const struct json *data, const struct project_place *outer,
	const char *name, struct piece_of_secret *ret)
{
	struct project_place place = {outer, name, 0};
	struct str text;
	return project_get_text(p, data, outer, name, &text) && decode_text(p, &place, text, ret);
}

static struct str view(const struct projection *p, struct piece_of_secret piece)
{
	return piece.len != 0
		       ? (struct str){(const char *)buf_data(p->secret) + piece.at, piece.len}
		       : STR_NONE;
}

static bool read_tls(struct projection *p, const struct json *data,
	const struct project_place *place, struct secret_record *record)
{
	struct piece_of_secret certificate;
	struct piece_of_secret key;
	struct piece_of_secret ca;
	struct piece_of_secret crl;
	if (!decode(p, data, place, "tls.crt", &certificate) ||
		!decode(p, data, place, "tls.key", &key) ||
		!decode(p, data, place, "ca.crt", &ca) || !decode(p, data, place, "ca.crl", &crl))
		return false;
	record->certificate = view(p, certificate);
	record->private_key = view(p, key);
	record->ca = view(p, ca);
	record->crl = view(p, crl);
	return true;
}

static int compare_entries(const void *left, const void *right)
{
	return str_cmp(((const struct secret_entry *)left)->key,
		((const struct secret_entry *)right)->key);
}

static bool read_entry(struct projection *p, const struct json *item,
	const struct project_place *outer, struct piece_of_secret *ret_value, struct str *ret_key)
{
	*ret_key = json_name(item);
	if (ret_key->len == 0 || ret_key->len > KEY_LEN_MAX)
		return project_refuse(p, outer, "has a key that is empty or too long");
	/* A key may be the name of a user, which is not told. */
	if (!json_is_string(item))
		return project_refuse(p, outer, "has a value that is no text");
	return decode_text(p, outer, json_text(item), ret_value);
}

static bool read_entries(struct projection *p, const struct json *data,
	const struct project_place *place, struct secret_record *record)
{
	size_t count = data != NULL ? json_count(data) : 0;
	if (count > ENTRIES_MAX)
		return project_refuse(p, place, "has more than 1000 keys");
	struct secret_entry *entries = arena_calloc(p->arena, count, sizeof(*entries));
	struct piece_of_secret *values = arena_calloc(p->arena, count, sizeof(*values));
	size_t at = 0;
	for (const struct json *item = json_first(data); item != NULL;
		item = json_next(item), at++) {
		if (!read_entry(p, item, place, &values[at], &entries[at].key))
			return false;
	}
	for (size_t i = 0; i < count; i++)
		entries[i].value = view(p, values[i]);
	if (count > 1)
		qsort(entries, count, sizeof(*entries), compare_entries);
	record->entries.items = entries;
	record->entries.count = count;
	return true;
}

bool project_secret(struct projection *p, const struct json *object,
	const struct project_meta *meta, void *ret_record)
{
	static const struct project_place place = {NULL, "data", 0};
	struct secret_record *record = ret_record;
	const struct json *data = NULL;
	struct str type = STR_NONE;
	*record = (struct secret_record){0};
	project_set_key(&record->key, RECORD_SECRET, meta);
	buf_clear(p->secret);
	if (!project_get_text(p, object, NULL, "type", &type) ||
		!project_get_map(p, object, NULL, "data", &data))
		return false;
	bool is_tls = type.len == 0 || str_eq_c(type, PROJECT_TLS_TYPE);
	return is_tls ? read_tls(p, data, &place, record) : read_entries(p, data, &place, record);
}
