// SPDX-License-Identifier: Apache-2.0
#include "translator/explain.h"

#include "translator/dialects/ingress_nginx_values.h"
#include "translator/explain_routes.h"
#include "translator/keys.h"
#include "translator/record.h"

static void explain_tls(struct explaining *e)
{
	for (size_t i = 0; i < e->plan->tls.count; i++) {
		const struct plan_tls *wish = &e->plan->tls.items[i];
		void *items = e->to->tls.items;
		struct inspection_tls *tls =
			arena_push(e->arena, &items, &e->to->tls.count, sizeof(*tls));
		e->to->tls.items = items;
		*tls = (struct inspection_tls){.hosts = wish->hosts};
		if (wish->secret.len != 0)
			tls->secret = key_join(e->arena, e->to->namespace, '/', wish->secret);
	}
}

/* ---- the load balancer ---- */

static void add_text(struct explaining *e, struct str_list *list, struct str text)
{
	void *items = list->items;
	struct str *place = arena_push(e->arena, &items, &list->count, sizeof(*place));
	list->items = items;
	*place = text;
}

static void explain_listeners(struct explaining *e, const struct load_balancer *lb)
{
	static const char *const words[] = {[LISTENER_HTTP] = "http",
		[LISTENER_HTTPS] = "https",
		[LISTENER_TCP] = "tcp",
		[LISTENER_TLS_PASSTHROUGH] = "tls-passthrough",
		[LISTENER_UDP] = "udp"};
	for (size_t i = 0; i < lb->listeners.count; i++) {
		const struct listener *listener = &lb->listeners.items[i];
		add_text(e, &e->to->listeners,
			arena_printf(e->arena, "%s %u%s%.*s", words[listener->protocol],
				(unsigned)listener->port,
				str_is_empty(listener->address) ? "" : " of ",
				STR_FMT(listener->address)));
	}
	if (lb->listeners.count == 0)
		explain_add_problem(e, STR("NoListener"),
			STR("the load balancer has no listener: nothing is served"));
}

/* See served.h. */
static bool waits_to_be_served(const struct explaining *e)
{
	return !e->is_service && provider_peer_is_up(e->engine->provider) &&
	       provider_peer_reports_applied(e->engine->provider) && !e->ingress->is_served &&
	       !e->ingress->is_unserved;
}

static void explain_status(struct explaining *e)
{
	static const char *const words[] = {[LB_STATE_PENDING] = "pending",
		[LB_STATE_APPLIED] = "applied",
		[LB_STATE_FAILED] = "failed"};
	struct lb_status status;
	if (!provider_peer_is_up(e->engine->provider))
		explain_add_problem(e, STR("ProviderAway"),
			STR("no provider is connected: what was served last goes on"));
	if (!statuses_read(e->ingress->balancer, &e->engine->scratch, &status))
		return;
	e->to->state = str_from(words[status.state]);
	e->to->state_message = explain_keep(e, status.message);
	if (status.state == LB_STATE_FAILED)
		explain_add_problem(e, STR("LoadBalancerFailed"), status.message);
	else if (status.state == LB_STATE_PENDING)
		explain_add_problem(e, STR("LoadBalancerPending"),
			status.message.len != 0 ? status.message
						: STR("the provider is at work on it"));
	else if (status.addresses.count != 0 && waits_to_be_served(e))
		explain_add_problem(e, STR("LoadBalancerPending"),
			STR("the provider has not applied the last change yet; the Ingress "
			    "shows no address until it has"));
	if (waits_to_be_served(e))
		return;
	if (!e->is_service && publish_is_on(e->engine->publish) &&
		!publish_read(e->engine->publish, &status))
		status.addresses.count = 0;
	for (size_t i = 0; i < status.addresses.count; i++) {
		const struct address *address = &status.addresses.items[i];
		add_text(e, &e->to->addresses,
			explain_keep(e, address->ip.len != 0 ? address->ip : address->hostname));
	}
}

static void explain_balancer(struct explaining *e)
{
	struct engine *engine = e->engine;
	struct node *node = &e->ingress->balancer->node;
	struct diag_list diags;
	bool keeps = false;
	e->to->load_balancer = explain_keep(e, node_key(node));
	diag_list_init(&diags, &engine->scratch);
	explain_listeners(e, object_build(&engine->objects, node, &diags));
	explain_add_problems(e, &diags);
	explain_status(e);
	diag_list_init(&diags, &engine->scratch);
	statuses_diagnose(&engine->statuses, e->ingress->balancer, &diags, &keeps);
	explain_add_problems(e, &diags);
}

/* ---- explanations ---- */

static void explain_foreign(struct explaining *e)
{
	const struct source_settings *settings = source_peer_settings(e->engine->source);
	if (e->plan->is_unnamed)
		explain_add_problem(e, STR("ClassNotOurs"),
			STR("it names no class, and the watcher was told not to take such "
			    "(--no-watch-ingress-without-class)"));
	else if (e->plan->named_class.len != 0 &&
		 str_eq(e->plan->named_class, settings->ingress_class))
		explain_add_problem(e, STR("ClassNotOurs"),
			arena_printf(e->arena,
				"there is no IngressClass \"%.*s\" whose controller is %.*s",
				STR_FMT(settings->ingress_class),
				STR_FMT(settings->controller_name)));
	else
		explain_add_problem(e, STR("ClassNotOurs"),
			arena_printf(e->arena,
				"its class%s%.*s%s is not ours: ours is \"%.*s\", or one whose "
				"controller is %.*s",
				e->plan->named_class.len != 0 ? " \"" : "",
				STR_FMT(e->plan->named_class),
				e->plan->named_class.len != 0 ? "\"" : "",
				STR_FMT(settings->ingress_class),
				STR_FMT(settings->controller_name)));
}

static void explain_inner_service(struct explaining *e)
{
	explain_add_problem(e, STR("ServiceNotLoadBalancer"),
		STR("it is not of type LoadBalancer: only Ingresses lead to it"));
}

static void explain_foreign_service(struct explaining *e, const struct service_record *service)
{
	const struct source_settings *settings = source_peer_settings(e->engine->source);
	struct str class = service->load_balancer_class;
	if (service->type != SERVICE_LOAD_BALANCER)
		explain_inner_service(e);
	else if (e->plan->is_leaving || service->deleting)
		explain_add_problem(e, STR("ServiceLeaves"), STR("it is being deleted"));
	else if (class.len == 0)
		explain_add_problem(e, STR("LoadBalancerClassNotOurs"),
			STR("it names no spec.loadBalancerClass, and the watcher was not told to "
			    "take such (--default-load-balancer-class)"));
	else if (!str_eq(class, settings->load_balancer_class))
		explain_add_problem(e, STR("LoadBalancerClassNotOurs"),
			arena_printf(e->arena, "its class \"%.*s\" is not ours: ours is \"%.*s\"",
				STR_FMT(class), STR_FMT(settings->load_balancer_class)));
}

static void explain_ours(struct explaining *e, const struct diag_list *diags)
{
	e->to->is_ours = true;
	e->to->class_name = explain_keep(e, e->plan->class_name);
	explain_routes(e, diags);
	explain_tls(e);
	explain_balancer(e);
}

static void explain_owner(struct explaining *e, struct record *record)
{
	struct engine *engine = e->engine;
	struct diag_list diags;
	e->ingress = (struct ingress_node *)(void *)record;
	e->plan = plans_make(engine->plans, e->ingress, e->arena);
	diag_list_init(&diags, &engine->scratch);
	object_diagnose(&engine->objects, &record->node, &diags);
	if (e->ingress->balancer != NULL && e->plan->is_ours) {
		explain_ours(e, &diags);
	} else if ((record->node.flags & NODE_KEPT) != 0) {
		explain_add_problem(e, STR("Unusable"), STR("this object cannot be read"));
	} else if (e->is_service) {
		struct service_record service;
		record_read(record, &engine->scratch, &service);
		explain_foreign_service(e, &service);
	} else {
		explain_foreign(e);
	}
	explain_add_problems(e, &diags);
}

bool explain_object(struct engine *engine, enum record_kind kind, struct str namespace,
	struct str name, struct arena *arena, struct inspection_explanation *ret_explanation)
{
	struct explaining e = {.engine = engine,
		.arena = arena,
		.is_service = kind == RECORD_SERVICE,
		.to = ret_explanation};
	*ret_explanation = (struct inspection_explanation){
		.kind = e.is_service ? STR("Service") : STR("Ingress"),
		.namespace = arena_str(arena, namespace),
		.name = arena_str(arena, name),
	};
	e.self = key_join(arena, namespace, '/', name);
	struct record *record = graph_find(&engine->graph, record_node_kind(kind), e.self);
	if (record == NULL || record->payload == NULL)
		return false;
	if (!source_peer_is_whole(engine->source))
		ret_explanation->missing = explain_keep(&e, str_from(engine_missing(engine)));
	struct record *front =
		e.is_service ? graph_find(&engine->graph, NODE_FRONT, e.self) : record;
	if (front != NULL && front->payload != NULL)
		explain_owner(&e, front);
	else
		explain_inner_service(&e);
	arena_reset(&engine->scratch);
	return true;
}

bool explain_foreign_object(struct engine *engine, enum record_kind kind, struct str namespace,
	struct str name, struct arena *arena, struct inspection_explanation *ret_explanation)
{
	const struct record *record = graph_find(
		&engine->graph, record_node_kind(kind), key_join(arena, namespace, '/', name));
	if (record == NULL || (record->node.flags & (NODE_OURS | NODE_KEPT)) != 0)
		return false;
	return explain_object(engine, kind, namespace, name, arena, ret_explanation) &&
	       !ret_explanation->is_ours;
}

void explain_nginx_differences(
	struct engine *engine, struct str namespace, struct str name, struct diag_list *diags)
{
	struct ingress_record ingress;
	struct record *record = graph_find(
		&engine->graph, NODE_INGRESS, key_join(diags->arena, namespace, '/', name));
	if (record == NULL || record->payload == NULL || (record->node.flags & NODE_OURS) == 0)
		return;
	const struct plan *plan =
		&plans_get(engine->plans, (struct ingress_node *)(void *)record)->plan;
	const struct object_ref self = {.namespace = namespace, .name = name};
	const struct nginx_teller teller = {&self, diags->arena, diags};
	if (!plan->is_nginx)
		return;
	record_read(record, diags->arena, &ingress);
	nginx_values_tell_verdicts(&ingress, engine->config.nginx_prefix, &teller);
	diag_list_finish(diags);
}
