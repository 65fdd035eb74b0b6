// SPDX-License-Identifier: Apache-2.0
/* The blocks and values of nginx.conf.tmpl. */
#include "common/must.h"
#include "provider-nginx/conf.h"
#include "provider-nginx/conf_values.h"
#include "provider-nginx/datagrams.h"
#include "provider-nginx/fronts.h"
#include "provider-nginx/pool_text.h"
#include "provider-nginx/quote.h"

#include <inttypes.h>

enum { DEPTH_USUAL = 5, TLS_1_2 = 12, TLS_1_3 = 13 };

/* Rendering position in the template. */
struct view {
	const struct conf *conf;
	const bool *is_out; /* NULL: none */
	const struct buf *out;
	size_t begin;            /* of our text in `out` */
	uint64_t generation;     /* set before the control server is rendered */
	size_t listener;         /* index of `port` in conf->ports */
	const struct port *port; /* NULL: only a socket that is closing */
	struct port_label label; /* of `port` */
	bool has_hops;           /* some of its hosts are passed through, others are terminated */
	uint16_t port_number;
	bool is_shared;  /* the port has more than one socket */
	bool has_any_v4; /* among the addresses */
	const struct check_ip *bind;
	const struct check_cidr *range;
	const struct conf_pool *pool;
	const struct conf_peer *peer;
	size_t pass;     /* index of the present one */
	size_t pass_end; /* of those of the listener */
	struct str host;
	struct str host_rest; /* the part after `host_label` */
	struct str host_label;
	const struct name *target; /* pool of a listener for TCP or UDP, or of `host`; NULL: none */
	const struct conf_trust *trust;
	struct way_cursor way;
	size_t shard;
	uint16_t split;
	struct check_cidr proxy;
	struct template_text text; /* of the last value */
};

/* ---- values ---- */

static struct str way_value(const struct way_cursor *way, unsigned name)
{
	if (name == NGINX_CONF_VALUE_WAY_BUFFERING)
		return way->way.buffer != WAY_STREAMS ? STR("on") : STR("off");
	if (name == NGINX_CONF_VALUE_WAY_FILE)
		return way->way.buffer == WAY_DISK ? STR("16m") : STR("0");
	return str_from(name == NGINX_CONF_VALUE_CAUSE ? way->cause : way->name);
}

static struct fronts fronts_of(const struct view *view)
{
	return (struct fronts){view->conf, view->port, view->has_hops};
}

static struct str port_number(struct view *view, unsigned name)
{
	const struct fronts fronts = fronts_of(view);
	unsigned number = name == NGINX_CONF_VALUE_PEER_PORT     ? view->peer->port
			  : name == NGINX_CONF_VALUE_SPLIT_PORT  ? view->split
			  : name == NGINX_CONF_VALUE_PORT_NUMBER ? view->port_number
								 : fronts_number(&fronts, name);
	return template_printf(&view->text, "%u", number);
}

/* Of what proxies in front say. */
static struct str front_value(struct view *view, unsigned name)
{
	const struct fronts fronts = fronts_of(view);
	if (name == NGINX_CONF_VALUE_CLIENT_HEADER)
		return fronts_client_header(&fronts);
	return template_printf(&view->text, "%s/%u", view->proxy.ip.text, view->proxy.bits);
}

static unsigned trust_depth(const struct terms *terms)
{
	return terms->max_depth != 0 ? terms->max_depth : DEPTH_USUAL;
}

static struct str value(void *ctx, unsigned name)
{
	struct view *view = ctx;
	struct template_text *text = &view->text;
	switch ((enum nginx_conf_value)name) {
	case NGINX_CONF_VALUE_ADDRESS:
		return template_address(text, view->bind);
	case NGINX_CONF_VALUE_CLIENT_HEADER:
	case NGINX_CONF_VALUE_FRONT_NETWORK:
	case NGINX_CONF_VALUE_TRUSTED_NETWORK:
		return front_value(view, name);
	case NGINX_CONF_VALUE_CIDR:
		return template_printf(text, "%s/%u", view->range->ip.text, view->range->bits);
	case NGINX_CONF_VALUE_GENERATION:
		return template_printf(text, "%016" PRIx64, view->generation);
	case NGINX_CONF_VALUE_HOST:
		return view->host;
	case NGINX_CONF_VALUE_HOST_LABEL_TEXT:
		return view->host_label;
	case NGINX_CONF_VALUE_LABEL:
		return str_from(view->label.text);
	case NGINX_CONF_VALUE_LOAD_BALANCER:
		return str_from(view->port->load_balancer.text);
	case NGINX_CONF_VALUE_PEER_ADDRESS:
		return template_address(text, &view->peer->ip);
	case NGINX_CONF_VALUE_POOL_NAME:
		return str_from(view->pool->name.text);
	case NGINX_CONF_VALUE_SCHEME:
		return view->port->protocol == LISTENER_HTTPS ? STR("https") : STR("http");
	case NGINX_CONF_VALUE_SHARD_NAME:
		return conf_shard_name(text, view->shard);
	case NGINX_CONF_VALUE_CLAIM_LEN_MAX:
	case NGINX_CONF_VALUE_HTTPS_PORT:
	case NGINX_CONF_VALUE_OWN_HTTPS_PORT:
	case NGINX_CONF_VALUE_PEER_PORT:
	case NGINX_CONF_VALUE_PORT_NUMBER:
	case NGINX_CONF_VALUE_SPLIT_PORT:
	case NGINX_CONF_VALUE_TOLD_PORT:
		return port_number(view, name);
	case NGINX_CONF_VALUE_TARGET:
		return conf_target(view->conf, view->target);
	case NGINX_CONF_VALUE_CIPHERS:
		return view->trust->terms.ciphers;
	case NGINX_CONF_VALUE_TERMS:
		return view->trust->text;
	case NGINX_CONF_VALUE_TRUST_BASE:
		return str_from(view->trust->terms.base.text);
	case NGINX_CONF_VALUE_TRUST_DEPTH:
		return template_printf(text, "%u", trust_depth(&view->trust->terms));
	case NGINX_CONF_VALUE_TRUST_NAME:
		return str_from(view->trust->name.text);
	case NGINX_CONF_VALUE_CAUSE:
	case NGINX_CONF_VALUE_WAY_BUFFERING:
	case NGINX_CONF_VALUE_WAY_FILE:
	case NGINX_CONF_VALUE_WAY_NAME:
		return way_value(&view->way, name);
	default:
		return datagrams_value(view->conf, view->port, (enum nginx_conf_value)name, text);
	}
}

/* ---- listeners ---- */

static bool has_piece(const struct view *view, size_t piece)
{
	return view->is_out == NULL || !view->is_out[piece];
}

static bool has_pass(const struct view *view, size_t pass)
{
	return has_piece(view, view->conf->ports->count + pass);
}

/* Whether TLS is passed through for some hosts of the port and terminated for others. */
static bool needs_hops(const struct view *view, const struct port *port)
{
	bool is_found = false;
	size_t count = 0;
	size_t first = port->protocol == LISTENER_HTTPS
			       ? conf_find_passes(view->conf, &port->load_balancer, &count)
			       : 0;
	for (size_t i = 0; i < count && !is_found; i++)
		is_found = has_pass(view, first + i);
	return is_found;
}

static bool is_http(const struct port *port)
{
	return port->protocol == LISTENER_HTTP || port->protocol == LISTENER_HTTPS;
}

static void enter_listener(struct view *view, size_t index)
{
	const struct port *port = &view->conf->ports->items[index];
	view->listener = index;
	view->port = port;
	view->label = port_label_of(port);
	view->port_number = port->port;
	view->is_shared = port_is_udp(port) || conf_is_split(view->conf, port->port);
	view->has_any_v4 = false;
	for (size_t i = 0; i < port->bind_count; i++)
		view->has_any_v4 |=
			port->binds[i].family == AF_INET && socket_is_wildcard(&port->binds[i]);
	view->target = NULL;
}

/* The first one from `index` on that has a server in the http block, or in the stream block. */
static bool find_listener(struct view *view, size_t index, bool in_stream)
{
	for (; index < view->conf->ports->count; index++) {
		const struct port *port = &view->conf->ports->items[index];
		if (!has_piece(view, index) || (!in_stream && !is_http(port)))
			continue;
		view->has_hops = needs_hops(view, port);
		if (in_stream && is_http(port) && !view->has_hops)
			continue;
		enter_listener(view, index);
		return true;
	}
	return false;
}

static bool next_listener(struct view *view, size_t index, bool in_stream)
{
	return find_listener(view, index == 0 ? 0 : view->listener + 1, in_stream);
}

static bool next_bind(struct view *view, size_t index)
{
	view->bind = index < view->port->bind_count ? &view->port->binds[index] : NULL;
	return view->bind != NULL;
}

static bool next_range(struct view *view, size_t index)
{
	view->range = index < view->port->range_count ? &view->port->ranges[index] : NULL;
	return view->range != NULL;
}

static bool next_leaving_socket(struct view *view, size_t index)
{
	const struct socket_list *leaving = &view->conf->leaving;
	if (index == leaving->count)
		return false;
	view->bind = &leaving->items[index].ip;
	view->port_number = leaving->items[index].port;
	view->is_shared = conf_is_split(view->conf, view->port_number);
	view->has_any_v4 = false;
	return true;
}

/* ---- pools and hosts of the stream block ---- */

static bool next_pool(struct view *view, size_t index)
{
	const struct conf *conf = view->conf;
	size_t at = index == 0 ? 0 : (size_t)(view->pool - conf->pools) + 1;
	while (at < conf->pool_count && conf->pools[at].peer_count == 0)
		at++;
	view->pool = at < conf->pool_count ? &conf->pools[at] : NULL;
	return view->pool != NULL;
}

static bool next_of_pool(struct view *view, unsigned block, size_t index)
{
	if (block == NGINX_CONF_BLOCK_POOL)
		return next_pool(view, index);
	view->peer = index < view->pool->peer_count ? &view->pool->peers[index] : NULL;
	return view->peer != NULL;
}

static bool next_stream_listener(struct view *view, size_t index)
{
	const struct conf *conf = view->conf;
	if (!next_listener(view, index, true))
		return false;
	for (size_t i = 0; i < conf->tcp_count; i++) {
		if (conf->tcp[i].port == view->listener)
			view->target = &conf->tcp[i].pool;
	}
	return true;
}

static bool next_pass(struct view *view, size_t index)
{
	const struct conf *conf = view->conf;
	if (index == 0) {
		size_t count;
		view->pass = conf_find_passes(conf, &view->port->load_balancer, &count);
		view->pass_end = view->pass + count;
	}
	size_t at = index == 0 ? view->pass : view->pass + 1;
	while (at < view->pass_end && !has_pass(view, at))
		at++;
	if (at == view->pass_end)
		return false;
	view->pass = at;
	view->host = conf->passes[at].host;
	view->target = &conf->passes[at].pool;
	return true;
}

/* For a host with `*.`: each label after the asterisk. */
static bool next_host_label(struct view *view, size_t index)
{
	struct str rest = index == 0 ? str_skip(view->host, 1) : view->host_rest;
	if (rest.len == 0)
		return false;
	rest = str_skip(rest, 1);
	view->host_label = str_before(rest, '.');
	view->host_rest = str_skip(rest, view->host_label.len);
	return true;
}

/* ---- blocks ---- */

static bool next_shard(struct view *view, size_t index)
{
	view->shard = index;
	return index < CONF_SHARDS;
}

static bool next_split(struct view *view, size_t index)
{
	if (index == view->conf->split_count)
		return false;
	view->split = view->conf->split[index];
	return true;
}

static bool next_of_way(struct view *view, unsigned block, size_t index)
{
	return block == NGINX_CONF_BLOCK_WAY ? ways_next(&view->conf->ways, index, &view->way)
					     : ways_next_cause(index, &view->way);
}

static bool next_trust(struct view *view, size_t index)
{
	view->trust = index < view->conf->trust_count ? &view->conf->trusts[index] : NULL;
	return view->trust != NULL;
}

/* What the families of clients are: whom a trusted proxy names may have either. */
static unsigned client_families(const struct view *view)
{
	const struct fronts fronts = fronts_of(view);
	return fronts_name_others(&fronts) ? CONF_IPV4 | CONF_IPV6 : conf_families(view->port);
}

/* An IPv6 wildcard serves both families if there is no IPv4 wildcard. */
static bool is_dual_stack(const struct view *view)
{
	return view->bind->family == AF_INET6 && socket_is_wildcard(view->bind) &&
	       !view->has_any_v4;
}

static bool is_based_on(const struct terms *terms, const char *word)
{
	return strcmp(terms->base.text, word) == 0;
}

/* Blocks of what a trust says. */
static bool has_trust_block(const struct conf_trust *trust, enum nginx_conf_block block)
{
	const struct terms *terms = &trust->terms;
	switch (block) {
	case NGINX_CONF_BLOCK_TRUST_CHECKS:
		return !is_based_on(terms, TERMS_OFF);
	case NGINX_CONF_BLOCK_TRUST_CIPHERS:
		return terms->ciphers.len != 0;
	case NGINX_CONF_BLOCK_TRUST_NAMELESS:
		return terms->nameless;
	case NGINX_CONF_BLOCK_TRUST_NEWER:
		return terms->max_version != TLS_1_2;
	case NGINX_CONF_BLOCK_TRUST_OLDER:
		return terms->min_version != TLS_1_3;
	case NGINX_CONF_BLOCK_TRUST_TERMS:
		return trust->text.len != 0;
	case NGINX_CONF_BLOCK_TRUST_VERSIONS:
		return terms->min_version != 0 || terms->max_version != 0;
	case NGINX_CONF_BLOCK_TRUSTS_FILE:
		return !is_based_on(terms, POOL_TEXT_SYSTEM) && !is_based_on(terms, TERMS_OFF);
	case NGINX_CONF_BLOCK_TRUSTS_SYSTEM:
		return is_based_on(terms, POOL_TEXT_SYSTEM);
	default:
		must(false);
	}
}

static bool begin_control_server(struct view *view)
{
	struct str text = str_skip(buf_str(view->out), view->begin);
	view->generation = name_digest(&text, 1);
	return true;
}

static const struct conf_pool *target_pool(const struct view *view)
{
	return view->target != NULL ? conf_find_pool(view->conf, view->target) : NULL;
}

static bool has_block(struct view *view, enum nginx_conf_block block)
{
	const struct fronts fronts = fronts_of(view);
	const struct conf_pool *pool = target_pool(view);
	switch (block) {
	case NGINX_CONF_BLOCK_BY_SOURCE:
		return view->pool->algorithm == ALGORITHM_SOURCE;
	case NGINX_CONF_BLOCK_CONTROL_SERVER:
		return begin_control_server(view);
	case NGINX_CONF_BLOCK_DUAL_STACK:
		return is_dual_stack(view);
	case NGINX_CONF_BLOCK_EXACT_HOST:
		return !str_starts_with(view->host, STR("*."));
	case NGINX_CONF_BLOCK_HOPS:
		return view->has_hops;
	case NGINX_CONF_BLOCK_LEAST_CONN:
		return view->pool->algorithm == ALGORITHM_LEAST_CONNECTIONS;
	case NGINX_CONF_BLOCK_LEAVING:
		return view->conf->leaving.count != 0;
	case NGINX_CONF_BLOCK_MIXED_FAMILIES:
		return client_families(view) == (CONF_IPV4 | CONF_IPV6);
	case NGINX_CONF_BLOCK_NO_HOPS:
		return !view->has_hops;
	case NGINX_CONF_BLOCK_ONLY_V4:
		return client_families(view) == CONF_IPV4;
	case NGINX_CONF_BLOCK_ONLY_V6:
		return client_families(view) == CONF_IPV6;
	case NGINX_CONF_BLOCK_PASSING:
		return is_http(view->port);
	case NGINX_CONF_BLOCK_RESTRICTED:
		return view->port->range_count != 0 || view->port->is_closed;
	case NGINX_CONF_BLOCK_SENDS_PROXY:
		return pool != NULL && pool->sends_proxy;
	case NGINX_CONF_BLOCK_SHARED:
		return view->is_shared;
	case NGINX_CONF_BLOCK_STREAM:
		return find_listener(view, 0, true);
	case NGINX_CONF_BLOCK_TCP:
		return view->port->protocol == LISTENER_TCP;
	case NGINX_CONF_BLOCK_TLS:
		return view->port->protocol == LISTENER_HTTPS;
	case NGINX_CONF_BLOCK_WAY_OLD:
		return view->way.way.is_old;
	case NGINX_CONF_BLOCK_TRUST_CHECKS:
	case NGINX_CONF_BLOCK_TRUST_CIPHERS:
	case NGINX_CONF_BLOCK_TRUST_NAMELESS:
	case NGINX_CONF_BLOCK_TRUST_NEWER:
	case NGINX_CONF_BLOCK_TRUST_OLDER:
	case NGINX_CONF_BLOCK_TRUST_TERMS:
	case NGINX_CONF_BLOCK_TRUST_VERSIONS:
	case NGINX_CONF_BLOCK_TRUSTS_FILE:
	case NGINX_CONF_BLOCK_TRUSTS_SYSTEM:
		return has_trust_block(view->trust, block);
	case NGINX_CONF_BLOCK_WILDCARD_HOST:
		return str_starts_with(view->host, STR("*."));
	default:
		return datagrams_block(&fronts, pool, block);
	}
}

static bool turn(void *ctx, unsigned block, size_t index)
{
	struct view *view = ctx;
	const struct fronts fronts = fronts_of(view);
	switch ((enum nginx_conf_block)block) {
	case NGINX_CONF_BLOCK_BIND:
		return next_bind(view, index);
	case NGINX_CONF_BLOCK_HOST_LABEL:
		return next_host_label(view, index);
	case NGINX_CONF_BLOCK_HTTP_LISTENER:
		return next_listener(view, index, false);
	case NGINX_CONF_BLOCK_LEAVING_SOCKET:
		return next_leaving_socket(view, index);
	case NGINX_CONF_BLOCK_PASS:
		return next_pass(view, index);
	case NGINX_CONF_BLOCK_PEER:
	case NGINX_CONF_BLOCK_POOL:
		return next_of_pool(view, block, index);
	case NGINX_CONF_BLOCK_RANGE:
		return next_range(view, index);
	case NGINX_CONF_BLOCK_SHARD:
		return next_shard(view, index);
	case NGINX_CONF_BLOCK_SPLIT:
		return next_split(view, index);
	case NGINX_CONF_BLOCK_STREAM_LISTENER:
		return next_stream_listener(view, index);
	case NGINX_CONF_BLOCK_TRUST:
		return next_trust(view, index);
	case NGINX_CONF_BLOCK_TRUSTED_PROXY:
		return fronts_next_proxy(&fronts, index, &view->proxy);
	case NGINX_CONF_BLOCK_FRONT:
		return fronts_next(&fronts, index, &view->proxy);
	case NGINX_CONF_BLOCK_WAY:
	case NGINX_CONF_BLOCK_WAY_CAUSE:
		return next_of_way(view, block, index);
	default:
		return index == 0 && has_block(view, (enum nginx_conf_block)block);
	}
	must(false);
}

int conf_render(
	const struct conf *conf, const bool *is_out, struct buf *out, uint64_t *ret_generation)
{
	static const struct template_source source = {value, turn, quote_escape};
	struct view view = {.conf = conf, .is_out = is_out, .out = out, .begin = buf_len(out)};
	int err = template_render(&nginx_conf_template, &source, &view, out);
	if (err == 0)
		*ret_generation = view.generation;
	return err;
}
