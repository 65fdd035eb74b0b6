// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/datagrams.h"

#include "provider-nginx/conf_values.h"

#include <inttypes.h>

enum { IDLE_USUAL_S = 60, SHARE = 16 };

static int64_t count_ports(const struct conf *conf)
{
	int64_t count = 0;
	for (size_t i = 0; i < conf->ports->count; i++)
		count += port_is_udp(&conf->ports->items[i]);
	return count;
}

int64_t datagrams_sessions(const struct conf *conf)
{
	int64_t ports = count_ports(conf);
	int64_t count = conf_connections(conf->options) / SHARE / (ports != 0 ? ports : 1);
	return count > 1 ? count : 1;
}

struct str datagrams_value(const struct conf *conf, const struct port *port,
	enum nginx_conf_value name, struct template_text *text)
{
	switch (name) {
	case NGINX_CONF_VALUE_IDLE_S:
		return template_printf(text, "%u", port->idle_s != 0 ? port->idle_s : IDLE_USUAL_S);
	case NGINX_CONF_VALUE_RESPONSES:
		return template_printf(text, "%u", port->responses);
	case NGINX_CONF_VALUE_UDP_SESSIONS:
		return template_printf(text, "%" PRId64, datagrams_sessions(conf));
	default:
		return conf_option_value(conf->options, name, text);
	}
}

bool datagrams_block(
	const struct fronts *fronts, const struct conf_pool *pool, enum nginx_conf_block block)
{
	const struct port *port = fronts->port;
	bool is_reached = pool != NULL && pool->peer_count != 0;
	switch (block) {
	case NGINX_CONF_BLOCK_ANSWERS:
		return port->responses != 0 || port->one_way;
	case NGINX_CONF_BLOCK_ANY_UDP:
		return count_ports(fronts->conf) != 0;
	case NGINX_CONF_BLOCK_CONNECTIONS:
		return !port_is_udp(port);
	case NGINX_CONF_BLOCK_REACHED:
		return is_reached;
	case NGINX_CONF_BLOCK_UDP:
		return port_is_udp(port);
	case NGINX_CONF_BLOCK_UNREACHED:
		return !is_reached;
	default:
		return fronts_block(fronts, block);
	}
}
