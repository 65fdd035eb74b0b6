// SPDX-License-Identifier: Apache-2.0
#include "watcher/pack.h"

#include "common/must.h"

enum { RARE_MARK = 0xc1, FIRST_RANGE = 0xe0, FREQUENT_COUNT = 45, WORD_LEN_MAX = 23 };

/* In the order of their codes, which are not stored anywhere outside this process. The first FREQUENT_COUNT take one byte. */
static const char *const words[] = {
	/* every record, and every endpoint */
	"upsert", "kind", "namespace", "name", "uid", "created", "ip", "ready", "serving", "node",
	"zone", "target_uid", "addresses", "ports", "port", "subsets", "service", "endpoints",
	"ingress", "rules", "host", "paths", "path", "type", "backend", "port_number", "port_name",
	"has_selector", "target_number", "target_name", "annotations", "key", "value", "class_name",
	"tls", "hosts", "secret", "prefix", "exact", "terminating", "protocol", "app_protocol",
	"headless", "certificate", "private_key",
	/* seldom */
	"default_backend", "resource", "controller", "is_default", "external_name", "ingress-class",
	"node-port", "load-balancer", "external-name", "udp", "sctp", "http", "https",
	"cluster-ip"};
enum { WORD_COUNT = sizeof(words) / sizeof(words[0]) };

/* Type bytes that stand for the frequent words: 0xe0 to 0xff, and then these. */
static const unsigned char further_codes[] = {
	0xc7, 0xc8, 0xc9, 0xca, 0xcb, 0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7};
_Static_assert(32 + sizeof(further_codes) == FREQUENT_COUNT, "a code for each frequent word");

static int word_of_code(unsigned char code)
{
	if (code >= FIRST_RANGE)
		return code - FIRST_RANGE;
	for (size_t i = 0; i < sizeof(further_codes); i++) {
		if (further_codes[i] == code)
			return 32 + (int)i;
	}
	return -1;
}

/* ---- looking words up ---- */

/* Words by a hash of their length and two of their letters; built once. */
enum { TABLE_LEN = 256 };
static struct {
	bool is_built;
	unsigned char first[TABLE_LEN]; /* 1 + index of a word; 0: none */
	unsigned char next[WORD_COUNT]; /* another of the same hash */
	unsigned char lengths[WORD_COUNT];
} table;

static size_t hash_of(const char *text, size_t len)
{
	return (len * 31 + (unsigned char)text[0] * 7 + (unsigned char)text[len - 1]) % TABLE_LEN;
}

static void build_table(void)
{
	for (size_t i = 0; i < WORD_COUNT; i++) {
		size_t len = strlen(words[i]);
		size_t hash = hash_of(words[i], len);
		must(len <= WORD_LEN_MAX);
		table.lengths[i] = (unsigned char)len;
		table.next[i] = table.first[hash];
		table.first[hash] = (unsigned char)(i + 1);
	}
	table.is_built = true;
}

static int find_word(struct str text)
{
	if (text.len == 0 || text.len > WORD_LEN_MAX)
		return -1;
	unsigned at = table.first[hash_of(text.p, text.len)];
	for (; at != 0; at = table.next[at - 1]) {
		if (table.lengths[at - 1] == text.len &&
			memcmp(words[at - 1], text.p, text.len) == 0)
			return (int)at - 1;
	}
	return -1;
}

/* ---- UUIDs ---- */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_dash_place(size_t i)
{
	return i == 8 || i == 13 || i == 18 || i == 23;
}

static bool read_uuid(struct str text, unsigned char *bytes)
{
	size_t nibble = 0;
	if (text.len != PACK_UUID_LEN)
		return false;
	for (size_t i = 0; i < PACK_UUID_LEN; i++) {
		if (is_dash_place(i)) {
			if (text.p[i] != '-')
				return false;
			continue;
		}
		int digit = digit_of(text.p[i]);
		if (digit < 0)
			return false;
		if (nibble % 2 == 0)
			bytes[nibble / 2] = (unsigned char)(digit << 4);
		else
			bytes[nibble / 2] |= (unsigned char)digit;
		nibble++;
	}
	return true;
}

void pack_expand_uuid(const unsigned char *bytes, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";
	size_t nibble = 0;
	for (size_t i = 0; i < PACK_UUID_LEN; i++) {
		if (is_dash_place(i)) {
			ret_text[i] = '-';
			continue;
		}
		unsigned char byte = bytes[nibble / 2];
		ret_text[i] = digits[nibble % 2 == 0 ? byte >> 4 : byte & 0x0f];
		nibble++;
	}
}

/* ---- walking msgpack ---- */

static size_t read_len(struct str in, size_t at, size_t bytes)
{
	size_t len = 0;
	must(at + bytes <= in.len);
	for (size_t i = 0; i < bytes; i++)
		len = len << 8 | (unsigned char)in.p[at + i];
	return len;
}

/* What begins at `at`: the length of its head, and of the bytes that follow it as they are. Containers have none: their elements
 * come as values of their own. */
struct token {
	size_t head_len;
	size_t body_len;
	bool is_text;
};

static struct token read_token(struct str in, size_t at)
{
	unsigned char type = (unsigned char)in.p[at];
	if (type <= 0x9f)
		return (struct token){1, 0, false}; /* small numbers, maps and arrays */
	if (type <= 0xbf)
		return (struct token){1, type & 0x1f, true};
	switch (type) {
	case 0xc0:
	case 0xc2:
	case 0xc3:
		return (struct token){1, 0, false};
	case 0xc4:
		return (struct token){2, read_len(in, at + 1, 1), false};
	case 0xc5:
		return (struct token){3, read_len(in, at + 1, 2), false};
	case 0xc6:
		return (struct token){5, read_len(in, at + 1, 4), false};
	case 0xcc:
		return (struct token){2, 0, false};
	case 0xcd:
	case 0xdc:
	case 0xde:
		return (struct token){3, 0, false};
	case 0xce:
	case 0xdd:
	case 0xdf:
		return (struct token){5, 0, false};
	case 0xcf:
		return (struct token){9, 0, false};
	case 0xd9:
		return (struct token){2, read_len(in, at + 1, 1), true};
	case 0xda:
		return (struct token){3, read_len(in, at + 1, 2), true};
	case 0xdb:
		return (struct token){5, read_len(in, at + 1, 4), true};
	default:
		must(false); /* our encoder writes no other types */
	}
}

static void put(struct buf *out, const void *bytes, size_t len)
{
	must(buf_append(out, bytes, len) == 0);
}

static void put_byte(struct buf *out, int byte)
{
	unsigned char one = (unsigned char)byte;
	put(out, &one, 1);
}

static void put_word(struct buf *out, int word)
{
	if (word < 32) {
		put_byte(out, FIRST_RANGE + word);
	} else if (word < FREQUENT_COUNT) {
		put_byte(out, further_codes[word - 32]);
	} else {
		put_byte(out, RARE_MARK);
		put_byte(out, word - FREQUENT_COUNT);
	}
}

/* True when the text was packed. */
static bool put_short(struct buf *out, struct str text, int *ret_word)
{
	unsigned char bytes[PACK_UUID_BYTES];
	int word = find_word(text);
	*ret_word = word;
	if (word >= 0) {
		put_word(out, word);
		return true;
	}
	if (!read_uuid(text, bytes))
		return false;
	put_byte(out, PACK_UUID_MARK);
	put(out, bytes, sizeof(bytes));
	return true;
}

void pack_payload(struct str payload, struct buf *out)
{
	size_t at = 0;
	bool keep_next = false; /* the value of a name */
	if (!table.is_built)
		build_table();
	while (at < payload.len) {
		struct token token = read_token(payload, at);
		size_t len = token.head_len + token.body_len;
		must(len <= payload.len - at);
		struct str text = {payload.p + at + token.head_len, token.body_len};
		int word = -1;
		bool keep = keep_next;
		keep_next = false;
		if (!token.is_text || keep || !put_short(out, text, &word))
			put(out, payload.p + at, len);
		else
			keep_next = word == 2 || word == 3;
		at += len;
	}
}

void pack_next(struct str packed, size_t *at, struct pack_value *ret_value)
{
	must(*at < packed.len);
	struct pack_value value = {.text = STR_NONE};
	unsigned char type = (unsigned char)packed.p[*at];
	size_t len = 1;
	int word = word_of_code(type);
	if (type == RARE_MARK) {
		must(packed.len - *at >= 2);
		word = FREQUENT_COUNT + (unsigned char)packed.p[*at + 1];
		len = 2;
	}
	if (word >= 0) {
		must(word < (int)WORD_COUNT);
		value.word = words[word];
	} else if (type == PACK_UUID_MARK) {
		value.is_uuid = true;
		value.text = (struct str){packed.p + *at + 1, PACK_UUID_BYTES};
		len = 1 + PACK_UUID_BYTES;
	} else {
		struct token token = read_token(packed, *at);
		if (token.is_text)
			value.text = (struct str){packed.p + *at + token.head_len, token.body_len};
		len = token.head_len + token.body_len;
	}
	must(len <= packed.len - *at);
	*at += len;
	*ret_value = value;
}

static void expand_word(struct buf *out, const char *word)
{
	size_t len = strlen(word);
	put_byte(out, 0xa0 | (int)len);
	put(out, word, len);
}

static void expand_uuid(struct buf *out, const char *bytes)
{
	char text[PACK_UUID_LEN];
	pack_expand_uuid((const unsigned char *)bytes, text);
	put_byte(out, 0xd9);
	put_byte(out, PACK_UUID_LEN);
	put(out, text, sizeof(text));
}

void pack_expand(struct str packed, struct buf *out)
{
	struct pack_value value;
	size_t at = 0;
	while (at < packed.len) {
		size_t from = at;
		pack_next(packed, &at, &value);
		if (value.word != NULL)
			expand_word(out, value.word);
		else if (value.is_uuid)
			expand_uuid(out, value.text.p);
		else
			put(out, packed.p + from, at - from);
	}
}
