// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/dialect.h"

#include "translator/dialects/foreign_hosts.h"
#include "translator/hosts.h"
#include "translator/keys.h"
#include "translator/policy_words.h"

const char *dialect_field(const struct dialect *d, struct str key)
{
	return arena_printf(d->arena, "metadata.annotations[%.*s]", STR_FMT(key)).p;
}

void dialect_ask(const struct dialect *d, enum policy_bit word, struct str key)
{
	struct route_settings *route = d->route;
	if ((route->needs & word) != 0)
		return;
	route->needs |= word;
	void *items = route->asked.items;
	struct route_asked *place =
		arena_push(d->arena, &items, &route->asked.count, sizeof(*place));
	route->asked.items = items;
	*place = (struct route_asked){.word = word, .field = dialect_field(d, key)};
}

static struct str add_pool(const struct dialect *d, struct route_pool *pool)
{
	struct route_settings *route = d->route;
	pool->id = arena_printf(d->arena, "%.*s/%.*s:%.*s", STR_FMT(pool->namespace),
		STR_FMT(pool->service), STR_FMT(pool->port));
	void *items = route->pools.items;
	struct route_pool *place =
		arena_push(d->arena, &items, &route->pools.count, sizeof(*place));
	route->pools.items = items;
	*place = *pool;
	return pool->id;
}

struct str dialect_add_pool(const struct dialect *d, struct str namespace, struct str service,
	uint64_t port, bool is_https)
{
	struct str text = port != 0 ? key_number(d->arena, port) : STR(ROUTE_FIRST_PORT);
	struct route_pool pool = {.namespace = namespace,
		.service = service,
		.port = arena_printf(
			d->arena, "%.*s%s", STR_FMT(text), is_https ? ROUTE_HTTPS : ""),
		.is_https = is_https};
	return add_pool(d, &pool);
}

const char dialect_expected_server[] =
	"the name of a Service is expected, as http://NAME.NAMESPACE.svc.cluster.local:PORT/PATH; "
	"a host outside the cluster has to be in --egress-hosts of the translator, or a Service of "
	"type ExternalName leads to it";

const char *dialect_add_server(
	const struct dialect *d, const struct service_url *url, struct str *ret_pool)
{
	struct str namespace = STR_NONE;
	struct str name = STR_NONE;
	if (service_url_name(url->host, &namespace, &name)) {
		*ret_pool = dialect_add_pool(d, namespace, name, url->port, url->is_https);
		return NULL;
	}
	struct str host = host_lower(d->arena, url->host);
	if (!foreign_hosts_have(d->egress_hosts, host))
		return dialect_expected_server;
	struct route_pool pool = {.namespace = d->self.namespace,
		.service = host,
		.port = arena_printf(d->arena, "%llu" ROUTE_FOREIGN "%s",
			(unsigned long long)url->port, url->is_https ? ROUTE_HTTPS : ""),
		.is_https = url->is_https,
		.is_foreign = true};
	*ret_pool = add_pool(d, &pool);
	return NULL;
}

size_t dialect_list_statuses(
	const struct dialect *d, const struct status_set *set, struct status_code **ret_items)
{
	void *items = NULL;
	size_t count = 0;
	for (unsigned status = STATUS_ERROR_LEAST; status <= STATUS_ERROR_MOST; status++) {
		if (!set->has[status])
			continue;
		struct status_code *code = arena_push(d->arena, &items, &count, sizeof(*code));
		code->status = status;
	}
	*ret_items = items;
	return count;
}

void dialect_refuse(const struct dialect *d, enum policy_bit word, const struct annotation *a,
	const char *problem)
{
	bool closes = policy_closes(word);
	const char *effect = "is ignored";
	if (closes)
		effect = d->route->canary != NULL
				 ? "cannot be used, this canary gets no requests"
				 : "cannot be used, requests are answered with 503";
	d->route->is_closed |= closes;
	diag_add(d->diags, &d->self, "InvalidAnnotation", dialect_field(d, a->key), "%s %s: %s",
		diag_quote(d->arena, a->value), effect, problem);
}
