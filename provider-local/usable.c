// SPDX-License-Identifier: Apache-2.0
#include "provider-local/usable.h"

#include "common/cert.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

struct usable {
	SSL_CTX *context;
};

struct usable *usable_new(void)
{
	struct usable *usable = xcalloc(1, sizeof(*usable));
	usable->context = SSL_CTX_new(TLS_server_method());
	must(usable->context != NULL);
	return usable;
}

void usable_free(struct usable *usable)
{
	if (usable == NULL)
		return;
	SSL_CTX_free(usable->context);
	free(usable);
}

static const char *last_problem(void)
{
	const char *words = ERR_reason_error_string(ERR_peek_last_error());
	ERR_clear_error();
	return words != NULL ? words : "it cannot be used";
}

/* That the key fits was checked before it came here, and that is all which its loading would show. */
static const char *use_chain(SSL *connection, BIO *pem)
{
	size_t count = 0;
	X509 *certificate;
	const char *problem = NULL;
	while (problem == NULL && count < CERT_CHAIN_MAX &&
		(certificate = PEM_read_bio_X509(pem, NULL, NULL, NULL)) != NULL) {
		int done = count++ == 0 ? SSL_use_certificate(connection, certificate)
					: (int)SSL_add1_chain_cert(connection, certificate);
		if (done != 1)
			problem = last_problem();
		X509_free(certificate);
	}
	/* The end of the text is told as an error, too. */
	ERR_clear_error();
	return problem != NULL ? problem : count == 0 ? "there is no certificate in it" : NULL;
}

const char *usable_problem(struct usable *usable, struct str chain)
{
	if (chain.len == 0 || chain.len > CERT_PEM_LEN_MAX)
		return "there is no certificate in it";
	/* A context would keep what others have left in it. */
	SSL *connection = SSL_new(usable->context);
	BIO *pem = BIO_new_mem_buf(chain.p, (int)chain.len);
	must(connection != NULL && pem != NULL);
	ERR_clear_error();
	const char *problem = use_chain(connection, pem);
	BIO_free(pem);
	SSL_free(connection);
	return problem;
}
