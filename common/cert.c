// SPDX-License-Identifier: Apache-2.0
#include "common/cert.h"

#include "common/cert_names.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

/* The cost of checking a signature grows with the cube of the key's length, which a stranger chooses. */
enum { CERT_KEY_BITS_MAX = 8192 };

struct chain {
	X509 *certs[CERT_CHAIN_MAX]; /* as they were found */
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

static const char *chain_add(struct chain *chain, const struct block *block)
{
	if (chain->count == CERT_CHAIN_MAX)
		return "tls.crt holds too many certificates";
	const unsigned char *at = block->data;
	X509 *cert = strcmp(block->name, PEM_STRING_X509_TRUSTED) == 0
			     ? d2i_X509_AUX(NULL, &at, block->len)
			     : d2i_X509(NULL, &at, block->len);
	if (cert == NULL)
		return "tls.crt holds a certificate that cannot be read";
	chain->certs[chain->count++] = cert;
	if (at != block->data + block->len)
		return "tls.crt holds a certificate with something behind it";
	EVP_PKEY *key = X509_get0_pubkey(cert);
	if (key != NULL && EVP_PKEY_get_bits(key) > CERT_KEY_BITS_MAX)
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
	const unsigned char *at = block->data;
	EVP_PKEY *key = d2i_AutoPrivateKey(NULL, &at, block->len);
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

static bool is_issuer_of(X509 *issuer, X509 *cert)
{
	return X509_check_issued(issuer, cert) == X509_V_OK;
}

static bool has_signed(X509 *issuer, X509 *cert)
{
	EVP_PKEY *key = X509_get0_pubkey(issuer);
	return is_issuer_of(issuer, cert) && key != NULL && X509_verify(cert, key) == 1;
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
static bool find_leaf(const struct chain *chain, const EVP_PKEY *key, size_t *ret_index)
{
	for (size_t i = 0; i < chain->count; i++) {
		const EVP_PKEY *own = X509_get0_pubkey(chain->certs[i]);
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
		X509 *cert = chain->certs[next];
		used[next] = true;
		chain->order[chain->order_count++] = next;
		next = 0;
		if (is_issuer_of(cert, cert))
			return;
		while (next < chain->count && (used[next] || !has_signed(chain->certs[next], cert)))
			next++;
	}
}

/* What the certificate says */

static bool is_served_kind(const X509 *leaf)
{
	const EVP_PKEY *key = X509_get0_pubkey(leaf);
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

static struct str print_sha1(const X509 *leaf, struct arena *arena)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	must(X509_digest(leaf, EVP_sha1(), digest, &len) == 1);
	char *text = arena_alloc(arena, (size_t)len * 3);
	for (unsigned i = 0; i < len; i++)
		snprintf(text + (size_t)i * 3, 3, "%02x", digest[i]);
	for (unsigned i = 1; i < len; i++)
		text[(size_t)i * 3 - 1] = ':';
	return (struct str){text, (size_t)len * 3 - 1};
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

static const char *fill_info(
	const struct chain *chain, struct arena *arena, struct cert_info *ret_info)
{
	struct cert_info info = {0};
	const X509 *leaf = chain->certs[chain->order[0]];
	if (!is_served_kind(leaf))
		return "tls.crt has a kind of key that servers cannot use";
	if (!read_time(X509_get0_notBefore(leaf), &info.not_before) ||
		!read_time(X509_get0_notAfter(leaf), &info.not_after))
		return "tls.crt has no readable validity";
	const char *problem = cert_names_read(leaf, arena, &info.names, &info.name_count);
	if (problem != NULL)
		return problem;
	info.sha1 = print_sha1(leaf, arena);
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
	for (size_t i = 0; i < chain.count; i++)
		X509_free(chain.certs[i]);
	ERR_clear_error();
	return problem;
}
