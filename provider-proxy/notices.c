// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/notices.h"

#include "common/must.h"
#include "common/tree.h"
#include "common/xalloc.h"

struct notice {
	RB_ENTRY(notice) node;
	const char *topic; /* of the caller, a literal */
	char *key;
	enum notice_owner_kind owner;
	char *name; /* of the owner */
	char *reason;
	char *message;
};

RB_HEAD(notice_tree, notice);

struct notices {
	struct notice_tree tree;
	size_t count;
	void (*on_change)(void *ctx);
	void *ctx;
};

static int compare_notices(const struct notice *a, const struct notice *b)
{
	int order = strcmp(a->topic, b->topic);
	return order != 0 ? order : strcmp(a->key, b->key);
}

RB_GENERATE_LOCAL(notice_tree, notice, node, compare_notices)

static void changed(struct notices *notices)
{
	if (notices->on_change != NULL)
		notices->on_change(notices->ctx);
}

static void fini(struct notice *notice)
{
	free(notice->name);
	free(notice->reason);
	free(notice->message);
}

static void take_back(struct notices *notices, struct notice *notice)
{
	RB_REMOVE(notice_tree, &notices->tree, notice);
	fini(notice);
	free(notice->key);
	free(notice);
	notices->count--;
}

static struct notice *find(struct notices *notices, const char *topic, char *key)
{
	struct notice wanted = {.topic = topic, .key = key};
	return RB_FIND(notice_tree, &notices->tree, &wanted);
}

/* ---- owners ---- */

static struct notice_owner owner_of(enum notice_owner_kind kind, struct str name)
{
	return (struct notice_owner){kind, name};
}

struct notice_owner notice_of_balancer(struct str load_balancer_id)
{
	return owner_of(NOTICE_OWNER_BALANCER, load_balancer_id);
}

struct notice_owner notice_of_ingress(struct str load_balancer_id, struct str ingress)
{
	return str_is_empty(ingress) ? notice_of_balancer(load_balancer_id)
				     : owner_of(NOTICE_OWNER_INGRESS, ingress);
}

struct notice_owner notice_of_service(struct str load_balancer_id, struct str service)
{
	return str_is_empty(service) ? notice_of_balancer(load_balancer_id)
				     : owner_of(NOTICE_OWNER_SERVICE, service);
}

struct notice_owner notice_of_pool(const struct pool *pool, struct arena *arena)
{
	return owner_of(NOTICE_OWNER_SERVICE,
		arena_printf(arena, "%.*s/%.*s", STR_FMT(pool->service.namespace),
			STR_FMT(pool->service.name)));
}

struct notice_owner notice_of_certificate(struct str certificate_id)
{
	return owner_of(NOTICE_OWNER_CERTIFICATE, certificate_id);
}

/* ---- notices ---- */

void notices_set(struct notices *notices, const char *topic, struct str key,
	const struct notice_owner *owner, const char *reason, struct str message)
{
	char *key_text = str_dup(key);
	struct notice *notice = find(notices, topic, key_text);
	must(owner->kind != 0);
	if (notice == NULL) {
		notice = xcalloc(1, sizeof(*notice));
		notice->topic = topic;
		notice->key = key_text;
		RB_INSERT(notice_tree, &notices->tree, notice);
		notices->count++;
	} else {
		free(key_text);
		if (owner->kind == notice->owner && str_eq_c(owner->name, notice->name) &&
			strcmp(reason, notice->reason) == 0 && str_eq_c(message, notice->message))
			return;
		fini(notice);
	}
	notice->owner = owner->kind;
	notice->name = str_dup(owner->name);
	notice->reason = xstrdup(reason);
	notice->message = str_dup_utf8(message);
	changed(notices);
}

void notices_clear(struct notices *notices, const char *topic, struct str key)
{
	char *key_text = str_dup(key);
	struct notice *notice = find(notices, topic, key_text);
	free(key_text);
	if (notice == NULL)
		return;
	take_back(notices, notice);
	changed(notices);
}

void notices_clear_all(struct notices *notices, const char *topic, struct str key_prefix)
{
	struct notice wanted = {.topic = topic, .key = str_dup(key_prefix)};
	struct notice *notice = RB_NFIND(notice_tree, &notices->tree, &wanted);
	bool any = false;
	while (notice != NULL && strcmp(notice->topic, topic) == 0 &&
		str_starts_with(str_from(notice->key), key_prefix)) {
		struct notice *next = RB_NEXT(notice_tree, &notices->tree, notice);
		take_back(notices, notice);
		notice = next;
		any = true;
	}
	free(wanted.key);
	if (any)
		changed(notices);
}

static struct lb_notice show(const struct notice *notice)
{
	struct lb_notice shown = {
		.reason = str_from(notice->reason), .message = str_from(notice->message)};
	struct str name = str_from(notice->name);
	switch (notice->owner) {
	case NOTICE_OWNER_INGRESS:
		shown.ingress = name;
		break;
	case NOTICE_OWNER_SERVICE:
		shown.service = name;
		break;
	case NOTICE_OWNER_CERTIFICATE:
		shown.certificate = name;
		break;
	case NOTICE_OWNER_BALANCER:
		break;
	}
	return shown;
}

/* The receiver knows which load balancers an owner is on, unless the owner is a load balancer itself. */
static bool concerns(const struct notice *notice, struct str load_balancer_id)
{
	return notice->owner != NOTICE_OWNER_BALANCER || str_is_empty(load_balancer_id) ||
	       str_eq_c(load_balancer_id, notice->name);
}

size_t notices_list(const struct notices *notices, struct str load_balancer_id, struct arena *arena,
	struct lb_notice **ret_notices)
{
	size_t room = notices->count < NOTICES_MAX ? notices->count : NOTICES_MAX;
	struct lb_notice *list = arena_calloc(arena, room + 1, sizeof(*list));
	struct notice *notice =
		RB_MIN(notice_tree, (struct notice_tree *)(uintptr_t)&notices->tree);
	size_t count = 0;
	size_t left_out = 0;
	for (; notice != NULL; notice = RB_NEXT(notice_tree, NULL, notice)) {
		if (!concerns(notice, load_balancer_id))
			continue;
		if (count < NOTICES_MAX)
			list[count++] = show(notice);
		else
			left_out++;
	}
	if (left_out != 0)
		list[count++] = (struct lb_notice){
			.reason = STR("MoreNotices"),
			.message = arena_printf(arena, "and %zu more notices", left_out),
		};
	*ret_notices = list;
	return count;
}

struct notices *notices_new(void (*on_change)(void *ctx), void *ctx)
{
	struct notices *notices = xcalloc(1, sizeof(*notices));
	RB_INIT(&notices->tree);
	notices->on_change = on_change;
	notices->ctx = ctx;
	return notices;
}

void notices_free(struct notices *notices)
{
	if (notices == NULL)
		return;
	struct notice *notice;
	while ((notice = RB_ROOT(&notices->tree)) != NULL)
		take_back(notices, notice);
	free(notices);
}
