// SPDX-License-Identifier: Apache-2.0
#include "translator/plan.h"

#include "translator/hosts.h"
#include "translator/keys.h"
#include "translator/paths.h"
#include "translator/backend_tls.h"
#include "translator/policies.h"

#include <stdlib.h>

struct maker {
	const struct ingress_record *ingress;
	const struct plan_context *context;
	struct arena *arena;
	struct diag_list *diags;
	struct plan *plan;
};

#define PUSH(maker_, list_)                                                                  \
	({                                                                                   \
		void *items_ = (list_)->items;                                               \
		void *place_ = arena_push(                                                   \
			(maker_)->arena, &items_, &(list_)->count, sizeof(*(list_)->items)); \
		(list_)->items = items_;                                                     \
		(__typeof__((list_)->items))place_;                                          \
	})

/* ---- backends ---- */

static bool is_name(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.p[i];
		bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
			     (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
		if (!plain)
			return false;
	}
	return s.len != 0 && s.len <= 253;
}

static bool is_digits(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	}
	return true;
}

static const char *check_backend(const struct maker *m, const struct ingress_backend *backend)
{
	if (!str_is_empty(backend->resource))
		return arena_printf(m->arena, "%s is no Service, and nothing else can be served",
			diag_quote(m->arena, backend->resource))
			.p;
	if (!is_name(backend->service))
		return "it names no Service";
	if (backend->port_number == 0 && !is_name(backend->port_name))
		return "it names no port";
	return NULL;
}

/* Where a backend stands. */
struct backend_place {
	bool is_default;
	size_t rule;
	size_t position;
};

static void tell_backend(
	const struct maker *m, const struct backend_place *place, const char *problem)
{
	struct str field = STR("spec.defaultBackend");
	if (!place->is_default)
		field = arena_printf(m->arena, "spec.rules[%zu].http.paths[%zu].backend",
			place->rule, place->position);
	diag_add(m->diags, &m->plan->self, "InvalidBackend", field.p,
		"the backend cannot be used, requests are answered with 503: %s", problem);
}

static struct str pool_port(const struct maker *m, const struct ingress_backend *backend)
{
	if (backend->port_number != 0)
		return arena_printf(m->arena, "%llu", (unsigned long long)backend->port_number);
	if (is_digits(backend->port_name))
		return arena_printf(m->arena, "name:%.*s", STR_FMT(backend->port_name));
	return backend->port_name;
}

/* A backend that cannot be is a pool without endpoints: the route stays and answers 503, so that
 * its requests do not fall to a shorter path, or to somebody else. Returns the id. */
static struct str add_pool(const struct maker *m, const struct ingress_backend *backend,
	const struct backend_place *place)
{
	const char *problem = check_backend(m, backend);
	struct plan_pool pool = {.service = STR(""), .port = STR("none")};
	if (problem != NULL)
		tell_backend(m, place, problem);
	else
		pool = (struct plan_pool){
			.service = backend->service, .port = pool_port(m, backend)};
	if (m->plan->is_passthrough)
		pool.port = key_join(m->arena, STR("tcp"), ':', pool.port);
	if (m->plan->scope == BALANCER_OF_CLASS)
		policies_settle_pool(&m->plan->values, m->arena, &pool);
	struct str service = key_join(m->arena, m->plan->self.namespace, '/', pool.service);
	pool.id = key_join(m->arena, service, ':', pool.port);
	*PUSH(m, &m->plan->pools) = pool;
	return pool.id;
}

static int compare_pools(const void *left, const void *right)
{
	return str_cmp(((const struct plan_pool *)left)->id, ((const struct plan_pool *)right)->id);
}

static void sort_pools(struct plan *plan)
{
	size_t kept = 0;
	if (plan->pools.count > 1)
		qsort(plan->pools.items, plan->pools.count, sizeof(struct plan_pool),
			compare_pools);
	for (size_t i = 0; i < plan->pools.count; i++) {
		if (kept == 0 || !str_eq(plan->pools.items[kept - 1].id, plan->pools.items[i].id))
			plan->pools.items[kept++] = plan->pools.items[i];
	}
	plan->pools.count = kept;
}

/* ---- hosts and paths ---- */

/* One claim with its host, before claims are gathered by host. */
struct hosted {
	struct str host;
	enum host_match match;
	bool has_claim;
	struct path_claim claim;
};

struct hosted_list {
	struct hosted *items;
	size_t count;
};

static struct path_claim claim_of(const struct maker *m, size_t rule, size_t position)
{
	return (struct path_claim){.ingress = &m->plan->self,
		.created = m->plan->created,
		.tls_only = m->plan->is_tls_only,
		.rule = rule,
		.position = position};
}

static void add_path(const struct maker *m, struct hosted_list *list, struct hosted base,
	const struct ingress_path *path)
{
	size_t rule = base.claim.rule;
	size_t position = base.claim.position;
	const char *problem = path_check(path->path, path->type);
	if (problem != NULL) {
		diag_add(m->diags, &m->plan->self, "InvalidPath",
			arena_printf(
				m->arena, "spec.rules[%zu].http.paths[%zu].path", rule, position)
				.p,
			"%s is not served: %s", diag_quote(m->arena, path->path), problem);
		return;
	}
	struct backend_place place = {.rule = rule, .position = position};
	base.has_claim = true;
	base.claim.path = path_normal(path->path);
	base.claim.type = path->type;
	base.claim.pool = add_pool(m, &path->backend, &place);
	*PUSH(m, list) = base;
}

static void add_implied(const struct maker *m, struct hosted_list *list, struct hosted base)
{
	base.has_claim = true;
	base.claim.path = STR("/");
	base.claim.type = PATH_PREFIX;
	base.claim.is_implied = true;
	base.claim.pool = m->plan->default_pool;
	*PUSH(m, list) = base;
}

static void add_rule(const struct maker *m, struct hosted_list *list, size_t index)
{
	const struct ingress_rule *rule = &m->ingress->rules.items[index];
	struct plan *plan = m->plan;
	struct hosted base = {.host = host_lower(m->arena, rule->host)};
	const char *problem = host_check(base.host, &base.match);
	if (problem != NULL) {
		diag_add(m->diags, &plan->self, "InvalidHost",
			arena_printf(m->arena, "spec.rules[%zu].host", index).p,
			"%s is not served: %s", diag_quote(m->arena, rule->host), problem);
		return;
	}
	for (size_t i = 0; i < rule->paths.count; i++) {
		base.claim = claim_of(m, index, i);
		add_path(m, list, base, &rule->paths.items[i]);
	}
	base.claim = claim_of(m, index, rule->paths.count);
	bool has_default = !str_is_empty(plan->default_pool);
	/* On a load balancer of its own, the default pool takes what no path takes. On a shared one
	 * that may be another Ingress's. */
	if (has_default && (rule->paths.count == 0 || plan->scope != BALANCER_OF_INGRESS)) {
		add_implied(m, list, base);
		return;
	}
	/* So that the host is known, and its requests do not fall to a wildcard. */
	*PUSH(m, list) = base;
	if (rule->paths.count == 0)
		diag_add(m->diags, &plan->self, "NoBackend",
			arena_printf(m->arena, "spec.rules[%zu]", index).p,
			"neither the rule has paths nor the Ingress a default backend: requests "
			"are answered with 404");
}

/* ---- TLS that is passed through ---- */

static const char *check_passthrough(const struct ingress_rule *rule, struct str host)
{
	if (str_is_empty(host))
		return "TLS is passed through by server name, so the rule needs a host";
	if (rule->paths.count > 1)
		return "what is passed through is not looked into: only one path, \"/\", can be";
	if (rule->paths.count == 1 && !str_is_empty(rule->paths.items[0].path) &&
		!str_eq_c(rule->paths.items[0].path, "/"))
		return "what is passed through is not looked into: the only path can be \"/\"";
	return NULL;
}

static void add_passthrough(const struct maker *m, struct hosted_list *list, size_t index)
{
	const struct ingress_rule *rule = &m->ingress->rules.items[index];
	struct plan *plan = m->plan;
	struct backend_place place = {.rule = index};
	struct hosted base = {.host = host_lower(m->arena, rule->host), .has_claim = true};
	const char *problem = host_check(base.host, &base.match);
	if (problem == NULL)
		problem = check_passthrough(rule, base.host);
	if (problem == NULL && rule->paths.count == 0 && str_is_empty(plan->default_pool))
		problem = "neither the rule has a path nor the Ingress a default backend";
	if (problem != NULL) {
		diag_add(m->diags, &plan->self, "PassthroughRefused",
			arena_printf(m->arena, "spec.rules[%zu]", index).p, "%s is not served: %s",
			diag_quote(m->arena, rule->host), problem);
		return;
	}
	base.host = arena_printf(m->arena, PLAN_PASSTHROUGH "%.*s", STR_FMT(base.host));
	base.claim = claim_of(m, index, 0);
	base.claim.path = STR("/");
	base.claim.type = PATH_PREFIX;
	base.claim.pool = rule->paths.count == 0
				  ? plan->default_pool
				  : add_pool(m, &rule->paths.items[0].backend, &place);
	*PUSH(m, list) = base;
}

/* There is no server name that nobody has: only rules without a path lead to it. */
static void drop_default(const struct maker *m)
{
	bool used = str_is_empty(m->plan->default_pool);
	for (size_t i = 0; i < m->ingress->rules.count; i++)
		used |= m->ingress->rules.items[i].paths.count == 0;
	m->plan->default_pool = STR_NONE;
	if (!used)
		diag_add(m->diags, &m->plan->self, "PassthroughRefused", "spec.defaultBackend",
			"it is not used: TLS is passed through by server name only");
}

static int compare_hosted(const void *left, const void *right)
{
	const struct hosted *a = left;
	const struct hosted *b = right;
	int order = str_cmp(a->host, b->host);
	if (order == 0)
		order = (a->claim.rule > b->claim.rule) - (a->claim.rule < b->claim.rule);
	if (order != 0)
		return order;
	return (a->claim.position > b->claim.position) - (a->claim.position < b->claim.position);
}

static void gather_hosts(const struct maker *m, struct hosted_list *list)
{
	struct plan_host *host = NULL;
	if (list->count > 1)
		qsort(list->items, list->count, sizeof(*list->items), compare_hosted);
	for (size_t i = 0; i < list->count; i++) {
		const struct hosted *h = &list->items[i];
		if (host == NULL || !str_eq(host->host, h->host)) {
			host = PUSH(m, &m->plan->hosts);
			*host = (struct plan_host){.host = h->host, .match = h->match};
		}
		if (h->has_claim)
			*PUSH(m, &host->claims) = h->claim;
	}
}

static void read_rules(const struct maker *m)
{
	struct hosted_list list = {0};
	struct backend_place place = {.is_default = true};
	if (m->ingress->default_backend != NULL)
		m->plan->default_pool = add_pool(m, m->ingress->default_backend, &place);
	for (size_t i = 0; i < m->ingress->rules.count; i++) {
		if (m->plan->is_passthrough)
			add_passthrough(m, &list, i);
		else
			add_rule(m, &list, i);
	}
	if (m->plan->is_passthrough)
		drop_default(m);
	gather_hosts(m, &list);
	sort_pools(m->plan);
}

/* ---- TLS ---- */

static void read_tls_hosts(
	const struct maker *m, const struct ingress_tls *tls, size_t index, struct plan_tls *ret)
{
	enum host_match match;
	ret->hosts.items = arena_calloc(m->arena, tls->hosts.count, sizeof(struct str));
	for (size_t i = 0; i < tls->hosts.count; i++) {
		struct str host = host_lower(m->arena, tls->hosts.items[i]);
		const char *problem = host.len == 0 ? "it is empty" : host_check(host, &match);
		if (problem == NULL) {
			ret->hosts.items[ret->hosts.count++] = host;
			continue;
		}
		diag_add(m->diags, &m->plan->self, "InvalidHost",
			arena_printf(m->arena, "spec.tls[%zu].hosts[%zu]", index, i).p,
			"%s is no host: %s", diag_quote(m->arena, tls->hosts.items[i]), problem);
	}
}

static void tell_passthrough_tls(const struct maker *m)
{
	for (size_t i = 0; i < m->ingress->tls.count; i++) {
		if (!str_is_empty(m->ingress->tls.items[i].secret))
			diag_add(m->diags, &m->plan->self, "CertificateUnused",
				arena_printf(m->arena, "spec.tls[%zu].secretName", i).p,
				"TLS is passed through unopened, so the backend shows its own "
				"certificate");
	}
}

static void read_tls(const struct maker *m)
{
	if (m->plan->is_passthrough) {
		tell_passthrough_tls(m);
		return;
	}
	for (size_t i = 0; i < m->ingress->tls.count; i++) {
		const struct ingress_tls *tls = &m->ingress->tls.items[i];
		if (!str_is_empty(tls->secret) && !is_name(tls->secret)) {
			diag_add(m->diags, &m->plan->self, "InvalidSecretName",
				arena_printf(m->arena, "spec.tls[%zu].secretName", i).p,
				"%s is no name of a Secret", diag_quote(m->arena, tls->secret));
			continue;
		}
		struct plan_tls *entry = PUSH(m, &m->plan->tls);
		*entry = (struct plan_tls){
			.secret = tls->secret, .is_open = tls->hosts.count == 0, .position = i};
		read_tls_hosts(m, tls, i, entry);
	}
}

/* ---- the whole ---- */

static void assign_balancer(const struct maker *m, enum grouping grouping)
{
	struct plan *plan = m->plan;
	if (grouping == GROUPING_MERGED) {
		plan->scope = BALANCER_OF_CLASS;
		plan->balancer_name = plan->class_name;
		plan->balancer = arena_printf(m->arena, "class/%.*s", STR_FMT(plan->class_name));
	} else if (!str_is_empty(plan->values.group)) {
		plan->scope = BALANCER_OF_GROUP;
		plan->balancer_name = plan->values.group;
		plan->balancer = arena_printf(m->arena, "%.*s/group:%.*s",
			STR_FMT(plan->self.namespace), STR_FMT(plan->values.group));
	} else {
		plan->scope = BALANCER_OF_INGRESS;
		plan->balancer_name = plan->self.name;
		plan->balancer = key_join(m->arena, plan->self.namespace, '/', plan->self.name);
	}
}

/* A check of a Service that this Ingress does not use would reach into another owner's. */
static void keep_own_checks(const struct maker *m)
{
	struct annotation_values *values = &m->plan->values;
	size_t kept = 0;
	for (size_t i = 0; i < values->health_checks.count; i++) {
		const struct health_check *check = &values->health_checks.items[i];
		bool used = false;
		for (size_t k = 0; k < m->plan->pools.count && !used; k++)
			used = str_eq(m->plan->pools.items[k].service, check->service);
		if (used) {
			values->health_checks.items[kept++] = *check;
			continue;
		}
		diag_add(m->diags, &m->plan->self, "InvalidAnnotation",
			annotation_field(
				m->ingress, m->arena, "io.rancher.kubernetes.livenessprobes"),
			"the probe of %s is left out: the Ingress has no such backend",
			diag_quote(m->arena, check->service));
	}
	values->health_checks.count = kept;
}

/* ---- what a whole class shares ---- */

static int compare_texts(const void *left, const void *right)
{
	return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

static void sort_texts(struct str_list *list)
{
	size_t kept = 0;
	if (list->count > 1)
		qsort(list->items, list->count, sizeof(struct str), compare_texts);
	for (size_t i = 0; i < list->count; i++) {
		if (kept == 0 || !str_eq(list->items[kept - 1], list->items[i]))
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
}

/* The server names for which it has, or may have, a certificate. */
static void read_names(const struct maker *m)
{
	struct plan *plan = m->plan;
	for (size_t i = 0; i < plan->tls.count; i++) {
		const struct plan_tls *tls = &plan->tls.items[i];
		for (size_t k = 0; k < tls->hosts.count; k++)
			*PUSH(m, &plan->names) = tls->hosts.items[k];
		for (size_t k = 0; tls->is_open && k < plan->hosts.count; k++) {
			if (!str_is_empty(plan->hosts.items[k].host))
				*PUSH(m, &plan->names) = plan->hosts.items[k].host;
		}
	}
	sort_texts(&plan->names);
}

static void want_port(const struct maker *m, uint64_t port, enum listener_protocol protocol)
{
	bool is_http = protocol == LISTENER_HTTP;
	uint64_t same = is_http ? m->context->http_port : m->context->https_port;
	uint64_t other = is_http ? m->context->https_port : m->context->http_port;
	if (port == 0 || port == same)
		return;
	if (port == other || (m->plan->ports.count != 0 && m->plan->ports.items[0].port == port)) {
		diag_add(m->diags, &m->plan->self, "PortConflict",
			annotation_field(
				m->ingress, m->arena, is_http ? "http.port" : "https.port"),
			"port %llu is that of %s already", (unsigned long long)port,
			is_http ? "HTTPS" : "HTTP");
		return;
	}
	*PUSH(m, &m->plan->ports) = (struct plan_port){.port = port, .protocol = protocol};
}

static void share(const struct maker *m)
{
	struct plan *plan = m->plan;
	want_port(m, plan->values.http_port, LISTENER_HTTP);
	want_port(m, plan->values.https_port, LISTENER_HTTPS);
	if (plan->ports.count == 2 && plan->ports.items[0].port > plan->ports.items[1].port) {
		struct plan_port first = plan->ports.items[0];
		plan->ports.items[0] = plan->ports.items[1];
		plan->ports.items[1] = first;
	}
	read_names(m);
	/* All of it stands in ports, claims and pools now. */
	plan->values = (struct annotation_values){0};
}

static void read_passthrough(struct maker *m)
{
	struct plan *plan = m->plan;
	if (plan->values.tls_passthrough != SWITCH_ON)
		return;
	plan->is_passthrough = true;
	if (plan->values.stickiness != NULL)
		diag_add(m->diags, &plan->self, "NotSupported",
			annotation_field(m->ingress, m->arena, "io.rancher.stickiness.policy"),
			"it is not heeded: there are no cookies in TLS that is passed through");
	plan->values.stickiness = NULL;
	if (backend_wish_is_set(&plan->values.backend))
		diag_add(m->diags, &plan->self, "NotSupported",
			annotation_field(
				m->ingress, m->arena, backend_wish_word(&plan->values.backend)),
			"it is not heeded: TLS that is passed through is not opened");
	plan->values.backend = (struct backend_wish){0};
	if (!m->context->cannot.tls_passthrough)
		return;
	diag_add(m->diags, &plan->self, "NotSupported",
		annotation_field(m->ingress, m->arena, "tls-passthrough"),
		"this kind of load balancer cannot pass TLS through; the hosts are not served");
}

void plan_make(const struct ingress_record *ingress, const struct plan_context *context,
	struct arena *arena, struct plan *ret_plan, struct diag_list *diags)
{
	struct maker m = {ingress, context, arena, diags, ret_plan};
	*ret_plan = (struct plan){
		.self = {.namespace = ingress->key.namespace,
			.name = ingress->key.name,
			.uid = ingress->key.uid},
		.created = ingress->created,
		.named_class = ingress->class_name,
		.is_unnamed = class_is_unnamed(ingress),
	};
	if (!class_is_ours(ingress, &context->class, &ret_plan->class_name, diags))
		return;
	ret_plan->is_ours = true;
	annotations_read(ingress, arena, &ret_plan->values, diags);
	assign_balancer(&m, context->grouping);
	policies_refuse(ingress, context, arena, ret_plan, diags);
	read_passthrough(&m);
	ret_plan->is_tls_only = ret_plan->scope == BALANCER_OF_CLASS && !ret_plan->is_passthrough &&
				ret_plan->values.allow_http == SWITCH_OFF;
	if (!ret_plan->is_passthrough || !context->cannot.tls_passthrough)
		read_rules(&m);
	read_tls(&m);
	keep_own_checks(&m);
	if (ret_plan->scope == BALANCER_OF_CLASS)
		share(&m);
}

void plan_keep(const struct object_ref *self, enum grouping grouping, struct arena *arena,
	struct plan *ret_plan)
{
	*ret_plan = (struct plan){.self = *self, .is_kept = true};
	if (grouping == GROUPING_MERGED)
		return; /* what it has of the shared one is not known */
	ret_plan->is_ours = true;
	ret_plan->scope = self->is_service ? BALANCER_OF_SERVICE : BALANCER_OF_INGRESS;
	ret_plan->balancer_name = self->name;
	ret_plan->balancer = arena_printf(arena, "%.*s/%s%.*s", STR_FMT(self->namespace),
		self->is_service ? "service:" : "", STR_FMT(self->name));
}

const struct plan_pool *plan_find_pool(const struct plan *plan, struct str id)
{
	struct plan_pool wanted = {.id = id};
	if (plan->pools.count == 0)
		return NULL;
	return bsearch(
		&wanted, plan->pools.items, plan->pools.count, sizeof(wanted), compare_pools);
}

const struct plan_host *plan_find_host(const struct plan *plan, struct str host)
{
	size_t low = 0;
	size_t high = plan->hosts.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = str_cmp(plan->hosts.items[middle].host, host);
		if (order == 0)
			return &plan->hosts.items[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
