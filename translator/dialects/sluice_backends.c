// SPDX-License-Identifier: Apache-2.0
/* The sluice dialect: which requests reach which backends, and how. */
#include "translator/dialects/sluice_reader.h"
#include "translator/dialects/values.h"
#include "translator/hosts.h"
#include "translator/pieces.h"
#include "translator/regexes.h"

enum { CANARY_VALUE_MAX_LEN = 4096, CANARY_TOTAL_MAX = 1000 * 1000 };

#define NO_GROUPS \
	"there are no groups, for its paths are no regular expressions: see sluice.io/paths"

/* ---- requests as backends get them ---- */

static void read_body_size(const struct sluice_reader *r)
{
	const struct str *value = sluice_value(r, SLUICE_body_size);
	if (value != NULL && sluice_accept(r, SLUICE_body_size,
				     value_size(*value, &r->d->route->policy.body_max_bytes)))
		sluice_ask(r, SLUICE_body_size);
}

static void read_rewrite(const struct sluice_reader *r)
{
	const struct str *value = sluice_value(r, SLUICE_rewrite);
	struct pieces pieces;
	if (value == NULL || !sluice_pieces(r, SLUICE_rewrite, *value, &pieces))
		return;
	r->d->route->policy.rewrite.items = pieces.list.items;
	r->d->route->policy.rewrite.count = pieces.list.count;
	sluice_ask(r, SLUICE_rewrite);
}

static void read_request_headers(const struct sluice_reader *r)
{
	const struct str *value = sluice_value(r, SLUICE_request_headers);
	struct header_change *items = NULL;
	size_t count = 0;
	bool has_groups = false;
	if (value == NULL)
		return;
	const char *problem =
		value_header_changes(*value, r->d->arena, &items, &count, &has_groups);
	if (problem == NULL && has_groups && !r->d->route->has_regex)
		problem = NO_GROUPS;
	if (!sluice_accept(r, SLUICE_request_headers, problem))
		return;
	r->d->route->policy.request_headers.items = items;
	r->d->route->policy.request_headers.count = count;
	sluice_ask(r, SLUICE_request_headers);
}

static bool read_time(const struct sluice_reader *r, enum sluice_row row, uint64_t *ms)
{
	const struct str *value = sluice_value(r, row);
	if (value == NULL || !sluice_accept(r, row, value_duration(*value, ms)))
		return false;
	sluice_ask(r, row);
	return true;
}

static void read_timeouts(const struct sluice_reader *r)
{
	struct timeouts timeouts = {0};
	bool is_any = read_time(r, SLUICE_timeout_connect, &timeouts.connect_ms);
	is_any |= read_time(r, SLUICE_timeout_send, &timeouts.send_ms);
	is_any |= read_time(r, SLUICE_timeout_read, &timeouts.read_ms);
	if (!is_any)
		return;
	struct timeouts *copy = arena_alloc(r->d->arena, sizeof(*copy));
	*copy = timeouts;
	r->d->route->policy.timeouts = copy;
}

void sluice_read_backends(const struct sluice_reader *r)
{
	read_body_size(r);
	read_rewrite(r);
	read_request_headers(r);
	read_timeouts(r);
}

/* ---- paths ---- */

void sluice_read_paths(const struct sluice_reader *r)
{
	const struct str *value = sluice_value(r, SLUICE_paths);
	if (value == NULL)
		return;
	bool is_regex = str_eq_c(*value, "regex");
	if (!sluice_accept(r, SLUICE_paths,
		    is_regex || str_eq_c(*value, "plain") ? NULL
							  : "\"regex\" or \"plain\" is expected") ||
		!is_regex)
		return;
	r->d->route->has_regex = true;
	sluice_ask(r, SLUICE_paths);
}

/* ---- canaries ---- */

static void read_name(const struct sluice_reader *r, enum sluice_row row, struct str *name)
{
	const struct str *value = sluice_value(r, row);
	if (value == NULL ||
		!sluice_accept(r, row, pieces_is_token(*value) ? NULL : "a name is expected"))
		return;
	*name = *value;
	sluice_ask(r, row);
}

static void read_canary_header(const struct sluice_reader *r, struct canary_settings *canary)
{
	const struct str *regex = sluice_value(r, SLUICE_canary_header_regex);
	read_name(r, SLUICE_canary_header, &canary->header);
	if (str_is_empty(canary->header)) {
		sluice_tell_alone(r, SLUICE_canary_header_value, "canary.header");
		sluice_tell_alone(r, SLUICE_canary_header_regex, "canary.header");
		return;
	}
	canary->header = host_lower(r->d->arena, canary->header);
	(void)sluice_text(
		r, SLUICE_canary_header_value, CANARY_VALUE_MAX_LEN, &canary->header_value);
	if (regex != NULL &&
		sluice_accept(r, SLUICE_canary_header_regex, regex_check(*regex, r->d->arena)))
		canary->header_regex = *regex;
}

static void read_canary_weight(const struct sluice_reader *r, struct canary_settings *canary)
{
	canary->weight_total = 100;
	(void)sluice_count(
		r, SLUICE_canary_weight_total, 1, CANARY_TOTAL_MAX, &canary->weight_total);
	if (sluice_count(r, SLUICE_canary_weight, 0, canary->weight_total, &canary->weight) &&
		canary->weight != 0 && canary->weight != canary->weight_total)
		sluice_ask(r, SLUICE_canary_weight);
}

bool sluice_read_canary(const struct sluice_reader *r)
{
	static const enum sluice_row others[] = {SLUICE_canary_cookie, SLUICE_canary_header,
		SLUICE_canary_header_regex, SLUICE_canary_header_value, SLUICE_canary_weight,
		SLUICE_canary_weight_total};
	const struct str *value = sluice_value(r, SLUICE_canary);
	struct canary_settings *canary = arena_alloc(r->d->arena, sizeof(*canary));
	bool is_on = false;
	if (value != NULL)
		(void)sluice_accept(r, SLUICE_canary, value_switch(*value, &is_on));
	for (size_t i = 0; !is_on && i < sizeof(others) / sizeof(others[0]); i++)
		sluice_tell_alone(r, others[i], "canary");
	if (!is_on)
		return false;
	r->d->route->canary = canary;
	read_canary_header(r, canary);
	read_name(r, SLUICE_canary_cookie, &canary->cookie);
	read_canary_weight(r, canary);
	return true;
}
