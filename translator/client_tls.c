// SPDX-License-Identifier: Apache-2.0
#include "translator/client_tls.h"

#include "common/cert.h"

/* ---- whose wish counts ---- */

bool client_tls_is_older(const struct path_claim *a, const struct path_claim *b)
{
	if (a->created != b->created)
		return a->created < b->created;
	int order = str_cmp(a->ingress->namespace, b->ingress->namespace);
	order = order != 0 ? order : str_cmp(a->ingress->name, b->ingress->name);
	return a->is_greater_first ? order > 0 : order < 0;
}

static bool same_pieces(const struct client_wish *a, const struct client_wish *b)
{
	if (a->error_location.count != b->error_location.count ||
		!str_eq(a->error_path, b->error_path))
		return false;
	for (size_t i = 0; i < a->error_location.count; i++) {
		const struct piece *x = &a->error_location.items[i];
		const struct piece *y = &b->error_location.items[i];
		if (x->value != y->value || x->group != y->group || !str_eq(x->text, y->text))
			return false;
	}
	return true;
}

static bool same_wish(const struct path_claim *a, const struct path_claim *b)
{
	const struct client_wish *x = a->route->client;
	const struct client_wish *y = b->route->client;
	return str_eq(a->ingress->namespace, b->ingress->namespace) &&
	       str_eq(x->secret, y->secret) && x->verify == y->verify && x->depth == y->depth &&
	       str_eq(x->subject, y->subject) && x->is_passed == y->is_passed &&
	       x->is_unasked == y->is_unasked && same_pieces(x, y);
}

static bool has_wish(const struct path_claim *claim)
{
	return claim->route != NULL && claim->route->client != NULL;
}

static bool same_ingress(const struct path_claim *a, const struct path_claim *b)
{
	return str_eq(a->ingress->namespace, b->ingress->namespace) &&
	       str_eq(a->ingress->name, b->ingress->name);
}

const struct path_claim *client_tls_choose(
	const struct path_claim *claims, size_t count, struct str host, struct diag_list *diags)
{
	const struct path_claim *first = NULL;
	const struct path_claim *told = NULL;
	for (size_t i = 0; i < count; i++) {
		if (has_wish(&claims[i]) &&
			(first == NULL || client_tls_is_older(&claims[i], first)))
			first = &claims[i];
	}
	for (size_t i = 0; first != NULL && i < count; i++) {
		const struct path_claim *claim = &claims[i];
		if (!has_wish(claim) || same_wish(claim, first) ||
			(told != NULL && same_ingress(claim, told)))
			continue;
		told = claim;
		diag_add(diags, claim->ingress, "ClientTLSConflict", NULL,
			"certificates of clients of %.*s are those that the older Ingress "
			"%.*s/%.*s wants",
			STR_FMT(host.len != 0 ? host : STR("any host")),
			STR_FMT(first->ingress->namespace), STR_FMT(first->ingress->name));
	}
	return first;
}

/* ---- the Secret ---- */

static struct str entry_of(const struct secret_record *secret, const char *key)
{
	for (size_t i = 0; i < secret->entries.count; i++) {
		if (str_eq_c(secret->entries.items[i].key, key))
			return secret->entries.items[i].value;
	}
	return STR_NONE;
}

static const char *read_list(struct str pem, const char *key, struct str secret, bool is_crl,
	struct arena *arena, struct str *ret)
{
	const char *problem =
		is_crl ? cert_revocations(pem, arena, ret) : cert_authorities(pem, arena, ret);
	if (problem == NULL && ret->len > POOL_CA_MAX_LEN)
		problem = "is longer than 12288 bytes";
	return problem == NULL
		       ? NULL
		       : arena_printf(arena, "%s of Secret %.*s %s", key, STR_FMT(secret), problem)
				 .p;
}

const char *client_tls_settle(const struct client_wish *wish, const struct secret_record *secret,
	struct arena *arena, struct client_tls *ret_client)
{
	*ret_client = (struct client_tls){
		.verify = wish->verify,
		.depth = wish->depth,
		.subject = wish->subject,
		.error_path = wish->error_path,
		.passed = wish->is_passed,
		.unasked = wish->is_unasked,
	};
	ret_client->error_location.items = wish->error_location.items;
	ret_client->error_location.count = wish->error_location.count;
	if (secret == NULL)
		return arena_printf(arena, "there is no Secret %.*s", STR_FMT(wish->secret)).p;
	struct str ca = secret->ca.len != 0 ? secret->ca : entry_of(secret, "ca.crt");
	struct str crl = secret->crl.len != 0 ? secret->crl : entry_of(secret, "ca.crl");
	const char *problem = read_list(ca, "ca.crt", wish->secret, false, arena, &ret_client->ca);
	if (problem == NULL && crl.len != 0)
		problem = read_list(crl, "ca.crl", wish->secret, true, arena, &ret_client->crl);
	/* Without the list of revoked ones nobody can be told from them. */
	if (problem != NULL)
		ret_client->ca = STR_NONE;
	return problem;
}
