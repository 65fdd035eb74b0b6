// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/usable.h"

#include "common/cert.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "provider-proxy/log_events.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

static const char topic[] = "unusable";

struct usable {
	SSL_CTX *context;
	struct notices *notices;
};

struct usable *usable_new(struct notices *notices)
{
	struct usable *usable = xcalloc(1, sizeof(*usable));
	usable->context = SSL_CTX_new(TLS_server_method());
	must(usable->context != NULL);
	usable->notices = notices;
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

/* The key is not loaded: that it fits was checked before, and loading it would show nothing else. */
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
	/* OpenSSL reports the end of the text as an error, too. */
	ERR_clear_error();
	return problem != NULL ? problem : count == 0 ? "there is no certificate in it" : NULL;
}

const char *usable_problem(struct usable *usable, struct str chain)
{
	if (chain.len == 0 || chain.len > CERT_PEM_LEN_MAX)
		return "there is no certificate in it";
	/* Not into the context, which would keep earlier certificates. */
	SSL *connection = SSL_new(usable->context);
	BIO *pem = BIO_new_mem_buf(chain.p, (int)chain.len);
	must(connection != NULL && pem != NULL);
	ERR_clear_error();
	const char *problem = use_chain(connection, pem);
	BIO_free(pem);
	SSL_free(connection);
	return problem;
}

static void tell(struct usable *usable, const struct certificate *certificate, const char *problem,
	bool is_kept)
{
	char *message = xasprintf("the certificate of Secret %.*s/%.*s cannot be used by the proxy "
				  "(%s)%s",
		STR_FMT(certificate->namespace), STR_FMT(certificate->name), problem,
		is_kept ? "; the one before it stays in use" : "");
	struct notice_owner owner = notice_of_certificate(certificate->key.id);
	log_event(&EV_CERTIFICATE_UNUSABLE, LOG_TEXT("namespace", certificate->namespace),
		LOG_TEXT("secret", certificate->name), LOG_STR("reason", problem),
		LOG_STR("instead", is_kept ? "the one before it" : "none"));
	notices_set(usable->notices, topic, certificate->key.id, &owner, "CertificateRefused",
		str_from(message));
	free(message);
}

bool usable_admit(struct usable *usable, struct state *state, const struct object *old,
	struct certificate *certificate, bool drops, struct arena *arena)
{
	struct certificate before = {0};
	const char *problem = usable_problem(usable, certificate->chain);
	if (problem == NULL) {
		notices_clear(usable->notices, topic, certificate->key.id);
		return false;
	}
	if (old != NULL)
		state_decode(state, old, arena, &before);
	bool is_kept = before.chain.len != 0 && usable_problem(usable, before.chain) == NULL;
	tell(usable, certificate, problem, is_kept);
	if (!is_kept && !drops)
		return false;
	certificate->chain = before.chain;
	certificate->private_key = before.private_key;
	return true;
}

void usable_on_commit(struct usable *usable, const struct state_commit *commit)
{
	for (size_t i = 0; i < commit->change_count; i++) {
		const struct state_change *change = &commit->changes[i];
		if (change->type == STATE_REMOVED && object_kind(change->object) == LB_CERTIFICATE)
			notices_clear(usable->notices, topic, object_id(change->object));
	}
}
