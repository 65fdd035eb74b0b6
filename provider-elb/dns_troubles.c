// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/dns_troubles.h"

#include "common/xalloc.h"

#include <stdlib.h>

struct dns_troubles {
	struct arena arena;
	LIST_OF(struct records_trouble) all;
};

struct dns_troubles *dns_troubles_new(void)
{
	struct dns_troubles *troubles = xcalloc(1, sizeof(*troubles));
	arena_init(&troubles->arena);
	return troubles;
}

void dns_troubles_free(struct dns_troubles *troubles)
{
	if (troubles == NULL)
		return;
	arena_fini(&troubles->arena);
	free(troubles);
}

void dns_troubles_add(struct dns_troubles *troubles, const struct records_trouble *trouble)
{
	if (troubles->all.count == DNS_TROUBLES_MAX)
		return;
	struct records_trouble *place = arena_push(&troubles->arena, (void **)&troubles->all.items,
		&troubles->all.count, sizeof(*place));
	*place = (struct records_trouble){
		.kind = trouble->kind,
		.lb = arena_str(&troubles->arena, trouble->lb),
		.ingress = arena_str(&troubles->arena, trouble->ingress),
		.host = arena_str(&troubles->arena, trouble->host),
	};
}

static int compare(const void *left, const void *right)
{
	const struct records_trouble *a = left;
	const struct records_trouble *b = right;
	int order = str_cmp(a->lb, b->lb);
	if (order == 0)
		order = (int)a->kind - (int)b->kind;
	if (order == 0)
		order = str_cmp(a->ingress, b->ingress);
	return order != 0 ? order : str_cmp(a->host, b->host);
}

static void sort(struct dns_troubles *troubles)
{
	if (troubles->all.count != 0)
		qsort(troubles->all.items, troubles->all.count, sizeof(struct records_trouble),
			compare);
}

bool dns_troubles_eq(struct dns_troubles *a, struct dns_troubles *b)
{
	sort(a);
	sort(b);
	if (a->all.count != b->all.count)
		return false;
	for (size_t i = 0; i < a->all.count; i++) {
		if (compare(&a->all.items[i], &b->all.items[i]) != 0)
			return false;
	}
	return true;
}

/* The first of this load balancer. */
static size_t find(const struct dns_troubles *troubles, struct str lb)
{
	size_t from = 0;
	size_t to = troubles->all.count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (str_cmp(troubles->all.items[middle].lb, lb) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

bool dns_troubles_has_failed(const struct dns_troubles *troubles, struct str lb)
{
	for (size_t i = find(troubles, lb);
		i < troubles->all.count && str_eq(troubles->all.items[i].lb, lb); i++) {
		if (troubles->all.items[i].kind == RECORDS_FAILED)
			return true;
	}
	return false;
}

size_t dns_troubles_notices(const struct dns_troubles *troubles, struct str lb, struct arena *arena,
	struct lb_notice **ret_list)
{
	static const enum notice_id ids[] = {
		[RECORDS_NOT_OURS] = NOTICE_HOST_NOT_OURS,
		[RECORDS_ELSEWHERE] = NOTICE_HOST_ELSEWHERE,
		[RECORDS_FAILED] = NOTICE_HOST_FAILED,
	};
	struct notices notices;
	notices_init(&notices, arena);
	for (size_t i = find(troubles, lb);
		i < troubles->all.count && str_eq(troubles->all.items[i].lb, lb); i++) {
		const struct records_trouble *trouble = &troubles->all.items[i];
		notices_add(&notices, ids[trouble->kind], arena_str(arena, trouble->ingress),
			trouble->host);
	}
	return notices_list(&notices, DNS_NOTICES_MAX, ret_list);
}
