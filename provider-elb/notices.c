// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/notices.h"

#include <stdlib.h>

static const struct {
	const char *reason;
	const char *explanation;
} texts[NOTICE_COUNT] = {
#define NOTICE(id, reason, explanation) {reason, explanation},
#include "provider-elb/notices.def"
#undef NOTICE
};

enum notice_about { ABOUT_INGRESS, ABOUT_SERVICE, ABOUT_CERTIFICATE };

struct notice_group {
	enum notice_id id;
	enum notice_about about;
	struct str key; /* of the Ingress, Service or certificate */
	struct str *subjects;
	size_t count;
	bool is_cut; /* there were more subjects */
};

void notices_init(struct notices *notices, struct arena *arena)
{
	*notices = (struct notices){.arena = arena};
}

static struct notice_group *find_group(
	struct notices *notices, enum notice_id id, enum notice_about about, struct str key)
{
	for (size_t i = 0; i < notices->count; i++) {
		struct notice_group *group = &notices->groups[i];
		if (group->id == id && group->about == about && str_eq(group->key, key))
			return group;
	}
	if (notices->count == NOTICES_MAX)
		return NULL;
	struct notice_group *group = arena_push(
		notices->arena, (void **)&notices->groups, &notices->count, sizeof(*group));
	*group = (struct notice_group){.id = id, .about = about, .key = key};
	return group;
}

static void add(struct notices *notices, enum notice_id id, enum notice_about about, struct str key,
	struct str subject)
{
	struct notice_group *group = find_group(notices, id, about, key);
	if (group == NULL || subject.len == 0)
		return;
	for (size_t i = 0; i < group->count; i++) {
		if (str_eq(group->subjects[i], subject))
			return;
	}
	/* Each is compared with all others. */
	group->is_cut = group->count == NOTICE_SUBJECTS_MAX;
	if (group->is_cut)
		return;
	struct str *place = arena_push(
		notices->arena, (void **)&group->subjects, &group->count, sizeof(*place));
	*place = arena_str(notices->arena, subject);
}

void notices_add(struct notices *notices, enum notice_id id, struct str ingress, struct str subject)
{
	add(notices, id, ABOUT_INGRESS, ingress, subject);
}

void notices_add_service(struct notices *notices, enum notice_id id, struct str service)
{
	add(notices, id, ABOUT_SERVICE, service, service);
}

void notices_add_certificate(struct notices *notices, enum notice_id id, struct str certificate)
{
	add(notices, id, ABOUT_CERTIFICATE, certificate, certificate);
}

static int compare_groups(const void *left, const void *right)
{
	const struct notice_group *a = left;
	const struct notice_group *b = right;
	if (a->id != b->id)
		return (int)a->id - (int)b->id;
	return a->about != b->about ? (int)a->about - (int)b->about : str_cmp(a->key, b->key);
}

/* "explanation: a, b, c and 12 more" */
static struct str message_of(const struct notice_group *group, struct arena *arena)
{
	struct str text = str_from(texts[group->id].explanation);
	for (size_t i = 0; i < group->count; i++) {
		if (text.len + group->subjects[i].len > NOTICE_LEN_MAX && i != 0 && !group->is_cut)
			return arena_printf(
				arena, "%.*s and %zu more", STR_FMT(text), group->count - i);
		if (text.len + group->subjects[i].len > NOTICE_LEN_MAX && i != 0)
			break;
		/* One subject may be a path of many kilobytes. */
		size_t len = group->subjects[i].len;
		len = len < NOTICE_LEN_MAX ? len : NOTICE_LEN_MAX;
		text = arena_printf(arena, "%.*s%s %.*s", STR_FMT(text), i == 0 ? ":" : ",",
			(int)len, group->subjects[i].p);
	}
	return group->is_cut ? arena_printf(arena, "%.*s and more", STR_FMT(text)) : text;
}

size_t notices_list(struct notices *notices, size_t max, struct lb_notice **ret_list)
{
	size_t shown = notices->count <= max ? notices->count : max - 1;
	struct lb_notice *list = arena_calloc(notices->arena, shown + 1, sizeof(struct lb_notice));
	*ret_list = list;
	if (notices->count != 0)
		qsort(notices->groups, notices->count, sizeof(*notices->groups), compare_groups);
	for (size_t i = 0; i < shown; i++) {
		const struct notice_group *group = &notices->groups[i];
		list[i] = (struct lb_notice){
			.ingress = group->about == ABOUT_INGRESS ? group->key : STR_NONE,
			.service = group->about == ABOUT_SERVICE ? group->key : STR_NONE,
			.certificate = group->about == ABOUT_CERTIFICATE ? group->key : STR_NONE,
			.reason = str_from(texts[group->id].reason),
			.message = message_of(group, notices->arena),
		};
	}
	if (shown == notices->count)
		return shown;
	list[shown] = (struct lb_notice){
		.reason = STR("MoreNotices"),
		.message = arena_printf(notices->arena, "there are %s%zu more notices",
			notices->count == NOTICES_MAX ? "at least " : "", notices->count - shown),
	};
	return max;
}
