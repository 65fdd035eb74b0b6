// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/priorities.h"
#include "provider-elb/wanted_builder.h"

#include "common/must.h"
#include "provider-common/plain_rule.h"

#include <stdlib.h>

/* A virtual host on one listener. */
struct served_host {
	const struct virtual_host *host;
	LIST_OF(struct draft_rule) rules;
	bool takes_all; /* one of them takes every path */
};

struct maker {
	struct wanted_builder *b;
	struct draft_listener *draft;
	struct served_host *hosts;
	size_t host_count;
};

/* ---- order ---- */

static int compare_hosts(const struct virtual_host *a, const struct virtual_host *b)
{
	/* enum host_match ascends from any to exact. */
	if (a->match != b->match)
		return a->match > b->match ? -1 : 1;
	if (a->match == HOST_ANY)
		return 0;
	if (a->match == HOST_WILDCARD && a->host.len != b->host.len)
		return a->host.len > b->host.len ? -1 : 1;
	return str_cmp(a->host, b->host);
}

static int compare_precedence(const void *left, const void *right)
{
	const struct virtual_host *a = *(const struct virtual_host *const *)left;
	const struct virtual_host *b = *(const struct virtual_host *const *)right;
	int order = compare_hosts(a, b);
	return order != 0 ? order : str_cmp(a->key.id, b->key.id);
}

size_t wanted_rules_sort(const struct wanted_builder *b, const struct virtual_host ***ret_hosts)
{
	const struct virtual_host **hosts =
		arena_calloc(b->arena, b->host_count + 1, sizeof(struct virtual_host *));
	size_t count = 0;
	for (size_t i = 0; i < b->host_count; i++) {
		if (!b->hosts[i].passthrough)
			hosts[count++] = &b->hosts[i];
	}
	if (count != 0)
		qsort(hosts, count, sizeof(*hosts), compare_precedence);
	*ret_hosts = hosts;
	return count;
}

/* ---- one rule ---- */

static struct str subject(
	const struct maker *m, const struct virtual_host *host, const struct path_rule *rule)
{
	return arena_printf(m->b->arena, "%.*s%.*s", STR_FMT(host->host), STR_FMT(rule->path));
}

static uint64_t band_of(enum host_match match)
{
	switch (match) {
	case HOST_EXACT:
		return BAND_EXACT;
	case HOST_WILDCARD:
		return BAND_WILDCARD;
	case HOST_ANY:
		return BAND_ANY;
	}
	must(false);
}

static void tell(const struct maker *m, enum conditions_result result,
	const struct virtual_host *host, const struct path_rule *rule)
{
	static const enum notice_id notices[] = {
		[CONDITIONS_HOST_REFUSED] = NOTICE_HOST_REFUSED,
		[CONDITIONS_HOST_CHARS] = NOTICE_HOST_CHARS,
		[CONDITIONS_HOST_LEN] = NOTICE_HOST_LEN,
		[CONDITIONS_PATH_CHARS] = NOTICE_PATH_CHARS,
		[CONDITIONS_PATH_LEN] = NOTICE_PATH_LEN,
	};
	notices_add(&m->b->notices, notices[result], rule->ingress, subject(m, host, rule));
}

static struct draft_rule *push(
	struct maker *m, struct served_host *served, const struct condition_list *conditions)
{
	struct draft_rule *place = arena_push(
		m->b->arena, (void **)&served->rules.items, &served->rules.count, sizeof(*place));
	*place = (struct draft_rule){.rule = {.band = band_of(served->host->match)}};
	place->rule.conditions.items = conditions->items;
	place->rule.conditions.count = conditions->count;
	return place;
}

static void add_rule(struct maker *m, struct served_host *served, const struct path_rule *rule)
{
	struct condition_list conditions;
	const struct virtual_host *host = served->host;
	uint64_t port = m->draft->listener.port;
	if (!rule_is_plain(rule))
		return;
	enum conditions_result result = conditions_make(
		host, rule, port, m->b->settings->wildcard_hosts, m->b->arena, &conditions);
	if (result != CONDITIONS_GOOD) {
		tell(m, result, host, rule);
		return;
	}
	if (host->match != HOST_ANY && !conditions_port_is_usual(port) &&
		!conditions.items[0].is_regex)
		notices_add(&m->b->notices, NOTICE_HOST_PORT, rule->ingress,
			arena_printf(m->b->arena, "port %llu", (unsigned long long)port));
	struct draft_rule *draft = push(m, served, &conditions);
	draft->rule.identity = naming_rule_identity(m->b->arena, m->b->lb->key.id, host, rule);
	draft->rule.where = subject(m, host, rule);
	draft->rule.ingress = rule->ingress;
	draft->pool = rule->pool;
	served->takes_all |= conditions_take_all(rule);
}

/* ---- what ends a host ---- */

static const struct virtual_host *find_host(
	const struct maker *m, enum host_match match, struct str host)
{
	const struct virtual_host key = {.match = match, .host = host};
	for (size_t from = 0, to = m->host_count; from < to;) {
		size_t middle = from + (to - from) / 2;
		const struct served_host *served = &m->hosts[middle];
		int order = compare_hosts(&key, served->host);
		if (order == 0)
			return served->rules.count != 0 ? served->host : NULL;
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

/* A host with less precedence has rules that would take a request which none of this host's rules takes. An Ingress knows no such fallback: the request
 * belongs to this host, and gets what the listener does by default. */
static bool needs_end(const struct maker *m, const struct served_host *served)
{
	const struct virtual_host *host = served->host;
	const char *dot = str_find(host->host, '.');
	if (served->takes_all || host->match == HOST_ANY)
		return false;
	if (find_host(m, HOST_ANY, STR_NONE) != NULL)
		return true;
	if (host->match != HOST_EXACT || dot == NULL)
		return false;
	struct str parent = str_skip(host->host, (size_t)(dot - host->host.p));
	return find_host(m, HOST_WILDCARD, arena_printf(m->b->arena, "*%.*s", STR_FMT(parent))) !=
	       NULL;
}

/* Takes what no rule of the host takes. */
static void add_default(struct maker *m, struct served_host *served,
	const struct condition_list *conditions, struct str identity, struct str where)
{
	const struct virtual_host *host = served->host;
	struct draft_rule *draft = push(m, served, conditions);
	draft->rule.identity = identity;
	draft->rule.where = where;
	if (host->rules.count != 0)
		draft->rule.ingress = host->rules.items[0].ingress;
	draft->does_default = true;
}

static void add_end(struct maker *m, struct served_host *served)
{
	struct condition_list conditions;
	struct arena *arena = m->b->arena;
	const struct virtual_host *host = served->host;
	if (conditions_make(host, NULL, m->draft->listener.port, m->b->settings->wildcard_hosts,
		    arena, &conditions) != CONDITIONS_GOOD)
		return;
	add_default(m, served, &conditions,
		naming_rule_identity(arena, m->b->lb->key.id, host, NULL),
		arena_printf(arena, "%.*s (other paths)", STR_FMT(host->host)));
}

/* Before the rules of a wildcard that is a pattern. */
static void add_deeper(struct maker *m, struct served_host *served)
{
	struct condition_list conditions;
	struct arena *arena = m->b->arena;
	const struct virtual_host *host = served->host;
	if (host->match != HOST_WILDCARD || m->b->settings->wildcard_hosts != WILDCARD_GLOB ||
		host->rules.count == 0 ||
		conditions_make_deeper(host, arena, &conditions) != CONDITIONS_GOOD)
		return;
	const struct virtual_host deeper = {
		.match = HOST_WILDCARD, .host = arena_printf(arena, "*.%.*s", STR_FMT(host->host))};
	notices_add(&m->b->notices, NOTICE_HOST_WIDENED, host->rules.items[0].ingress, host->host);
	add_default(m, served, &conditions,
		naming_rule_identity(arena, m->b->lb->key.id, &deeper, NULL), deeper.host);
}

/* ---- all rules ---- */

static void make_host(struct maker *m, struct served_host *served)
{
	const struct virtual_host *host = served->host;
	add_deeper(m, served);
	for (size_t i = 0; i < host->rules.count; i++) {
		const struct path_rule *rule = &host->rules.items[i];
		if (!rule->tls_only || m->draft->listener.protocol == ELB_HTTPS)
			add_rule(m, served, rule);
	}
}

static void put_host(struct maker *m, const struct served_host *served)
{
	for (size_t i = 0; i < served->rules.count; i++) {
		const struct draft_rule *rule = &served->rules.items[i];
		if (m->b->rule_count == WANTED_RULES_MAX) {
			notices_add(&m->b->notices, NOTICE_RULE_COUNT, rule->rule.ingress,
				rule->rule.where);
			continue;
		}
		struct draft_rule *place = arena_push(m->b->arena, (void **)&m->draft->rules.items,
			&m->draft->rules.count, sizeof(*place));
		*place = *rule;
		m->b->rule_count++;
	}
}

struct place {
	struct str identity;
	size_t index;
};

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left;
	const struct place *b = right;
	int order = str_cmp(a->identity, b->identity);
	return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* Of rules with the same identity the first one stays: they have the same conditions, so the others would never be asked. */
static void drop_copies(struct maker *m)
{
	size_t count = m->draft->rules.count;
	struct draft_rule *rules = m->draft->rules.items;
	struct place *places = arena_calloc(m->b->arena, count + 1, sizeof(*places));
	bool *is_copy = arena_calloc(m->b->arena, count + 1, sizeof(*is_copy));
	for (size_t i = 0; i < count; i++)
		places[i] = (struct place){rules[i].rule.identity, i};
	if (count != 0)
		qsort(places, count, sizeof(*places), compare_places);
	for (size_t i = 1; i < count; i++)
		is_copy[places[i].index] = str_eq(places[i - 1].identity, places[i].identity);
	m->draft->rules.count = 0;
	for (size_t i = 0; i < count; i++) {
		if (!is_copy[i])
			rules[m->draft->rules.count++] = rules[i];
	}
	m->b->rule_count -= count - m->draft->rules.count;
}

void wanted_rules_add(struct wanted_builder *b, const struct virtual_host *const *hosts,
	size_t host_count, struct draft_listener *draft)
{
	struct maker m = {.b = b, .draft = draft, .host_count = host_count};
	m.hosts = arena_calloc(b->arena, host_count + 1, sizeof(*m.hosts));
	/* What ends a host depends on the rules of those after it. */
	for (size_t i = 0; i < host_count; i++)
		m.hosts[i].host = hosts[i];
	for (size_t i = 0; i < host_count; i++)
		make_host(&m, &m.hosts[i]);
	for (size_t i = 0; i < host_count; i++) {
		if (needs_end(&m, &m.hosts[i]))
			add_end(&m, &m.hosts[i]);
		put_host(&m, &m.hosts[i]);
	}
	drop_copies(&m);
}

/* ---- quota ---- */

static struct draft_listener *longest(struct wanted_builder *b)
{
	struct draft_listener *best = &b->drafts.items[0];
	for (size_t i = 1; i < b->drafts.count; i++) {
		if (b->drafts.items[i].rules.count > best->rules.count)
			best = &b->drafts.items[i];
	}
	return best;
}

void wanted_rules_limit(struct wanted_builder *b)
{
	while (b->rule_count > b->settings->rules_max) {
		struct draft_listener *draft = longest(b);
		const struct elb_rule *rule = &draft->rules.items[draft->rules.count - 1].rule;
		notices_add(&b->notices, NOTICE_RULE_QUOTA, rule->ingress,
			arena_printf(b->arena, "%.*s (port %llu)", STR_FMT(rule->where),
				(unsigned long long)draft->listener.port));
		draft->rules.count--;
		b->rule_count--;
	}
}
