// SPDX-License-Identifier: Apache-2.0
#include "translator/balancer.h"

#include "translator/probes.h"

#include <stdlib.h>

struct builder {
	const struct balancer_request *request;
	struct arena *arena;
	struct diag_list *diags;
	struct load_balancer *lb;
	struct annotation_values values;
	const struct plan *set_by[ANNOTATION_ROW_COUNT];
	const struct plan *default_by;
};

static int compare_plans(const void *left, const void *right)
{
	return plan_compare_ages(
		*(const struct plan *const *)left, *(const struct plan *const *)right);
}

/* ---- settings of several Ingresses ---- */

static void tell_conflict(const struct builder *b, const struct plan *loser,
	const struct plan *winner, const char *field)
{
	diag_add(b->diags, &loser->self, "SettingConflict", field,
		"the older Ingress %.*s/%.*s on the same load balancer says something else, and "
		"counts",
		STR_FMT(winner->self.namespace), STR_FMT(winner->self.name));
}

static void merge_setting(struct builder *b, enum annotation_row row)
{
	for (size_t i = 0; i < b->request->count; i++) {
		const struct plan *plan = b->request->plans[i];
		if (!annotation_is_set(&plan->values, row))
			continue;
		if (b->set_by[row] == NULL) {
			annotation_copy(&b->values, &plan->values, row);
			b->set_by[row] = plan;
		} else if (!annotation_equal(&b->values, &plan->values, row)) {
			tell_conflict(
				b, plan, b->set_by[row], annotation_field(NULL, b->arena, row));
		}
	}
}

/* ---- labels and health checks: for each key the oldest owner wins ---- */

/* An item and its owner. */
struct owned {
	struct str key;
	const void *item;
	const struct plan *by;
	size_t order; /* rank of its owner by age */
};

static int compare_owned(const void *left, const void *right)
{
	const struct owned *a = left;
	const struct owned *b = right;
	int order = str_cmp(a->key, b->key);
	return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

static bool same_label(const void *a, const void *b)
{
	return str_eq(((const struct label *)a)->value, ((const struct label *)b)->value);
}

static bool same_check(const void *a, const void *b)
{
	return probe_equal(a, b);
}

static void tell_owned(const struct builder *b, const struct owned *loser,
	const struct owned *winner, const char *annotation, size_t max)
{
	const char *field =
		annotation != NULL
			? arena_printf(b->arena, "metadata.annotations[%s] of %s", annotation,
				  diag_quote(b->arena, loser->key))
				  .p
			: arena_printf(b->arena, "metadata.annotations[%.*s]", STR_FMT(loser->key))
				  .p;
	if (winner != NULL)
		tell_conflict(b, loser->by, winner->by, field);
	else
		diag_add(b->diags, &loser->by->self, "SettingConflict", field,
			"left out: the load balancer has %zu of them already", max);
}

/* Sorts by key and keeps the first of each key, at most `max`; returns how many. `annotation` holds all of
 * them; NULL: each has its own. */
static size_t keep_oldest(const struct builder *b, struct owned *items, size_t count, size_t max,
	bool (*same)(const void *a, const void *b), const char *annotation)
{
	size_t kept = 0;
	if (count > 1)
		qsort(items, count, sizeof(*items), compare_owned);
	for (size_t i = 0; i < count; i++) {
		const struct owned *last = kept != 0 ? &items[kept - 1] : NULL;
		if (last != NULL && str_eq(last->key, items[i].key)) {
			if (!same(last->item, items[i].item))
				tell_owned(b, &items[i], last, annotation, max);
		} else if (kept == max) {
			tell_owned(b, &items[i], NULL, annotation, max);
		} else {
			items[kept++] = items[i];
		}
	}
	return kept;
}

static void merge_labels(struct builder *b)
{
	size_t count = 0;
	for (size_t i = 0; i < b->request->count; i++)
		count += b->request->plans[i]->values.labels.count;
	struct owned *items = arena_calloc(b->arena, count, sizeof(*items));
	size_t used = 0;
	for (size_t i = 0; i < b->request->count; i++) {
		const struct plan *plan = b->request->plans[i];
		for (size_t k = 0; k < plan->values.labels.count; k++) {
			const struct label *label = &plan->values.labels.items[k];
			items[used++] = (struct owned){label->key, label, plan, i};
		}
	}
	count = keep_oldest(b, items, count, BALANCER_LABELS_MAX, same_label, NULL);
	b->lb->labels.items = arena_calloc(b->arena, count, sizeof(struct label));
	b->lb->labels.count = count;
	for (size_t i = 0; i < count; i++)
		b->lb->labels.items[i] = *(const struct label *)items[i].item;
}

static void merge_checks(struct builder *b)
{
	size_t count = 0;
	for (size_t i = 0; i < b->request->count; i++)
		count += b->request->plans[i]->values.health_checks.count;
	struct owned *items = arena_calloc(b->arena, count, sizeof(*items));
	size_t used = 0;
	for (size_t i = 0; i < b->request->count; i++) {
		const struct plan *plan = b->request->plans[i];
		for (size_t k = 0; k < plan->values.health_checks.count; k++) {
			const struct health_check *check = &plan->values.health_checks.items[k];
			items[used++] = (struct owned){check->service, check, plan, i};
		}
	}
	count = keep_oldest(b, items, count, BALANCER_CHECKS_MAX, same_check,
		"io.rancher.kubernetes.livenessprobes");
	b->lb->health_checks.items = arena_calloc(b->arena, count, sizeof(struct health_check));
	b->lb->health_checks.count = count;
	for (size_t i = 0; i < count; i++)
		b->lb->health_checks.items[i] = *(const struct health_check *)items[i].item;
}

static void merge_default_pool(struct builder *b)
{
	for (size_t i = 0; i < b->request->count; i++) {
		const struct plan *plan = b->request->plans[i];
		if (str_is_empty(plan->default_pool))
			continue;
		if (b->default_by == NULL) {
			b->default_by = plan;
			b->lb->default_pool = plan->default_pool;
		} else if (!str_eq(b->lb->default_pool, plan->default_pool)) {
			diag_add(b->diags, &plan->self, "DefaultBackendConflict",
				"spec.defaultBackend",
				"it serves the hosts of this Ingress; requests for hosts that "
				"nobody has go to that of the older Ingress %.*s/%.*s",
				STR_FMT(b->default_by->self.namespace),
				STR_FMT(b->default_by->self.name));
		}
	}
}

/* ---- listeners ---- */

static int compare_ids(const void *left, const void *right)
{
	return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

static struct str_list sorted_ids(struct tls_list *list)
{
	size_t kept = 0;
	if (list->count > 1)
		qsort(list->ids, list->count, sizeof(struct str), compare_ids);
	for (size_t i = 0; i < list->count && kept < BALANCER_CERTIFICATES_MAX; i++) {
		if (kept == 0 || !str_eq(list->ids[kept - 1], list->ids[i]))
			list->ids[kept++] = list->ids[i];
	}
	return (struct str_list){list->ids, kept};
}

/* A listener without any certificate means that HTTPS cannot be served. */
static struct listener https_listener(const struct builder *b)
{
	const struct balancer_request *request = b->request;
	struct tls_list list = {.arena = b->arena};
	bool wants_tls = false;
	for (size_t i = 0; i < request->count; i++) {
		tls_collect(request->plans[i], request->tls, &list);
		wants_tls |= request->plans[i]->tls.count != 0;
	}
	struct listener https = {.port = BALANCER_HTTPS_PORT, .protocol = LISTENER_HTTPS};
	https.certificates = sorted_ids(&list);
	if (wants_tls)
		https.default_certificate = tls_default_id(request->tls, b->arena);
	if (str_is_empty(https.default_certificate))
		https.default_certificate = list.first;
	if (b->values.https_port != 0)
		https.port = b->values.https_port;
	return https;
}

/* If both listeners have the same port, a configured port goes back to its default, that of HTTPS first. */
static void separate_ports(const struct builder *b, struct listener *http, struct listener *https)
{
	struct listener *both[] = {https, http};
	const enum annotation_row rows[] = {ANNOTATION_ROW_https_port, ANNOTATION_ROW_http_port};
	const uint64_t fallback[] = {BALANCER_HTTPS_PORT, BALANCER_HTTP_PORT};
	for (int i = 0; i < 2 && http->port == https->port; i++) {
		const struct plan *by = b->set_by[rows[i]];
		if (by == NULL || both[i]->port == fallback[i])
			continue;
		diag_add(b->diags, &by->self, "PortConflict",
			annotation_field(NULL, b->arena, rows[i]),
			"port %llu would be that of HTTP and of HTTPS; %llu is used",
			(unsigned long long)both[i]->port, (unsigned long long)fallback[i]);
		both[i]->port = fallback[i];
	}
}

static void tell_all(
	const struct builder *b, const char *reason, const char *field, const char *text)
{
	for (size_t i = 0; i < b->request->count; i++)
		diag_add(b->diags, &b->request->plans[i]->self, reason, field, "%s", text);
}

/* Whether TLS is passed through for some host, and whether some Ingress needs HTTP. */
static void find_kinds(
	const struct balancer_request *request, bool *ret_passthrough, bool *ret_plain)
{
	for (size_t i = 0; i < request->count; i++) {
		const struct plan *plan = request->plans[i];
		*ret_passthrough |= plan->is_passthrough && plan->hosts.count != 0;
		*ret_plain |= !plan->is_passthrough;
	}
}

static void add_listeners(struct builder *b)
{
	bool passthrough = false;
	bool plain = false;
	find_kinds(b->request, &passthrough, &plain);
	struct listener http = {.port = BALANCER_HTTP_PORT, .protocol = LISTENER_HTTP};
	struct listener https = https_listener(b);
	bool has_http = plain && b->values.allow_http != SWITCH_OFF;
	bool has_https = !str_is_empty(https.default_certificate);
	if (b->values.http_port != 0)
		http.port = b->values.http_port;
	if (has_https && !b->request->https_is_possible) {
		has_https = false;
		tell_all(b, "NotSupported", "spec.tls",
			"this kind of load balancer cannot serve HTTPS");
	}
	if (passthrough && !has_https) {
		https.protocol = LISTENER_TLS_PASSTHROUGH;
		https.certificates.count = 0;
		https.default_certificate = STR_NONE;
		has_https = true;
	}
	if (has_http && has_https)
		separate_ports(b, &http, &https);
	if (!has_http && !has_https && plain)
		tell_all(b, "NoListener",
			annotation_field(NULL, b->arena, ANNOTATION_ROW_allow_http),
			"plain HTTP is forbidden and no certificate is usable: nothing is served");
	struct listener *listeners = arena_calloc(b->arena, 2, sizeof(*listeners));
	size_t count = 0;
	if (has_http)
		listeners[count++] = http;
	if (has_https)
		listeners[count++] = https;
	if (count == 2 && listeners[0].port > listeners[1].port) {
		listeners[0] = https;
		listeners[1] = http;
	}
	b->lb->listeners.items = listeners;
	b->lb->listeners.count = count;
}

/* For a Service. A load balancer that it must no longer have, or may not have, is absent. */
static void add_ports(const struct builder *b)
{
	const struct plan *plan = b->request->plans[0];
	b->lb->absent = plan->is_leaving || plan->is_refused;
	b->lb->listeners.items = arena_calloc(b->arena, plan->ports.count, sizeof(struct listener));
	for (size_t i = 0; i < plan->ports.count && !b->lb->absent; i++) {
		const struct plan_port *port = &plan->ports.items[i];
		struct listener *listener = &b->lb->listeners.items[b->lb->listeners.count++];
		*listener = (struct listener){.port = port->port,
			.protocol = port->protocol,
			.source_ranges = plan->source_ranges,
			.service = arena_printf(b->arena, "%.*s/%.*s",
				STR_FMT(plan->self.namespace), STR_FMT(plan->self.name))};
		plan_port_set(port, listener);
	}
}

/* ---- result ---- */

static void set_identity(struct builder *b)
{
	const struct balancer_request *request = b->request;
	struct load_balancer *lb = b->lb;
	const struct plan *oldest = request->plans[0];
	lb->namespace = oldest->self.namespace;
	lb->name = oldest->balancer_name;
	lb->class_name = oldest->class_name;
	lb->is_group = request->scope == BALANCER_OF_GROUP;
	lb->owners.items = arena_calloc(b->arena, request->count, sizeof(struct object_ref));
	lb->owners.count = request->count;
	for (size_t i = 0; i < request->count; i++)
		lb->owners.items[i] = request->plans[i]->self;
}

void balancer_build(const struct balancer_request *request, struct arena *arena,
	struct load_balancer *ret_balancer, struct diag_list *diags)
{
	struct builder b = {.request = request, .arena = arena, .diags = diags, .lb = ret_balancer};
	if (request->count > 1)
		qsort(request->plans, request->count, sizeof(*request->plans), compare_plans);
	*ret_balancer = (struct load_balancer){.key = {.kind = LB_LOAD_BALANCER}};
	set_identity(&b);
	for (enum annotation_row row = 0; row < ANNOTATION_ROW_COUNT; row++) {
		if (annotation_is_single(row))
			merge_setting(&b, row);
	}
	merge_labels(&b);
	merge_checks(&b);
	merge_default_pool(&b);
	ret_balancer->keep = request->plans[0]->is_kept;
	if (ret_balancer->keep)
		return;
	if (request->scope == BALANCER_OF_SERVICE)
		add_ports(&b);
	else
		add_listeners(&b);
	annotations_set_balancer(&b.values, ret_balancer);
}
