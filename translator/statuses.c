// SPDX-License-Identifier: Apache-2.0
#include "translator/statuses.h"

#include "translator/claim_keys.h"
#include "translator/record.h"
#include "common/must.h"
#include "translator/addresses.h"
#include "translator/log_events.h"
#include "translator/tcp_services.h"
#include "common/xalloc.h"
#include "proto/frame.h"

#include <errno.h>

enum { STATUSES_TOLD_MAX = 20 /* owners of a shared load balancer that are told */ };

static const struct schema *status_schema(void)
{
	return message_schema(MESSAGE_LB_STATUS, RECORD_NONE, LB_NONE);
}

bool statuses_read(
	const struct balancer_node *balancer, struct arena *arena, struct lb_status *ret_status)
{
	*ret_status = (struct lb_status){0};
	if (balancer->status == NULL)
		return false;
	message_read_kept(status_schema(),
		str_skip((struct str){balancer->status, balancer->status_len}, FRAME_HEAD_LEN),
		arena, ret_status);
	return true;
}

bool statuses_has_failed(const struct balancer_node *balancer)
{
	return (balancer->node.flags & NODE_FAILED) != 0;
}

/* ---- from the provider ---- */

static void ask_users(const struct statuses *statuses, struct balancer_node *balancer)
{
	struct use *use;
	RB_FOREACH (use, use_tree, &balancer->node.users)
		pending_tell_status(statuses->pending, use->user);
}

static void tell_recovery(const struct statuses *statuses, struct balancer_node *balancer)
{
	struct use *use;
	RB_FOREACH (use, use_tree, &balancer->node.users) {
		struct object_ref self = ingress_ref(use->user, statuses->scratch);
		(void)diagnostics_event(statuses->diagnostics, &self, EVENT_NORMAL,
			STR("LoadBalancerRecovered"), STR("the load balancer works again"), false);
	}
}

static void log_state(const struct balancer_node *balancer, const struct lb_status *status)
{
	if (status->state == LB_STATE_FAILED)
		log_event(&EV_BALANCER_FAILED, LOG_TEXT("id", node_key(&balancer->node)),
			LOG_TEXT("reason", status->message));
}

/* What is kept of the status, as a frame: all but the revision. */
static void encode(const struct lb_status *status, struct buf *out)
{
	struct schema_error error;
	struct lb_status kept = *status;
	kept.rev = 0;
	buf_init(out, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	must(message_encode(MESSAGE_LB_STATUS, &kept, out, &error) == 0);
}

static bool is_known(const struct balancer_node *balancer, struct str frame)
{
	return balancer->status != NULL &&
	       str_eq((struct str){balancer->status, balancer->status_len}, frame);
}

static void store(struct balancer_node *balancer, struct str frame)
{
	if (balancer->status == NULL)
		balancer->node.flags |= NODE_NEW_STATUS;
	free(balancer->status);
	balancer->status = xmemdup(frame.p, frame.len);
	balancer->status_len = frame.len;
}

static void note_answer(const struct statuses *statuses, struct balancer_node *balancer,
	const struct lb_status *status)
{
	struct node *node = &balancer->node;
	bool agrees = (node->flags & NODE_SENT) != 0 && status->rev == balancer->rev &&
		      status->state == LB_STATE_APPLIED;
	if (agrees && (node->flags & NODE_ANSWERED) == 0) {
		node->flags |= NODE_ANSWERED;
		fronts_answered(statuses->fronts, balancer);
	} else if (!agrees && status->rev == balancer->rev) {
		node->flags &= (uint16_t)~NODE_ANSWERED;
	}
}

/* The listeners of a new load balancer may come later than the routes: until then none of its Ingresses shows an address. */
static void note_listeners(const struct statuses *statuses, struct balancer_node *balancer,
	const struct lb_status *status)
{
	if (balancer->was_applied || status->state == LB_STATE_PENDING ||
		status->rev != balancer->rev)
		return;
	balancer->was_applied = true;
	if (provider_peer_reports_applied(statuses->provider))
		ask_users(statuses, balancer);
}

int statuses_take(const struct statuses *statuses, const struct lb_status *status)
{
	struct lb_status old;
	struct lb_status now = *status;
	struct balancer_node *balancer = graph_find_balancer(statuses->graph, status->id);
	if (balancer == NULL || !node_has_users(&balancer->node))
		return 0; /* the provider has not heard yet that it is gone */
	note_answer(statuses, balancer, status);
	note_listeners(statuses, balancer, status);
	struct buf frame;
	(void)statuses_read(balancer, statuses->scratch, &old);
	now.addresses.items = old.addresses.items;
	now.addresses.count = old.addresses.count;
	if (status->addresses_known)
		addresses_normalise(status, statuses->scratch, &now);
	now.addresses_known |= old.addresses_known;
	encode(&now, &frame);
	if (is_known(balancer, buf_str(&frame))) {
		buf_fini(&frame);
		return 0;
	}
	/* `old` points into what store() replaces. */
	bool moved = now.addresses_known && (!old.addresses_known || !addresses_equal(&old, &now));
	bool recovered = (balancer->node.flags & NODE_FAILED) != 0 && now.state == LB_STATE_APPLIED;
	store(balancer, buf_str(&frame));
	buf_fini(&frame);
	log_state(balancer, status);
	if (now.state == LB_STATE_FAILED)
		balancer->node.flags |= NODE_FAILED;
	else if (now.state == LB_STATE_APPLIED)
		balancer->node.flags &= (uint16_t)~NODE_FAILED;
	if (moved && publish_is_on(statuses->publish))
		fronts_ask(statuses->fronts, balancer);
	else if (moved)
		ask_users(statuses, balancer);
	if (recovered && !provider_peer_is_merged(statuses->provider))
		tell_recovery(statuses, balancer);
	pending_diagnose(statuses->pending, &balancer->node, DIAGNOSTICS_STATUS);
	return 0;
}

void statuses_event(const struct statuses *statuses, const struct lb_event *event)
{
	for (size_t i = 0; i < event->owners.count; i++)
		(void)diagnostics_event(statuses->diagnostics, &event->owners.items[i], event->type,
			event->reason, event->message, false);
	if (event->owners.count != 0 || provider_peer_is_merged(statuses->provider))
		return;
	struct use *use;
	struct balancer_node *balancer = graph_find_balancer(statuses->graph, event->id);
	if (balancer == NULL)
		return;
	RB_FOREACH (use, use_tree, &balancer->node.users) {
		struct object_ref self = ingress_ref(use->user, statuses->scratch);
		(void)diagnostics_event(statuses->diagnostics, &self, event->type, event->reason,
			event->message, false);
	}
}

/* ---- diagnostics ---- */

static void add_for(const struct statuses *statuses, const struct ingress_node *ingress,
	const char *reason, struct str message, struct diag_list *diags)
{
	struct object_ref self = ingress_ref(ingress, statuses->scratch);
	diag_add(diags, &self, reason, NULL, "%.*s", STR_FMT(message));
}

/* A shared load balancer concerns the administrator, so its problems are reported on the IngressClasses. */
static void add_for_classes(const struct statuses *statuses, const struct balancer_node *balancer,
	const char *reason, struct str message, struct diag_list *diags)
{
	const struct class_table *table = classes_table(statuses->classes);
	size_t count = 0;
	for (size_t i = 0; i < table->classes.count && count < STATUSES_TOLD_MAX; i++) {
		const struct class_item *item = &table->classes.items[i];
		if (classes_balancer(statuses->classes, item) != balancer)
			continue;
		diag_add(diags, &item->self, reason, NULL, "%.*s", STR_FMT(message));
		count++;
	}
}

/* Reports to all users; if a load balancer has thousands of them, only to the first few by name, because that many Events would cost more
 * than they tell. `sluicectl explain` tells the others. */
static void add_for_all(const struct statuses *statuses, struct balancer_node *balancer,
	const char *reason, struct str message, struct diag_list *diags)
{
	struct use *use;
	bool is_merged = provider_peer_is_merged(statuses->provider);
	size_t count = 0;
	if (is_merged)
		add_for_classes(statuses, balancer, reason, message, diags);
	RB_FOREACH (use, use_tree, &balancer->node.users) {
		if (is_merged && count++ == STATUSES_TOLD_MAX)
			return;
		add_for(statuses, use->user, reason, message, diags);
	}
}

/* Reports to those of the load balancer that name the Secret, or get it by default: where a load balancer is not shared, nobody claims hosts. */
static void add_for_secret(const struct statuses *statuses, struct balancer_node *balancer,
	struct secret_node *secret, const struct lb_notice *notice, const char *reason,
	struct diag_list *diags)
{
	struct use *use;
	if (secrets_is_default(statuses->secrets, &secret->record.node)) {
		add_for_all(statuses, balancer, reason, notice->message, diags);
		return;
	}
	RB_FOREACH (use, use_tree, &balancer->node.users) {
		if (graph_find_use(use->user, &secret->record.node) != NULL)
			add_for(statuses, use->user, reason, notice->message, diags);
	}
}

/* Reports to the owners for whose names the certificate is served. */
static void add_for_certificate(const struct statuses *statuses, struct balancer_node *balancer,
	const struct lb_notice *notice, const char *reason, struct diag_list *diags)
{
	struct record *record = graph_find(statuses->graph, NODE_SECRET, notice->certificate);
	struct claim_node *claim;
	size_t count = 0;
	if (record == NULL)
		return;
	struct secret_node *secret = (struct secret_node *)(void *)record;
	if (!provider_peer_is_merged(statuses->provider)) {
		add_for_secret(statuses, balancer, secret, notice, reason, diags);
		return;
	}
	if (secrets_is_default(statuses->secrets, &record->node))
		add_for_classes(statuses, balancer, reason, notice->message, diags);
	RB_FOREACH (claim, shown_tree, &secret->shown) {
		if (claim->balancer != balancer || claim->holder == NULL)
			continue;
		if (count++ == STATUSES_TOLD_MAX)
			return;
		add_for(statuses, claim->holder, reason, notice->message, diags);
	}
}

/* Reports to the owner of the Service's load balancer, and to all who use the Service as a backend. */
static void add_for_service(const struct statuses *statuses, struct balancer_node *balancer,
	const struct lb_notice *notice, const char *reason, struct diag_list *diags)
{
	struct record *front = graph_find(statuses->graph, NODE_FRONT, notice->service);
	struct record *record = graph_find(statuses->graph, NODE_SERVICE, notice->service);
	struct service_node *service = (struct service_node *)(void *)record;
	struct ingress_node *owner = (struct ingress_node *)(void *)front;
	struct node *node;
	struct use *use;
	if (owner != NULL && owner->balancer == balancer)
		add_for(statuses, owner, reason, notice->message, diags);
	if (service == NULL)
		return;
	RB_FOREACH (node, node_tree, &service->pools) {
		RB_FOREACH (use, use_tree, &node->users) {
			if (use->user != owner && use->user->balancer == balancer)
				add_for(statuses, use->user, reason, notice->message, diags);
		}
	}
}

static void add_notice(const struct statuses *statuses, struct balancer_node *balancer,
	const struct lb_notice *notice, struct diag_list *diags)
{
	const char *reason = arena_str(statuses->scratch, notice->reason).p;
	if (!str_is_empty(notice->service)) {
		add_for_service(statuses, balancer, notice, reason, diags);
		return;
	}
	if (!str_is_empty(notice->certificate)) {
		add_for_certificate(statuses, balancer, notice, reason, diags);
		return;
	}
	if (str_is_empty(notice->ingress)) {
		add_for_all(statuses, balancer, reason, notice->message, diags);
		return;
	}
	struct record *record = graph_find(statuses->graph, NODE_INGRESS, notice->ingress);
	if (record == NULL)
		return;
	struct ingress_node *ingress = (struct ingress_node *)(void *)record;
	if (ingress->balancer == balancer)
		add_for(statuses, ingress, reason, notice->message, diags);
}

/* A notice about the load balancer itself says the same, with a more specific reason. */
static bool is_noticed(const struct lb_status *status)
{
	for (size_t i = 0; i < status->notices.count; i++) {
		const struct lb_notice *notice = &status->notices.items[i];
		if (str_is_empty(notice->ingress) && str_is_empty(notice->service) &&
			str_is_empty(notice->certificate) &&
			str_starts_with(status->message, notice->message))
			return true;
	}
	return false;
}

void statuses_diagnose(const struct statuses *statuses, struct balancer_node *balancer,
	struct diag_list *diags, bool *ret_keep)
{
	struct lb_status status;
	if (!statuses_read(balancer, statuses->scratch, &status))
		return;
	struct str message = arena_printf(statuses->scratch, "the load balancer %s: %.*s",
		status.state == LB_STATE_FAILED ? "failed" : "is not ready",
		STR_FMT(status.message));
	if (status.state == LB_STATE_FAILED && !is_noticed(&status))
		add_for_all(statuses, balancer, "LoadBalancerFailed", message, diags);
	else if (status.state == LB_STATE_PENDING && !str_is_empty(status.message))
		add_for_all(statuses, balancer, "LoadBalancerPending", message, diags);
	for (size_t i = 0; i < status.notices.count; i++)
		add_notice(statuses, balancer, &status.notices.items[i], diags);
	diag_list_finish(diags);
	/* While it fails, each message is reported once, even if two of them alternate. */
	*ret_keep = status.state != LB_STATE_APPLIED;
}

/* ---- to the watcher ---- */

static void put_status(
	const struct ingress_node *ingress, const struct status_update *update, struct buf *out)
{
	struct schema_error error = {""};
	if (message_encode(MESSAGE_STATUS, update, out, &error) != 0)
		log_event(&EV_OBJECT_REFUSED, LOG_TEXT("id", node_key(&ingress->record.node)),
			LOG_STR("reason", error.text));
}

/* Whether it has at least one of its ports. */
static bool has_port(
	const struct statuses *statuses, const struct ingress_node *front, const struct plan *plan)
{
	if (plan->scope != BALANCER_OF_CLASS)
		return plan->ports.count != 0;
	for (size_t i = 0; i < plan->ports.count; i++) {
		struct str key = claim_port_key(statuses->scratch, plan->ports.items[i].port,
			plan->ports.items[i].protocol);
		const struct claim_node *claim = graph_find_claim(front->balancer, key);
		if (claim != NULL && claim->holder == front)
			return true;
	}
	return false;
}

/* The ports of an address are the load balancer's, not the Service's. */
static void copy_addresses(
	struct arena *arena, const struct lb_status *status, struct status_update *update)
{
	update->addresses.items =
		arena_calloc(arena, status->addresses.count, sizeof(struct address));
	for (size_t i = 0; i < status->addresses.count; i++) {
		const struct address *address = &status->addresses.items[i];
		update->addresses.items[update->addresses.count++] =
			(struct address){.ip = address->ip, .hostname = address->hostname};
	}
}

static void send_front_status(
	const struct statuses *statuses, struct ingress_node *front, struct buf *out)
{
	struct lb_status status = {0};
	const struct plan *plan = &plans_get(statuses->plans, front)->plan;
	struct status_update update = {
		.key = {RECORD_SERVICE, plan->self.namespace, plan->self.name, plan->self.uid}};
	if (plan->is_leaving) {
		update.release = true;
		if ((front->record.node.flags & NODE_RELEASED) != 0)
			put_status(front, &update, out);
		return;
	}
	if (!plan->is_ours)
		return;
	if (has_port(statuses, front, plan)) {
		/* A status is sent once connections are served, not before. */
		bool known = statuses_read(front->balancer, statuses->scratch, &status);
		if (!known || !status.addresses_known ||
			(front->balancer->node.flags & NODE_ANSWERED) == 0)
			return;
		copy_addresses(statuses->scratch, &status, &update);
	}
	put_status(front, &update, out);
}

static bool read_addresses(const struct statuses *statuses, const struct balancer_node *balancer,
	struct lb_status *ret_status)
{
	if (publish_is_on(statuses->publish))
		return publish_read(statuses->publish, ret_status);
	return statuses_read(balancer, statuses->scratch, ret_status) &&
	       ret_status->addresses_known;
}

static void send_status(
	const struct statuses *statuses, struct ingress_node *ingress, struct buf *out)
{
	struct lb_status status = {0};
	if ((ingress->record.node.flags & NODE_KEPT) != 0)
		return;
	if (ingress->record.node.kind == NODE_FRONT) {
		struct str map = STR("");
		if (tcp_services_is_owner(node_name(&ingress->record.node), &map))
			return; /* a ConfigMap has no status */
		send_front_status(statuses, ingress, out);
		return;
	}
	bool ours = ingress->balancer != NULL;
	if (ours && !read_addresses(statuses, ingress->balancer, &status))
		return;
	ingress->is_unserved = ours && owners_have_all(statuses->owners, ingress);
	if (ingress->is_unserved)
		status.addresses.count = 0;
	if (status.addresses.count == 0)
		ingress->is_served = false;
	else if (provider_peer_reports_applied(statuses->provider) && !ingress->is_served &&
		 !ingress->balancer->was_applied)
		return;
	else if (!served_may_show(statuses->served, ingress))
		return;
	struct object_ref self = ingress_ref(ingress, statuses->scratch);
	struct status_update update = {
		.key = {RECORD_INGRESS, self.namespace, self.name, self.uid}, .release = !ours};
	update.addresses.items = status.addresses.items;
	update.addresses.count = status.addresses.count;
	put_status(ingress, &update, out);
}

bool statuses_work(const struct statuses *statuses)
{
	struct buf *out = NULL;
	int steps = 0;
	/* Who has which port must be settled first. */
	if (!source_peer_is_up(statuses->source) || !source_peer_is_whole(statuses->source) ||
		pending_count(statuses->pending, PENDING_CLAIMS) != 0)
		return false;
	while (steps < PENDING_STEPS_MAX &&
		pending_count(statuses->pending, PENDING_STATUSES) != 0 &&
		(out = source_peer_out(statuses->source)) != NULL) {
		struct node *node = pending_take(statuses->pending, PENDING_STATUSES);
		struct ingress_node *ingress = (struct ingress_node *)(void *)node;
		if (ingress->record.payload != NULL)
			send_status(statuses, ingress, out);
		graph_settle(statuses->graph, node);
		arena_reset(statuses->scratch);
		steps++;
	}
	if (steps != 0)
		source_peer_flush(statuses->source);
	return steps == PENDING_STEPS_MAX;
}
