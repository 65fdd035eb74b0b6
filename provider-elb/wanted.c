// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/wanted_builder.h"

#include "common/must.h"
#include "provider-elb/wanted_digest.h"

#include <stdlib.h>

static enum elb_type type_of(enum listener_protocol protocol)
{
	return protocol == LISTENER_HTTP || protocol == LISTENER_HTTPS ? ELB_APPLICATION
								       : ELB_NETWORK;
}

static enum elb_protocol protocol_of(enum listener_protocol protocol)
{
	switch (protocol) {
	case LISTENER_HTTP:
		return ELB_HTTP;
	case LISTENER_HTTPS:
		return ELB_HTTPS;
	case LISTENER_TCP:
	case LISTENER_TLS_PASSTHROUGH:
		return ELB_TCP;
	case LISTENER_UDP:
		break;
	}
	must(false);
}

static struct str port_text(const struct wanted_builder *b, const struct listener *listener)
{
	return arena_printf(b->arena, "port %llu", (unsigned long long)listener->port);
}

/* ---- TLS that is passed through ---- */

/* The first one by id; NULL: there is none. */
static const struct virtual_host *find_passthrough(const struct wanted_builder *b)
{
	const struct virtual_host *best = NULL;
	for (size_t i = 0; i < b->host_count; i++) {
		const struct virtual_host *host = &b->hosts[i];
		if (host->passthrough && host->rules.count != 0 &&
			(best == NULL || str_cmp(host->key.id, best->key.id) < 0))
			best = host;
	}
	return best;
}

static void tell_passthrough(struct wanted_builder *b, const struct virtual_host *served)
{
	for (size_t i = 0; i < b->host_count; i++) {
		const struct virtual_host *host = &b->hosts[i];
		if (host->passthrough && host->rules.count != 0 && host != served)
			notices_add(&b->notices,
				served != NULL ? NOTICE_PASSTHROUGH_SHARED
					       : NOTICE_PASSTHROUGH_MIXED,
				host->rules.items[0].ingress,
				host->match == HOST_ANY ? STR("any host") : host->host);
	}
}

static bool passes_through(const struct load_balancer *lb)
{
	for (size_t i = 0; i < lb->listeners.count; i++) {
		if (lb->listeners.items[i].protocol == LISTENER_TLS_PASSTHROUGH)
			return true;
	}
	return false;
}

/* ---- listeners ---- */

/* What a port must not have is no reason to open it to everybody. */
static bool is_possible(struct wanted_builder *b, const struct listener *listener)
{
	bool is_taken = listener->port == 0 || b->drafts.count == WANTED_LISTENERS_MAX;
	for (size_t i = 0; i < b->drafts.count && !is_taken; i++)
		is_taken = b->drafts.items[i].listener.port == listener->port;
	if (listener->source_ranges.count != 0)
		notices_add(&b->notices, NOTICE_SOURCE_RANGES, STR_NONE, port_text(b, listener));
	else if (listener->address.len != 0)
		notices_add(&b->notices, NOTICE_ADDRESS, STR_NONE,
			arena_printf(b->arena, "%.*s port %llu", STR_FMT(listener->address),
				(unsigned long long)listener->port));
	else if (is_taken)
		notices_add(&b->notices, NOTICE_LISTENER, STR_NONE, port_text(b, listener));
	else
		return true;
	return false;
}

static void add_listener(struct wanted_builder *b, const struct listener *from,
	const struct virtual_host *const *hosts, size_t host_count)
{
	const struct virtual_host *passthrough = NULL;
	struct draft_listener draft = {
		.listener = {.identity =
				     naming_listener_identity(b->arena, b->lb->key.id, from->port),
			.port = from->port,
			.protocol = protocol_of(from->protocol)},
		.pool = from->protocol == LISTENER_TCP ? from->pool : b->lb->default_pool,
	};
	if (from->protocol == LISTENER_HTTPS && !wanted_certificates_add(b, from, &draft.listener))
		return;
	if (from->protocol == LISTENER_TLS_PASSTHROUGH) {
		passthrough = find_passthrough(b);
		draft.pool = passthrough != NULL ? passthrough->rules.items[0].pool : STR_NONE;
		draft.ingress =
			passthrough != NULL ? passthrough->rules.items[0].ingress : STR_NONE;
	}
	if (type_of(from->protocol) == ELB_APPLICATION)
		wanted_rules_add(b, hosts, host_count, &draft);
	struct draft_listener *place =
		arena_push(b->arena, (void **)&b->drafts.items, &b->drafts.count, sizeof(*place));
	*place = draft;
}

static int compare_ports(const void *left, const void *right)
{
	uint64_t a = ((const struct elb_listener *)left)->port;
	uint64_t b = ((const struct elb_listener *)right)->port;
	return (a > b) - (a < b);
}

/* ---- balancers ---- */

static void begin_balancer(struct wanted_builder *b, enum elb_type type)
{
	const struct load_balancer *lb = b->lb;
	*b->balancer = (struct wanted_balancer){
		.type = type,
		.lb = lb->key.id,
		.identity = naming_balancer_identity(b->arena, lb->key.id, type),
		.name = naming_balancer(
			b->arena, b->settings->cluster, lb, type, b->settings->scheme),
		.owner = arena_printf(
			b->arena, "%.*s/%.*s", STR_FMT(lb->namespace), STR_FMT(lb->name)),
	};
	b->drafts.items = NULL;
	b->drafts.count = 0;
	b->rule_count = 0;
	b->certificate_count = 0;
}

/* False: no listener is for a balancer of this type. */
static bool make_balancer(struct wanted_builder *b, enum elb_type type,
	const struct virtual_host *const *hosts, size_t host_count)
{
	bool is_wanted = false;
	begin_balancer(b, type);
	for (size_t i = 0; i < b->lb->listeners.count; i++) {
		const struct listener *listener = &b->lb->listeners.items[i];
		/* UDP is never asked for: capabilities.c has no such word. */
		if (type_of(listener->protocol) != type || listener->protocol == LISTENER_UDP ||
			!is_possible(b, listener))
			continue;
		is_wanted = true;
		add_listener(b, listener, hosts, host_count);
	}
	if (!is_wanted)
		return false;
	wanted_rules_limit(b);
	wanted_groups_add(b);
	if (b->balancer->listeners.count != 0)
		qsort(b->balancer->listeners.items, b->balancer->listeners.count,
			sizeof(struct elb_listener), compare_ports);
	b->balancer->digest = wanted_balancer_digest(b->balancer, b->arena);
	return true;
}

static void tell_wishes(struct wanted_builder *b)
{
	if (b->lb->scale != 0)
		notices_add(&b->notices, NOTICE_SCALE, STR_NONE, STR_NONE);
	for (size_t i = 0; i < b->lb->labels.count; i++)
		notices_add(&b->notices, NOTICE_LABELS, STR_NONE, b->lb->labels.items[i].key);
	if (b->lb->custom_config.len != 0)
		notices_add(&b->notices, NOTICE_CONFIG, STR_NONE, STR_NONE);
}

void wanted_make(const struct load_balancer *lb, const struct virtual_host *hosts,
	size_t host_count, const struct settings *settings, const struct wanted_lookup *lookup,
	struct arena *arena, struct wanted *ret_wanted)
{
	struct wanted_builder b = {
		.lb = lb,
		.hosts = hosts,
		.host_count = host_count,
		.settings = settings,
		.lookup = lookup,
		.arena = arena,
	};
	const struct virtual_host **sorted;
	*ret_wanted = (struct wanted){.balancers = arena_calloc(arena, 2, sizeof(*b.balancer))};
	if (lb->absent || lb->keep)
		return;
	notices_init(&b.notices, arena);
	size_t sorted_count = wanted_rules_sort(&b, &sorted);
	for (enum elb_type type = ELB_APPLICATION; type <= ELB_NETWORK; type++) {
		b.balancer = &ret_wanted->balancers[ret_wanted->count];
		if (make_balancer(&b, type, sorted, sorted_count))
			ret_wanted->count++;
	}
	tell_wishes(&b);
	tell_passthrough(&b, passes_through(lb) ? find_passthrough(&b) : NULL);
	ret_wanted->notices.count =
		notices_list(&b.notices, WANTED_NOTICES_MAX, &ret_wanted->notices.items);
}
