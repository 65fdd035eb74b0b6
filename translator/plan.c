// SPDX-License-Identifier: Apache-2.0
#include "translator/plan.h"

#include "translator/backend_tls.h"
#include "translator/dialects/ingress_nginx.h"
#include "translator/hosts.h"
#include "translator/keys.h"
#include "translator/plan_maker.h"
#include "translator/policies.h"

#include <stdlib.h>

/* ---- TLS ---- */

static void read_tls_hosts(const struct plan_maker *m, const struct ingress_tls *tls, size_t index,
	struct plan_tls *ret)
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

static void tell_passthrough_tls(const struct plan_maker *m)
{
	for (size_t i = 0; i < m->ingress->tls.count; i++) {
		if (!str_is_empty(m->ingress->tls.items[i].secret))
			diag_add(m->diags, &m->plan->self, "CertificateUnused",
				arena_printf(m->arena, "spec.tls[%zu].secretName", i).p,
				"TLS is passed through unopened, so the backend shows its own "
				"certificate");
	}
}

static void read_tls(const struct plan_maker *m)
{
	if (m->plan->is_passthrough) {
		tell_passthrough_tls(m);
		return;
	}
	for (size_t i = 0; i < m->ingress->tls.count; i++) {
		const struct ingress_tls *tls = &m->ingress->tls.items[i];
		if (!str_is_empty(tls->secret) && !plan_is_name(tls->secret)) {
			diag_add(m->diags, &m->plan->self, "InvalidSecretName",
				arena_printf(m->arena, "spec.tls[%zu].secretName", i).p,
				"%s is no name of a Secret", diag_quote(m->arena, tls->secret));
			continue;
		}
		struct plan_tls *entry = PLAN_PUSH(m, &m->plan->tls);
		*entry = (struct plan_tls){
			.secret = tls->secret, .is_open = tls->hosts.count == 0, .position = i};
		read_tls_hosts(m, tls, i, entry);
	}
}

/* ---- the whole ---- */

/* NULL: it shares one. */
static const struct class_item *own_class(const struct plan_maker *m)
{
	const struct class_table *classes = m->context->classes;
	return classes != NULL ? class_table_find_own(classes, m->plan->class_name) : NULL;
}

static void assign_balancer(const struct plan_maker *m, enum grouping grouping)
{
	struct plan *plan = m->plan;
	if (grouping == GROUPING_MERGED) {
		bool is_own = own_class(m) != NULL;
		plan->scope = BALANCER_OF_CLASS;
		plan->balancer_name =
			is_own ? plan->class_name : m->context->class.settings->ingress_class;
		plan->balancer = arena_printf(m->arena, "%s%.*s",
			is_own ? PLAN_OWN_CLASS : PLAN_SHARED, STR_FMT(plan->balancer_name));
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

/* A health check for a Service that this Ingress does not use would affect another owner's. */
static void keep_own_checks(const struct plan_maker *m)
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
			annotation_field(m->ingress, m->arena, ANNOTATION_ROW_health_checks),
			"the probe of %s is left out: the Ingress has no such backend",
			diag_quote(m->arena, check->service));
	}
	values->health_checks.count = kept;
}

/* ---- claims on a shared load balancer ---- */

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

static bool is_among(const struct str *texts, size_t count, struct str text)
{
	for (size_t i = 0; i < count; i++) {
		if (str_eq(texts[i], text))
			return true;
	}
	return false;
}

/* Of entries without hosts the first for each Secret counts, up to the limit. Returns how many. */
static size_t limit_open(const struct plan_maker *m)
{
	struct str secrets[PLAN_OPEN_TLS_MAX];
	size_t count = 0;
	for (size_t i = 0; i < m->plan->tls.count; i++) {
		struct plan_tls *tls = &m->plan->tls.items[i];
		if (!tls->is_open)
			continue;
		if (is_among(secrets, count, tls->secret)) {
			tls->is_open = false;
		} else if (count < PLAN_OPEN_TLS_MAX) {
			secrets[count++] = tls->secret;
		} else {
			tls->is_open = false;
			diag_add(m->diags, &m->plan->self, "TooManyCertificates",
				arena_printf(m->arena, "spec.tls[%zu]", tls->position).p,
				"it is left out: an Ingress can have %d Secrets without hosts; "
				"write the hosts for which it is",
				PLAN_OPEN_TLS_MAX);
		}
	}
	return count;
}

/* The server names for which it has, or may have, a certificate. */
static void read_names(const struct plan_maker *m)
{
	struct plan *plan = m->plan;
	size_t open = limit_open(m);
	for (size_t i = 0; i < plan->tls.count; i++) {
		const struct plan_tls *tls = &plan->tls.items[i];
		for (size_t k = 0; k < tls->hosts.count; k++)
			*PLAN_PUSH(m, &plan->names) = tls->hosts.items[k];
	}
	for (size_t i = 0; open != 0 && i < plan->hosts.count; i++) {
		if (!str_is_empty(plan->hosts.items[i].host))
			*PLAN_PUSH(m, &plan->names) = plan->hosts.items[i].host;
	}
	sort_texts(&plan->names);
}

static void want_port(const struct plan_maker *m, uint64_t port, enum listener_protocol protocol)
{
	const struct class_item *own = own_class(m);
	uint64_t http_port = own != NULL ? own->http_port : m->context->http_port;
	uint64_t https_port = own != NULL ? own->https_port : m->context->https_port;
	bool is_http = protocol == LISTENER_HTTP;
	uint64_t same = is_http ? http_port : https_port;
	uint64_t other = is_http ? https_port : http_port;
	if (port == 0 || port == same)
		return;
	if (port == other || (m->plan->ports.count != 0 && m->plan->ports.items[0].port == port)) {
		diag_add(m->diags, &m->plan->self, "PortConflict",
			annotation_field(m->ingress, m->arena,
				is_http ? ANNOTATION_ROW_http_port : ANNOTATION_ROW_https_port),
			"port %llu is that of %s already", (unsigned long long)port,
			is_http ? "HTTPS" : "HTTP");
		return;
	}
	*PLAN_PUSH(m, &m->plan->ports) = (struct plan_port){.port = port, .protocol = protocol};
}

static void share(const struct plan_maker *m)
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
	plan->shared_with = plan->values.shared_with;
	/* All of it is now in ports, claims and pools. */
	plan->values = (struct annotation_values){0};
}

/* What needs TLS to be opened. */
static void refuse_opened(const struct plan_maker *m, enum policy_bit policy, const char *why)
{
	const char *field = annotations_drop(&m->plan->values, policy, m->ingress, m->arena);
	if (field != NULL)
		diag_add(m->diags, &m->plan->self, "NotSupported", field, "it is not heeded: %s",
			why);
}

static void read_passthrough(struct plan_maker *m)
{
	struct plan *plan = m->plan;
	if (plan->values.tls_passthrough != SWITCH_ON)
		return;
	plan->is_passthrough = true;
	refuse_opened(m, POLICY_STICKINESS, "there are no cookies in TLS that is passed through");
	refuse_opened(m, POLICY_BACKEND_TLS, "TLS that is passed through is not opened");
	if (!m->context->cannot.tls_passthrough)
		return;
	diag_add(m->diags, &plan->self, "NotSupported",
		annotation_field(m->ingress, m->arena, ANNOTATION_ROW_tls_passthrough),
		"this kind of load balancer cannot pass TLS through; the hosts are not served");
}

/* The annotations that Ingresses of all dialects may have. */
static struct ingress_record only_ours(const struct plan_maker *m)
{
	struct ingress_record ours = *m->ingress;
	size_t count = ours.annotations.count;
	ours.annotations.items = arena_calloc(m->arena, count, sizeof(struct annotation));
	ours.annotations.count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct annotation *a = &m->ingress->annotations.items[i];
		if (str_starts_with(a->key, STR("sluice.io/")))
			ours.annotations.items[ours.annotations.count++] = *a;
	}
	return ours;
}

static void read_annotations(struct plan_maker *m)
{
	struct plan *plan = m->plan;
	const struct nginx_teller teller = {&plan->self, m->arena, m->diags};
	if (!plan->is_nginx) {
		annotations_read(m->ingress, m->arena, &plan->values, m->diags);
		nginx_values_tell_unread(m->ingress, m->context->nginx_prefix, &teller);
		return;
	}
	struct ingress_record ours = only_ours(m);
	m->nginx = arena_alloc(m->arena, sizeof(*m->nginx));
	annotations_read(&ours, m->arena, &plan->values, m->diags);
	nginx_values_read(m->ingress, m->context->nginx_prefix, &teller, m->nginx);
	nginx_options_apply(m->context->nginx_options, &teller, m->nginx);
	m->nginx->maps = m->context->nginx_maps;
	m->nginx->backend_namespace = m->context->backend_namespace;
	m->nginx->backend_name = m->context->backend_name;
	ingress_nginx_read_values(m->ingress, m->nginx, &teller, &plan->values);
}

/* A change of one of them changes the plan. */
static void note_config_maps(const struct plan_maker *m)
{
	if (m->nginx == NULL)
		return;
	m->plan->config_maps = m->nginx->maps.used;
	if (m->context->nginx_options != NULL)
		*PLAN_PUSH(m, &m->plan->config_maps) = m->context->nginx_options->map;
}

/* A canary is served where the Ingress is that it takes a share of. */
static void forget_listeners(struct annotation_values *values)
{
	values->http_port = 0;
	values->https_port = 0;
	values->allow_http = SWITCH_UNSET;
}

void plan_make(const struct ingress_record *ingress, const struct plan_context *context,
	struct arena *arena, struct plan *ret_plan, struct diag_list *diags)
{
	struct plan_maker m = {ingress, context, arena, diags, ret_plan};
	*ret_plan = (struct plan){
		.self = {.namespace = ingress->key.namespace,
			.name = ingress->key.name,
			.uid = ingress->key.uid},
		.created = ingress->created,
		.named_class = ingress->class_name,
		.is_unnamed = class_is_unnamed(ingress),
	};
	ret_plan->is_nginx = class_is_nginx(ingress, &context->class, &ret_plan->class_name);
	if (!ret_plan->is_nginx &&
		!class_is_ours(ingress, &context->class, &ret_plan->class_name, diags))
		return;
	ret_plan->is_ours = true;
	read_annotations(&m);
	assign_balancer(&m, context->grouping);
	policies_refuse(ingress, context, arena, ret_plan, diags);
	read_passthrough(&m);
	plan_read_route(&m);
	note_config_maps(&m);
	if (ret_plan->route.canary != NULL)
		forget_listeners(&ret_plan->values);
	ret_plan->is_tls_only = ret_plan->scope == BALANCER_OF_CLASS && !ret_plan->is_passthrough &&
				ret_plan->values.allow_http == SWITCH_OFF;
	if (!ret_plan->is_passthrough || !context->cannot.tls_passthrough)
		plan_read_rules(&m);
	if (ret_plan->route.canary == NULL)
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
		return; /* its part of the shared one is unknown */
	ret_plan->is_ours = true;
	ret_plan->scope = self->is_service ? BALANCER_OF_SERVICE : BALANCER_OF_INGRESS;
	ret_plan->balancer_name = self->name;
	ret_plan->balancer = arena_printf(arena, "%.*s/%s%.*s", STR_FMT(self->namespace),
		self->is_service ? "service:" : "", STR_FMT(self->name));
}
