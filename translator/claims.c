// SPDX-License-Identifier: Apache-2.0
#include "translator/claims.h"

#include "translator/claim_keys.h"
#include "translator/record.h"
#include "translator/keys.h"

static bool is_name(const struct claim_node *claim)
{
	return str_starts_with(node_key(&claim->node), STR(CLAIM_NAME));
}

/* ---- settling ---- */

static void touch_balancer(const struct claims *claims, struct claim_node *claim)
{
	if (node_has_users(&claim->balancer->node))
		pending_build(claims->pending, &claim->balancer->node);
}

/* A key is sent to the provider only while it is served for a name. No batch is active here, so what is
 * wanted cannot change during one. */
static void touch_secret(const struct claims *claims, struct secret_node *secret)
{
	struct node *node = &secret->record.node;
	if (!node_has_users(&secret->record.node))
		return;
	if (object_is_wanted(claims->secrets, node))
		pending_want_again(claims->pending, node);
	else
		pending_give_up(claims->pending, node);
	pending_build(claims->pending, node);
}

/* If there are too many, objects.c leaves some out, and all users of the Secret are told. */
static void count_shown(const struct claims *claims, struct secret_node *secret, int by)
{
	struct use *use;
	bool was_over = secret->shown_count > CERTIFICATE_HOSTS_MAX;
	secret->shown_count += (uint32_t)by;
	touch_secret(claims, secret);
	if (was_over == (secret->shown_count > CERTIFICATE_HOSTS_MAX))
		return;
	RB_FOREACH (use, use_tree, &secret->record.node.users)
		pending_diagnose(claims->pending, &use->user->record.node, DIAGNOSTICS_CONTENT);
}

static void show(const struct claims *claims, struct claim_node *claim, struct secret_node *secret)
{
	struct balancer_node *balancer = claim->balancer;
	bool shown = balancer->shown_count != 0;
	if (claim->shown == secret)
		return;
	if (claim->shown != NULL) {
		RB_REMOVE(shown_tree, &claim->shown->shown, claim);
		count_shown(claims, claim->shown, -1);
		balancer->shown_count--;
	}
	claim->shown = secret;
	if (secret != NULL) {
		RB_INSERT(shown_tree, &secret->shown, claim);
		count_shown(claims, secret, 1);
		balancer->shown_count++;
	}
	if (shown != (balancer->shown_count != 0))
		touch_balancer(claims, claim);
}

void claims_settle(const struct claims *claims, struct claim_node *claim)
{
	struct ingress_node *holder = NULL;
	struct offer best = {0};
	struct use *use;
	struct ingress_node *owner =
		is_name(claim) ? owners_find(claims->owners, claim->balancer, claim_host(claim))
			       : NULL;
	RB_FOREACH (use, use_tree, &claim->node.users) {
		struct ingress_node *user = use->user;
		if ((holder != NULL && ingress_is_older(holder, user)) ||
			!owners_allow(owner, user))
			continue;
		const struct offer *offer = offers_find(claims->offers, user, claim);
		if (offer == NULL)
			continue;
		holder = user;
		best = *offer;
	}
	bool is_news = holder != claim->holder || best.protocol != claim->protocol;
	claim->holder = holder;
	claim->protocol = best.protocol;
	show(claims, claim, best.secret);
	if (!is_name(claim))
		touch_balancer(claims, claim);
	if (!is_news)
		return;
	RB_FOREACH (use, use_tree, &claim->node.users)
		pending_diagnose(claims->pending, &use->user->record.node, DIAGNOSTICS_CONTENT);
}

/* Claimants that are younger than the holder or have nothing to offer change nothing, so one more among
 * thousands costs no scan. */
static bool may_win(
	const struct claims *claims, const struct claim_node *claim, struct ingress_node *ingress)
{
	if (claim->holder == NULL || claim->holder == ingress)
		return true;
	return ingress_is_older(ingress, claim->holder) &&
	       offers_find(claims->offers, ingress, claim) != NULL;
}

void claims_left(
	const struct claims *claims, struct claim_node *claim, const struct ingress_node *ingress)
{
	if (claim->holder == ingress)
		claim->holder = NULL;
	else if (node_has_users(&claim->node))
		return;
	pending_settle(claims->pending, &claim->node);
}

void claims_ask_of(const struct claims *claims, struct ingress_node *ingress)
{
	struct use *use;
	LIST_FOREACH (use, &ingress->targets, next) {
		struct node *node = use->target;
		struct claim_node *claim = (struct claim_node *)(void *)node;
		if (node->kind == NODE_CLAIM && (node->flags & NODE_CLAIMED) == 0 &&
			may_win(claims, claim, ingress))
			pending_settle(claims->pending, &claim->node);
	}
}

void claims_ask_by_secrets(const struct claims *claims, struct ingress_node *ingress)
{
	pending_settle(claims->pending, &ingress->record.node);
}

void claims_forget_secret(const struct claims *claims, struct secret_node *secret)
{
	struct claim_node *claim;
	while ((claim = RB_MIN(shown_tree, &secret->shown)) != NULL) {
		show(claims, claim, NULL);
		pending_settle(claims->pending, &claim->node);
	}
}

/* ---- diagnostics ---- */

static const struct claim_node *find_other(const struct ingress_node *ingress, struct str key,
	struct arena *arena, struct str *ret_holder)
{
	const struct claim_node *claim = graph_find_claim(ingress->balancer, key);
	if (claim == NULL || claim->holder == NULL || claim->holder == ingress)
		return NULL;
	struct object_ref ref = ingress_ref(claim->holder, arena);
	*ret_holder = arena_printf(arena, "the older %s %.*s/%.*s",
		ref.is_config_map ? "ConfigMap"
		: ref.is_service  ? "Service"
				  : "Ingress",
		STR_FMT(ref.namespace), STR_FMT(ref.name));
	return claim;
}

static void tell_name(const struct claims *claims, const struct ingress_node *ingress,
	const struct plan *plan, const struct plan_tls *tls, struct str host,
	struct diag_list *diags)
{
	struct str holder;
	struct str key = claim_name_key(diags->arena, host);
	const struct ingress_node *owner = owners_find(claims->owners, ingress->balancer, host);
	if (!owners_allow(owner, ingress))
		owners_tell(owner, &plan->self, host,
			arena_printf(diags->arena, "spec.tls[%zu]", tls->position).p, diags);
	else if (find_other(ingress, key, diags->arena, &holder) != NULL)
		diag_add(diags, &plan->self, "CertificateConflict",
			arena_printf(diags->arena, "spec.tls[%zu]", tls->position).p,
			"for %.*s the certificate of %.*s is shown", STR_FMT(host),
			STR_FMT(holder));
}

static void tell_names(const struct claims *claims, const struct ingress_node *ingress,
	const struct plan *plan, const struct plan_tls *tls, struct diag_list *diags)
{
	bool is_used = !tls->is_open;
	const struct secret_node *secret = offers_secret(claims->offers, plan, tls);
	if (secret == NULL)
		return;
	if (secret->shown_count > CERTIFICATE_HOSTS_MAX)
		diag_add(diags, &plan->self, "TooManyHosts",
			arena_printf(diags->arena, "spec.tls[%zu]", tls->position).p,
			"the certificate of Secret %.*s is shown for the first %d names only, of "
			"those that "
			"Ingresses have it for; use a second Secret for others",
			STR_FMT(node_key(&secret->record.node)), CERTIFICATE_HOSTS_MAX);
	for (size_t i = 0; i < tls->hosts.count; i++)
		tell_name(claims, ingress, plan, tls, tls->hosts.items[i], diags);
	for (size_t i = 0; tls->is_open && i < plan->names.count; i++) {
		struct str host = plan->names.items[i];
		if (!offers_covers(secret, host))
			continue;
		is_used = true;
		tell_name(claims, ingress, plan, tls, host, diags);
	}
	if (!is_used && !str_is_empty(tls->secret))
		diag_add(diags, &plan->self, "CertificateUnused",
			arena_printf(diags->arena, "spec.tls[%zu]", tls->position).p,
			"it names no hosts, and the certificate of Secret %.*s/%.*s is good for "
			"none of the rules' hosts",
			STR_FMT(plan->self.namespace), STR_FMT(tls->secret));
}

static void tell_port(const struct ingress_node *ingress, const struct plan *plan,
	const struct plan_port *port, struct diag_list *diags)
{
	static const char *const words[] = {[LISTENER_HTTP] = "HTTP",
		[LISTENER_HTTPS] = "HTTPS",
		[LISTENER_TCP] = "TCP",
		[LISTENER_TLS_PASSTHROUGH] = "TLS",
		[LISTENER_UDP] = "UDP"};
	struct str holder;
	const struct claim_node *claim = find_other(ingress,
		claim_port_key(diags->arena, port->port, port->protocol), diags->arena, &holder);
	/* One for HTTP is for all who want that. */
	if (claim == NULL || (claim->protocol == port->protocol && str_is_empty(port->pool)))
		return;
	diag_add(diags, &plan->self, "PortConflict", NULL,
		"%sport %llu is not opened for %s: it is that of %s for %.*s",
		port->protocol == LISTENER_UDP ? PLAN_UDP_WORD : "", (unsigned long long)port->port,
		words[port->protocol], words[claim->protocol], STR_FMT(holder));
}

void claims_diagnose(const struct claims *claims, const struct ingress_node *ingress,
	const struct plan *plan, struct diag_list *diags)
{
	struct str holder;
	if (ingress->balancer == NULL || plan->scope != BALANCER_OF_CLASS)
		return;
	if (plan->is_tls_only && plan->tls.count == 0 &&
		str_is_empty(secrets_default(claims->secrets).name))
		diag_add(diags, &plan->self, "NoListener", "metadata.annotations[allow.http]",
			"plain HTTP is forbidden, and the Ingress has no TLS: nothing is served");
	for (size_t i = 0; i < plan->tls.count; i++)
		tell_names(claims, ingress, plan, &plan->tls.items[i], diags);
	for (size_t i = 0; i < plan->ports.count; i++)
		tell_port(ingress, plan, &plan->ports.items[i], diags);
	if (!str_is_empty(plan->default_pool) &&
		find_other(ingress, STR(CLAIM_DEFAULT), diags->arena, &holder) != NULL)
		diag_add(diags, &plan->self, "DefaultBackendConflict", "spec.defaultBackend",
			"it serves the hosts of this Ingress; requests for hosts that nobody has "
			"go to that of %.*s",
			STR_FMT(holder));
}
