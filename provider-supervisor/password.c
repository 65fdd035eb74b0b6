// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/password.h"

#include <md5.h>
#include <openssl/crypto.h>
#include <sha1.h>
#include <stdlib.h>

enum { APR1_ROUNDS = 1000, APR1_SALT_LEN_MAX = 8, APR1_TEXT_LEN = 22 };

/* In a time that tells nothing of where they differ. */
static bool are_equal(struct str a, struct str b)
{
	return a.len == b.len && CRYPTO_memcmp(a.p, b.p, a.len) == 0;
}

/* ---- {SHA} and {SSHA} ---- */

static int digit_of(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c != 0 ? strchr(digits, c) : NULL;
	return at != NULL ? (int)(at - digits) : -1;
}

/* Up to the first character that is no digit. `out` holds three bytes for each four of the text. */
static struct str decode_base64(struct str text, char *out)
{
	uint32_t bits = 0;
	unsigned held = 0;
	size_t len = 0;
	for (size_t i = 0; i < text.len; i++) {
		int digit = digit_of(text.p[i]);
		if (digit < 0)
			break;
		bits = bits << 6 | (uint32_t)digit;
		held += 6;
		if (held < 8)
			continue;
		held -= 8;
		out[len++] = (char)(bits >> held & 255);
	}
	return (struct str){out, len};
}

/* `text`: of the digest and of the salt behind it. */
static bool fits_sha(struct str password, struct str text, bool is_salted)
{
	char bytes[PASSWORD_HASH_LEN_MAX];
	uint8_t digest[SHA1_DIGEST_LENGTH];
	SHA1_CTX context;
	struct str wanted = decode_base64(text, bytes);
	if (wanted.len < SHA1_DIGEST_LENGTH || (wanted.len > SHA1_DIGEST_LENGTH && !is_salted))
		return false;
	struct str salt = str_skip(wanted, SHA1_DIGEST_LENGTH);
	SHA1Init(&context);
	SHA1Update(&context, (const uint8_t *)password.p, password.len);
	SHA1Update(&context, (const uint8_t *)salt.p, salt.len);
	SHA1Final(digest, &context);
	explicit_bzero(&context, sizeof(context));
	return CRYPTO_memcmp(digest, wanted.p, SHA1_DIGEST_LENGTH) == 0;
}

/* ---- $apr1$ ---- */

static void add(MD5_CTX *context, struct str text)
{
	MD5Update(context, (const uint8_t *)text.p, text.len);
}

static void begin_apr1(struct str password, struct str salt, uint8_t *digest)
{
	static const struct str magic = STR("$apr1$");
	static const uint8_t zero;
	MD5_CTX context;
	MD5Init(&context);
	add(&context, password);
	add(&context, salt);
	add(&context, password);
	MD5Final(digest, &context);
	MD5Init(&context);
	add(&context, password);
	add(&context, magic);
	add(&context, salt);
	for (size_t left = password.len; left != 0;) {
		size_t len = left < MD5_DIGEST_LENGTH ? left : MD5_DIGEST_LENGTH;
		MD5Update(&context, digest, len);
		left -= len;
	}
	for (size_t left = password.len; left != 0; left /= 2)
		MD5Update(&context, left % 2 == 1 ? &zero : (const uint8_t *)password.p, 1);
	MD5Final(digest, &context);
	explicit_bzero(&context, sizeof(context));
}

static void turn_apr1(struct str password, struct str salt, uint8_t *digest)
{
	MD5_CTX context;
	struct str last = {(const char *)digest, MD5_DIGEST_LENGTH};
	for (unsigned i = 0; i < APR1_ROUNDS; i++) {
		MD5Init(&context);
		add(&context, i % 2 == 1 ? password : last);
		if (i % 3 != 0)
			add(&context, salt);
		if (i % 7 != 0)
			add(&context, password);
		add(&context, i % 2 == 1 ? last : password);
		MD5Final(digest, &context);
	}
	explicit_bzero(&context, sizeof(context));
}

static char *put_digits(char *out, uint32_t value, unsigned count)
{
	static const char digits[] =
		"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	for (unsigned i = 0; i < count; i++) {
		*out++ = digits[value & 63];
		value >>= 6;
	}
	return out;
}

static void write_apr1(const uint8_t *digest, char *out)
{
	static const uint8_t order[][3] = {
		{0, 6, 12}, {1, 7, 13}, {2, 8, 14}, {3, 9, 15}, {4, 10, 5}};
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		out = put_digits(out,
			(uint32_t)digest[order[i][0]] << 16 | (uint32_t)digest[order[i][1]] << 8 |
				digest[order[i][2]],
			4);
	put_digits(out, digest[11], 2);
}

/* `text`: the salt, a dollar sign and what it makes of the password. */
static bool fits_apr1(struct str password, struct str text)
{
	uint8_t digest[MD5_DIGEST_LENGTH];
	char made[APR1_TEXT_LEN];
	const char *end = str_find(text, '$');
	if (end == NULL || end - text.p > APR1_SALT_LEN_MAX)
		return false;
	struct str salt = {text.p, (size_t)(end - text.p)};
	begin_apr1(password, salt, digest);
	turn_apr1(password, salt, digest);
	write_apr1(digest, made);
	return are_equal((struct str){made, APR1_TEXT_LEN}, str_skip(text, salt.len + 1));
}

/* ---- crypt() ---- */

static bool is_affordable(const char *hash)
{
	static const char rounds[] = "rounds=";
	if (hash[1] == '2')
		return hash[4] < '0' || hash[4] > '9' || hash[5] < '0' || hash[5] > '9' ||
		       10 * (hash[4] - '0') + hash[5] - '0' <= PASSWORD_COST_MAX;
	return hash[1] == '1' || strncmp(hash + 3, rounds, sizeof(rounds) - 1) != 0 ||
	       strtoul(hash + 3 + sizeof(rounds) - 1, NULL, 10) <= PASSWORD_ROUNDS_MAX;
}

static bool fits_crypt(struct str password, struct str hash, struct crypt_data *scratch)
{
	char setting[PASSWORD_HASH_LEN_MAX + 1] = {0};
	char phrase[PASSWORD_LEN_MAX + 1] = {0};
	str_put(setting, hash);
	if (hash.len < 8 || !is_affordable(setting))
		return false;
	str_put(phrase, password);
	const char *made = crypt_rn(phrase, setting, scratch, (int)sizeof(*scratch));
	bool fits = made != NULL && are_equal(str_from(made), hash);
	explicit_bzero(scratch, sizeof(*scratch));
	explicit_bzero(phrase, sizeof(phrase));
	return fits;
}

/* ---- all ---- */

bool password_fits(struct str password, struct str hash, struct crypt_data *scratch)
{
	static const struct str crypt_kinds[] = {
		STR("$1$"), STR("$5$"), STR("$6$"), STR("$2a$"), STR("$2b$"), STR("$2y$")};
	static const struct str sha = STR("{SHA}");
	static const struct str salted = STR("{SSHA}");
	static const struct str apr1 = STR("$apr1$");
	/* A NUL is where crypt() would stop reading. */
	if (password.len > PASSWORD_LEN_MAX || hash.len > PASSWORD_HASH_LEN_MAX ||
		str_find(password, 0) != NULL || str_find(hash, 0) != NULL)
		return false;
	if (str_starts_with(hash, sha))
		return fits_sha(password, str_skip(hash, sha.len), false);
	if (str_starts_with(hash, salted))
		return fits_sha(password, str_skip(hash, salted.len), true);
	if (str_starts_with(hash, apr1))
		return fits_apr1(password, str_skip(hash, apr1.len));
	for (size_t i = 0; i < sizeof(crypt_kinds) / sizeof(crypt_kinds[0]); i++) {
		if (str_starts_with(hash, crypt_kinds[i]))
			return fits_crypt(password, hash, scratch);
	}
	return false;
}
