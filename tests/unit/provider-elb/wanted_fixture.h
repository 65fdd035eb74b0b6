// SPDX-License-Identifier: Apache-2.0
/* A load-balancer object with its hosts, pools and certificates, and short texts of what is wanted for it. */
#pragma once

#include "provider-elb/wanted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { FIXTURE_TEXT_LEN = 64 * 1024, FIXTURE_ITEMS = 16 };

struct fixture {
	struct arena arena;
	struct settings settings;
	struct load_balancer lb;
	struct listener listeners[FIXTURE_ITEMS];
	struct virtual_host hosts[FIXTURE_ITEMS];
	struct path_rule rules[FIXTURE_ITEMS][FIXTURE_ITEMS];
	size_t host_count;
	struct pool pools
		[FIXTURE_ITEMS]; /* others that are asked for are plain HTTP, but for "unknown" */
	size_t pool_count;
	struct wanted wanted;
	char text[FIXTURE_TEXT_LEN];
	size_t len;
};

static inline const struct pool *fixture_find_pool(void *ctx, struct str id)
{
	struct fixture *f = ctx;
	for (size_t i = 0; i < f->pool_count; i++) {
		if (str_eq(f->pools[i].key.id, id))
			return &f->pools[i];
	}
	if (str_eq_c(id, "unknown"))
		return NULL;
	struct pool *pool = arena_alloc(&f->arena, sizeof(*pool));
	pool->key.id = id;
	pool->service = (struct object_ref){STR("default"), id, STR("uid"), true, false};
	return pool;
}

/* "waits..." is being imported, "refused..." never will be. */
static inline struct str fixture_find_certificate(void *ctx, struct str id, bool *ret_is_refused)
{
	struct fixture *f = ctx;
	*ret_is_refused = str_starts_with(id, STR("refused"));
	if (*ret_is_refused || str_starts_with(id, STR("waits")))
		return STR_NONE;
	return arena_printf(&f->arena, "arn:%.*s", STR_FMT(id));
}

static inline int fixture_set_up(void **ret_fixture)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	arena_init(&f->arena);
	settings_init(&f->settings);
	f->settings.cluster = STR("test");
	f->lb = (struct load_balancer){
		.key = {.kind = LB_LOAD_BALANCER, .id = STR("default/web")},
		.namespace = STR("default"),
		.name = STR("web"),
		.listeners = {f->listeners, 0},
	};
	*ret_fixture = f;
	return 0;
}

static inline int fixture_tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	arena_fini(&f->arena);
	free(f);
	return 0;
}

static inline struct listener *fixture_listen(
	struct fixture *f, enum listener_protocol protocol, uint64_t port)
{
	struct listener *listener = &f->listeners[f->lb.listeners.count++];
	assert_true(f->lb.listeners.count <= FIXTURE_ITEMS);
	*listener = (struct listener){.port = port, .protocol = protocol};
	if (protocol == LISTENER_HTTPS)
		listener->default_certificate = STR("a");
	return listener;
}

/* Adds a rule to the host, which is made when it is new: "" is any host, "*..." a wildcard. */
static inline struct path_rule *fixture_rule(struct fixture *f, const char *host,
	enum path_type match, const char *path, const char *pool)
{
	size_t i = 0;
	while (i < f->host_count && !str_eq_c(f->hosts[i].host, host))
		i++;
	assert_true(i < FIXTURE_ITEMS);
	if (i == f->host_count) {
		f->hosts[f->host_count++] = (struct virtual_host){
			.key = {.kind = LB_VIRTUAL_HOST,
				.id = arena_printf(&f->arena, "default/web|%s", host)},
			.host = str_from(host),
			.match = host[0] == '\0'  ? HOST_ANY
				 : host[0] == '*' ? HOST_WILDCARD
						  : HOST_EXACT,
			.rules = {f->rules[i], 0}};
	}
	struct path_rule *rule = &f->rules[i][f->hosts[i].rules.count++];
	*rule = (struct path_rule){.path = str_from(path),
		.match = match,
		.pool = str_from(pool),
		.ingress = STR("default/web")};
	return rule;
}

static inline struct pool *fixture_pool(struct fixture *f, const char *id)
{
	struct pool *pool = &f->pools[f->pool_count++];
	assert_true(f->pool_count <= FIXTURE_ITEMS);
	*pool = (struct pool){.key = {.kind = LB_POOL, .id = str_from(id)},
		.service = {STR("default"), str_from(id), STR("uid"), true, false}};
	return pool;
}

[[gnu::format(printf, 2, 3)]] static inline void fixture_print(
	struct fixture *f, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int len = vsnprintf(f->text + f->len, sizeof(f->text) - f->len, format, args);
	va_end(args);
	assert_true(len >= 0 && (size_t)len < sizeof(f->text) - f->len);
	f->len += (size_t)len;
}

static inline void fixture_make(struct fixture *f)
{
	const struct wanted_lookup lookup = {fixture_find_pool, fixture_find_certificate, f};
	wanted_make(&f->lb, f->hosts, f->host_count, &f->settings, &lookup, &f->arena, &f->wanted);
	f->len = 0;
	f->text[0] = '\0';
}

static inline void fixture_print_action(
	struct fixture *f, const struct wanted_balancer *balancer, const struct elb_action *action)
{
	if (action->type == ELB_FIXED_RESPONSE) {
		fixture_print(f, ">%llu", (unsigned long long)action->status);
		return;
	}
	assert_int_equal(action->type, ELB_FORWARD);
	assert_int_equal(action->groups.count, 1);
	assert_int_equal(action->groups.items[0].weight, 1);
	for (size_t i = 0; i < balancer->groups.count; i++) {
		const struct elb_group *group = &balancer->groups.items[i];
		if (str_eq(group->name, action->groups.items[0].group)) {
			fixture_print(f, ">%.*s", STR_FMT(group->pool));
			return;
		}
	}
	fail_msg("no such group");
}

static inline void fixture_print_rule(
	struct fixture *f, const struct wanted_balancer *balancer, const struct elb_rule *rule)
{
	static const char *const fields[] = {"h", "p", "o"};
	for (size_t i = 0; i < rule->conditions.count; i++) {
		const struct elb_condition *condition = &rule->conditions.items[i];
		fixture_print(
			f, " %s%s", fields[condition->field], condition->is_regex ? "~" : "=");
		for (size_t k = 0; k < condition->values.count; k++)
			fixture_print(f, "%s%.*s", k == 0 ? "" : "|",
				STR_FMT(condition->values.items[k]));
	}
	fixture_print_action(f, balancer, &rule->action);
}

/* "80 HTTP: h=a.com p=/a|/a/ *>pool; ...; >404\n" for each listener, without the blank. */
static inline const char *fixture_rules(struct fixture *f)
{
	static const char *const protocols[] = {"HTTP", "HTTPS", "TCP", "?"};
	fixture_make(f);
	for (size_t i = 0; i < f->wanted.count; i++) {
		const struct wanted_balancer *balancer = &f->wanted.balancers[i];
		for (size_t k = 0; k < balancer->listeners.count; k++) {
			const struct elb_listener *listener = &balancer->listeners.items[k];
			fixture_print(f, "%llu %s:", (unsigned long long)listener->port,
				protocols[listener->protocol]);
			for (size_t j = 0; j < listener->rules.count; j++) {
				fixture_print_rule(f, balancer, &listener->rules.items[j]);
				fixture_print(f, ";");
			}
			fixture_print(f, " ");
			fixture_print_action(f, balancer, &listener->default_action);
			fixture_print(f, "\n");
		}
	}
	return f->text;
}

/* "Reason@whom: subjects; ..." without the explanations. */
static inline const char *fixture_notices(struct fixture *f)
{
	f->len = 0;
	f->text[0] = '\0';
	for (size_t i = 0; i < f->wanted.notices.count; i++) {
		const struct lb_notice *notice = &f->wanted.notices.items[i];
		const char *subjects = memchr(notice->message.p, ':', notice->message.len);
		struct str whom = notice->ingress.len != 0   ? notice->ingress
				  : notice->service.len != 0 ? notice->service
							     : notice->certificate;
		fixture_print(f, "%s%.*s%s%.*s%s", i == 0 ? "" : "; ", STR_FMT(notice->reason),
			whom.len != 0 ? "@" : "", STR_FMT(whom), subjects != NULL ? subjects : "");
	}
	return f->text;
}
