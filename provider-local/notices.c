// SPDX-License-Identifier: Apache-2.0
#include "provider-local/notices.h"

#include "common/tree.h"
#include "common/xalloc.h"

struct notice {
	RB_ENTRY(notice) node;
	const char *topic; /* of the caller, a literal */
	char *key;
	char *ingress;
	char *service;
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
	free(notice->ingress);
	free(notice->service);
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

void notices_set(
	struct notices *notices, const char *topic, struct str key, const struct lb_notice *given)
{
	char *key_text = str_dup(key);
	struct notice *notice = find(notices, topic, key_text);
	if (notice == NULL) {
		notice = xcalloc(1, sizeof(*notice));
		notice->topic = topic;
		notice->key = key_text;
		RB_INSERT(notice_tree, &notices->tree, notice);
		notices->count++;
	} else {
		free(key_text);
		if (str_eq_c(given->ingress, notice->ingress) &&
			str_eq_c(given->service, notice->service) &&
			str_eq_c(given->reason, notice->reason) &&
			str_eq_c(given->message, notice->message))
			return;
		fini(notice);
	}
	notice->ingress = str_dup(given->ingress);
	notice->service = str_dup(given->service);
	notice->reason = str_dup(given->reason);
	notice->message = str_dup_utf8(given->message);
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

size_t notices_list(
	const struct notices *notices, struct arena *arena, struct lb_notice **ret_notices)
{
	size_t count = notices->count < NOTICES_MAX ? notices->count : NOTICES_MAX;
	struct lb_notice *list = arena_calloc(arena, count + 1, sizeof(*list));
	struct notice *notice =
		RB_MIN(notice_tree, (struct notice_tree *)(uintptr_t)&notices->tree);
	for (size_t i = 0; i < count; i++) {
		list[i] = (struct lb_notice){
			.ingress = str_from(notice->ingress),
			.service = str_from(notice->service),
			.reason = str_from(notice->reason),
			.message = str_from(notice->message),
		};
		notice = RB_NEXT(notice_tree, NULL, notice);
	}
	if (notice != NULL)
		list[count++] = (struct lb_notice){
			.reason = STR("MoreNotices"),
			.message = arena_printf(
				arena, "and %zu more notices", notices->count - NOTICES_MAX),
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
