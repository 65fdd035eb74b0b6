// SPDX-License-Identifier: Apache-2.0
#include "translator/global_options.h"

#include "common/xalloc.h"
#include "translator/dialects/ingress_nginx_configmap.h"
#include "translator/dialects/ingress_nginx_forwarding.h"
#include "translator/policy_words.h"
#include "translator/record.h"
#include "translator/tcp_services.h"

#include <stdlib.h>

struct global_options {
	struct graph *graph;
	const struct source_peer *source;
	const struct provider_peer *provider;
	const struct engine_config *config;
	struct arena arena; /* of what is in force */
	struct nginx_options options;
	bool is_there;
};

struct global_options *global_options_new(struct graph *graph, const struct source_peer *source,
	const struct provider_peer *provider, const struct engine_config *config)
{
	struct global_options *options = xcalloc(1, sizeof(*options));
	options->graph = graph;
	options->source = source;
	options->provider = provider;
	options->config = config;
	arena_init(&options->arena);
	return options;
}

void global_options_free(struct global_options *options)
{
	if (options == NULL)
		return;
	arena_fini(&options->arena);
	free(options);
}

static struct str key_of(const struct global_options *options)
{
	return options->config->takes_nginx ? source_peer_settings(options->source)->nginx_options
					    : STR("");
}

const struct nginx_options *global_options_get(const struct global_options *options)
{
	return options->is_there ? &options->options : NULL;
}

bool global_options_concern(const struct global_options *options, struct str key)
{
	return str_eq(key, key_of(options)) ||
	       str_eq(key, nginx_option_text(&options->options, NGINX_OWN_add_headers, NULL)) ||
	       str_eq(key, nginx_option_text(&options->options, NGINX_OWN_proxy_set_headers, NULL));
}

bool global_options_forwarding(const struct global_options *options,
	struct forwarding *ret_forwarding, bool *ret_reads_proxy)
{
	uint64_t cannot = provider_peer_limits(options->provider).policies;
	const struct nginx_options *nginx = global_options_get(options);
	if (!options->config->takes_nginx)
		return false;
	struct forwarding forwarding = nginx_forwarding_of(nginx);
	bool reads_proxy =
		(cannot & POLICY_PROXY_PROTOCOL) == 0 && nginx_forwarding_reads_proxy(nginx);
	/* What the PROXY protocol says is believed of the same proxies. */
	if ((cannot & POLICY_FORWARDED_HEADERS) != 0)
		forwarding = (struct forwarding){.request_id = forwarding.request_id};
	forwarding.request_id = forwarding.request_id && (cannot & POLICY_REQUEST_ID) == 0;
	*ret_forwarding = forwarding;
	*ret_reads_proxy = reads_proxy;
	return reads_proxy || forwarding.request_id || forwarding.keeps_claims;
}

struct config_map_node *global_options_node(const struct global_options *options)
{
	struct record *record = graph_find(options->graph, NODE_CONFIG_MAP, key_of(options));
	return (struct config_map_node *)(void *)record;
}

const struct config_map_record *global_options_find_map(
	struct graph *graph, struct str key, struct arena *arena)
{
	struct record *record = graph_find(graph, NODE_CONFIG_MAP, key);
	if (record == NULL || record->payload == NULL)
		return NULL;
	struct config_map_record *map = arena_alloc(arena, sizeof(*map));
	record_read(record, arena, map);
	return map;
}

/* ---- reading ---- */

struct search {
	struct graph *graph;
	struct arena *arena;
};

static const struct config_map_record *find(void *ctx, struct str key)
{
	const struct search *search = ctx;
	return global_options_find_map(search->graph, key, search->arena);
}

/* What has been read lives in the arena; what it was read from goes. */
static void read_options(const struct global_options *options, struct arena *arena,
	struct diag_list *diags, struct nginx_options *ret_options)
{
	struct arena records;
	arena_init(&records);
	struct search search = {options->graph, &records};
	const struct nginx_configmap source = {
		.map = global_options_find_map(options->graph, key_of(options), &records),
		.key = key_of(options),
		.find = find,
		.ctx = &search,
		.egress_hosts = options->config->egress_hosts,
		.diags = diags,
	};
	nginx_configmap_read(&source, arena, ret_options);
	arena_fini(&records);
}

void global_options_update(struct global_options *options)
{
	arena_reset(&options->arena);
	options->options = (struct nginx_options){0};
	options->is_there = key_of(options).len != 0;
	if (options->is_there)
		read_options(options, &options->arena, NULL, &options->options);
}

/* ---- what is told ---- */

static bool is_set(const struct global_options *options, const struct nginx_option_spec *spec)
{
	return spec->type == NGINX_TYPE_OWN ? options->options.own[spec->index].is_set
					    : options->options.defaults[spec->index].is_set;
}

/* Owners of Ingresses are told of what would have protected them; of comforts only who wrote the option. */
static void tell_missing(const struct global_options *options, const struct object_ref *self,
	struct diag_list *diags)
{
	uint64_t cannot = provider_peer_limits(options->provider).policies;
	for (size_t i = 0; i < nginx_option_spec_count; i++) {
		const struct nginx_option_spec *spec = &nginx_option_specs[i];
		const struct nginx_spec *form = nginx_option_form(spec);
		if (form == NULL || form->word == NULL || !is_set(options, spec) ||
			((uint64_t)policy_find(form->word) & cannot) == 0)
			continue;
		diag_add(diags, self, "NotSupported",
			arena_printf(diags->arena, "data[%s]", spec->key).p,
			"this kind of load balancer cannot do it: %s",
			spec->note != NULL          ? spec->note
			: form->bad == NGINX_CLOSES ? "what it protects is answered with 503"
						    : "it is not heeded");
	}
}

bool global_options_is_ports(const struct global_options *options, struct str key)
{
	const struct source_settings *settings = source_peer_settings(options->source);
	return str_eq(key, settings->tcp_services) || str_eq(key, settings->udp_services);
}

static void diagnose_ports(const struct global_options *options, const struct config_map_node *map,
	struct diag_list *diags)
{
	const struct source_settings *settings = source_peer_settings(options->source);
	struct str key = node_key(&map->record.node);
	struct config_map_record record;
	struct service_record dropped;
	record_read(&map->record, diags->arena, &record);
	if (str_eq(key, settings->tcp_services))
		tcp_services_read(&record, PROTOCOL_TCP, STR(""), diags->arena, diags, &dropped);
	if (str_eq(key, settings->udp_services))
		tcp_services_read(&record, PROTOCOL_UDP, STR(""), diags->arena, diags, &dropped);
	diag_list_finish(diags);
}

void global_options_diagnose(const struct global_options *options,
	const struct config_map_node *map, struct diag_list *diags)
{
	const struct node *node = &map->record.node;
	struct nginx_options dropped;
	struct config_map_record record;
	if (map->record.payload != NULL && global_options_is_ports(options, node_key(node)))
		diagnose_ports(options, map, diags);
	if (!options->is_there || map->record.payload == NULL ||
		!str_eq(node_key(node), key_of(options)))
		return;
	read_options(options, diags->arena, diags, &dropped);
	record_read(&map->record, diags->arena, &record);
	const struct object_ref self = {.namespace = record.key.namespace,
		.name = record.key.name,
		.uid = record.key.uid,
		.is_config_map = true};
	tell_missing(options, &self, diags);
	diag_list_finish(diags);
}
