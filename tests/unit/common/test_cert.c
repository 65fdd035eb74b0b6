// SPDX-License-Identifier: Apache-2.0
#include "common/cert.h"
#include "common/cert_make.h"

#include "common/buf.h"
#include "common/xalloc.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { TEXT_MAX = 4 * 1024 * 1024, NOT_BEFORE = 1700000000, NOT_AFTER = 1800000000 };

/* Keys and certificates that most tests use: root signed inter signed leaf; all EC but where said. */
static struct {
	EVP_PKEY *root_key;
	EVP_PKEY *inter_key;
	EVP_PKEY *leaf_key;
	EVP_PKEY *rsa_key;
	EVP_PKEY *ed_key;
	X509 *root;
	X509 *inter;
	X509 *leaf;
} world;

static struct arena arena;

static EVP_PKEY *ec_key(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	assert_non_null(key);
	return key;
}

static void add_extension(X509 *cert, int nid, const char *value)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
	assert_non_null(extension);
	assert_int_equal(X509_add_ext(cert, extension, -1), 1);
	X509_EXTENSION_free(extension);
}

static X509 *new_cert(const char *common_name, EVP_PKEY *key)
{
	X509 *cert = X509_new();
	X509_set_version(cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 7);
	ASN1_TIME_set(X509_getm_notBefore(cert), NOT_BEFORE);
	ASN1_TIME_set(X509_getm_notAfter(cert), NOT_AFTER);
	X509_set_pubkey(cert, key);
	if (common_name != NULL)
		X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
			(const unsigned char *)common_name, -1, -1, 0);
	return cert;
}

static X509 *sign(X509 *cert, X509 *issuer, EVP_PKEY *issuer_key)
{
	X509_set_issuer_name(cert, X509_get_subject_name(issuer != NULL ? issuer : cert));
	const EVP_MD *digest =
		EVP_PKEY_get_base_id(issuer_key) == EVP_PKEY_ED25519 ? NULL : EVP_sha256();
	assert_true(X509_sign(cert, issuer_key, digest) > 0);
	return cert;
}

static X509 *ca_cert(const char *name, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key)
{
	X509 *cert = new_cert(name, key);
	add_extension(cert, NID_basic_constraints, "critical,CA:TRUE");
	add_extension(cert, NID_key_usage, "critical,keyCertSign,cRLSign");
	return sign(cert, issuer, issuer_key);
}

static X509 *self_signed(const char *name, EVP_PKEY *key)
{
	return sign(new_cert(name, key), NULL, key);
}

static void add_dns_names(X509 *cert, const struct str *names, size_t count)
{
	GENERAL_NAMES *list = GENERAL_NAMES_new();
	for (size_t i = 0; i < count; i++) {
		GENERAL_NAME *name = GENERAL_NAME_new();
		ASN1_IA5STRING *text = ASN1_IA5STRING_new();
		ASN1_STRING_set(text, names[i].p, (int)names[i].len);
		GENERAL_NAME_set0_value(name, GEN_DNS, text);
		sk_GENERAL_NAME_push(list, name);
	}
	assert_int_equal(X509_add1_ext_i2d(cert, NID_subject_alt_name, list, 0, 0), 1);
	GENERAL_NAMES_free(list);
}

static void put_bio(struct buf *out, BIO *bio)
{
	char *text = NULL;
	long len = BIO_get_mem_data(bio, &text);
	assert_int_equal(buf_append(out, text, (size_t)len), 0);
	BIO_free(bio);
}

static void put_cert(struct buf *out, X509 *cert)
{
	BIO *bio = BIO_new(BIO_s_mem());
	PEM_write_bio_X509(bio, cert);
	put_bio(out, bio);
}

enum key_form { FORM_PKCS8, FORM_TRADITIONAL, FORM_PKCS8_ENCRYPTED, FORM_TRADITIONAL_ENCRYPTED };

static void put_key(struct buf *out, EVP_PKEY *key, enum key_form form)
{
	static unsigned char password[] = "secret";
	BIO *bio = BIO_new(BIO_s_mem());
	if (form == FORM_PKCS8 || form == FORM_PKCS8_ENCRYPTED)
		PEM_write_bio_PKCS8PrivateKey(bio, key,
			form == FORM_PKCS8 ? NULL : EVP_aes_128_cbc(), NULL, 0, NULL, password);
	else
		PEM_write_bio_PrivateKey_traditional(bio, key,
			form == FORM_TRADITIONAL ? NULL : EVP_aes_128_cbc(), password, 6, NULL,
			NULL);
	put_bio(out, bio);
}

static struct buf text_of(const char *text)
{
	struct buf out;
	buf_init(&out, TEXT_MAX);
	assert_int_equal(buf_append_str(&out, str_from(text)), 0);
	return out;
}

static struct buf cert_text(X509 *cert)
{
	struct buf out = text_of("");
	put_cert(&out, cert);
	return out;
}

static struct buf key_text(EVP_PKEY *key, enum key_form form)
{
	struct buf out = text_of("");
	put_key(&out, key, form);
	return out;
}

/* From blocks of exactly their size, so that a look behind their ends is found by the sanitizer. */
static const char *check(const struct buf *chain, const struct buf *key, struct cert_info *ret_info)
{
	char *chain_copy = xmemdup(buf_data(chain), buf_len(chain));
	char *key_copy = key != NULL ? xmemdup(buf_data(key), buf_len(key)) : NULL;
	const char *problem = cert_check((struct str){chain_copy, buf_len(chain)},
		(struct str){key_copy, key != NULL ? buf_len(key) : 0}, &arena, ret_info);
	free(chain_copy);
	free(key_copy);
	return problem;
}

static void assert_problem(struct buf chain, struct buf key, const char *want)
{
	struct cert_info info = {.name_count = 99};
	const char *problem = check(&chain, &key, &info);
	assert_non_null(problem);
	assert_string_equal(problem, want);
	assert_int_equal(info.name_count, 99);
	buf_fini(&chain);
	buf_fini(&key);
}

static void assert_good(struct buf chain, struct buf key, struct cert_info *ret_info)
{
	const char *problem = check(&chain, &key, ret_info);
	if (problem != NULL)
		fail_msg("%s", problem);
	buf_fini(&chain);
	buf_fini(&key);
}

static void assert_chain(const struct cert_info *info, X509 *const *certs, size_t count)
{
	struct buf want = text_of("");
	for (size_t i = 0; i < count; i++)
		put_cert(&want, certs[i]);
	assert_true(str_eq(info->chain, buf_str(&want)));
	buf_fini(&want);
}

static void takes_every_kind_and_form_of_key(void **state)
{
	(void)state;
	EVP_PKEY *keys[] = {world.leaf_key, world.rsa_key, world.ed_key};
	for (size_t i = 0; i < 3; i++) {
		X509 *cert = self_signed("a.example.com", keys[i]);
		struct cert_info info;
		assert_good(cert_text(cert), key_text(keys[i], FORM_PKCS8), &info);
		assert_chain(&info, &cert, 1);
		assert_int_equal(info.name_count, 1);
		assert_true(str_eq_c(info.names[0], "a.example.com"));
		assert_int_equal(info.not_before, NOT_BEFORE);
		assert_int_equal(info.not_after, NOT_AFTER);
		assert_true(str_eq(info.serial, STR("7")));
		if (keys[i] != world.ed_key)
			assert_good(cert_text(cert), key_text(keys[i], FORM_TRADITIONAL), &info);
		X509_free(cert);
	}
}

static void prints_the_serial_number(void **state)
{
	static const struct {
		const char *in; /* hexadecimal */
		const char *want;
	} rows[] = {
		{"0", "0"},
		{"9A8", "9a8"},
		{"00FF00", "ff00"},
		{"8000000000000000000000000000000000000001",
			"8000000000000000000000000000000000000001"},
		{"-A0", "-a0"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		BIGNUM *number = NULL;
		struct cert_info info;
		assert_true(BN_hex2bn(&number, rows[i].in) > 0);
		X509 *cert = new_cert("a.example.com", world.leaf_key);
		assert_non_null(BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)));
		struct buf chain = cert_text(sign(cert, NULL, world.leaf_key));
		assert_null(check(&chain, NULL, &info));
		assert_true(str_eq_c(info.serial, rows[i].want));
		buf_fini(&chain);
		X509_free(cert);
		BN_free(number);
	}
}

static void reads_a_chain_in_any_order(void **state)
{
	(void)state;
	X509 *const right[] = {world.leaf, world.inter, world.root};
	static const size_t orders[][3] = {
		{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	for (size_t i = 0; i < 6; i++) {
		struct buf chain = text_of("");
		for (size_t j = 0; j < 3; j++)
			put_cert(&chain, right[orders[i][j]]);
		struct cert_info info;
		struct cert_info alone;
		assert_null(check(&chain, NULL, &alone));
		assert_chain(&alone, right, 3);
		assert_good(chain, key_text(world.leaf_key, FORM_PKCS8), &info);
		assert_chain(&info, right, 3);
	}
}

static void leaves_out_what_is_not_in_line(void **state)
{
	(void)state;
	/* An issuer of the same name that did not sign, a stranger, the leaf twice. */
	EVP_PKEY *other_key = ec_key();
	X509 *impostor = ca_cert("inter", other_key, NULL, other_key);
	X509 *stranger = self_signed("stranger.example.com", other_key);
	struct buf chain = text_of("");
	put_cert(&chain, impostor);
	put_cert(&chain, world.leaf);
	put_cert(&chain, stranger);
	put_cert(&chain, world.inter);
	put_cert(&chain, world.leaf);
	struct cert_info info;
	assert_good(chain, key_text(world.leaf_key, FORM_PKCS8), &info);
	X509 *const want[] = {world.leaf, world.inter};
	assert_chain(&info, want, 2);
	X509_free(impostor);
	X509_free(stranger);
	EVP_PKEY_free(other_key);
}

static void add_authority_key_id(X509 *cert, X509 *issuer)
{
	X509V3_CTX context;
	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	X509_EXTENSION *extension =
		X509V3_EXT_nconf_nid(NULL, &context, NID_authority_key_identifier, "keyid:always");
	assert_non_null(extension);
	assert_int_equal(X509_add_ext(cert, extension, -1), 1);
	X509_EXTENSION_free(extension);
}

/* Of issuers of one name; one of them may not sign. */
static void finds_the_issuer_by_its_key_identifier(void **state)
{
	(void)state;
	EVP_PKEY *other_key = ec_key();
	X509 *inter = new_cert("inter", world.inter_key);
	add_extension(inter, NID_subject_key_identifier, "01:02:03");
	sign(inter, world.root, world.root_key);
	X509 *namesake = new_cert("inter", other_key);
	add_extension(namesake, NID_subject_key_identifier, "01:02:04");
	sign(namesake, world.root, world.root_key);
	X509 *idle = new_cert("inter", world.inter_key);
	add_extension(idle, NID_subject_key_identifier, "01:02:03");
	add_extension(idle, NID_key_usage, "critical,cRLSign");
	sign(idle, world.root, world.root_key);
	X509 *leaf = new_cert("leaf.example.com", world.leaf_key);
	add_authority_key_id(leaf, inter);
	sign(leaf, inter, world.inter_key);
	struct buf chain = text_of("");
	put_cert(&chain, leaf);
	put_cert(&chain, namesake);
	put_cert(&chain, idle);
	put_cert(&chain, inter);
	struct cert_info info;
	assert_good(chain, key_text(world.leaf_key, FORM_PKCS8), &info);
	X509 *const want[] = {leaf, inter};
	assert_chain(&info, want, 2);
	X509_free(leaf);
	X509_free(idle);
	X509_free(namesake);
	X509_free(inter);
	EVP_PKEY_free(other_key);
}

static X509 *sign_as_pss(X509 *cert, X509 *issuer, EVP_PKEY *key)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	EVP_PKEY_CTX *settings = NULL;
	X509_set_issuer_name(cert, X509_get_subject_name(issuer));
	assert_int_equal(EVP_DigestSignInit(context, &settings, EVP_sha256(), NULL, key), 1);
	assert_true(EVP_PKEY_CTX_set_rsa_padding(settings, RSA_PKCS1_PSS_PADDING) > 0);
	assert_true(X509_sign_ctx(cert, context) > 0);
	EVP_MD_CTX_free(context);
	return cert;
}

/* Where there is no key identifier, the signature tells, of whatever kind. */
static void finds_the_issuer_by_the_signature(void **state)
{
	(void)state;
	static const struct {
		bool is_rsa;
		bool is_pss;
		bool is_foreign;
	} rows[] = {{.is_rsa = false}, {.is_rsa = true}, {.is_rsa = true, .is_pss = true},
		{.is_rsa = true, .is_foreign = true}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		EVP_PKEY *key = rows[i].is_rsa ? world.rsa_key : world.ed_key;
		X509 *issuer = ca_cert("issuer", rows[i].is_foreign ? world.ed_key : key,
			world.root, world.root_key);
		X509 *leaf = new_cert("leaf.example.com", world.leaf_key);
		leaf = rows[i].is_pss ? sign_as_pss(leaf, issuer, key) : sign(leaf, issuer, key);
		struct buf chain = cert_text(issuer);
		put_cert(&chain, leaf);
		struct cert_info info;
		assert_good(chain, key_text(world.leaf_key, FORM_PKCS8), &info);
		X509 *const want[] = {leaf, issuer};
		assert_chain(&info, want, rows[i].is_foreign ? 1 : 2);
		X509_free(leaf);
		X509_free(issuer);
	}
}

/* Two that issued each other, and one that issued itself twice over: no order is right, none may hang. */
static void ends_where_issuers_run_in_a_circle(void **state)
{
	(void)state;
	X509 *a = ca_cert("inter", world.inter_key, world.root, world.root_key);
	X509 *b = ca_cert("root", world.root_key, world.inter, world.inter_key);
	struct buf chain = text_of("");
	put_cert(&chain, a);
	put_cert(&chain, b);
	put_cert(&chain, a);
	struct cert_info info;
	assert_null(check(&chain, NULL, &info));
	assert_good(chain, key_text(world.inter_key, FORM_PKCS8), &info);
	assert_true(str_starts_with(info.chain, STR("-----BEGIN CERTIFICATE-----\n")));
	X509_free(a);
	X509_free(b);
}

static struct buf with_text_and_line_ends(
	const struct buf *pem, const char *line_end, bool cut_last)
{
	struct buf out = text_of("\xef\xbb\xbf"
				 "subject=CN = x\n\n# a comment, - and --\n");
	struct str rest = buf_str(pem);
	while (rest.len != 0) {
		size_t len = 0;
		while (rest.p[len] != '\n')
			len++;
		assert_int_equal(buf_append(&out, rest.p, len), 0);
		rest = str_skip(rest, len + 1);
		if (rest.len != 0 || !cut_last)
			assert_int_equal(buf_append_str(&out, str_from(line_end)), 0);
		if (rest.len != 0 && rest.p[0] == '-' && rest.p[5] == 'B')
			assert_int_equal(
				buf_printf(&out, "%sBag Attributes: none%s", line_end, line_end),
				0);
	}
	return out;
}

static void forgives_what_editors_do(void **state)
{
	(void)state;
	X509 *const want[] = {world.leaf, world.inter};
	static const struct {
		const char *line_end;
		bool cut_last;
	} rows[] = {{"\n", false}, {"\n", true}, {"\r\n", false}, {"\r\n", true}, {"  \n", true}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf chain = text_of("");
		put_cert(&chain, world.leaf);
		put_cert(&chain, world.inter);
		struct buf key = key_text(world.leaf_key, FORM_TRADITIONAL);
		struct buf edited_chain =
			with_text_and_line_ends(&chain, rows[i].line_end, rows[i].cut_last);
		struct buf edited_key =
			with_text_and_line_ends(&key, rows[i].line_end, rows[i].cut_last);
		struct cert_info info;
		assert_good(edited_chain, edited_key, &info);
		assert_chain(&info, want, 2);
		buf_fini(&chain);
		buf_fini(&key);
	}
}

/* `openssl ecparam -genkey` writes the curve first; some people put everything into both values. */
static void finds_the_key_among_other_blocks(void **state)
{
	(void)state;
	struct buf both = text_of("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n"
				  "-----END EC PARAMETERS-----\n");
	put_cert(&both, world.inter);
	put_key(&both, world.leaf_key, FORM_TRADITIONAL);
	put_key(&both, world.rsa_key, FORM_TRADITIONAL);
	put_cert(&both, world.leaf);
	struct buf copy = text_of("");
	assert_int_equal(buf_append_str(&copy, buf_str(&both)), 0);
	struct cert_info info;
	assert_good(both, copy, &info);
	X509 *const want[] = {world.leaf, world.inter};
	assert_chain(&info, want, 2);
	assert_null(memmem(info.chain.p, info.chain.len, "KEY", 3));
}

static struct buf der_of(X509 *cert)
{
	unsigned char *der = NULL;
	int len = i2d_X509(cert, &der);
	struct buf out = text_of("");
	assert_int_equal(buf_append(&out, der, (size_t)len), 0);
	OPENSSL_free(der);
	return out;
}

static struct buf key_der_of(EVP_PKEY *key)
{
	unsigned char *der = NULL;
	int len = i2d_PrivateKey(key, &der);
	struct buf out = text_of("");
	assert_int_equal(buf_append(&out, der, (size_t)len), 0);
	OPENSSL_free(der);
	return out;
}

static struct buf spaces(size_t count)
{
	struct buf out = text_of("");
	memset(buf_reserve(&out, count), ' ', count);
	buf_commit(&out, count);
	return out;
}

static struct buf cut(struct buf text, size_t by)
{
	buf_cut(&text, buf_len(&text) - by);
	return text;
}

/* An encrypted key that calls itself a plain one: asking a terminal for the password would hang. */
static struct buf encrypted_in_disguise(void)
{
	struct buf key = key_text(world.leaf_key, FORM_PKCS8_ENCRYPTED);
	struct buf out = text_of("-----BEGIN PRIVATE KEY-----\n");
	struct str body = buf_str(&key);
	const char *first = memchr(body.p, '\n', body.len);
	const char *last = memmem(body.p, body.len, "-----END", 8);
	assert_int_equal(buf_append(&out, first + 1, (size_t)(last - first - 1)), 0);
	assert_int_equal(buf_append_str(&out, STR("-----END PRIVATE KEY-----\n")), 0);
	buf_fini(&key);
	return out;
}

static void says_what_is_wrong(void **state)
{
	(void)state;
	enum key_form plain = FORM_PKCS8;
	const char *broken = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
	const char *hollow = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
	const char *no_key = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n";
	EVP_PKEY *key = world.leaf_key;
	X509 *cert = world.leaf;
	assert_problem(text_of(""), key_text(key, plain), "tls.crt is empty");
	assert_problem(text_of("hello\n"), key_text(key, plain), "tls.crt holds no certificate");
	assert_problem(der_of(cert), key_text(key, plain), "tls.crt is DER, not PEM");
	assert_problem(key_text(key, plain), key_text(key, plain), "tls.crt holds no certificate");
	assert_problem(text_of(broken), key_text(key, plain),
		"tls.crt holds a PEM block that cannot be read");
	assert_problem(cut(cert_text(cert), 30), key_text(key, plain),
		"tls.crt holds a PEM block that cannot be read");
	assert_problem(text_of(hollow), key_text(key, plain),
		"tls.crt holds a certificate that cannot be read");
	assert_problem(spaces(CERT_PEM_LEN_MAX + 1), key_text(key, plain), "tls.crt is too long");
	assert_problem(
		spaces(CERT_PEM_LEN_MAX), key_text(key, plain), "tls.crt holds no certificate");
	assert_problem(cert_text(cert), spaces(CERT_PEM_LEN_MAX + 1), "tls.key is too long");
	assert_problem(cert_text(cert), text_of("hello\n"), "tls.key holds no private key");
	assert_problem(cert_text(cert), text_of("x"), "tls.key holds no private key");
	assert_problem(cert_text(cert), cert_text(cert), "tls.key holds no private key");
	assert_problem(cert_text(cert), key_der_of(key), "tls.key is DER, not PEM");
	assert_problem(cert_text(cert), text_of(no_key), "tls.key holds a key that cannot be read");
	assert_problem(cert_text(cert), cut(key_text(key, plain), 30),
		"tls.key holds a PEM block that cannot be read");
	assert_problem(
		cert_text(cert), key_text(key, FORM_PKCS8_ENCRYPTED), "tls.key is encrypted");
	assert_problem(
		cert_text(cert), key_text(key, FORM_TRADITIONAL_ENCRYPTED), "tls.key is encrypted");
	assert_problem(cert_text(cert), encrypted_in_disguise(),
		"tls.key holds a key that cannot be read");
	assert_problem(
		cert_text(cert), key_text(world.inter_key, plain), "tls.key does not fit tls.crt");
	assert_problem(
		cert_text(cert), key_text(world.rsa_key, plain), "tls.key does not fit tls.crt");
	struct cert_info info;
	assert_string_equal(cert_check(STR_NONE, STR_NONE, &arena, &info), "tls.crt is empty");
	struct buf good = cert_text(cert);
	assert_string_equal(cert_check(buf_str(&good), STR(""), &arena, &info), "tls.key is empty");
	buf_fini(&good);
}

/* What can be read is read, whatever could not be before. */
static void is_not_led_astray_by_broken_ones(void **state)
{
	(void)state;
	const char *no_key = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n";
	EVP_PKEY *keys[] = {world.leaf_key, world.rsa_key, world.ed_key};
	for (size_t i = 0; i < 9; i++) {
		EVP_PKEY *key = keys[i % 3];
		X509 *cert = self_signed("a.example.com", key);
		struct cert_info info;
		assert_problem(cert_text(cert), text_of(no_key),
			"tls.key holds a key that cannot be read");
		assert_problem(cert_text(cert), encrypted_in_disguise(),
			"tls.key holds a key that cannot be read");
		assert_problem(cert_text(cert), key_text(keys[(i + 1) % 3], FORM_PKCS8),
			"tls.key does not fit tls.crt");
		assert_good(cert_text(cert), key_text(key, FORM_PKCS8), &info);
		X509_free(cert);
	}
}

static void bounds_certificates_and_keys(void **state)
{
	(void)state;
	struct buf chain = text_of("");
	for (int i = 0; i < CERT_CHAIN_MAX; i++)
		put_cert(&chain, world.leaf);
	struct cert_info info;
	assert_null(check(&chain, NULL, &info));
	put_cert(&chain, world.leaf);
	assert_string_equal(check(&chain, NULL, &info), "tls.crt holds too many certificates");
	buf_fini(&chain);

	/* A modulus need not be the product of two primes to cost time. */
	BIGNUM *modulus = BN_new();
	BIGNUM *exponent = BN_new();
	BN_rand(modulus, 9000, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD);
	BN_set_word(exponent, 65537);
	OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
	OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus);
	OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent);
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
	EVP_PKEY *huge = NULL;
	EVP_PKEY_fromdata_init(context);
	assert_int_equal(EVP_PKEY_fromdata(context, &huge, EVP_PKEY_PUBLIC_KEY, params), 1);
	X509 *cert = sign(new_cert("a.example.com", huge), world.root, world.root_key);
	assert_problem(cert_text(cert), key_text(world.leaf_key, FORM_PKCS8),
		"tls.crt holds a certificate with a key of more than 8192 bits");
	X509_free(cert);
	EVP_PKEY_free(huge);
	EVP_PKEY_CTX_free(context);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(builder);
	BN_free(modulus);
	BN_free(exponent);
}

static void refuses_keys_that_cannot_sign(void **state)
{
	(void)state;
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
	X509 *cert = sign(new_cert("a.example.com", key), world.root, world.root_key);
	assert_problem(cert_text(cert), key_text(key, FORM_PKCS8),
		"tls.crt has a kind of key that servers cannot use");
	X509_free(cert);
	EVP_PKEY_free(key);
}

static void reads_names(void **state)
{
	(void)state;
	static const struct str given[] = {
		{"www.Example.com", 15},
		{"*.example.com", 13},
		{"www.example.com", 15},
		{"a.example.com", 13},
		{"good.example.com\0.evil.org", 26},
		{"", 0},
		{"*", 1},
		{"a.*.example.com", 15},
		{"*a.example.com", 14},
		{"-a.example.com", 14},
		{"a-.example.com", 14},
		{"a..example.com", 14},
		{"a.example.com.", 14},
		{"under_score.example.com", 23},
		{"two words.example.com", 21},
		{"\xc3\xbc.example.com", 14},
		{"label-of-64-letters-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.com", 68},
	};
	static const char *const want[] = {"*.example.com", "a.example.com", "www.example.com"};
	X509 *cert = new_cert("ignored.example.com", world.leaf_key);
	add_dns_names(cert, given, sizeof(given) / sizeof(given[0]));
	sign(cert, world.root, world.root_key);
	struct cert_info info;
	assert_good(cert_text(cert), key_text(world.leaf_key, FORM_PKCS8), &info);
	assert_int_equal(info.name_count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(str_eq_c(info.names[i], want[i]));
	X509_free(cert);
}

static void takes_the_common_name_only_without_dns_names(void **state)
{
	(void)state;
	struct cert_info info;
	X509 *cert = new_cert("CN.example.com", world.leaf_key);
	add_extension(cert, NID_subject_alt_name, "IP:127.0.0.1,email:a@b");
	sign(cert, world.root, world.root_key);
	assert_good(cert_text(cert), key_text(world.leaf_key, FORM_PKCS8), &info);
	assert_int_equal(info.name_count, 1);
	assert_true(str_eq_c(info.names[0], "cn.example.com"));
	X509_free(cert);

	cert = sign(new_cert("My company & Co", world.leaf_key), world.root, world.root_key);
	assert_good(cert_text(cert), key_text(world.leaf_key, FORM_PKCS8), &info);
	assert_int_equal(info.name_count, 0);
	X509_free(cert);

	cert = sign(new_cert(NULL, world.leaf_key), world.root, world.root_key);
	assert_good(cert_text(cert), key_text(world.leaf_key, FORM_PKCS8), &info);
	assert_int_equal(info.name_count, 0);
	X509_free(cert);
}

static void bounds_names(void **state)
{
	(void)state;
	for (size_t count = CERT_NAMES_MAX; count <= CERT_NAMES_MAX + 1; count++) {
		struct str *names = xcalloc(count, sizeof(*names));
		for (size_t i = 0; i < count; i++)
			names[i] = str_from(xasprintf("h%zu.example.com", i));
		X509 *cert = new_cert("x", world.leaf_key);
		add_dns_names(cert, names, count);
		sign(cert, world.root, world.root_key);
		if (count <= CERT_NAMES_MAX) {
			struct cert_info info;
			assert_good(cert_text(cert), key_text(world.leaf_key, FORM_PKCS8), &info);
			assert_int_equal(info.name_count, count);
		} else {
			assert_problem(cert_text(cert), key_text(world.leaf_key, FORM_PKCS8),
				"tls.crt names too many hosts");
		}
		X509_free(cert);
		for (size_t i = 0; i < count; i++)
			free((char *)(uintptr_t)names[i].p);
		free(names);
	}
}

static void refuses_broken_names(void **state)
{
	(void)state;
	X509 *cert = new_cert("x", world.leaf_key);
	ASN1_OCTET_STRING *junk = ASN1_OCTET_STRING_new();
	ASN1_OCTET_STRING_set(junk, (const unsigned char *)"\x30\x05junk", 6);
	X509_EXTENSION *extension =
		X509_EXTENSION_create_by_NID(NULL, NID_subject_alt_name, 0, junk);
	X509_add_ext(cert, extension, -1);
	sign(cert, world.root, world.root_key);
	assert_problem(cert_text(cert), key_text(world.leaf_key, FORM_PKCS8),
		"tls.crt has a subjectAltName that cannot be read");
	X509_EXTENSION_free(extension);
	ASN1_OCTET_STRING_free(junk);
	X509_free(cert);
}

static void covers_hosts(void **state)
{
	(void)state;
	static const struct str names[] = {
		{"*.a.example.net", 15}, {"*.example.com", 13}, {"www.example.org", 15}};
	static const struct {
		const char *host;
		bool want;
	} rows[] = {
		{"www.example.org", true},
		{"WWW.example.ORG", true},
		{"a.example.com", true},
		{"A.Example.Com", true},
		{"*.example.com", true},
		{"example.com", false},
		{".example.com", false},
		{"a.b.example.com", false},
		{"example.org", false},
		{"x.a.example.net", true},
		{"a.example.net", false},
		{"*.com", false},
		{"", false},
		{"com", false},
		{"aexample.com", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (cert_covers(names, 3, str_from(rows[i].host)) != rows[i].want)
			fail_msg("%s", rows[i].host);
	}
	assert_false(cert_covers(NULL, 0, STR("a")));
}

static int make_world(void **state)
{
	(void)state;
	arena_init(&arena);
	world.root_key = ec_key();
	world.inter_key = ec_key();
	world.leaf_key = ec_key();
	world.rsa_key = EVP_RSA_gen(1024);
	world.ed_key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	world.root = ca_cert("root", world.root_key, NULL, world.root_key);
	world.inter = ca_cert("inter", world.inter_key, world.root, world.root_key);
	world.leaf = new_cert("leaf.example.com", world.leaf_key);
	sign(world.leaf, world.inter, world.inter_key);
	return 0;
}

static int free_world(void **state)
{
	(void)state;
	EVP_PKEY_free(world.root_key);
	EVP_PKEY_free(world.inter_key);
	EVP_PKEY_free(world.leaf_key);
	EVP_PKEY_free(world.rsa_key);
	EVP_PKEY_free(world.ed_key);
	X509_free(world.root);
	X509_free(world.inter);
	X509_free(world.leaf);
	arena_fini(&arena);
	return 0;
}

static void test_what_is_made_can_be_served(void **state)
{
	struct arena room;
	struct cert_info info;
	struct buf chain;
	struct buf key;
	(void)state;
	arena_init(&room);
	buf_init(&chain, 16384);
	buf_init(&key, 16384);
	assert_int_equal(cert_make(&chain, &key), 0);
	assert_null(cert_check(buf_str(&chain), buf_str(&key), &room, &info));
	assert_int_equal(info.name_count, 1);
	assert_true(info.not_after - info.not_before > INT64_C(19) * 365 * 24 * 3600);
	buf_fini(&chain);
	buf_init(&chain, 16);
	assert_int_not_equal(cert_make(&chain, &key), 0);
	buf_fini(&chain);
	buf_wipe_fini(&key);
	arena_fini(&room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_made_can_be_served),
		cmocka_unit_test(takes_every_kind_and_form_of_key),
		cmocka_unit_test(prints_the_serial_number),
		cmocka_unit_test(reads_a_chain_in_any_order),
		cmocka_unit_test(leaves_out_what_is_not_in_line),
		cmocka_unit_test(finds_the_issuer_by_its_key_identifier),
		cmocka_unit_test(finds_the_issuer_by_the_signature),
		cmocka_unit_test(is_not_led_astray_by_broken_ones),
		cmocka_unit_test(ends_where_issuers_run_in_a_circle),
		cmocka_unit_test(forgives_what_editors_do),
		cmocka_unit_test(finds_the_key_among_other_blocks),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(bounds_certificates_and_keys),
		cmocka_unit_test(refuses_keys_that_cannot_sign),
		cmocka_unit_test(reads_names),
		cmocka_unit_test(takes_the_common_name_only_without_dns_names),
		cmocka_unit_test(bounds_names),
		cmocka_unit_test(refuses_broken_names),
		cmocka_unit_test(covers_hosts),
	};
	return cmocka_run_group_tests(tests, make_world, free_world);
}
