// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/records.h"

#include "provider-common/digest.h"
#include "provider-elb/record_marks.h"

#include <stdlib.h>

/* ---- zones and wishes ---- */

struct str records_owner(struct str cluster, struct arena *arena)
{
	return arena_printf(arena, "sluice-%.*s", STR_FMT(cluster));
}

static bool lies_in(struct str host, struct str zone)
{
	if (zone.len == 0 || !str_ends_with(host, zone))
		return false;
	return host.len == zone.len || host.p[host.len - zone.len - 1] == '.';
}

bool records_belong(struct str host, const struct records_zone *zones, size_t zone_count, size_t at)
{
	if (!lies_in(host, zones[at].name))
		return false;
	for (size_t i = 0; i < zone_count; i++) {
		if (zones[i].name.len > zones[at].name.len && lies_in(host, zones[i].name))
			return false;
	}
	return true;
}

static int compare_wishes(const void *left, const void *right)
{
	const struct records_wish *a = left;
	const struct records_wish *b = right;
	int order = str_cmp(a->host, b->host);
	if (order == 0)
		order = str_cmp(a->lb, b->lb);
	return order != 0 ? order : str_cmp(a->ingress, b->ingress);
}

static int compare_texts(const void *left, const void *right)
{
	const struct str *a = left;
	const struct str *b = right;
	return str_cmp(*a, *b);
}

static int compare_records(const void *left, const void *right)
{
	const struct record *a = left;
	const struct record *b = right;
	int order = str_cmp(a->name, b->name);
	return order != 0 ? order : (int)a->type - (int)b->type;
}

struct str records_digest(const struct records_wishes *wishes, struct arena *arena)
{
	struct digest digest;
	digest_begin(&digest);
	for (size_t i = 0; i < wishes->hosts.count; i++) {
		const struct records_wish *wish = &wishes->hosts.items[i];
		digest_add_str(&digest, wish->host);
		digest_add_str(&digest, wish->lb);
		digest_add_str(&digest, wish->ingress);
		digest_add_str(&digest, wish->dns_name);
		digest_add_str(&digest, wish->zone_id);
		digest_add_int(&digest, wish->is_dualstack);
	}
	for (size_t i = 0; i < wishes->kept.count; i++)
		digest_add_str(&digest, wishes->kept.items[i]);
	return digest_end_text(&digest, DIGEST_LEN_MAX, arena);
}

/* ---- what there is ---- */

struct planner {
	struct records_zone *zones;
	size_t zone_count;
	struct records_zone *zone;
	const struct records_wishes *wishes;
	struct str owner;
	struct arena *arena;
	struct records_plan *plan;
	struct records_group group; /* that is being made */
};

static struct record *find(const struct planner *p, struct str name, enum record_type type)
{
	struct record key = {.name = name, .type = type};
	if (p->zone->records.count == 0)
		return NULL;
	return bsearch(
		&key, p->zone->records.items, p->zone->records.count, sizeof(key), compare_records);
}

static const struct records_wish *find_wish(const struct planner *p, struct str host)
{
	size_t from = 0;
	size_t to = p->wishes->hosts.count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (str_cmp(p->wishes->hosts.items[middle].host, host) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	const struct records_wish *wish = p->wishes->hosts.items + from;
	return from < p->wishes->hosts.count && str_eq(wish->host, host) ? wish : NULL;
}

static bool is_ours(const struct planner *p, const struct record *mark)
{
	return mark != NULL && record_mark_is_ours(mark, p->owner, p->arena);
}

static bool is_kept(const struct planner *p, const struct record *mark)
{
	struct str resource = record_mark_read(mark, p->arena).resource;
	struct str prefix = STR("ingress/");
	if (p->wishes->kept.count == 0 || !str_starts_with(resource, prefix))
		return false;
	struct str ingress = str_skip(resource, prefix.len);
	return bsearch(&ingress, p->wishes->kept.items, p->wishes->kept.count, sizeof(ingress),
		       compare_texts) != NULL;
}

/* The name of the mark that decides about the record of this type. */
static struct str mark_name(const struct planner *p, struct str name, enum record_type type)
{
	if (!record_mark_has_place(name, p->zone->name))
		return name;
	return record_mark_name(name, type == RECORD_A ? "a" : "aaaa", p->arena);
}

/* What follows the prefix of a mark's name, which the name may be; absent: it is none. */
static struct str without_prefix(struct str name)
{
	static const char *const prefixes[] = {"a-", "aaaa-", "cname-"};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		struct str prefix = str_from(prefixes[i]);
		if (str_starts_with(name, prefix))
			return str_skip(name, prefix.len);
	}
	return STR_NONE;
}

/* ---- changes ---- */

static void add_change(struct planner *p, bool is_delete, const struct record *record)
{
	struct records_change *change = arena_push(p->arena, (void **)&p->group.changes.items,
		&p->group.changes.count, sizeof(*change));
	*change = (struct records_change){is_delete, record};
	p->group.len += record->alias.len;
	for (size_t i = 0; i < record->values.count; i++)
		p->group.len += record->values.items[i].len;
}

static void begin_group(struct planner *p, struct str name, const struct records_wish *wish)
{
	p->group = (struct records_group){.name = name, .wish = wish};
}

static void end_group(struct planner *p)
{
	if (p->group.changes.count == 0)
		return;
	struct records_group *group = arena_push(
		p->arena, (void **)&p->plan->groups.items, &p->plan->groups.count, sizeof(*group));
	*group = p->group;
}

static void add_trouble(
	struct planner *p, const struct records_wish *wish, enum records_trouble_kind kind)
{
	if (p->plan->troubles.count == RECORDS_TROUBLES_MAX)
		return;
	struct records_trouble *trouble = arena_push(p->arena, (void **)&p->plan->troubles.items,
		&p->plan->troubles.count, sizeof(*trouble));
	*trouble = (struct records_trouble){kind, wish->lb, wish->ingress, wish->host};
}

static bool is_equal(const struct record *a, const struct record *b)
{
	if (a->is_odd || b->is_odd || !str_eq(a->alias, b->alias) ||
		a->values.count != b->values.count)
		return false;
	if (a->alias.p != NULL)
		return str_eq(a->alias_zone, b->alias_zone) &&
		       a->evaluates_health == b->evaluates_health;
	for (size_t i = 0; i < a->values.count; i++) {
		if (!str_eq(a->values.items[i], b->values.items[i]))
			return false;
	}
	return a->ttl_s == b->ttl_s;
}

static void drop(struct planner *p, struct record *found)
{
	if (found == NULL || found->is_used)
		return;
	found->is_used = true;
	add_change(p, true, found);
}

static void put(struct planner *p, const struct record *wanted)
{
	struct record *found = find(p, wanted->name, wanted->type);
	if (found != NULL && is_equal(found, wanted)) {
		found->is_used = true;
		return;
	}
	drop(p, found);
	add_change(p, false, wanted);
}

static void leave(struct planner *p, struct str name, enum record_type type)
{
	struct record *found = find(p, name, type);
	if (found != NULL)
		found->is_used = true;
}

static void leave_all(struct planner *p, struct str name)
{
	leave(p, name, RECORD_A);
	leave(p, name, RECORD_AAAA);
	leave(p, name, RECORD_TXT);
	leave(p, mark_name(p, name, RECORD_A), RECORD_TXT);
	leave(p, mark_name(p, name, RECORD_AAAA), RECORD_TXT);
}

/* ---- one host ---- */

static bool is_marked_by_other(const struct planner *p, struct str name)
{
	const struct record *mark = find(p, name, RECORD_TXT);
	if (mark == NULL || is_ours(p, mark))
		return false;
	return record_mark_read(mark, p->arena).owner.p != NULL;
}

/* Whoever has it, it is not us, whatever the type of a record is. */
static bool is_of_other(const struct planner *p, struct str name)
{
	static const char *const prefixes[] = {"a", "aaaa", "cname"};
	if (find(p, name, RECORD_CNAME) != NULL || is_marked_by_other(p, name))
		return true;
	if (!str_eq(name, p->zone->name) && find(p, name, RECORD_NS) != NULL)
		return true;
	/* The old form would be taken for the mark of another name. */
	if (!record_mark_has_place(name, p->zone->name) && without_prefix(name).p != NULL)
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (is_marked_by_other(p, record_mark_name(name, prefixes[i], p->arena)))
			return true;
	}
	return false;
}

/* The record of one type is somebody else's, or its mark has no place. */
static bool is_taken(const struct planner *p, struct str name, enum record_type type)
{
	const struct record *found = find(p, name, type);
	const struct record *mark = find(p, mark_name(p, name, type), RECORD_TXT);
	if (mark != NULL && !is_ours(p, mark))
		return true;
	return found != NULL && (found->is_odd || mark == NULL);
}

static void put_type(struct planner *p, const struct records_wish *wish, enum record_type type)
{
	struct record *record = arena_alloc(p->arena, sizeof(*record));
	*record = (struct record){
		.name = wish->host,
		.type = type,
		.alias = wish->dns_name,
		.alias_zone = wish->zone_id,
		.evaluates_health = true,
	};
	put(p, record);
	/* One in the old form is for both. */
	if (type == RECORD_A || record_mark_has_place(wish->host, p->zone->name))
		put(p, record_mark_make(
			       mark_name(p, wish->host, type), p->owner, wish->ingress, p->arena));
}

/* False: the records of this type cannot be ours. */
static bool plan_type(struct planner *p, const struct records_wish *wish, enum record_type type)
{
	bool is_wanted = type == RECORD_A || wish->is_dualstack;
	struct str mark = mark_name(p, wish->host, type);
	if (is_taken(p, wish->host, type)) {
		leave(p, wish->host, type);
		leave(p, mark, RECORD_TXT);
		return !is_wanted;
	}
	if (is_wanted) {
		put_type(p, wish, type);
	} else if (find(p, mark, RECORD_TXT) != NULL) {
		drop(p, find(p, wish->host, type));
		drop(p, str_eq(mark, wish->host) ? NULL : find(p, mark, RECORD_TXT));
	}
	return true;
}

/* The mark in the old form, where there is room for it. */
static void plan_old_mark(struct planner *p, const struct records_wish *wish)
{
	struct str other = without_prefix(wish->host);
	const struct record *found = find(p, wish->host, RECORD_TXT);
	bool is_other = other.p != NULL && find_wish(p, other) != NULL;
	if (!record_mark_has_place(wish->host, p->zone->name))
		return;
	if (is_other || (found != NULL && !is_ours(p, found)))
		leave(p, wish->host, RECORD_TXT);
	else
		put(p, record_mark_make(wish->host, p->owner, wish->ingress, p->arena));
}

static void plan_host(struct planner *p, const struct records_wish *wish)
{
	if (is_of_other(p, wish->host)) {
		leave_all(p, wish->host);
		add_trouble(p, wish, RECORDS_NOT_OURS);
		return;
	}
	begin_group(p, wish->host, wish);
	bool has_a = plan_type(p, wish, RECORD_A);
	bool has_aaaa = plan_type(p, wish, RECORD_AAAA);
	if (has_a)
		plan_old_mark(p, wish);
	else
		leave(p, wish->host, RECORD_TXT);
	if (!has_a || !has_aaaa)
		add_trouble(p, wish, RECORDS_NOT_OURS);
	end_group(p);
}

/* Of those who want a host: who has it already, or else the first that can serve. NULL: nobody can. */
static const struct records_wish *choose(
	const struct planner *p, const struct records_wish *first, size_t count)
{
	const struct record *found = find(p, first->host, RECORD_A);
	const struct records_wish *chosen = NULL;
	for (size_t i = 0; i < count; i++) {
		if (first[i].dns_name.p == NULL)
			continue;
		if (found != NULL && str_eq(found->alias, first[i].dns_name))
			return &first[i];
		if (chosen == NULL)
			chosen = &first[i];
	}
	return chosen;
}

static void plan_hosts(struct planner *p)
{
	const struct records_wish *items = p->wishes->hosts.items;
	size_t count = p->wishes->hosts.count;
	size_t next = 0;
	for (size_t i = 0; i < count; i = next) {
		next = i + 1;
		while (next < count && str_eq(items[next].host, items[i].host))
			next++;
		if (!records_belong(
			    items[i].host, p->zones, p->zone_count, (size_t)(p->zone - p->zones)))
			continue;
		const struct records_wish *chosen = choose(p, &items[i], next - i);
		if (chosen != NULL)
			plan_host(p, chosen);
		else
			leave_all(p, items[i].host);
		for (size_t k = i; chosen != NULL && k < next; k++) {
			if (!str_eq(items[k].lb, chosen->lb))
				add_trouble(p, &items[k], RECORDS_ELSEWHERE);
		}
	}
}

/* ---- what is not wanted any more ---- */

static void drop_name(struct planner *p, struct str name)
{
	static const enum record_type types[] = {RECORD_A, RECORD_AAAA};
	begin_group(p, name, NULL);
	for (size_t i = 0; i < 2; i++) {
		struct record *found = find(p, name, types[i]);
		struct record *mark = find(p, mark_name(p, name, types[i]), RECORD_TXT);
		if (!is_ours(p, mark) || is_kept(p, mark) || (found != NULL && found->is_odd))
			continue;
		drop(p, found);
		drop(p, mark);
	}
	struct record *old = find(p, name, RECORD_TXT);
	if (p->group.changes.count != 0 && is_ours(p, old) && !is_kept(p, old))
		drop(p, old);
	end_group(p);
}

static void drop_rest(struct planner *p)
{
	struct record *records = p->zone->records.items;
	size_t count = p->zone->records.count;
	for (size_t i = 0; i < count; i++) {
		if (!records[i].is_used &&
			(records[i].type == RECORD_A || records[i].type == RECORD_AAAA))
			drop_name(p, records[i].name);
	}
	/* Marks whose records others have removed. */
	for (size_t i = 0; i < count; i++) {
		if (records[i].is_used || !is_ours(p, &records[i]) || is_kept(p, &records[i]))
			continue;
		begin_group(p, records[i].name, NULL);
		drop(p, &records[i]);
		end_group(p);
	}
}

void records_plan(struct records_zone *zones, size_t zone_count, size_t at,
	struct records_wishes *wishes, struct str owner, struct arena *arena,
	struct records_plan *ret_plan)
{
	struct planner planner = {
		.zones = zones,
		.zone_count = zone_count,
		.zone = &zones[at],
		.wishes = wishes,
		.owner = owner,
		.arena = arena,
		.plan = ret_plan,
	};
	struct records_zone *zone = &zones[at];
	*ret_plan = (struct records_plan){.groups = {NULL, 0}};
	if (zone->records.count != 0)
		qsort(zone->records.items, zone->records.count, sizeof(struct record),
			compare_records);
	if (wishes->hosts.count != 0)
		qsort(wishes->hosts.items, wishes->hosts.count, sizeof(struct records_wish),
			compare_wishes);
	if (wishes->kept.count != 0)
		qsort(wishes->kept.items, wishes->kept.count, sizeof(struct str), compare_texts);
	plan_hosts(&planner);
	drop_rest(&planner);
}

size_t records_batch(const struct records_plan *plan, size_t from, size_t max)
{
	size_t changes = 0;
	size_t len = 0;
	size_t count = 0;
	while (from + count < plan->groups.count && count < max) {
		const struct records_group *group = &plan->groups.items[from + count];
		changes += group->changes.count;
		len += group->len;
		if (count != 0 &&
			(changes > RECORDS_BATCH_CHANGES_MAX || len > RECORDS_BATCH_LEN_MAX))
			break;
		count++;
	}
	return count;
}
