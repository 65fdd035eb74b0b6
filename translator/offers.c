// SPDX-License-Identifier: Apache-2.0
#include "translator/offers.h"

#include "translator/claim_keys.h"
#include "common/cert.h"
#include "common/xalloc.h"
#include "translator/keys.h"

#include <stdlib.h>

struct offer_list {
	size_t count;
	struct offer items[]; /* sorted by the address of the claim */
};

/* ---- certificates for names ---- */

static struct secret_node *find_secret(
	const struct offers *offers, struct str namespace, struct str name)
{
	struct str key = tls_certificate_id(offers->scratch, namespace, name);
	return (struct secret_node *)(void *)graph_find(offers->graph, NODE_SECRET, key);
}

struct secret_node *offers_secret(
	const struct offers *offers, const struct plan *plan, const struct plan_tls *tls)
{
	bool own = !str_is_empty(tls->secret);
	struct secret_node *secret = find_secret(offers,
		own ? plan->self.namespace : secrets_default(offers->secrets).namespace,
		own ? tls->secret : secrets_default(offers->secrets).name);
	if (secret == NULL || secrets_facts(offers->secrets, secret)->view.problem != NULL)
		return NULL;
	return secret;
}

bool offers_covers(const struct secret_node *secret, struct str host)
{
	const struct tls_secret *view = &secret->facts->view;
	return cert_covers(view->names, view->name_count, host);
}

static int compare_names(const void *left, const void *right)
{
	return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

/* For each of the plan's names the Secret of its first matching entry; NULL: none. In the scratch arena. */
static struct secret_node **match_names(const struct offers *offers, const struct plan *plan)
{
	size_t count = plan->names.count;
	const struct str *names = plan->names.items;
	struct secret_node **found =
		arena_calloc(offers->scratch, count, sizeof(struct secret_node *));
	for (size_t i = 0; i < plan->tls.count; i++) {
		const struct plan_tls *tls = &plan->tls.items[i];
		struct secret_node *secret = offers_secret(offers, plan, tls);
		if (secret == NULL)
			continue;
		for (size_t k = 0; k < tls->hosts.count; k++) {
			const struct str *name = bsearch(
				&tls->hosts.items[k], names, count, sizeof(*names), compare_names);
			if (name != NULL && found[name - names] == NULL)
				found[name - names] = secret;
		}
		/* There are at most PLAN_OPEN_TLS_MAX of these. */
		for (size_t k = 0; tls->is_open && k < count; k++) {
			if (found[k] == NULL && offers_covers(secret, names[k]))
				found[k] = secret;
		}
	}
	return found;
}

/* ---- offers of an owner ---- */

static void add(
	struct offer_list *list, struct ingress_node *ingress, struct str key, struct offer offer)
{
	offer.claim = graph_find_claim(ingress->balancer, key);
	if (offer.claim != NULL)
		list->items[list->count++] = offer;
}

static int compare_offers(const void *left, const void *right)
{
	uintptr_t a = (uintptr_t)((const struct offer *)left)->claim;
	uintptr_t b = (uintptr_t)((const struct offer *)right)->claim;
	return (a > b) - (a < b);
}

static struct offer_list *make(const struct offers *offers, struct ingress_node *ingress)
{
	const struct plan *plan = &plans_get(offers->plans, ingress)->plan;
	struct secret_node **secrets = match_names(offers, plan);
	struct arena *arena = offers->scratch;
	size_t most = plan->names.count + plan->ports.count + 1;
	struct offer_list *list = xcalloc(1, sizeof(*list) + most * sizeof(struct offer));
	for (size_t i = 0; i < plan->names.count; i++) {
		if (secrets[i] != NULL)
			add(list, ingress, claim_name_key(arena, plan->names.items[i]),
				(struct offer){.secret = secrets[i]});
	}
	for (size_t i = 0; i < plan->ports.count; i++)
		add(list, ingress,
			claim_port_key(
				arena, plan->ports.items[i].port, plan->ports.items[i].protocol),
			(struct offer){.protocol = plan->ports.items[i].protocol});
	if (!str_is_empty(plan->default_pool))
		add(list, ingress, STR(CLAIM_DEFAULT), (struct offer){0});
	if (list->count > 1)
		qsort(list->items, list->count, sizeof(struct offer), compare_offers);
	return list;
}

const struct offer *offers_find(
	const struct offers *offers, struct ingress_node *ingress, const struct claim_node *claim)
{
	struct offer wanted = {.claim = claim};
	if (ingress->offers == NULL)
		ingress->offers = make(offers, ingress);
	return bsearch(&wanted, ingress->offers->items, ingress->offers->count, sizeof(wanted),
		compare_offers);
}

void offers_forget(struct ingress_node *ingress)
{
	free(ingress->offers);
	ingress->offers = NULL;
}
