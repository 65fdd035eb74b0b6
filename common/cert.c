// SPDX-License-Identifier: Apache-2.0
#include "common/cert.h"

#include "common/must.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct chain {
	X509 *certs[CERT_CHAIN_MAX];
	size_t count;
};

static void chain_fini(struct chain *chain)
{
	for (size_t i = 0; i < chain->count; i++)
		X509_free(chain->certs[i]);
}

/* No pass phrase is ever given: an encrypted key is refused instead of asking a terminal. */
static int no_passphrase(char *text, int size, int for_writing, void *ctx)
{
	(void)text;
	(void)size;
	(void)for_writing;
	(void)ctx;
	return -1;
}

static bool ended_before_a_block(void)
{
	unsigned long error = ERR_peek_last_error();
	return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

static const char *read_chain(struct str pem, struct chain *chain)
{
	const char *problem = NULL;
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.len);
	must(bio != NULL);
	ERR_clear_error();
	for (;;) {
		X509 *cert = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
		if (cert == NULL) {
			if (!ended_before_a_block())
				problem = "tls.crt holds a damaged certificate";
			break;
		}
		if (chain->count == CERT_CHAIN_MAX) {
			X509_free(cert);
			problem = "tls.crt holds more than 16 certificates";
			break;
		}
		chain->certs[chain->count++] = cert;
	}
	ERR_clear_error();
	BIO_free(bio);
	if (problem == NULL && chain->count == 0)
		problem = "tls.crt holds no certificate in PEM form";
	return problem;
}

static EVP_PKEY *read_key(struct str pem)
{
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.len);
	must(bio != NULL);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	ERR_clear_error();
	BIO_free(bio);
	return key;
}

/* ---- order ---- */

static void move_to(struct chain *chain, size_t from, size_t to)
{
	X509 *cert = chain->certs[from];
	for (; from > to; from--)
		chain->certs[from] = chain->certs[from - 1];
	chain->certs[to] = cert;
}

static bool is_self_issued(X509 *cert)
{
	return X509_NAME_cmp(X509_get_subject_name(cert), X509_get_issuer_name(cert)) == 0;
}

static bool has_issued_another(const struct chain *chain, size_t index)
{
	for (size_t i = 0; i < chain->count; i++) {
		if (i != index &&
			X509_check_issued(chain->certs[index], chain->certs[i]) == X509_V_OK)
			return true;
	}
	return false;
}

/* The certificate that the key fits; without a key the one that has issued no other. */
static bool find_leaf(const struct chain *chain, EVP_PKEY *key, size_t *ret_index)
{
	for (size_t i = 0; i < chain->count; i++) {
		bool fits = key != NULL ? X509_check_private_key(chain->certs[i], key) == 1
					: !has_issued_another(chain, i);
		if (fits) {
			*ret_index = i;
			ERR_clear_error();
			return true;
		}
	}
	ERR_clear_error();
	return false;
}

/* Leaf first, then each issuer behind what it issued; what belongs to none stays behind them in its order. */
static void sort_chain(struct chain *chain, size_t leaf)
{
	move_to(chain, leaf, 0);
	for (size_t sorted = 1; sorted < chain->count; sorted++) {
		X509 *last = chain->certs[sorted - 1];
		size_t issuer = sorted;
		if (is_self_issued(last))
			return;
		while (issuer < chain->count &&
			X509_check_issued(chain->certs[issuer], last) != X509_V_OK)
			issuer++;
		if (issuer == chain->count)
			return;
		move_to(chain, issuer, sorted);
	}
}

/* ---- what the leaf says ---- */

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

/* A copy in lower case when it is a host name or a wildcard of one, else STR_NONE. A NUL within is no name character, so names that were made
 * to look like others in C are left out. */
static struct str host_name(const ASN1_STRING *value, struct arena *arena)
{
	struct str raw = {
		(const char *)ASN1_STRING_get0_data(value), (size_t)ASN1_STRING_length(value)};
	if (raw.len == 0 || raw.len > 253)
		return STR_NONE;
	char *copy = arena_alloc(arena, raw.len + 1);
	for (size_t i = 0; i < raw.len; i++) {
		char c = raw.p[i];
		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		bool is_star = c == '*' && i == 0 && raw.len > 2 && raw.p[1] == '.';
		if (!is_name_char(c) && !is_star)
			return STR_NONE;
		copy[i] = c;
	}
	return (struct str){copy, raw.len};
}

static void add_name(struct cert_info *info, struct str name)
{
	if (name.p != NULL && info->name_count < CERT_NAMES_MAX)
		info->names[info->name_count++] = name;
}

static void read_common_name(X509 *cert, struct arena *arena, struct cert_info *info)
{
	X509_NAME *subject = X509_get_subject_name(cert);
	int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
	if (at >= 0)
		add_name(info, host_name(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)),
				       arena));
}

static int compare_names(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void sort_names(struct cert_info *info)
{
	size_t kept = 0;
	if (info->name_count == 0)
		return;
	qsort(info->names, info->name_count, sizeof(*info->names), compare_names);
	for (size_t i = 1; i < info->name_count; i++) {
		if (!str_eq(info->names[kept], info->names[i]))
			info->names[++kept] = info->names[i];
	}
	info->name_count = kept + 1;
}

static void read_names(X509 *cert, struct arena *arena, struct cert_info *info)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
	int count = all != NULL ? sk_GENERAL_NAME_num(all) : 0;
	size_t room = count > 0 ? (size_t)count : 1;
	info->names = arena_calloc(
		arena, room < CERT_NAMES_MAX ? room : CERT_NAMES_MAX, sizeof(*info->names));
	for (int i = 0; i < count; i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(all, i);
		if (name->type == GEN_DNS)
			add_name(info, host_name(name->d.dNSName, arena));
	}
	GENERAL_NAMES_free(all);
	if (info->name_count == 0)
		read_common_name(cert, arena, info);
	sort_names(info);
}

static int64_t seconds_of(const ASN1_TIME *time)
{
	struct tm parts = {0};
	return ASN1_TIME_to_tm(time, &parts) == 1 ? (int64_t)timegm(&parts) : 0;
}

static void read_sha1(X509 *cert, struct arena *arena, struct cert_info *info)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	must(X509_digest(cert, EVP_sha1(), digest, &len) == 1);
	char *text = arena_alloc(arena, (size_t)len * 3 + 1);
	for (unsigned i = 0; i < len; i++)
		snprintf(text + (size_t)i * 3, 4, i + 1 < len ? "%02x:" : "%02x", digest[i]);
	info->sha1 = (struct str){text, (size_t)len * 3 - 1};
}

static struct str print_chain(const struct chain *chain, struct arena *arena)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text = NULL;
	must(bio != NULL);
	for (size_t i = 0; i < chain->count; i++)
		must(PEM_write_bio_X509(bio, chain->certs[i]) == 1);
	long len = BIO_get_mem_data(bio, &text);
	struct str copy = arena_str(arena, (struct str){text, (size_t)len});
	BIO_free(bio);
	return copy;
}

static const char *check_pair(
	struct chain *chain, EVP_PKEY *key, struct arena *arena, struct cert_info *ret_info)
{
	size_t leaf = 0;
	if (!find_leaf(chain, key, &leaf)) {
		if (key != NULL)
			return "tls.key does not fit any certificate of tls.crt";
		leaf = 0;
	}
	sort_chain(chain, leaf);
	X509 *cert = chain->certs[0];
	*ret_info = (struct cert_info){
		.not_before = seconds_of(X509_get0_notBefore(cert)),
		.not_after = seconds_of(X509_get0_notAfter(cert)),
	};
	read_names(cert, arena, ret_info);
	read_sha1(cert, arena, ret_info);
	ret_info->chain = print_chain(chain, arena);
	ERR_clear_error();
	return NULL;
}

const char *cert_check(
	struct str pem, struct str key_pem, struct arena *arena, struct cert_info *ret_info)
{
	struct chain chain = {.count = 0};
	if (pem.len == 0)
		return "tls.crt is empty";
	if (pem.len > CERT_PEM_LEN_MAX || key_pem.len > CERT_PEM_LEN_MAX)
		return "tls.crt or tls.key is longer than 1 MiB";
	if (key_pem.p != NULL && key_pem.len == 0)
		return "tls.key is empty";
	const char *problem = read_chain(pem, &chain);
	EVP_PKEY *key = NULL;
	if (problem == NULL && key_pem.p != NULL) {
		key = read_key(key_pem);
		if (key == NULL)
			problem = "tls.key holds no unencrypted private key in PEM form";
	}
	if (problem == NULL)
		problem = check_pair(&chain, key, arena, ret_info);
	EVP_PKEY_free(key);
	chain_fini(&chain);
	return problem;
}

static bool name_covers(struct str name, struct str host)
{
	if (!str_starts_with(name, STR("*.")))
		return str_eq(name, host);
	const char *dot = host.len != 0 ? memchr(host.p, '.', host.len) : NULL;
	if (dot == NULL || dot == host.p)
		return false;
	return str_eq(str_skip(name, 1), str_skip(host, (size_t)(dot - host.p)));
}

bool cert_covers(const struct str *names, size_t count, struct str host)
{
	for (size_t i = 0; i < count; i++) {
		if (name_covers(names[i], host))
			return true;
	}
	return false;
}
