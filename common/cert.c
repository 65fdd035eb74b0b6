// SPDX-License-Identifier: Apache-2.0
#include "common/cert.h"

#include "common/cert_decode.h"
#include "common/cert_names.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

/* The cost of checking a signature grows with the cube of the key's length, which a stranger chooses. */
enum { CERT_KEY_BITS_MAX = 8192 };

struct chain {
	X509 *certs[CERT_CHAIN_MAX];    /* as they were found, from cert_decode() */
	EVP_PKEY *keys[CERT_CHAIN_MAX]; /* of those that were asked for by chain_key() */
	size_t count;
	size_t order[CERT_CHAIN_MAX]; /* indexes, leaf first */
	size_t order_count;
};

/* One PEM block; its bytes may be a private key. */
struct block {
	char *name;
	char *header;
	unsigned char *data;
	long len;
};

/* For PEM_FLAG_SECURE: OpenSSL wipes its own copies, and these calls free ours. */
static void block_fini(struct block *block)
{
	OPENSSL_secure_free(block->name);
	OPENSSL_secure_free(block->header);
	OPENSSL_secure_clear_free(block->data, block->len > 0 ? (size_t)block->len : 0);
	*block = (struct block){0};
}

/* The next block of any type; text between blocks is skipped. 1: found; 0: none; -1: a broken one. */
static int block_read(BIO *in, struct block *ret_block)
{
	const unsigned flags = PEM_FLAG_SECURE | PEM_FLAG_EAY_COMPATIBLE;
	struct block block = {0};
	ERR_clear_error();
	if (PEM_read_bio_ex(in, &block.name, &block.header, &block.data, &block.len, flags) == 1) {
		*ret_block = block;
		return 1;
	}
	unsigned long error = ERR_peek_last_error();
	return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE
		       ? 0
		       : -1;
}

/* A SEQUENCE and, near its start, the INTEGER with the version of a certificate or key. */
static bool looks_like_der(struct str text)
{
	const size_t near = 16;
	return text.len != 0 && text.p[0] == V_ASN1_CONSTRUCTED + V_ASN1_SEQUENCE &&
	       memchr(text.p, V_ASN1_INTEGER, text.len < near ? text.len : near) != NULL;
}

/* Reading the chain */

/* NULL: it cannot be read. */
static EVP_PKEY *chain_key(struct chain *chain, size_t index)
{
	if (chain->keys[index] == NULL)
		chain->keys[index] = cert_decode_public_key(chain->certs[index]);
	return chain->keys[index];
}

/* Most need not be decoded: no key is longer than what it is written in. */
static bool is_key_too_long(struct chain *chain, size_t index)
{
	if (i2d_X509_PUBKEY(X509_get_X509_PUBKEY(chain->certs[index]), NULL) <=
		CERT_KEY_BITS_MAX / 8)
		return false;
	const EVP_PKEY *key = chain_key(chain, index);
	return key != NULL && EVP_PKEY_get_bits(key) > CERT_KEY_BITS_MAX;
}

static const char *chain_add(struct chain *chain, const struct block *block)
{
	if (chain->count == CERT_CHAIN_MAX)
		return "tls.crt holds too many certificates";
	const unsigned char *at = block->data;
	X509 *cert = strcmp(block->name, PEM_STRING_X509_TRUSTED) == 0
			     ? d2i_X509_AUX(NULL, &at, block->len)
			     : cert_decode(&at, block->len);
	if (cert == NULL)
		return "tls.crt holds a certificate that cannot be read";
	chain->certs[chain->count++] = cert;
	if (at != block->data + block->len)
		return "tls.crt holds a certificate with something behind it";
	if (is_key_too_long(chain, chain->count - 1))
		return "tls.crt holds a certificate with a key of more than 8192 bits";
	return NULL;
}

static bool is_certificate(const char *name)
{
	return strcmp(name, PEM_STRING_X509) == 0 || strcmp(name, PEM_STRING_X509_OLD) == 0 ||
	       strcmp(name, PEM_STRING_X509_TRUSTED) == 0;
}

static const char *chain_read(struct chain *chain, struct str pem)
{
	if (pem.len == 0)
		return "tls.crt is empty";
	if (pem.len > CERT_PEM_LEN_MAX)
		return "tls.crt is too long";
	BIO *in = BIO_new_mem_buf(pem.p, (int)pem.len);
	if (in == NULL)
		xalloc_fail();
	const char *problem = NULL;
	struct block block;
	int found = 0;
	while (problem == NULL && (found = block_read(in, &block)) == 1) {
		if (is_certificate(block.name))
			problem = chain_add(chain, &block);
		block_fini(&block);
	}
	BIO_free(in);
	if (problem == NULL && found < 0)
		return "tls.crt holds a PEM block that cannot be read";
	if (problem == NULL && chain->count == 0)
		return looks_like_der(pem) ? "tls.crt is DER, not PEM"
					   : "tls.crt holds no certificate";
	return problem;
}

/* Reading the key */

static const char *key_decode(const struct block *block, EVP_PKEY **ret_key)
{
	if (strcmp(block->name, PEM_STRING_PKCS8) == 0 || strstr(block->header, "ENCRYPTED"))
		return "tls.key is encrypted";
	EVP_PKEY *key = cert_decode_private_key(block->data, (size_t)block->len);
	if (key == NULL)
		return "tls.key holds a key that cannot be read";
	*ret_key = key;
	return NULL;
}

/* The first private key, as TLS servers do; curve parameters or certificates may precede it. */
static const char *key_read(struct str pem, EVP_PKEY **ret_key)
{
	if (pem.len == 0)
		return "tls.key is empty";
	if (pem.len > CERT_PEM_LEN_MAX)
		return "tls.key is too long";
	BIO *in = BIO_new_mem_buf(pem.p, (int)pem.len);
	if (in == NULL)
		xalloc_fail();
	const char *problem = NULL;
	struct block block;
	int found = 0;
	while (problem == NULL && *ret_key == NULL && (found = block_read(in, &block)) == 1) {
		if (str_ends_with(str_from(block.name), STR("PRIVATE KEY")))
			problem = key_decode(&block, ret_key);
		block_fini(&block);
	}
	BIO_free(in);
	if (problem == NULL && found < 0)
		return "tls.key holds a PEM block that cannot be read";
	if (problem == NULL && *ret_key == NULL)
		return looks_like_der(pem) ? "tls.key is DER, not PEM"
					   : "tls.key holds no private key";
	return problem;
}

/* Order */

/* What certificates say of themselves about who issued whom. */
enum kinship { KINSHIP_NONE, KINSHIP_BY_NAME, KINSHIP_BY_KEY_ID };

static bool may_sign(const X509 *cert)
{
	const int key_cert_sign = 5; /* RFC 5280, section 4.2.1.3 */
	ASN1_BIT_STRING *usage = X509_get_ext_d2i(cert, NID_key_usage, NULL, NULL);
	bool may = usage == NULL || ASN1_BIT_STRING_get_bit(usage, key_cert_sign) == 1;
	ASN1_BIT_STRING_free(usage);
	return may;
}

static enum kinship compare_key_ids(const X509 *issuer, const X509 *cert)
{
	enum kinship kinship = KINSHIP_BY_NAME;
	AUTHORITY_KEYID *wanted = X509_get_ext_d2i(cert, NID_authority_key_identifier, NULL, NULL);
	ASN1_OCTET_STRING *own = X509_get_ext_d2i(issuer, NID_subject_key_identifier, NULL, NULL);
	if (wanted != NULL && X509_check_akid(issuer, wanted) != X509_V_OK)
		kinship = KINSHIP_NONE;
	else if (wanted != NULL && wanted->keyid != NULL && own != NULL)
		kinship = ASN1_OCTET_STRING_cmp(wanted->keyid, own) == 0 ? KINSHIP_BY_KEY_ID
									 : KINSHIP_NONE;
	ASN1_OCTET_STRING_free(own);
	AUTHORITY_KEYID_free(wanted);
	return kinship;
}

static enum kinship kinship_of(const X509 *issuer, const X509 *cert)
{
	if (X509_NAME_cmp(X509_get_subject_name(issuer), X509_get_issuer_name(cert)) != 0 ||
		!may_sign(issuer))
		return KINSHIP_NONE;
	return compare_key_ids(issuer, cert);
}

static bool is_issuer_of(const X509 *issuer, const X509 *cert)
{
	return kinship_of(issuer, cert) != KINSHIP_NONE;
}

/* A key identifier tells as much as the signature, which takes a millisecond to verify with some curves: whoever names a
 * wrong one deceives only his own clients, and they verify. */
static bool has_signed(struct chain *chain, size_t issuer, size_t index)
{
	const X509 *cert = chain->certs[index];
	enum kinship kinship = kinship_of(chain->certs[issuer], cert);
	if (kinship != KINSHIP_BY_NAME)
		return kinship == KINSHIP_BY_KEY_ID;
	EVP_PKEY *key = chain_key(chain, issuer);
	return key != NULL && cert_decode_is_signed_by(cert, key);
}

static bool is_any_issuer(const struct chain *chain, size_t index)
{
	for (size_t i = 0; i < chain->count; i++) {
		if (i != index && is_issuer_of(chain->certs[index], chain->certs[i]))
			return true;
	}
	return false;
}

/* The leaf is the certificate of our key, or without a key the one that issued no other. */
static bool find_leaf(struct chain *chain, const EVP_PKEY *key, size_t *ret_index)
{
	for (size_t i = 0; i < chain->count; i++) {
		const EVP_PKEY *own = key != NULL ? chain_key(chain, i) : NULL;
		if (key != NULL ? own != NULL && EVP_PKEY_eq(own, key) == 1
				: !is_any_issuer(chain, i)) {
			*ret_index = i;
			return true;
		}
	}
	*ret_index = 0;
	return key == NULL;
}

/* From the leaf up, each signed by the next. Others are left out: clients need not accept them. */
static void put_in_order(struct chain *chain, size_t leaf)
{
	bool used[CERT_CHAIN_MAX] = {false};
	size_t next = leaf;
	while (next != chain->count) {
		size_t index = next;
		used[index] = true;
		chain->order[chain->order_count++] = index;
		next = 0;
		if (is_issuer_of(chain->certs[index], chain->certs[index]))
			return;
		while (next < chain->count && (used[next] || !has_signed(chain, next, index)))
			next++;
	}
}

/* What the certificate says */

static bool is_served_kind(const EVP_PKEY *key)
{
	switch (key != NULL ? EVP_PKEY_get_base_id(key) : EVP_PKEY_NONE) {
	case EVP_PKEY_RSA:
	case EVP_PKEY_RSA_PSS:
	case EVP_PKEY_EC:
	case EVP_PKEY_ED25519:
	case EVP_PKEY_ED448:
		return true;
	default:
		return false;
	}
}

/* Without timegm(), which reads the local time zone's file: a sandbox forbids opening files. */
static bool read_time(const ASN1_TIME *time, int64_t *ret_seconds)
{
	int days = 0;
	int seconds = 0;
	ASN1_TIME *epoch = ASN1_TIME_new();
	must(epoch != NULL && ASN1_TIME_set_string(epoch, "19700101000000Z") == 1);
	bool good = ASN1_TIME_diff(&days, &seconds, epoch, time) == 1;
	ASN1_TIME_free(epoch);
	if (good)
		*ret_seconds = (int64_t)days * 86400 + seconds;
	return good;
}

static struct str print_serial(const X509 *cert, struct arena *arena)
{
	BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert), NULL);
	char *text = number != NULL ? BN_bn2hex(number) : NULL;
	if (text == NULL)
		xalloc_fail();
	for (char *at = text; *at != '\0'; at++) {
		if (*at >= 'A')
			*at |= 'a' - 'A';
	}
	const char *digits = text + (BN_is_negative(number) ? 1 : 0);
	digits += strspn(digits, "0");
	struct str serial = arena_printf(
		arena, "%s%s", BN_is_negative(number) ? "-" : "", *digits != '\0' ? digits : "0");
	OPENSSL_free(text);
	BN_free(number);
	return serial;
}

static struct str print_chain(const struct chain *chain, struct arena *arena)
{
	BIO *out = BIO_new(BIO_s_mem());
	if (out == NULL)
		xalloc_fail();
	for (size_t i = 0; i < chain->order_count; i++) {
		if (PEM_write_bio_X509(out, chain->certs[chain->order[i]]) != 1)
			xalloc_fail();
	}
	char *text = NULL;
	long len = BIO_get_mem_data(out, &text);
	struct str copy = arena_str(arena, (struct str){text, (size_t)len});
	BIO_free(out);
	return copy;
}

static const char *fill_info(struct chain *chain, struct arena *arena, struct cert_info *ret_info)
{
	struct cert_info info = {0};
	const X509 *leaf = chain->certs[chain->order[0]];
	if (!is_served_kind(chain_key(chain, chain->order[0])))
		return "tls.crt has a kind of key that servers cannot use";
	if (!read_time(X509_get0_notBefore(leaf), &info.not_before) ||
		!read_time(X509_get0_notAfter(leaf), &info.not_after))
		return "tls.crt has no readable validity";
	const char *problem = cert_names_read(leaf, arena, &info.names, &info.name_count);
	if (problem != NULL)
		return problem;
	info.serial = print_serial(leaf, arena);
	info.chain = print_chain(chain, arena);
	*ret_info = info;
	return NULL;
}

static const char *check(
	struct chain *chain, const EVP_PKEY *key, struct arena *arena, struct cert_info *ret_info)
{
	size_t leaf = 0;
	if (!find_leaf(chain, key, &leaf))
		return "tls.key does not fit tls.crt";
	put_in_order(chain, leaf);
	return fill_info(chain, arena, ret_info);
}

void cert_setup(void)
{
	must(OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL) == 1);
	cert_decode_setup();
}

const char *cert_check(
	struct str chain_pem, struct str key_pem, struct arena *arena, struct cert_info *ret_info)
{
	struct chain chain = {0};
	EVP_PKEY *key = NULL;
	const char *problem = chain_read(&chain, chain_pem);
	if (problem == NULL && key_pem.p != NULL)
		problem = key_read(key_pem, &key);
	if (problem == NULL)
		problem = check(&chain, key, arena, ret_info);
	EVP_PKEY_free(key);
	for (size_t i = 0; i < chain.count; i++) {
		X509_free(chain.certs[i]);
		EVP_PKEY_free(chain.keys[i]);
	}
	ERR_clear_error();
	return problem;
}
