// SPDX-License-Identifier: Apache-2.0
/* Annotations of ingress-nginx: a path first, then names without their prefix and values in turn, each ended by a zero byte. Whatever they say, what comes out
 * fits into the protocol, and has nothing that a proxy could take for more than text. */
#include "common/cipher_names.h"
#include "common/must.h"
#include "translator/dialects/ingress_nginx.h"
#include "translator/dialects/ingress_nginx_configmap.h"
#include "translator/pieces.h"

#include <stddef.h>
#include <stdint.h>

enum { PAIRS_MAX = 32, ALIASES_MAX = 16, ORIGINS_MAX = 64, NETWORKS_MAX = 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Texts of records are UTF-8 without NUL: the door of the process sees to that. */
static struct str take_text(struct str *rest)
{
	const char *end = rest->len != 0 ? memchr(rest->p, '\0', rest->len) : NULL;
	size_t len = end != NULL ? (size_t)(end - rest->p) : rest->len;
	struct str text = {rest->p, len};
	*rest = str_skip(*rest, end != NULL ? len + 1 : len);
	return str_is_utf8(text) ? text : STR("x");
}

static void check_text(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		must((unsigned char)text.p[i] >= 0x20 && (unsigned char)text.p[i] < 0x7f);
}

static void check_words(struct str text)
{
	check_text(text);
	for (size_t i = 0; i < text.len; i++)
		must(strchr("\"'`;{}\\$", text.p[i]) == NULL);
}

static void check_pieces(const struct piece *items, size_t count)
{
	must(count <= PIECES_COUNT_MAX);
	for (size_t i = 0; i < count; i++) {
		check_text(items[i].text);
		must(items[i].group <= 9 && items[i].text.len <= PIECES_TEXT_MAX_LEN);
	}
}

static void check_redirect(const struct redirect *redirect)
{
	if (redirect == NULL)
		return;
	must(redirect->status >= 301 && redirect->status <= 308 && redirect->location.count != 0);
	check_pieces(redirect->location.items, redirect->location.count);
}

static void check_cors(const struct cors *cors)
{
	if (cors == NULL)
		return;
	must(cors->origins.count <= ORIGINS_MAX && (!cors->any_origin || cors->origins.count == 0));
	for (size_t i = 0; i < cors->origins.count; i++)
		check_words(cors->origins.items[i]);
	check_words(cors->methods);
	check_words(cors->headers);
	check_words(cors->expose_headers);
}

static void check_limits(const struct rate_limits *limits)
{
	for (size_t i = 0; limits != NULL && i < limits->requests.count; i++) {
		must(limits->requests.items[i].requests != 0);
		must(limits->requests.items[i].burst <= UINT32_MAX);
	}
}

static void check_route(const struct route_settings *route)
{
	const struct policy *policy = &route->policy;
	check_redirect(route->redirect);
	check_redirect(route->app_root);
	check_cors(policy->cors);
	check_limits(policy->rate_limits);
	check_pieces(policy->rewrite.items, policy->rewrite.count);
	must(policy->response_headers.count <= 64 && policy->request_headers.count <= 64 + 4);
	for (size_t i = 0; i < policy->response_headers.count; i++)
		check_pieces(policy->response_headers.items[i].value.items,
			policy->response_headers.items[i].value.count);
	for (size_t i = 0; i < policy->request_headers.count; i++)
		check_pieces(policy->request_headers.items[i].value.items,
			policy->request_headers.items[i].value.count);
	if (policy->basic_auth != NULL) {
		check_words(policy->basic_auth->realm);
		check_words(route->users_secret);
	}
	must(policy->source_access == NULL || policy->source_access->allow.count <= NETWORKS_MAX);
	must(route->aliases.count <= ALIASES_MAX);
	for (size_t i = 0; i < route->aliases.count; i++)
		check_words(route->aliases.items[i]);
	if (route->handshake != NULL)
		must(cipher_names_are_good(&(const struct cipher_names){
			route->handshake->ciphers.items, route->handshake->ciphers.count}));
	if (route->client != NULL && route->client->error_path.len != 0)
		must(str_starts_with(route->client->error_path, STR("/")));
	if (route->canary != NULL)
		must(route->canary->weight <= route->canary->weight_total &&
			route->canary->weight_total != 0);
}

static void check_values(const struct annotation_values *values)
{
	check_words(values->backend.name);
	check_words(values->backend.ca);
	check_words(values->backend.client);
	if (values->stickiness == NULL)
		return;
	check_words(values->stickiness->cookie);
	check_words(values->stickiness->domain);
}

/* The ConfigMap stands for all that are named. */
static const struct config_map_record *find_option_map(void *ctx, struct str key)
{
	must(key.len != 0);
	return ctx;
}

static const struct config_map_record *find_map(void *ctx, struct str key, struct arena *arena)
{
	must(key.len != 0);
	return ctx;
}

/* Options of the ConfigMap have "@" before their names. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct annotation items[PAIRS_MAX];
	struct str rest = {(const char *)data, len};
	struct arena arena;
	struct diag_list diags;
	struct route_settings route = {0};
	struct annotation_values values = {0};
	struct nginx_values nginx;
	struct nginx_options options;
	struct config_entry entries[PAIRS_MAX];
	struct config_map_record map = {
		.key = {RECORD_CONFIG_MAP, STR("n"), STR("o"), STR("u")}, .entries = {entries, 0}};
	size_t count = 0;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	struct ingress_path path = {.path = take_text(&rest)};
	struct ingress_rule rule = {.host = STR("a.test"), .paths = {&path, 1}};
	while (rest.len != 0 && count < PAIRS_MAX && map.entries.count < PAIRS_MAX) {
		struct str name = take_text(&rest);
		if (str_starts_with(name, STR("@"))) {
			entries[map.entries.count++] = (struct config_entry){
				.key = str_skip(name, 1), .value = take_text(&rest)};
			continue;
		}
		struct str key = arena_printf(&arena, INGRESS_NGINX_PREFIX "/%.*s", STR_FMT(name));
		items[count++] = (struct annotation){key, take_text(&rest)};
	}
	const struct ingress_record ingress = {.key = {.namespace = STR("n"), .name = STR("i")},
		.annotations = {items, count},
		.rules = {&rule, 1}};
	const struct dialect dialect = {&ingress, {STR("n"), STR("i")}, &arena, &diags, &route};
	const struct nginx_teller teller = {&dialect.self, &arena, &diags};
	const struct nginx_configmap source = {.map = &map,
		.key = STR("n/o"),
		.find = find_option_map,
		.ctx = &map,
		.diags = &diags};
	nginx_configmap_read(&source, &arena, &options);
	must((options.closed_by == NULL && options.auth_closed_by == NULL) || diags.count != 0);
	diags.count = 0;
	nginx_values_read(&ingress, STR_NONE, &teller, &nginx);
	nginx_options_apply(&options, &teller, &nginx);
	nginx.maps = (struct nginx_maps){.find = find_map, .ctx = &map};
	ingress_nginx_read_values(&ingress, &nginx, &teller, &values);
	ingress_nginx_read_route(&dialect, &nginx, 443);
	nginx_values_tell_verdicts(&ingress, STR_NONE, &teller);
	diag_list_finish(&diags);
	check_route(&route);
	check_values(&values);
	must(!route.is_closed || diags.count != 0);
	for (size_t i = 0; i < diags.count; i++)
		must(str_is_utf8(diags.items[i].message));
	arena_fini(&arena);
	return 0;
}
