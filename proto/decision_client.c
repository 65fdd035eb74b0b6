// SPDX-License-Identifier: Apache-2.0
#include "proto/decision_client.h"

#include "proto/decision_parts.h"

static void set_client_headers(struct making *m, bool has_certificate)
{
	static const char *const names[] = {"ssl-client-verify", "ssl-client-subject-dn",
		"ssl-client-issuer-dn", "ssl-client-cert"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		*LIST_PUSH(m->arena, m->to->request_changes, struct decision_change) =
			(struct decision_change){HEADER_REMOVE, str_from(names[i]), STR_NONE};
	if (m->parts.request->is_tls)
		*LIST_PUSH(m->arena, m->to->request_changes, struct decision_change) =
			(struct decision_change){HEADER_SET, str_from(names[0]),
				has_certificate ? STR("SUCCESS") : STR("NONE")};
}

/* With the method GET, and without a query. */
static void ask_for_page(struct making *m, const struct client_tls *wanted)
{
	struct decision_request *request = arena_alloc(m->arena, sizeof(*request));
	*request = *m->parts.request;
	if (!str_eq(request->method, STR("HEAD")))
		request->method = STR("GET");
	request->host = m->parts.host_header;
	request->target = wanted->error_path;
	m->error_request = request;
	making_add_step(m, STEP_CLIENT_TLS,
		"a certificate is needed, and the client has none: it is answered as if it had "
		"asked for %.*s",
		STR_FMT(wanted->error_path));
}

static bool refuse_client(struct making *m, const struct client_tls *wanted)
{
	if (wanted->error_location.count == 0)
		return making_end(m,
			making_add_step(m, STEP_CLIENT_TLS,
				"a certificate is needed, and the client has none"),
			400);
	struct str location = pieces_value(&m->parts, PIECES_OF(wanted->error_location));
	making_add_header(m, "Location", location);
	return making_end(m,
		making_add_step(m, STEP_CLIENT_TLS,
			"a certificate is needed, and the client has none: redirect to %.*s",
			STR_FMT(location)),
		302);
}

void client_tell_handshake(struct making *m)
{
	static const char *const orders[] = {
		[CIPHER_ORDER_SERVER] = "server's", [CIPHER_ORDER_CLIENT] = "client's"};
	const struct host_handshake *wanted = m->to->host != NULL ? m->to->host->handshake : NULL;
	if (wanted == NULL || !m->parts.request->is_tls)
		return;
	enum cipher_order order = wanted->order != CIPHER_ORDER_OWN ? wanted->order
				  : wanted->ciphers.count != 0      ? CIPHER_ORDER_SERVER
								    : CIPHER_ORDER_CLIENT;
	if (wanted->ciphers.count == 0)
		making_add_step(m, STEP_HANDSHAKE,
			"TLS 1.2: with the provider's ciphers, in the %s order", orders[order]);
	else
		making_add_step(m, STEP_HANDSHAKE,
			"TLS 1.2: with ciphers of its own (%zu), in the %s order",
			wanted->ciphers.count, orders[order]);
}

bool client_check(struct making *m)
{
	const struct client_tls *wanted = m->to->host != NULL ? m->to->host->client_tls : NULL;
	if (wanted == NULL)
		return false;
	bool has_certificate = m->parts.request->has_certificate && !wanted->unasked;
	if (!m->parts.request->is_tls && wanted->subject.len != 0)
		return making_end(m,
			making_add_step(m, STEP_CLIENT_TLS,
				"a certificate is needed, which plain HTTP has not"),
			403);
	set_client_headers(m, has_certificate);
	if (!m->parts.request->is_tls)
		return false;
	if (wanted->ca.len == 0)
		return making_end(m,
			making_add_step(m, STEP_CLIENT_TLS,
				"no authority of certificates is known: the host is closed"),
			403);
	bool is_refused = !has_certificate && wanted->verify == CLIENT_VERIFY_REQUIRED;
	if (is_refused && wanted->error_path.len != 0)
		ask_for_page(m, wanted);
	else if (is_refused)
		return refuse_client(m, wanted);
	if (!has_certificate && wanted->subject.len != 0)
		return making_end(m,
			making_add_step(m, STEP_CLIENT_TLS,
				"a certificate with a certain subject is needed"),
			403);
	if (m->error_request != NULL)
		return false;
	making_add_step(m, STEP_CLIENT_TLS,
		wanted->unasked    ? "the client is not asked for a certificate"
		: !has_certificate ? "the client has no certificate, and needs none"
		: wanted->subject.len != 0
			? "the certificate is good, if its subject has what is wanted"
			: "the certificate is good");
	return false;
}
