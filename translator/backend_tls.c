// SPDX-License-Identifier: Apache-2.0
#include "translator/backend_tls.h"

#include "common/cert.h"
#include "translator/diag.h"

/* ---- wishes ---- */

static bool has_tls_words(const struct backend_wish *wish)
{
	return wish->verify != SWITCH_UNSET || !str_is_empty(wish->ca) ||
	       !str_is_empty(wish->name) || !str_is_empty(wish->client);
}

size_t backend_secrets(const struct plan *plan, struct str ret_names[BACKEND_SECRETS_MAX])
{
	size_t count = 0;
	/* All pools of the rules of an Ingress have the same TLS settings, if any. */
	for (size_t i = 0; i < plan->pools.count; i++) {
		const struct backend_wish *wish = plan->pools.items[i].backend;
		/* Those of its policy have none. */
		if (wish == NULL || (str_is_empty(wish->ca) && str_is_empty(wish->client)))
			continue;
		if (!str_is_empty(wish->ca))
			ret_names[count++] = wish->ca;
		if (!str_is_empty(wish->client))
			ret_names[count++] = wish->client;
		break;
	}
	return count;
}

/* ---- TLS ---- */

struct settling {
	const struct backend_tls_request *request;
	struct arena *arena;
	struct pool *pool;
	struct pool_tls *tls;
};

static const char *trust_secret(const struct settling *s)
{
	const struct secret_record *secret = s->request->ca;
	const char *name = diag_quote(s->arena, s->request->wish->ca);
	if (secret == NULL)
		return arena_printf(s->arena, "there is no TLS Secret %s for backend-tls.ca", name)
			.p;
	const char *problem = cert_authorities(secret->ca, s->arena, &s->tls->ca);
	if (problem == NULL && s->tls->ca.len > POOL_CA_MAX_LEN)
		problem = "is longer than 12288 bytes";
	if (problem != NULL)
		return arena_printf(s->arena, "ca.crt of Secret %s %s", name, problem).p;
	s->tls->verify = TLS_VERIFY_CA;
	return NULL;
}

static const char *trust(const struct settling *s)
{
	const struct backend_wish *wish = s->request->wish;
	if (wish->verify == SWITCH_OFF) {
		s->tls->verify = TLS_VERIFY_OFF;
		return NULL;
	}
	if (!str_is_empty(wish->ca))
		return trust_secret(s);
	if (wish->verify == SWITCH_UNSET)
		return "nothing says whom to trust: name a Secret by sluice.io/backend-tls.ca, or "
		       "say \"true\" (by the authorities that the system trusts) or \"false\" (not "
		       "checked) in sluice.io/backend-tls.verify";
	s->tls->verify = TLS_VERIFY_SYSTEM;
	return NULL;
}

static const char *show_client(const struct settling *s)
{
	const struct secret_record *secret = s->request->client;
	const char *name = diag_quote(s->arena, s->request->wish->client);
	struct cert_info info;
	if (str_is_empty(s->request->wish->client))
		return NULL;
	if (secret == NULL)
		return arena_printf(s->arena,
			"there is no TLS Secret %s for backend-tls.client-certificate", name)
			.p;
	bool has_key = secret->private_key.len != 0;
	const char *problem =
		!has_key && !s->request->takes_keyless
			? "tls.key is empty"
			: cert_check(secret->certificate, has_key ? secret->private_key : STR_NONE,
				  s->arena, &info);
	if (problem == NULL && info.chain.len > POOL_CLIENT_CHAIN_MAX_LEN)
		problem = "tls.crt is longer than 8192 bytes";
	if (problem == NULL && secret->private_key.len > POOL_CLIENT_KEY_MAX_LEN)
		problem = "tls.key is longer than 6144 bytes";
	if (problem != NULL)
		return arena_printf(s->arena, "Secret %s: %s", name, problem).p;
	s->tls->client_chain = info.chain;
	s->tls->client_key = secret->private_key;
	return NULL;
}

/* NULL: handshakes are the provider's own. */
static const struct backend_terms *terms_of(const struct settling *s)
{
	bool is_missing = (s->request->missing & POLICY_BACKEND_TLS_TERMS) != 0;
	return is_missing ? NULL : s->request->wish->terms;
}

static void name_server(const struct settling *s)
{
	const struct object_ref *service = &s->pool->service;
	const struct backend_terms *terms = terms_of(s);
	s->tls->nameless = terms != NULL && !terms->sends_name;
	/* Nobody asks for it then. */
	if (s->tls->nameless && s->tls->verify == TLS_VERIFY_OFF)
		return;
	if (!str_is_empty(s->request->wish->name))
		s->tls->server_name = s->request->wish->name;
	else if (terms != NULL && !str_is_empty(terms->usual_name))
		s->tls->server_name = terms->usual_name;
	else if (!str_is_empty(s->pool->external_name))
		s->tls->server_name = s->pool->external_name;
	else if (s->tls->verify != TLS_VERIFY_OFF)
		s->tls->server_name = arena_printf(s->arena, "%.*s.%.*s.svc",
			STR_FMT(service->name), STR_FMT(service->namespace));
}

static bool has_authorities(const struct secret_record *secret)
{
	return secret != NULL && !str_is_empty(secret->ca);
}

static void make_terms(const struct settling *s)
{
	const struct backend_terms *terms = s->request->wish->terms;
	if (terms == NULL ||
		(!has_authorities(s->request->client) && !has_authorities(s->request->ca)))
		return;
	if (terms_of(s) != NULL) {
		s->tls->min_version = terms->min_version;
		s->tls->max_version = terms->max_version;
		s->tls->ciphers = terms->ciphers;
	}
	if ((s->request->missing & POLICY_BACKEND_TLS_DEPTH) == 0 &&
		s->tls->verify != TLS_VERIFY_OFF)
		s->tls->max_depth = terms->max_depth;
}

/* NULL, or why there can be no connection. */
static const char *settle(const struct settling *s)
{
	const char *refusal = trust(s);
	if (refusal == NULL)
		refusal = show_client(s);
	if (refusal != NULL)
		return refusal;
	name_server(s);
	make_terms(s);
	return NULL;
}

/* ---- result ---- */

static void set_protocol(enum backend_protocol protocol, const struct settling *s)
{
	static const enum pool_protocol protocols[] = {
		[BACKEND_HTTP] = POOL_HTTP,
		[BACKEND_HTTPS] = POOL_HTTPS,
		[BACKEND_H2C] = POOL_H2C,
		[BACKEND_GRPCS] = POOL_HTTPS,
	};
	bool is_http2 = s->pool->tls != NULL && s->pool->tls->http2;
	if (protocol != BACKEND_UNSET) {
		s->pool->protocol = protocols[protocol];
		is_http2 = protocol == BACKEND_GRPCS;
	}
	*s->tls = (struct pool_tls){.http2 = is_http2};
	s->pool->tls = s->pool->protocol == POOL_HTTPS ? s->tls : NULL;
}

void backend_tls_settle(const struct backend_tls_request *request, struct arena *arena,
	struct pool *pool, struct backend_problem *problem)
{
	struct settling s = {
		.request = request,
		.arena = arena,
		.pool = pool,
		.tls = arena_alloc(arena, sizeof(*s.tls)),
	};
	bool is_dead = pool->endpoints.count == 0 && str_is_empty(pool->external_name);
	if (pool->protocol == POOL_TCP || pool->protocol == POOL_UDP ||
		str_is_empty(pool->service.name))
		return;
	set_protocol(request->wish->protocol, &s);
	if (pool->tls == NULL) {
		if (has_tls_words(request->wish) && problem->reason == NULL)
			*problem = (struct backend_problem){"BackendTLSUnused",
				arena_printf(arena,
					"Service %.*s is spoken to without TLS, whatever "
					"sluice.io/backend-tls... says: say so in appProtocol of "
					"its port, or in sluice.io/backend-protocol",
					STR_FMT(pool->service.name))};
		return;
	}
	const char *refusal = settle(&s);
	if (refusal == NULL)
		return;
	*s.tls = (struct pool_tls){.http2 = s.tls->http2};
	pool->endpoints.count = 0;
	pool->external_name = STR_NONE;
	/* Without endpoints that is the more useful message. */
	if (is_dead && problem->reason != NULL)
		return;
	*problem = (struct backend_problem){"BackendTLSRefused",
		arena_printf(arena,
			"Service %.*s is to be spoken to with TLS, requests for it are answered "
			"with 503: %s",
			STR_FMT(pool->service.name), refusal)};
}
