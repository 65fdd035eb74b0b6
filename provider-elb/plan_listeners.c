// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/plan_parts.h"

#include "provider-elb/compare.h"

/* The first of `list` that is not in `other`, and not refused; absent: there is none. Both are sorted. */
static struct str find_certificate(
	struct plan_work *work, const struct str_list *list, const struct str_list *other)
{
	size_t at = 0;
	for (size_t i = 0; i < list->count; i++) {
		while (at < other->count && str_cmp(other->items[at], list->items[i]) < 0)
			at++;
		if (at < other->count && str_eq(other->items[at], list->items[i]))
			continue;
		if (!plan_is_held(work, list->items[i]))
			return list->items[i];
	}
	return STR_NONE;
}

static bool write_certificate(struct plan_content *content, const struct plan_listener *listener,
	struct str certificate, enum plan_step step)
{
	struct plan *plan = content->work->plan;
	if (certificate.p == NULL)
		return false;
	plan->wanted_listener = listener->wanted;
	plan->listener = listener->read;
	plan->certificate = certificate;
	return plan_change(content, step);
}

static bool write_listener(struct plan_content *content, const struct plan_listener *listener,
	const struct elb_action *action, enum plan_step step)
{
	struct plan *plan = content->work->plan;
	plan->wanted_listener = listener->wanted;
	plan->listener = listener->read;
	plan->action = action;
	return plan_change(content, step);
}

static bool make(struct plan_content *content, struct plan_listener *listener)
{
	const struct elb_action *action = NULL;
	if (plan_is_held(content->work, listener->wanted->identity))
		return false;
	switch (plan_action(content, &listener->wanted->default_action, NULL, &action)) {
	case ACTION_SEND:
		return write_listener(content, listener, action, PLAN_CREATE_LISTENER);
	case ACTION_BLOCKED:
		plan_block(content, listener);
		break;
	case ACTION_AS_WANTED:
	case ACTION_HELD:
		break;
	}
	return false;
}

static bool change(struct plan_content *content, struct plan_listener *listener)
{
	const struct elb_listener *wanted = listener->wanted, *read = listener->read;
	const struct elb_action *action = NULL;
	bool is_https = wanted->protocol == ELB_HTTPS;
	struct str missing = STR_NONE;
	if (is_https)
		missing =
			find_certificate(content->work, &wanted->certificates, &read->certificates);
	/* Before another one becomes the default: the one that was it may be among them. */
	if (read->protocol == ELB_HTTPS &&
		write_certificate(content, listener, missing, PLAN_ADD_CERTIFICATE))
		return true;
	enum plan_action_state state =
		plan_action(content, &wanted->default_action, &read->default_action, &action);
	if (state == ACTION_BLOCKED)
		plan_block(content, listener);
	if (state != ACTION_SEND)
		action = &read->default_action;
	bool is_same = state != ACTION_SEND && compare_listener_settings(wanted, read);
	/* What people have put there cannot be sent back. */
	bool can_send = action->type != ELB_ACTION_OTHER;
	if (!is_same && can_send && !plan_is_held(content->work, wanted->identity))
		return write_listener(content, listener, action, PLAN_MODIFY_LISTENER);
	return read->protocol == ELB_HTTPS &&
	       write_certificate(content, listener, missing, PLAN_ADD_CERTIFICATE);
}

bool plan_listeners_make(struct plan_content *content)
{
	for (size_t i = 0; i < content->listeners.count; i++) {
		struct plan_listener *listener = &content->listeners.items[i];
		if (listener->read == NULL ? make(content, listener) : change(content, listener))
			return true;
	}
	return false;
}

bool plan_listeners_remove(struct plan_content *content)
{
	struct plan_work *work = content->work;
	/* What a certificate is waited for is not among what is wanted, but served as it was. */
	if (content->is_blocked || content->wanted->waits_for_certificates)
		return false;
	for (size_t i = 0; i < content->leaving.count; i++) {
		if (plan_is_held(work, content->leaving.items[i]->arn))
			continue;
		if (!plan_may_delete(work))
			return false;
		work->plan->listener = content->leaving.items[i];
		return plan_change(content, PLAN_DELETE_LISTENER);
	}
	for (size_t i = 0; i < content->listeners.count; i++) {
		const struct plan_listener *listener = &content->listeners.items[i];
		if (listener->read == NULL || listener->wanted->protocol != ELB_HTTPS)
			continue;
		struct str left = find_certificate(
			work, &listener->read->certificates, &listener->wanted->certificates);
		if (left.p != NULL && plan_may_delete(work))
			return write_certificate(content, listener, left, PLAN_REMOVE_CERTIFICATE);
	}
	return false;
}
