// SPDX-License-Identifier: Apache-2.0
#include "translator/owners.h"

#include "translator/claim_keys.h"
#include "translator/record.h"
#include "common/shared_text.h"
#include "translator/digest.h"
#include "translator/keys.h"

static bool is_on(const struct owners *owners)
{
	return provider_peer_is_merged(owners->provider) && !owners->config->shared_hosts;
}

/* ---- finding owners ---- */

static struct ingress_node *older(struct ingress_node *a, struct ingress_node *b)
{
	if (a == NULL || b == NULL)
		return a != NULL ? a : b;
	return ingress_is_older(b, a) ? b : a;
}

static struct ingress_node *oldest_user(struct host_node *host)
{
	struct use *use;
	if (host == NULL || host->oldest != NULL)
		return host != NULL ? host->oldest : NULL;
	RB_FOREACH (use, use_tree, &host->node.users)
		host->oldest = older(host->oldest, use->user);
	return host->oldest;
}

/* The node of the same host with TLS passed through. */
static struct host_node *find_passed(
	const struct owners *owners, struct balancer_node *balancer, struct str host)
{
	if (balancer->passed_count == 0)
		return NULL;
	struct str before = STR(PLAN_PASSTHROUGH);
	before.len--; /* without the slash */
	return graph_find_host(balancer, key_join(owners->scratch, before, '/', host));
}

static struct ingress_node *oldest_with(
	const struct owners *owners, struct balancer_node *balancer, struct str host)
{
	return older(oldest_user(graph_find_host(balancer, host)),
		oldest_user(find_passed(owners, balancer, host)));
}

/* The owner of the wildcard that covers the host; NULL: none. */
static struct ingress_node *oldest_above(
	const struct owners *owners, struct balancer_node *balancer, struct str host)
{
	struct str domain = host_domain(host);
	if (balancer->wildcard_count == 0 || str_is_empty(domain))
		return NULL;
	return oldest_with(owners, balancer, key_join(owners->scratch, STR("*"), '.', domain));
}

static bool same_namespace(const struct ingress_node *a, const struct ingress_node *b)
{
	return str_eq(node_namespace(&a->record.node), node_namespace(&b->record.node));
}

/* Whether a wildcard takes the host from its oldest user. Either may be NULL. */
static bool covers(const struct ingress_node *above, const struct ingress_node *own)
{
	if (above == NULL || own == NULL)
		return above != NULL;
	return !same_namespace(above, own) && ingress_is_older(above, own);
}

struct ingress_node *owners_find(
	const struct owners *owners, struct balancer_node *balancer, struct str host)
{
	if (!is_on(owners))
		return NULL;
	struct ingress_node *own = oldest_with(owners, balancer, host);
	struct ingress_node *above = oldest_above(owners, balancer, host);
	return covers(above, own) ? above : own;
}

struct ingress_node *owners_of(const struct owners *owners, struct host_node *host)
{
	struct str name = node_host(&host->node);
	if (!is_on(owners))
		return NULL;
	bool is_opened = name.len == node_key(&host->node).len;
	struct ingress_node *own = oldest_user(host);
	struct ingress_node *above = oldest_above(owners, host->balancer, name);
	own = older(own, oldest_user(is_opened ? find_passed(owners, host->balancer, name)
					       : graph_find_host(host->balancer, name)));
	if (!covers(above, own))
		return own;
	host->is_covered = true;
	return above;
}

static bool is_listed(struct str namespaces, struct str wanted)
{
	while (namespaces.len != 0) {
		if (str_eq(str_cut(&namespaces, ','), wanted))
			return true;
	}
	return false;
}

bool owners_allow(const struct ingress_node *owner, const struct ingress_node *ingress)
{
	return owner == NULL || same_namespace(owner, ingress) ||
	       is_listed(
		       shared_text_view(owner->shared_with), node_namespace(&ingress->record.node));
}

void owners_tell(const struct ingress_node *owner, const struct object_ref *loser, struct str host,
	const char *field, struct diag_list *diags)
{
	struct str namespace = node_namespace(&owner->record.node);
	struct str key = node_key(&owner->record.node);
	if (str_is_empty(host))
		diag_add(diags, loser, "HostNotOwned", field,
			"rules without a host are not served for this Ingress: they belong to "
			"namespace %.*s, by its Ingress %.*s, which is older",
			STR_FMT(namespace), STR_FMT(key));
	else
		diag_add(diags, loser, "HostNotOwned", field,
			"%.*s is not served for this Ingress: the host belongs to namespace "
			"%.*s, by its Ingress %.*s, which is older",
			STR_FMT(host), STR_FMT(namespace), STR_FMT(key));
}

/* ---- changes ---- */

static void ask(const struct owners *owners, struct host_node *host)
{
	if (is_on(owners))
		pending_settle(owners->pending, &host->node);
}

void owners_joined(
	const struct owners *owners, struct host_node *host, const struct ingress_node *ingress)
{
	bool is_oldest = host->oldest == NULL || ingress_is_older(ingress, host->oldest);
	if (is_oldest)
		host->oldest = NULL;
	if (is_oldest || host->is_unserved)
		ask(owners, host);
	if (ingress->has_tls)
		owners_certified(owners, host, ingress);
}

void owners_certified(
	const struct owners *owners, struct host_node *host, const struct ingress_node *ingress)
{
	if (ingress->has_tls != host->has_tls && str_starts_with(node_key(&host->node), STR("*.")))
		pending_settle(owners->pending, &host->node);
}

/* If the oldest user may not have the host, the one that left may have been the last allowed one. */
static bool may_be_last(const struct owners *owners, struct host_node *host)
{
	const struct ingress_node *oldest = oldest_user(host);
	return oldest == NULL ||
	       !owners_allow(owners_find(owners, host->balancer, node_host(&host->node)), oldest);
}

void owners_left(
	const struct owners *owners, struct host_node *host, const struct ingress_node *ingress)
{
	bool was_oldest = host->oldest == NULL || host->oldest == ingress;
	if (was_oldest)
		host->oldest = NULL;
	if (!node_has_users(&host->node))
		host->owner = 0; /* who comes then takes it from nobody */
	if (was_oldest || may_be_last(owners, host))
		ask(owners, host);
	if (host->has_tls && ingress->has_tls)
		pending_settle(owners->pending, &host->node);
}

void owners_changed(const struct owners *owners, struct host_node *host)
{
	host->oldest = NULL;
	ask(owners, host);
}

/* ---- consequences ---- */

bool owners_have_all(const struct owners *owners, struct ingress_node *ingress)
{
	struct use *use;
	bool has_hosts = false;
	if (!is_on(owners) || ingress->balancer == NULL)
		return false;
	LIST_FOREACH (use, &ingress->targets, next) {
		struct node *node = use->target;
		if (node->kind == NODE_CLAIM && str_eq(node_key(node), STR(CLAIM_DEFAULT)) &&
			((struct claim_node *)(void *)node)->holder == ingress)
			return false;
		if (node->kind != NODE_HOST)
			continue;
		has_hosts = true;
		if (owners_allow(owners_of(owners, (struct host_node *)(void *)node), ingress))
			return false;
	}
	return has_hosts;
}

static bool is_for_any(struct host_node *host, const struct ingress_node *owner)
{
	struct use *use;
	struct ingress_node *oldest = oldest_user(host);
	if (oldest == NULL || owners_allow(owner, oldest))
		return true;
	RB_FOREACH (use, use_tree, &host->node.users) {
		if (owners_allow(owner, use->user))
			return true;
	}
	return false;
}

/* A host that none of its users may have is omitted, so that its requests go to the wildcard that covers it. */
static void set_unserved(const struct owners *owners, struct host_node *host, bool on)
{
	if (host->is_unserved == on)
		return;
	host->is_unserved = on;
	if (on)
		pending_give_up(owners->pending, &host->node);
	else
		pending_want_again(owners->pending, &host->node);
	if (str_starts_with(node_key(&host->node), STR(PLAN_PASSTHROUGH)))
		pending_build(owners->pending, &host->balancer->node); /* it may add a listener */
}

static void tell_next(
	const struct owners *owners, struct host_node *host, const struct ingress_node *owner)
{
	struct str namespace = owner != NULL ? node_namespace(&owner->record.node) : STR("");
	uint32_t now = owner != NULL
			       ? (uint32_t)digest_mix(DIGEST_START, namespace.p, namespace.len) | 1
			       : 0;
	uint32_t before = host->owner;
	host->owner = now;
	if (before == 0 || before == now || owner != oldest_user(host))
		return;
	struct object_ref self = ingress_ref(owner, owners->scratch);
	struct str name = node_host(&host->node);
	(void)diagnostics_event(owners->diagnostics, &self, EVENT_NORMAL, STR("HostTakenOver"),
		arena_printf(owners->scratch,
			"%.*s belongs to this namespace now, by this Ingress, and is served for it",
			STR_FMT(str_is_empty(name) ? STR("the host of rules without one") : name)),
		false);
}

static void settle_one(const struct owners *owners, struct host_node *host)
{
	struct use *use;
	if (host == NULL || !node_has_users(&host->node))
		return;
	host->is_covered = false;
	struct ingress_node *owner = owners_of(owners, host);
	set_unserved(owners, host, !is_for_any(host, owner));
	pending_build(owners->pending, &host->node);
	tell_next(owners, host, owner);
	RB_FOREACH (use, use_tree, &host->node.users) {
		struct ingress_node *user = use->user;
		bool may_differ = user->is_unserved || !owners_allow(owner, user);
		if (may_differ && owners_have_all(owners, user) != user->is_unserved)
			pending_tell_status(owners->pending, user);
	}
}

static void settle_name(
	const struct owners *owners, struct balancer_node *balancer, struct str host)
{
	settle_one(owners, graph_find_host(balancer, host));
	settle_one(owners, find_passed(owners, balancer, host));
	pending_settle_name(owners->pending, balancer, host);
}

/* Settles the hosts that the wildcard of `domain` takes, or has taken. */
static void settle_below(
	const struct owners *owners, struct balancer_node *balancer, struct str domain)
{
	struct str wildcard = key_join(owners->scratch, STR("*"), '.', domain);
	struct ingress_node *above = oldest_with(owners, balancer, wildcard);
	struct node *node = graph_first_below(balancer, domain);
	for (; node != NULL; node = graph_next_below(node)) {
		struct str name = node_host(node);
		struct ingress_node *own = oldest_with(owners, balancer, name);
		if (node->kind == NODE_CLAIM) {
			if (own == NULL)
				pending_settle_name(owners->pending, balancer, name);
			continue;
		}
		struct host_node *host = (struct host_node *)(void *)node;
		if (own != NULL && (host->is_covered || covers(above, own)))
			settle_name(owners, balancer, name);
	}
}

bool owners_have_tls_above(const struct owners *owners, const struct host_node *host)
{
	struct str domain = host_domain(node_host(&host->node));
	if (host->balancer->wildcard_count == 0 || str_is_empty(domain))
		return false;
	const struct host_node *above =
		graph_find_host(host->balancer, key_join(owners->scratch, STR("*"), '.', domain));
	return above != NULL && above->has_tls;
}

/* The certificates of a wildcard are those of the hosts that it covers. */
static void settle_certificates(const struct owners *owners, struct host_node *host)
{
	struct use *use;
	struct node *node;
	const struct ingress_node *owner = owners_of(owners, host);
	bool has_tls = false;
	RB_FOREACH (use, use_tree, &host->node.users)
		has_tls |= use->user->has_tls && owners_allow(owner, use->user);
	if (has_tls == host->has_tls)
		return;
	host->has_tls = has_tls;
	node = graph_first_below(host->balancer, str_skip(node_host(&host->node), 2));
	for (; node != NULL; node = graph_next_below(node)) {
		if (node->kind == NODE_HOST && node_has_users(node))
			pending_build(owners->pending, node);
	}
}

void owners_settle(const struct owners *owners, struct host_node *host)
{
	struct str name = node_host(&host->node);
	settle_name(owners, host->balancer, name);
	if (!str_starts_with(name, STR("*.")))
		return;
	settle_certificates(owners, host);
	settle_below(owners, host->balancer, str_skip(name, 2));
}
