// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/acm.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <inttypes.h>
#include <math.h>
#include <openssl/evp.h>
#include <sha2.h>
#include <stdio.h>

/* ---- content ---- */

/* Where `what` begins in the text; its length: nowhere. */
static size_t find(struct str text, struct str what)
{
	const char *at = text.len != 0 ? memmem(text.p, text.len, what.p, what.len) : NULL;
	return at != NULL ? (size_t)(at - text.p) : text.len;
}

/* The first block whose label ends with `label`, from its BEGIN up to its END; *ret_rest is what follows. Absent: there is none. */
static struct str find_block(struct str text, struct str label, struct str *ret_rest)
{
	static const struct str begin = {"-----BEGIN ", 11};
	static const struct str dashes = {"-----", 5};
	static const struct str end = {"-----END ", 9};
	for (;;) {
		text = str_skip(text, find(text, begin));
		struct str head = str_skip(text, begin.len);
		size_t label_len = find(head, dashes);
		size_t end_at = find(head, end);
		struct str tail = str_skip(head, end_at + end.len);
		size_t tail_at = find(tail, dashes);
		if (tail_at == tail.len)
			return STR_NONE;
		struct str rest = str_skip(tail, tail_at + dashes.len);
		struct str block = {text.p, (size_t)(rest.p - text.p)};
		if (str_ends_with((struct str){head.p, label_len}, label)) {
			*ret_rest = rest;
			return block;
		}
		text = rest;
	}
}

const char *acm_split(struct str chain, struct str private_key, struct acm_parts *ret_parts)
{
	struct acm_parts parts;
	struct str rest;
	parts.leaf = find_block(chain, STR("CERTIFICATE"), &rest);
	if (parts.leaf.p == NULL)
		return "has no certificate";
	parts.chain = str_trim(rest);
	parts.key = find_block(private_key, STR("PRIVATE KEY"), &rest);
	if (parts.key.p == NULL)
		return "has no private key";
	if (parts.leaf.len > ACM_CERTIFICATE_LEN_MAX)
		return "has a certificate of more than 32768 bytes";
	if (parts.key.len > ACM_KEY_LEN_MAX)
		return "has a private key of more than 5120 bytes";
	if (parts.chain.len > ACM_CHAIN_LEN_MAX)
		return "has a chain of more than 2 MiB";
	*ret_parts = parts;
	return NULL;
}

/* Never 0, which is unknown. */
static uint64_t digest_of(struct str text)
{
	uint8_t sum[SHA256_DIGEST_LENGTH];
	uint64_t value = 0;
	SHA2_CTX context;
	SHA256Init(&context);
	if (text.len != 0)
		SHA256Update(&context, (const uint8_t *)text.p, text.len);
	SHA256Final(sum, &context);
	for (int i = 0; i < 8; i++)
		value = value << 8 | sum[i];
	return value != 0 ? value : 1;
}

struct acm_content acm_content_of(const struct acm_parts *parts)
{
	return (struct acm_content){
		.leaf = digest_of(parts->leaf), .chain = digest_of(parts->chain)};
}

bool acm_content_eq(const struct acm_content *a, const struct acm_content *b)
{
	return a->leaf == b->leaf && a->chain == b->chain;
}

void acm_content_text(const struct acm_content *content, char ret_text[ACM_CONTENT_LEN + 1])
{
	snprintf(ret_text, ACM_CONTENT_LEN + 1, "%016" PRIx64 "-%016" PRIx64, content->leaf,
		content->chain);
}

static bool read_hex(struct str text, uint64_t *ret_value)
{
	uint64_t value = 0;
	for (size_t i = 0; i < text.len; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *at = memchr(digits, text.p[i], sizeof(digits) - 1);
		if (at == NULL)
			return false;
		value = value << 4 | (uint64_t)(at - digits);
	}
	*ret_value = value;
	return true;
}

struct acm_content acm_content_parse(struct str text)
{
	const size_t half = ACM_CONTENT_LEN / 2;
	struct acm_content content = {0};
	if (text.len != ACM_CONTENT_LEN || text.p[half] != '-' ||
		!read_hex((struct str){text.p, half}, &content.leaf) ||
		!read_hex(str_skip(text, half + 1), &content.chain))
		return (struct acm_content){0};
	return content;
}

/* ---- requests ---- */

/* All that is put has limits, which together stay below that of a body. */
static void put(struct buf *out, struct str text)
{
	must(buf_append_str(out, text) == 0);
}

static void put_text(struct buf *out, struct str text)
{
	must(json_put_text(out, text) == 0);
}

/* "Name":"<base64 of the text>", without a copy of what may be a key. */
static void put_blob(struct buf *out, struct str name, struct str text)
{
	put(out, name);
	put(out, STR(":\""));
	size_t len = (text.len + 2) / 3 * 4;
	uint8_t *room = buf_reserve(out, len + 1);
	must(room != NULL);
	EVP_EncodeBlock(room, (const unsigned char *)text.p, (int)text.len);
	buf_commit(out, len);
	put(out, STR("\""));
}

static void put_tag(struct buf *out, const char *key, struct str value, bool is_first)
{
	put(out, is_first ? STR("{\"Key\":") : STR(",{\"Key\":"));
	put_text(out, str_from(key));
	put(out, STR(",\"Value\":"));
	put_text(out, value);
	put(out, STR("}"));
}

static void put_tag_list(struct buf *out, const struct acm_tags *tags)
{
	put(out, STR(",\"Tags\":["));
	put_tag(out, TAG_CLUSTER, tags->cluster, true);
	put_tag(out, TAG_RESOURCE, tags->identity, false);
	put_tag(out, TAG_OWNER, tags->owner, false);
	put_tag(out, TAG_APPLIED, tags->applied, false);
	put(out, STR("]"));
}

static void put_arn(struct buf *out, struct str arn)
{
	put(out, STR("\"CertificateArn\":"));
	put_text(out, arn);
}

void acm_put_import(
	struct buf *out, const struct acm_parts *parts, struct str arn, const struct acm_tags *tags)
{
	put(out, STR("{"));
	put_blob(out, STR("\"Certificate\""), parts->leaf);
	put(out, STR(","));
	put_blob(out, STR("\"PrivateKey\""), parts->key);
	if (parts->chain.len != 0) {
		put(out, STR(","));
		put_blob(out, STR("\"CertificateChain\""), parts->chain);
	}
	if (arn.p != NULL) {
		put(out, STR(","));
		put_arn(out, arn);
	} else {
		put_tag_list(out, tags);
	}
	put(out, STR("}"));
}

void acm_put_tags(struct buf *out, struct str arn, const struct acm_tags *tags)
{
	put(out, STR("{"));
	put_arn(out, arn);
	put_tag_list(out, tags);
	put(out, STR("}"));
}

void acm_put_arn(struct buf *out, struct str arn)
{
	put(out, STR("{"));
	put_arn(out, arn);
	put(out, STR("}"));
}

void acm_put_list(struct buf *out, struct str token)
{
	/* Without the kinds of keys, only RSA of 1024 and 2048 bits is listed. */
	must(buf_printf(out,
		     "{\"MaxItems\":%d,\"Includes\":{\"keyTypes\":[\"RSA_1024\",\"RSA_2048\","
		     "\"RSA_3072\",\"RSA_4096\",\"EC_prime256v1\",\"EC_secp384r1\","
		     "\"EC_secp521r1\"]}",
		     ACM_PAGE_MAX) == 0);
	if (token.p != NULL) {
		put(out, STR(",\"NextToken\":"));
		put_text(out, token);
	}
	put(out, STR("}"));
}

/* ---- answers ---- */

bool acm_is_arn(struct str text)
{
	struct str rest = text;
	size_t colons = 0;
	struct str service = STR_NONE;
	for (const char *at; colons < 5 && (at = str_find(rest, ':')) != NULL; colons++) {
		if (colons == 2)
			service = (struct str){rest.p, (size_t)(at - rest.p)};
		rest = str_skip(rest, (size_t)(at - rest.p) + 1);
	}
	return text.len <= ACM_ARN_LEN_MAX && str_starts_with(text, STR("arn:")) && colons == 5 &&
	       str_eq(service, STR("acm")) && str_starts_with(rest, STR("certificate/")) &&
	       rest.len > strlen("certificate/");
}

static struct str arn_of(const struct json *value)
{
	struct str arn = json_text(json_get(value, "CertificateArn"));
	return acm_is_arn(arn) ? arn : STR_NONE;
}

/* Seconds since 1970, which may have a fraction. */
static int64_t time_of(const struct json *value)
{
	double seconds = json_number(value);
	return seconds >= 0 && seconds < (double)JSON_INT_MAX ? (int64_t)floor(seconds) : -1;
}

struct str acm_read_arn(const struct json *answer)
{
	return arn_of(answer);
}

bool acm_read_summary(const struct json *entry, struct acm_certificate *ret_certificate)
{
	struct acm_certificate certificate = {
		.arn = arn_of(entry),
		.serial = json_text(json_get(entry, "Serial")),
		.not_after = time_of(json_get(entry, "NotAfter")),
	};
	if (certificate.arn.p == NULL)
		return false;
	*ret_certificate = certificate;
	return true;
}

bool acm_read_certificate(const struct json *answer, struct acm_certificate *ret_certificate)
{
	return acm_read_summary(json_get(answer, "Certificate"), ret_certificate);
}

bool acm_read_list(const struct json *answer, const struct json **ret_first, struct str *ret_token)
{
	const struct json *list = json_get(answer, "CertificateSummaryList");
	struct str token = STR_NONE;
	if (!json_is_array(list) || !json_get_str(answer, "NextToken", &token) ||
		token.len > ACM_TOKEN_LEN_MAX)
		return false;
	*ret_first = json_first(list);
	*ret_token = token.len != 0 ? token : STR_NONE;
	return true;
}

void acm_read_tags(const struct json *answer, struct acm_tags *ret_tags)
{
	struct acm_tags tags = {0};
	const struct json *tag = json_first(json_get(answer, "Tags"));
	for (; tag != NULL; tag = json_next(tag)) {
		struct str key = json_text(json_get(tag, "Key"));
		struct str value = json_text(json_get(tag, "Value"));
		if (str_eq_c(key, TAG_CLUSTER))
			tags.cluster = value;
		else if (str_eq_c(key, TAG_RESOURCE))
			tags.identity = value;
		else if (str_eq_c(key, TAG_OWNER))
			tags.owner = value;
		else if (str_eq_c(key, TAG_APPLIED))
			tags.applied = value;
	}
	*ret_tags = tags;
}

bool acm_serial_eq(struct str serial, struct str ours)
{
	size_t at = 0;
	bool is_leading = true;
	for (size_t i = 0; i < serial.len; i++) {
		char c = serial.p[i];
		if (c == ':' || (c == '0' && is_leading))
			continue;
		is_leading = is_leading && c == '-';
		if (c >= 'A' && c <= 'F')
			c |= 0x20;
		if (at == ours.len || ours.p[at++] != c)
			return false;
	}
	return serial.len != 0 && (at == ours.len || (at == 0 && str_eq(ours, STR("0"))));
}
