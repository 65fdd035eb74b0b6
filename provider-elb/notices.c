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

struct notice_group {
	enum notice_id id;
	struct str ingress;
	struct str *subjects;
	size_t count;
	bool is_cut; /* there were more subjects */
};

void notices_init(struct notices *notices, struct arena *arena)
{
	*notices = (struct notices){.arena = arena};
}

static struct notice_group *find_group(
	struct notices *notices, enum notice_id id, struct str ingress)
{
	for (size_t i = 0; i < notices->count; i++) {
		if (notices->groups[i].id == id && str_eq(notices->groups[i].ingress, ingress))
			return &notices->groups[i];
	}
	if (notices->count == NOTICES_MAX)
		return NULL;
	struct notice_group *group = arena_push(
		notices->arena, (void **)&notices->groups, &notices->count, sizeof(*group));
	*group = (struct notice_group){.id = id, .ingress = ingress};
	return group;
}

void notices_add(struct notices *notices, enum notice_id id, struct str ingress, struct str subject)
{
	struct notice_group *group = find_group(notices, id, ingress);
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

static int compare_groups(const void *left, const void *right)
{
	const struct notice_group *a = left;
	const struct notice_group *b = right;
	return a->id != b->id ? (int)a->id - (int)b->id : str_cmp(a->ingress, b->ingress);
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
			.ingress = group->ingress,
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
