// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/checks.h"

#include "common/ascii.h"

static bool is_path_char(char c)
{
	return ascii_is_alnum(c) || (c != '\0' && strchr("-._~!&()*+,;=:@/?%", c) != NULL);
}

static bool is_good(const struct health_check *check)
{
	if (check->type == HEALTH_CHECK_TCP)
		return true;
	if (check->path.len == 0 || check->path.p[0] != '/')
		return false;
	for (size_t i = 0; i < check->path.len; i++) {
		if (!is_path_char(check->path.p[i]))
			return false;
	}
	return true;
}

static struct str add_number(
	struct str line, const char *word, uint64_t number, struct arena *arena)
{
	if (number == 0)
		return line;
	return arena_printf(arena, "%.*s %s %llu", STR_FMT(line), word, (unsigned long long)number);
}

static struct str section_of(
	const struct health_check *check, struct str backend, struct arena *arena)
{
	struct str timeout = STR("");
	struct str how = STR("option tcp-check");
	if (check->timeout_ms != 0)
		timeout = arena_printf(
			arena, "    timeout check %llu\n", (unsigned long long)check->timeout_ms);
	if (check->type == HEALTH_CHECK_HTTP)
		how = arena_printf(
			arena, "option httpchk GET \"%.*s\" \"HTTP/1.0\"", STR_FMT(check->path));
	struct str server = STR("server $IP check");
	server = add_number(server, "port", check->port, arena);
	server = add_number(server, "inter", check->interval_ms, arena);
	server = add_number(server, "rise", check->rise, arena);
	server = add_number(server, "fall", check->fall, arena);
	return arena_printf(arena, "backend %.*s\n%.*s    %.*s\n    %.*s\n", STR_FMT(backend),
		STR_FMT(timeout), STR_FMT(how), STR_FMT(server));
}

static const struct health_check *find_check(const struct load_balancer *lb, struct str service)
{
	for (size_t i = 0; i < lb->health_checks.count; i++) {
		if (str_eq(lb->health_checks.items[i].service, service))
			return &lb->health_checks.items[i];
	}
	return NULL;
}

void checks_render(const struct load_balancer *lb, const struct lb_spec *spec, struct arena *arena,
	struct notices *notices, struct str *config)
{
	if (lb->health_checks.count == 0)
		return;
	for (size_t i = 0; i < spec->rules.count; i++) {
		const struct port_rule *rule = &spec->rules.items[i];
		struct str service = rule->service_name;
		const struct health_check *check = find_check(lb, service);
		if (check == NULL)
			continue;
		if (!is_good(check)) {
			notices_add(notices, NOTICE_CHECK_REFUSED, STR_NONE, service);
			continue;
		}
		struct str backend = rule->backend;
		if (backend.len == 0)
			backend = rules_default_backend(
				rule->source_port, rule->host, rule->path, arena);
		struct str section = section_of(check, backend, arena);
		*config = arena_printf(arena, "%.*s%s%.*s", STR_FMT(*config),
			config->len != 0 && config->p[config->len - 1] != '\n' ? "\n" : "",
			STR_FMT(section));
	}
}
