// SPDX-License-Identifier: Apache-2.0
/*
 * decide-tool FRAMES: reads objects as the translator sends them from a file, and requests from standard input, a JSON list of maps with method, target, host,
 * headers ([[name, value]]), tls, port, client and length. Writes a JSON list: what is done with each.
 */
#include "common/buf.h"
#include "common/json.h"
#include "proto/frame.h"
#include "sluicectl/decision_json.h"
#include "sluicectl/decision_source.h"

#include <crypt.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUT_LEN_MAX = 256 * 1024 * 1024 };

_Noreturn static void fail(const char *what, const char *why)
{
	fprintf(stderr, "decide-tool: %s: %s\n", what, why);
	exit(1);
}

static void read_all(FILE *from, struct buf *to)
{
	for (;;) {
		uint8_t *room = buf_reserve(to, 65536);
		size_t got = room != NULL ? fread(room, 1, 65536, from) : 0;
		if (room == NULL || got == 0)
			break;
		buf_commit(to, got);
	}
}

/* ---- objects ---- */

static void read_objects(const char *path, struct state *state)
{
	struct message_reader *reader = message_reader_new();
	struct arena arena;
	struct buf input;
	struct str payload;
	FILE *file = fopen(path, "rb");
	if (file == NULL)
		fail(path, "cannot be read");
	arena_init(&arena);
	buf_init(&input, INPUT_LEN_MAX);
	read_all(file, &input);
	fclose(file);
	state_begin_snapshot(state);
	while (frame_next(&input, &payload) == FRAME_READY) {
		struct schema_error error = {""};
		struct message message;
		if (message_open(reader, payload, &message, &error) != 0 ||
			state_stage_upsert(state, &message, &arena, &error) != 0)
			fail("an object", error.text);
		buf_consume(&input, frame_len_of(payload));
		arena_reset(&arena);
	}
	if (buf_len(&input) != 0)
		fail(path, "no whole frame");
	struct state_commit commit;
	state_commit(state, &commit);
	state_commit_done(state);
	buf_fini(&input);
	arena_fini(&arena);
	message_reader_free(reader);
}

/* ---- passwords ---- */

static bool fits_digest(struct str password, struct str encoded, bool is_salted)
{
	unsigned char want[256];
	unsigned char got[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	if (encoded.len == 0 || encoded.len >= 256)
		return false;
	int bytes = EVP_DecodeBlock(want, (const unsigned char *)encoded.p, (int)encoded.len);
	while (bytes > 0 && encoded.len != 0 && encoded.p[encoded.len - 1] == '=') {
		encoded.len--;
		bytes--;
	}
	EVP_MD_CTX *digest = EVP_MD_CTX_new();
	bool is_good = bytes >= 20 && (is_salted || bytes == 20) &&
		       EVP_DigestInit(digest, EVP_sha1()) == 1 &&
		       EVP_DigestUpdate(digest, password.p, password.len) == 1 &&
		       EVP_DigestUpdate(digest, want + 20, (size_t)bytes - 20) == 1 &&
		       EVP_DigestFinal(digest, got, &len) == 1;
	EVP_MD_CTX_free(digest);
	return is_good && memcmp(want, got, 20) == 0;
}

/* ---- $apr1$, which crypt(3) does not know ---- */

static void put_digest(EVP_MD_CTX *digest, const void *data, size_t len)
{
	if (EVP_DigestUpdate(digest, data, len) != 1)
		fail("MD5", "is not there");
}

static void begin_digest(EVP_MD_CTX *digest)
{
	if (EVP_DigestInit(digest, EVP_md5()) != 1)
		fail("MD5", "is not there");
}

static void first_digest(
	EVP_MD_CTX *digest, struct str password, struct str salt, unsigned char *sum)
{
	begin_digest(digest);
	put_digest(digest, password.p, password.len);
	put_digest(digest, salt.p, salt.len);
	put_digest(digest, password.p, password.len);
	EVP_DigestFinal(digest, sum, NULL);
	begin_digest(digest);
	put_digest(digest, password.p, password.len);
	put_digest(digest, "$apr1$", 6);
	put_digest(digest, salt.p, salt.len);
	for (size_t left = password.len; left != 0; left -= left < 16 ? left : 16)
		put_digest(digest, sum, left < 16 ? left : 16);
	for (size_t bits = password.len; bits != 0; bits >>= 1)
		put_digest(digest, (bits & 1) != 0 ? "" : password.p, 1);
	EVP_DigestFinal(digest, sum, NULL);
}

static void put_base64(unsigned value, int digits, char **to)
{
	static const char alphabet[] =
		"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	for (; digits > 0; digits--, value >>= 6)
		*(*to)++ = alphabet[value & 63];
}

static bool fits_apr1(struct str password, struct str hash)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	char text[32];
	char *to = text;
	const char *end = str_find(hash, '$');
	if (end == NULL)
		return false;
	struct str salt = {hash.p, (size_t)(end - hash.p)};
	EVP_MD_CTX *digest = EVP_MD_CTX_new();
	first_digest(digest, password, salt, sum);
	for (int i = 0; i < 1000; i++) {
		begin_digest(digest);
		put_digest(
			digest, i & 1 ? (const void *)password.p : sum, i & 1 ? password.len : 16);
		put_digest(digest, salt.p, i % 3 != 0 ? salt.len : 0);
		put_digest(digest, password.p, i % 7 != 0 ? password.len : 0);
		put_digest(
			digest, i & 1 ? sum : (const void *)password.p, i & 1 ? 16 : password.len);
		EVP_DigestFinal(digest, sum, NULL);
	}
	EVP_MD_CTX_free(digest);
	for (unsigned i = 0; i < 5; i++)
		put_base64((unsigned)sum[i] << 16 | (unsigned)sum[i + 6] << 8 |
				   sum[i == 4 ? 5 : i + 12],
			4, &to);
	put_base64(sum[11], 2, &to);
	return str_eq(str_skip(hash, salt.len + 1), (struct str){text, (size_t)(to - text)});
}

static bool fits_password(void *ctx, struct str password, struct str hash)
{
	if (str_starts_with(hash, STR("{SHA}")))
		return fits_digest(password, str_skip(hash, 5), false);
	if (str_starts_with(hash, STR("{SSHA}")))
		return fits_digest(password, str_skip(hash, 6), true);
	if (str_starts_with(hash, STR("$apr1$")))
		return fits_apr1(password, str_skip(hash, 6));
	char *phrase = str_dup(password);
	char *setting = str_dup(hash);
	/* Not crypt_r(), which sanitizers have, too: then nobody would ask the library. */
	struct crypt_data data = {.initialized = 0};
	const char *got = crypt_rn(phrase, setting, &data, sizeof(data));
	bool is_good = got != NULL && str_eq_c(hash, got);
	free(setting);
	free(phrase);
	return is_good;
}

/* ---- what pools answer: as those of the tests do (tests/lib/backend.py) ---- */

static unsigned status_of(struct str target)
{
	const char *mark = str_find(target, '?');
	struct str rest = mark != NULL ? str_skip(target, (size_t)(mark - target.p) + 1) : STR_NONE;
	while (rest.len != 0) {
		struct str word = str_cut(&rest, '&');
		int64_t status = 0;
		if (str_starts_with(word, STR("status=")) &&
			str_to_int(str_skip(word, 7), 200, 599, &status))
			return (unsigned)status;
	}
	return 200;
}

/* Each X-Say is a line of the answer. */
static void reply(void *ctx, const struct decision_question *question, struct arena *arena,
	struct decision_reply *ret_reply)
{
	const struct http_headers *asked = &question->headers;
	struct http_headers said = {arena_calloc(arena, asked->count + 1, sizeof(*said.items)), 0};
	for (size_t i = 0; i < asked->count; i++) {
		struct str value = asked->items[i].value;
		const char *colon = str_find(value, ':');
		if (!str_eq(asked->items[i].name, STR("X-Say")) || colon == NULL)
			continue;
		struct str name = {value.p, (size_t)(colon - value.p)};
		said.items[said.count++] =
			(struct http_header){name, str_trim(str_skip(value, name.len + 1))};
	}
	*ret_reply = (struct decision_reply){status_of(question->target), said};
}

/* ---- requests ---- */

static struct str text_of(const struct json *value, const char *name)
{
	struct str text = STR_NONE;
	if (!json_get_str(value, name, &text))
		fail(name, "is no text");
	return text;
}

static void read_headers(
	const struct json *list, struct http_headers *headers, struct http_header *room)
{
	*headers = (struct http_headers){room, 0};
	for (const struct json *pair = json_first(list); pair != NULL; pair = json_next(pair)) {
		const struct json *name = json_first(pair);
		if (headers->count == DECISION_HEADERS_MAX || name == NULL ||
			json_next(name) == NULL)
			fail("headers", "are too many, or no pairs");
		room[headers->count++] =
			(struct http_header){json_text(name), str_trim(json_text(json_next(name)))};
	}
}

static void decide(struct decision_source *source, const struct decision_objects *objects,
	const struct json *value, struct buf *out)
{
	static struct http_header room[DECISION_HEADERS_MAX];
	struct decision decision;
	struct arena arena;
	int64_t length = 0;
	int64_t port = 0;
	struct decision_request request = {
		.method = text_of(value, "method"),
		.target = text_of(value, "target"),
		.host = text_of(value, "host"),
		.client = text_of(value, "client"),
	};
	if (!json_get_int(value, "port", 0, UINT16_MAX, 0, &port) ||
		!json_get_int(value, "length", 0, JSON_INT_MAX, 0, &length) ||
		!json_get_bool(value, "tls", false, &request.is_tls))
		fail("a request", "has a wrong port, length or tls");
	request.port = (uint64_t)port;
	request.content_length = (uint64_t)length;
	read_headers(json_get(value, "headers"), &request.headers, room);
	uint64_t listener_port = 0;
	const struct load_balancer *balancer =
		decision_source_balancer(source, &request, &listener_port);
	if (balancer == NULL)
		fail("a request", "no load balancer listens for it");
	request.port = listener_port;
	arena_init(&arena);
	decision_make(objects, balancer, &request, &arena, &decision);
	if (decision_put_json(&decision, out) != 0)
		fail("a decision", "is too long");
	arena_fini(&arena);
}

int main(int argc, char **argv)
{
	struct buf input;
	struct buf output;
	const char *problem = NULL;
	if (argc != 2)
		fail("usage", "decide-tool FRAMES");
	struct state_config config = {0};
	struct state *state = state_new(&config);
	buf_init(&input, INPUT_LEN_MAX);
	buf_init(&output, INPUT_LEN_MAX);
	read_objects(argv[1], state);
	read_all(stdin, &input);
	struct json *requests = json_parse(buf_str(&input), &problem, NULL);
	if (!json_is_array(requests))
		fail("the requests", problem != NULL ? problem : "are no list");
	struct decision_source *source = decision_source_new(state);
	struct decision_objects objects = *decision_source_objects(source);
	objects.fits_password = fits_password;
	objects.reply = reply;
	const char *before = "[";
	for (const struct json *item = json_first(requests); item != NULL;
		item = json_next(item), before = ",\n") {
		if (buf_append_str(&output, str_from(before)) != 0)
			fail("the decisions", "are too long");
		decide(source, &objects, item, &output);
	}
	fwrite(buf_data(&output), 1, buf_len(&output), stdout);
	puts(*before == '[' ? "[]" : "]");
	decision_source_free(source);
	json_free(requests);
	buf_fini(&output);
	buf_fini(&input);
	state_free(state);
	return 0;
}
