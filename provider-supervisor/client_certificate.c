// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/client_certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>

/* As HAProxy's TLS has it: weaker keys and digests do not count. */
enum { SECURITY_LEVEL = 1 };

static X509 *read_der(struct str *bytes)
{
	const unsigned char *at = (const unsigned char *)bytes->p;
	X509 *certificate = bytes->len != 0 ? d2i_X509(NULL, &at, (long)bytes->len) : NULL;
	if (certificate != NULL)
		*bytes = str_skip(*bytes, (size_t)((const char *)at - bytes->p));
	return certificate;
}

static STACK_OF(X509) * read_chain(struct str bytes)
{
	STACK_OF(X509) *chain = sk_X509_new_null();
	for (int i = 0; chain != NULL && i < CLIENT_CHAIN_MAX; i++) {
		X509 *certificate = read_der(&bytes);
		if (certificate == NULL)
			break;
		if (sk_X509_push(chain, certificate) == 0)
			X509_free(certificate);
	}
	return chain;
}

static BIO *open_text(struct str text)
{
	return BIO_new_mem_buf(text.p != NULL ? text.p : "", (int)text.len);
}

static size_t add_authorities(X509_STORE *store, struct str pem)
{
	size_t count = 0;
	X509 *certificate = NULL;
	BIO *bio = open_text(pem);
	while (bio != NULL && (certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
		count += X509_STORE_add_cert(store, certificate) == 1;
		X509_free(certificate);
	}
	BIO_free(bio);
	return count;
}

static size_t add_revoked(X509_STORE *store, struct str pem)
{
	size_t count = 0;
	X509_CRL *list = NULL;
	BIO *bio = open_text(pem);
	while (bio != NULL && (list = PEM_read_bio_X509_CRL(bio, NULL, NULL, NULL)) != NULL) {
		count += X509_STORE_add_crl(store, list) == 1;
		X509_CRL_free(list);
	}
	BIO_free(bio);
	return count;
}

/* Who is asked about revoked ones and knows of none can tell nothing. */
static bool fill_store(X509_STORE *store, const struct client_certificate *certificate)
{
	if (add_authorities(store, certificate->authorities) == 0)
		return false;
	if (str_is_empty(certificate->revoked))
		return true;
	return add_revoked(store, certificate->revoked) != 0 &&
	       X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) == 1;
}

static void set_reason(struct client_verdict *verdict, const char *reason)
{
	snprintf(verdict->reason, sizeof(verdict->reason), "%s", reason);
}

static void verify(X509_STORE *store, X509 *leaf, STACK_OF(X509) * chain, unsigned depth,
	struct client_verdict *verdict)
{
	X509_STORE_CTX *context = X509_STORE_CTX_new();
	if (context == NULL || X509_STORE_CTX_init(context, store, leaf, chain) != 1 ||
		X509_STORE_CTX_set_default(context, "ssl_client") != 1) {
		set_reason(verdict, "it cannot be checked");
	} else {
		X509_VERIFY_PARAM *parameters = X509_STORE_CTX_get0_param(context);
		X509_VERIFY_PARAM_set_depth(parameters, (int)depth - 1);
		X509_VERIFY_PARAM_set_auth_level(parameters, SECURITY_LEVEL);
		verdict->is_good = X509_verify_cert(context) == 1 &&
				   X509_STORE_CTX_get_error(context) == X509_V_OK;
		if (!verdict->is_good)
			set_reason(verdict,
				X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));
	}
	X509_STORE_CTX_free(context);
}

static void write_name(const X509_NAME *name, char *out)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text = NULL;
	if (bio != NULL && X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) >= 0) {
		long len = BIO_get_mem_data(bio, &text);
		if (len > 0 && len < CLIENT_NAME_LEN_MAX)
			memcpy(out, text, (size_t)len);
	}
	BIO_free(bio);
}

bool client_certificate_check(
	const struct client_certificate *certificate, struct client_verdict *ret_verdict)
{
	struct str bytes = certificate->leaf;
	*ret_verdict = (struct client_verdict){0};
	X509 *leaf = read_der(&bytes);
	if (leaf == NULL || bytes.len != 0) {
		X509_free(leaf);
		ERR_clear_error();
		return false;
	}
	STACK_OF(X509) *chain = read_chain(certificate->chain);
	X509_STORE *store = X509_STORE_new();
	write_name(X509_get_subject_name(leaf), ret_verdict->subject);
	write_name(X509_get_issuer_name(leaf), ret_verdict->issuer);
	if (store == NULL || certificate->depth == 0 || !fill_store(store, certificate))
		set_reason(ret_verdict, "its authorities cannot be used");
	else
		verify(store, leaf, chain, certificate->depth, ret_verdict);
	X509_STORE_free(store);
	sk_X509_pop_free(chain, X509_free);
	X509_free(leaf);
	ERR_clear_error();
	return true;
}
