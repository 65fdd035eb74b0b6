// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/desired.h"

#include "provider-rancher/checks.h"
#include "provider-common/digest.h"
#include "provider-rancher/labels.h"
#include "provider-rancher/stored_text.h"

#include <stdlib.h>

enum { HEALTH_CHECK_PORT = 42 /* of Rancher's load balancer itself */ };

struct builder {
	const struct load_balancer *lb;
	const struct desired_lookup *lookup;
	const struct desired_options *options;
	struct arena *arena;
	struct notices notices;
	const struct virtual_host *hosts;
	size_t host_count;
	struct routes routes;      /* of requests */
	struct routes passthrough; /* of TLS connections */
	struct desired *desired;
	struct digest contents;
	bool has_contents;
};

/* ---- certificates ---- */

static bool find_certificate(struct builder *b, struct str id, struct str *ret_id)
{
	uint64_t digest = 0;
	switch (b->lookup->certificate(b->lookup->rules.ctx, id, ret_id, &digest)) {
	case CERTIFICATE_STALE:
		notices_add(&b->notices, NOTICE_CERTIFICATE_STALE, STR_NONE, id);
		[[fallthrough]];
	case CERTIFICATE_READY:
		digest_add_str(&b->contents, *ret_id);
		digest_add_int(&b->contents, digest);
		b->has_contents = true;
		return true;
	case CERTIFICATE_PENDING:
		b->desired->waits_for_certificates = true;
		return false;
	case CERTIFICATE_FAILED:
		notices_add(&b->notices, NOTICE_CERTIFICATE_FAILED, STR_NONE, id);
		return false;
	case CERTIFICATE_ABSENT:
		return false;
	}
	return false;
}

static bool knows(const struct lb_spec *spec, struct str id)
{
	if (str_eq(spec->default_certificate, id))
		return true;
	for (size_t i = 0; i < spec->certificates.count; i++) {
		if (str_eq(spec->certificates.items[i], id))
			return true;
	}
	return false;
}

/* Returns whether the listener has any certificate to serve. */
static bool add_certificates(struct builder *b, const struct listener *listener)
{
	struct lb_spec *spec = &b->desired->spec;
	struct str id = STR_NONE;
	bool has_any = false;
	if (listener->default_certificate.len != 0 &&
		find_certificate(b, listener->default_certificate, &id)) {
		has_any = true;
		/* Rancher has one default certificate for all ports. */
		if (spec->default_certificate.len == 0)
			spec->default_certificate = id;
	}
	for (size_t i = 0; i < listener->certificates.count; i++) {
		struct str wanted = listener->certificates.items[i];
		if (str_eq(wanted, listener->default_certificate) ||
			!find_certificate(b, wanted, &id))
			continue;
		has_any = true;
		if (knows(spec, id))
			continue;
		struct str *place = arena_push(b->arena, (void **)&spec->certificates.items,
			&spec->certificates.count, sizeof(*place));
		*place = id;
	}
	return has_any;
}

/* ---- listeners ---- */

static struct str port_text(struct builder *b, uint64_t port)
{
	return arena_printf(b->arena, "port %u", (unsigned)port);
}

static bool is_listening(const struct lb_spec *spec, uint64_t port)
{
	for (size_t i = 0; i < spec->ports.count; i++) {
		if (spec->ports.items[i].public_port == port)
			return true;
	}
	return false;
}

static void publish(struct builder *b, const struct listener *listener, const struct routes *routes,
	const char *protocol)
{
	struct lb_spec *spec = &b->desired->spec;
	struct published_port *port = arena_push(
		b->arena, (void **)&spec->ports.items, &spec->ports.count, sizeof(*port));
	*port = (struct published_port){listener->port, listener->port, false};
	rules_add_port(routes, listener->port, protocol, b->arena, spec);
}

/* Rancher has one protocol per port: TLS is either terminated there or passed through. */
static void add_https(struct builder *b, const struct listener *listener)
{
	if (add_certificates(b, listener)) {
		for (size_t i = 0; i < b->host_count; i++) {
			const struct virtual_host *host = &b->hosts[i];
			if (host->passthrough && host->rules.count != 0)
				notices_add(&b->notices, NOTICE_PASSTHROUGH_MIXED,
					host->rules.items[0].ingress, host->host);
		}
		publish(b, listener, &b->routes, "https");
	} else if (b->desired->waits_for_certificates) {
		return;
	} else {
		notices_add(
			&b->notices, NOTICE_NO_CERTIFICATE, STR_NONE, port_text(b, listener->port));
		if (b->passthrough.count != 0)
			publish(b, listener, &b->passthrough, "sni");
	}
}

static void add_unknown(struct builder *b, const struct routes *routes)
{
	for (size_t i = 0; i < routes->unknown_count; i++) {
		struct str *place = arena_push(b->arena, (void **)&b->desired->unknown_uids,
			&b->desired->unknown_count, sizeof(*place));
		*place = routes->unknown_uids[i];
	}
}

static void add_tcp(struct builder *b, const struct listener *listener)
{
	struct routes routes;
	rules_collect_pool(listener->pool, &b->lookup->rules, b->arena, &b->notices, &routes);
	add_unknown(b, &routes);
	publish(b, listener, &routes, "tcp");
}

static void add_listener(struct builder *b, const struct listener *listener)
{
	if (listener->port == HEALTH_CHECK_PORT || listener->port == 0 ||
		is_listening(&b->desired->spec, listener->port)) {
		notices_add(&b->notices, NOTICE_LISTENER, STR_NONE, port_text(b, listener->port));
		return;
	}
	/* The port must not be opened to everybody. */
	if (listener->source_ranges.count != 0) {
		notices_add(
			&b->notices, NOTICE_SOURCE_RANGES, STR_NONE, port_text(b, listener->port));
		return;
	}
	switch (listener->protocol) {
	case LISTENER_HTTP:
		publish(b, listener, &b->routes, "http");
		return;
	case LISTENER_HTTPS:
		add_https(b, listener);
		return;
	case LISTENER_TCP:
		add_tcp(b, listener);
		return;
	case LISTENER_TLS_PASSTHROUGH:
		publish(b, listener, &b->passthrough, "sni");
		return;
	case LISTENER_UDP: /* never asked for: capabilities.c has no such word */
		return;
	}
}

/* ---- labels and the rest ---- */

static void add_label(struct builder *b, const struct label *label)
{
	struct lb_spec *spec = &b->desired->spec;
	struct str key = label_key(label->key, b->arena);
	if (!label_is_safe(key) || !label_value_is_good(label->value)) {
		notices_add(&b->notices, NOTICE_LABEL_REFUSED, STR_NONE, label->key);
		return;
	}
	if (!stored_text_is_good(key) || !stored_text_is_good(label->value)) {
		notices_add(&b->notices, NOTICE_TEXT_NOT_STORABLE, STR_NONE,
			arena_printf(b->arena, "label %.*s", STR_FMT(label->key)));
		return;
	}
	for (size_t i = 0; i < spec->labels.count; i++) {
		if (str_eq(spec->labels.items[i].key, key))
			return;
	}
	struct label *place = arena_push(
		b->arena, (void **)&spec->labels.items, &spec->labels.count, sizeof(*place));
	*place = (struct label){key, label->value};
	spec->is_global = spec->is_global || label_is_global(key, label->value);
}

static void add_config(struct builder *b)
{
	struct lb_spec *spec = &b->desired->spec;
	if (b->lb->custom_config.len != 0) {
		if (!b->options->allow_custom_config)
			notices_add(&b->notices, NOTICE_CONFIG_REFUSED, STR_NONE, STR_NONE);
		else if (!stored_text_is_good(b->lb->custom_config))
			notices_add(&b->notices, NOTICE_TEXT_NOT_STORABLE, STR_NONE,
				STR("custom configuration"));
		else
			spec->config = b->lb->custom_config;
	}
	checks_render(b->lb, spec, b->arena, &b->notices, &spec->config);
}

static void add_description(struct builder *b)
{
	struct lb_mark mark = {
		.identity = b->desired->identity,
		.has_scale = b->lb->scale != 0,
	};
	b->desired->spec.description =
		stored_text_description(mark_of_lb(&mark, b->arena), b->arena);
}

static void add_stickiness(struct builder *b)
{
	struct stickiness *stickiness = b->lb->stickiness;
	if (stickiness == NULL)
		return;
	if (stored_text_is_good(stickiness->name) && stored_text_is_good(stickiness->cookie) &&
		stored_text_is_good(stickiness->domain))
		b->desired->spec.stickiness = stickiness;
	else
		notices_add(&b->notices, NOTICE_TEXT_NOT_STORABLE, STR_NONE, STR("stickiness"));
}

struct identity desired_identity(const struct load_balancer *lb)
{
	enum identity_kind kind = IDENTITY_INGRESS;
	if (lb->is_group)
		kind = IDENTITY_GROUP;
	else if (lb->owners.count != 0 && lb->owners.items[0].is_service)
		kind = IDENTITY_SERVICE;
	return (struct identity){kind, lb->namespace, lb->name};
}

void desired_build(const struct load_balancer *lb, const struct virtual_host *hosts,
	size_t host_count, const struct desired_lookup *lookup,
	const struct desired_options *options, struct arena *arena, struct desired *ret_desired)
{
	struct builder b = {
		.lb = lb,
		.hosts = hosts,
		.host_count = host_count,
		.lookup = lookup,
		.options = options,
		.arena = arena,
		.desired = ret_desired,
	};
	*ret_desired = (struct desired){
		.identity = desired_identity(lb),
		.spec = {.scale = lb->scale},
	};
	notices_init(&b.notices, arena);
	digest_begin(&b.contents);
	rules_collect(lb, hosts, host_count, &lookup->rules, arena, &b.notices, &b.routes);
	rules_collect_passthrough(
		hosts, host_count, &lookup->rules, arena, &b.notices, &b.passthrough);
	add_unknown(&b, &b.routes);
	add_unknown(&b, &b.passthrough);
	for (size_t i = 0; i < lb->listeners.count; i++)
		add_listener(&b, &lb->listeners.items[i]);
	rules_name_backends(&ret_desired->spec, arena);
	for (size_t i = 0; i < lb->labels.count; i++)
		add_label(&b, &lb->labels.items[i]);
	add_stickiness(&b);
	add_config(&b);
	add_description(&b);
	if (b.has_contents)
		ret_desired->spec.contents = digest_end(&b.contents);
	ret_desired->notice_count = notices_list(&b.notices, &ret_desired->notices);
}

void desired_build_object(struct state *state, struct object *object,
	const struct desired_lookup *lookup, const struct desired_options *options,
	struct arena *arena, struct desired *ret_desired)
{
	struct load_balancer *lb = arena_alloc(arena, sizeof(*lb));
	struct object **hosts;
	size_t count = state_hosts_of(object, arena, &hosts);
	struct virtual_host *values = arena_calloc(arena, count + 1, sizeof(*values));
	state_decode(state, object, arena, lb);
	for (size_t i = 0; i < count; i++)
		state_decode(state, hosts[i], arena, &values[i]);
	desired_build(lb, values, count, lookup, options, arena, ret_desired);
}
