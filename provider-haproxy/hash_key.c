// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/hash_key.h"

#include "common/ascii.h"
#include "common/must.h"
#include "provider-haproxy/quote.h"
#include "provider-haproxy/text.h"

enum { KEY_LEN_MAX = 8 * 1024, SAMPLE_LEN_MAX = 64 /* without a name */ };

static const char *const samples[] = {
	[REQUEST_SCHEME] = "ssl_fc,iif(https,http)",
	[REQUEST_HOST] = "req.hdr(host),host_only,lower",
	[REQUEST_HOST_HEADER] = "req.hdr(host)",
	[REQUEST_PORT] = "dst_port",
	[REQUEST_METHOD] = "method",
	[REQUEST_PATH] = "path",
	[REQUEST_QUERY] = "query",
	[REQUEST_ARGUMENTS] = "query",
	[REQUEST_TARGET] = "pathq",
	[REQUEST_CLIENT] = "src",
	[REQUEST_HEADER] = "req.fhdr",
	[REQUEST_COOKIE] = "req.cook",
	[REQUEST_ARGUMENT] = "url_param",
	[REQUEST_TARGET_ESCAPED] = "pathq",
	[REQUEST_TARGET_UNSLASHED] = "pathq",
	[REQUEST_ID] = "req.hdr(x-request-id)",
};

/* Words in brackets: nothing that would end one. */
static bool is_plain(struct str name)
{
	return name.len != 0 && ascii_is_made_of(name, "-_");
}

/* Percent signs begin a value. */
static void add_text(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		text_add(out, text.p[i] == '%' ? "%%%%" : "%c", text.p[i]);
}

static bool add_piece(struct buf *out, const struct piece *piece)
{
	bool is_named = piece->value == REQUEST_HEADER || piece->value == REQUEST_COOKIE ||
			piece->value == REQUEST_ARGUMENT;
	if (piece->value == REQUEST_TEXT) {
		add_text(out, piece->text);
		return true;
	}
	bool is_known = piece->value < sizeof(samples) / sizeof(samples[0]) &&
			samples[piece->value] != NULL;
	if (!is_known || (is_named && !is_plain(piece->text)))
		return false;
	if (is_named)
		text_add(out, "%%[%s(%.*s)]", samples[piece->value], STR_FMT(piece->text));
	else
		text_add(out, "%%[%s]", samples[piece->value]);
	return true;
}

/* Texts are at most doubled. */
static bool has_room(const struct piece *pieces, size_t count)
{
	size_t len = 0;
	for (size_t i = 0; i < count && len <= KEY_LEN_MAX; i++)
		len += 2 * pieces[i].text.len + SAMPLE_LEN_MAX;
	return len <= KEY_LEN_MAX;
}

/* Each of so many numbers behind the key has an endpoint of its own, or that of another: these few are the subset. */
static void add_subset(struct buf *key, uint64_t subset)
{
	enum { SUBSET_MAX = 1000 };
	if (subset > 1)
		text_add(key, "#%%[rand,mod(%u)]",
			(unsigned)(subset < SUBSET_MAX ? subset : SUBSET_MAX));
}

bool hash_key_add(struct buf *out, const struct piece *pieces, size_t count, uint64_t subset)
{
	struct buf key;
	bool is_good = count != 0 && has_room(pieces, count);
	buf_init(&key, KEY_LEN_MAX);
	for (size_t i = 0; i < count && is_good; i++)
		is_good = add_piece(&key, &pieces[i]);
	if (is_good) {
		add_subset(&key, subset);
		text_add(out, "\thttp-request set-var-fmt(txn.key) ");
		/* What stands in it was checked when the pool was. */
		must(quote_config(out, buf_str(&key)) == 0);
		text_add(out, "\n\tbalance hash var(txn.key)\n\thash-type consistent\n");
	}
	buf_fini(&key);
	return is_good;
}
