// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/ingress_nginx_configmap.h"

#include "translator/dialects/ingress_nginx_forwarding.h"
#include "translator/dialects/ingress_nginx_parts.h"
#include "translator/dialects/ingress_nginx_streams.h"
#include "translator/dialects/values.h"

struct reading {
	const struct nginx_configmap *source;
	struct arena *arena;
	struct object_ref self;
	struct nginx_options *options;
};

/* ---- what is told ---- */

static const char *field_of(const struct reading *r, struct str key)
{
	return arena_printf(r->arena, "data[%.*s]", STR_FMT(key)).p;
}

/* An option that protects, and cannot be used, closes what it would have protected. */
static void note_closed(const struct reading *r, const struct nginx_option_spec *spec)
{
	const char *field = nginx_option_field(r->options, str_from(spec->key), r->arena);
	if (nginx_option_form(spec)->bad != NGINX_CLOSES)
		return;
	if (spec->type == NGINX_TYPE_AUTH)
		r->options->auth_closed_by = field;
	else
		r->options->closed_by = field;
}

static void refuse(const struct reading *r, const struct nginx_option_spec *spec, struct str value,
	const char *problem)
{
	bool closes = nginx_option_form(spec)->bad == NGINX_CLOSES;
	note_closed(r, spec);
	if (spec->type == NGINX_TYPE_OWN && spec->index == NGINX_OWN_proxy_real_ip_cidr)
		r->options->trusts_nobody = true;
	diag_add(r->source->diags, &r->self, "InvalidOption", field_of(r, str_from(spec->key)),
		"%s cannot be used, and %s: %s", diag_quote(r->arena, value),
		closes ? "requests for Ingresses that it protects are answered with 503"
		       : "is left out",
		problem);
}

static void tell_unheeded(const struct reading *r, const struct nginx_option_spec *spec)
{
	if (spec->on_nginx != NGINX_NOTHING)
		diag_add(r->source->diags, &r->self, "NotSupported",
			field_of(r, str_from(spec->key)), "it is not heeded: %s", spec->note);
}

/* ---- one value ---- */

static struct nginx_value *place_of(const struct reading *r, const struct nginx_option_spec *spec)
{
	return spec->type == NGINX_TYPE_OWN ? &r->options->own[spec->index]
					    : &r->options->defaults[spec->index];
}

/* What the form of a value does not say. */
static const char *check_own(struct reading *r, enum nginx_own own, struct str text)
{
	enum { STATUS_LEAST = 400, STATUS_MOST = 599 };
	int64_t number = 0;
	(void)nginx_value_read_number(text, &number);
	switch (own) {
	case NGINX_OWN_hsts_max_age:
		return number >= 0 && number <= UINT32_MAX
			       ? NULL
			       : "a number of seconds from 0 to 4294967295 is expected";
	case NGINX_OWN_limit_req_status_code:
	case NGINX_OWN_limit_conn_status_code:
		return number >= STATUS_LEAST && number <= STATUS_MOST
			       ? NULL
			       : "a status from 400 to 599 is expected";
	case NGINX_OWN_proxy_real_ip_cidr:
		return value_networks(text, r->arena, &r->options->trusted);
	case NGINX_OWN_forwarded_for_header:
		return nginx_forwarding_check_header(text);
	case NGINX_OWN_block_cidrs:
		return value_networks(text, r->arena, &r->options->blocked);
	case NGINX_OWN_hide_headers:
		return nginx_header_names(text, r->arena, &r->options->hidden);
	case NGINX_OWN_global_allowed_response_headers: {
		struct str_list names;
		return nginx_header_names(text, r->arena, &names);
	}
	default:
		return nginx_streams_check(own, text);
	}
}

static void take(struct reading *r, const struct config_entry *entry)
{
	struct str text = arena_str(r->arena, str_trim(entry->value));
	const struct nginx_option_spec *spec = nginx_option_find(entry->key);
	const struct nginx_spec *form = spec != NULL ? nginx_option_form(spec) : NULL;
	if (spec == NULL) {
		diag_add(r->source->diags, &r->self, "UnknownOption", "data",
			"ingress-nginx has no option %s", diag_quote(r->arena, entry->key));
		return;
	}
	if (!entry->is_too_long &&
		(text.len == 0 || (spec->usual != NULL && str_eq_c(text, spec->usual))))
		return;
	if (form == NULL) {
		tell_unheeded(r, spec);
		return;
	}
	const char *problem = entry->is_too_long ? "it is longer than 16384 bytes"
						 : nginx_value_check(form, text);
	if (problem == NULL && spec->type == NGINX_TYPE_OWN)
		problem = check_own(r, (enum nginx_own)spec->index, text);
	if (problem != NULL) {
		refuse(r, spec, text, problem);
		return;
	}
	*place_of(r, spec) = (struct nginx_value){.key = str_from(spec->key),
		.option = field_of(r, str_from(spec->key)),
		.text = text,
		.is_set = true};
}

/* ---- headers in ConfigMaps of their own ---- */

static void take_headers(
	struct reading *r, enum nginx_own own, struct config_entry **items, size_t *count)
{
	const struct nginx_value *value = &r->options->own[own];
	if (!value->is_set)
		return;
	const struct config_map_record *map = r->source->find(r->source->ctx, value->text);
	if (map == NULL)
		diag_add(r->source->diags, &r->self, "InvalidOption", value->option,
			"there is no ConfigMap %s, or the watcher may not read it",
			diag_quote(r->arena, value->text));
	for (size_t i = 0; map != NULL && i < map->entries.count; i++) {
		const struct config_entry *entry = &map->entries.items[i];
		struct header_change change;
		const char *problem = nginx_header_of(entry, &r->self, r->arena, &change);
		if (problem == NULL && *count == NGINX_HEADERS_MAX)
			problem = "there are more than 64 headers";
		if (problem != NULL) {
			diag_add(r->source->diags, &r->self, "InvalidOption", value->option,
				"the header %s of ConfigMap %.*s is left out: %s",
				diag_quote(r->arena, entry->key), STR_FMT(value->text), problem);
			continue;
		}
		void *list = *items;
		struct config_entry *place = arena_push(r->arena, &list, count, sizeof(*place));
		*items = list;
		*place = (struct config_entry){.key = arena_str(r->arena, entry->key),
			.value = arena_str(r->arena, entry->value)};
	}
}

/* ---- the trial ---- */

/* Reads an Ingress that says nothing itself. What of the options it cannot use, nobody can. */
static void try(const struct reading *r)
{
	struct ingress_path path = {.path = STR("/")};
	struct ingress_rule rule = {.host = STR("options.invalid"), .paths = {&path, 1}};
	const struct ingress_record ingress = {
		.key = {.namespace = r->self.namespace, .name = r->self.name}, .rules = {&rule, 1}};
	struct route_settings route = {0};
	const struct dialect dialect = {
		&ingress, r->self, r->arena, r->source->diags, &route, r->source->egress_hosts};
	const struct nginx_teller teller = {&r->self, r->arena, r->source->diags};
	struct nginx_options options = *r->options;
	struct nginx_values values = {0};
	options.closed_by = NULL;
	options.auth_closed_by = NULL;
	nginx_options_apply(&options, &teller, &values);
	ingress_nginx_read_route(&dialect, &values, 0);
	for (size_t i = 0; i < nginx_option_spec_count; i++) {
		const struct nginx_option_spec *spec = &nginx_option_specs[i];
		bool is_default = spec->type == NGINX_TYPE_DEFAULT || spec->type == NGINX_TYPE_AUTH;
		struct nginx_value *value = is_default ? place_of(r, spec) : NULL;
		if (value == NULL || !value->is_set || values.items[spec->index].is_set)
			continue;
		if (spec->type == NGINX_TYPE_AUTH && !options.defaults[NGINX_ROW_auth_url].is_set)
			continue; /* without it the others were not tried */
		value->is_set = false;
		note_closed(r, spec);
	}
}

/* The original did so, too, by itself: behind a load balancer that takes away what clients say it is right, elsewhere whoever asks can be anybody. */
static void tell_trust(const struct reading *r)
{
	if (nginx_forwarding_trusts_all(r->options))
		diag_add(r->source->diags, &r->self, "TrustsEverybody", "data[proxy-real-ip-cidr]",
			"whoever connects is believed about who the client is, so that lists of "
			"networks keep nobody out: name the networks of the proxies in front");
}

/* From here on they are named to owners of Ingresses. */
static void rename_fields(const struct reading *r)
{
	for (size_t i = 0; i < nginx_option_spec_count; i++) {
		const struct nginx_option_spec *spec = &nginx_option_specs[i];
		if (spec->type != NGINX_TYPE_UNHEEDED)
			place_of(r, spec)->option =
				nginx_option_field(r->options, str_from(spec->key), r->arena);
	}
}

static bool has_text(const struct config_map_record *map, const char *key)
{
	for (size_t i = 0; i < map->entries.count; i++) {
		const struct config_entry *entry = &map->entries.items[i];
		if (str_eq_c(entry->key, key))
			return entry->is_too_long || str_trim(entry->value).len != 0;
	}
	return false;
}

void nginx_configmap_read(const struct nginx_configmap *source, struct arena *arena,
	struct nginx_options *ret_options)
{
	struct reading r = {.source = source, .arena = arena, .options = ret_options};
	*ret_options = (struct nginx_options){.map = arena_str(arena, source->key)};
	if (source->map == NULL)
		return;
	r.self = (struct object_ref){.namespace = arena_str(arena, source->map->key.namespace),
		.name = arena_str(arena, source->map->key.name),
		.uid = arena_str(arena, source->map->key.uid),
		.is_config_map = true};
	for (size_t i = 0; i < source->map->entries.count; i++)
		take(&r, &source->map->entries.items[i]);
	/* Without a URL the others mean nothing, and protect nothing. */
	if (!has_text(source->map, "global-auth-url"))
		ret_options->auth_closed_by = NULL;
	take_headers(&r, NGINX_OWN_add_headers, &ret_options->add_headers.items,
		&ret_options->add_headers.count);
	take_headers(&r, NGINX_OWN_proxy_set_headers, &ret_options->set_headers.items,
		&ret_options->set_headers.count);
	try(&r);
	tell_trust(&r);
	rename_fields(&r);
}

void nginx_configmap_tell_verdicts(
	const struct config_map_record *map, struct arena *arena, struct diag_list *diags)
{
	const struct object_ref self = {.namespace = map->key.namespace,
		.name = map->key.name,
		.uid = map->key.uid,
		.is_config_map = true};
	for (size_t i = 0; i < map->entries.count; i++) {
		const struct config_entry *entry = &map->entries.items[i];
		const struct nginx_option_spec *spec = nginx_option_find(entry->key);
		bool differs = spec != NULL &&
			       (spec->on_nginx == NGINX_NEAR || spec->on_nginx == NGINX_DECIDED ||
				       spec->on_nginx == NGINX_NOTHING);
		if (!differs ||
			(spec->usual != NULL && str_eq_c(str_trim(entry->value), spec->usual)))
			continue;
		diag_add(diags, &self,
			spec->on_nginx == NGINX_NOTHING ? "OptionNotNeeded" : "OptionDiffers",
			arena_printf(arena, "data[%.*s]", STR_FMT(entry->key)).p, "%s", spec->note);
	}
}
