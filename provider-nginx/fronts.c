// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/fronts.h"

#include "provider-nginx/conf_values.h"

static struct trusted_options trusted_of(const struct fronts *fronts)
{
	const struct conf_options *options = fronts->conf->options;
	return (struct trusted_options){options->trusted_proxies, options->client_header};
}

struct str fronts_client_header(const struct fronts *fronts)
{
	const struct trusted_options options = trusted_of(fronts);
	return trusted_proxies_header(&options, &fronts->port->forwarding);
}

bool fronts_next_proxy(const struct fronts *fronts, size_t index, struct check_cidr *ret_network)
{
	const struct trusted_options options = trusted_of(fronts);
	return trusted_proxies_next(&options, &fronts->port->forwarding, index, ret_network);
}

bool fronts_next(const struct fronts *fronts, size_t index, struct check_cidr *ret_network)
{
	const struct trusted_options options = trusted_of(fronts);
	return trusted_proxies_next_front(&options, &fronts->port->forwarding, index, ret_network);
}

/* nginx believes either a header or the PROXY protocol, and what comes through a hop has only the latter. */
static bool trusts_proxies(const struct fronts *fronts)
{
	struct check_cidr first;
	return !fronts->has_hops && fronts_next_proxy(fronts, 0, &first);
}

/* Whether the http server itself reads it from whoever connects; nginx has one way to find the client. */
static bool is_told_by_proxy(const struct fronts *fronts)
{
	return fronts->port->forwarding.reads_proxy && !fronts->has_hops && !trusts_proxies(fronts);
}

static bool hears_scheme(const struct fronts *fronts)
{
	const struct trusted_options options = trusted_of(fronts);
	return trusted_proxies_believe_scheme(&options, &fronts->port->forwarding);
}

/* By the PROXY protocol. A hop tells its own port. */
static bool hears_port(const struct fronts *fronts)
{
	const struct trusted_options options = trusted_of(fronts);
	return trusted_proxies_believe_port(&options, &fronts->port->forwarding) &&
	       !fronts->has_hops;
}

static bool believes_scheme(const struct fronts *fronts)
{
	return hears_scheme(fronts) || hears_port(fronts);
}

static bool believes_host(const struct fronts *fronts)
{
	const struct trusted_options options = trusted_of(fronts);
	return trusted_proxies_believe_host(&options, &fronts->port->forwarding);
}

static bool appends(const struct fronts *fronts)
{
	const struct trusted_options options = trusted_of(fronts);
	return trusted_proxies_append(&options, &fronts->port->forwarding);
}

static bool has_one_client(const struct fronts *fronts)
{
	const struct trusted_options options = trusted_of(fronts);
	return trusts_proxies(fronts) &&
	       trusted_proxies_name_one(&options, &fronts->port->forwarding);
}

static bool trusts_fronts(const struct fronts *fronts)
{
	return hears_scheme(fronts) || believes_host(fronts) || appends(fronts) ||
	       has_one_client(fronts);
}

static bool makes_any_request_id(const struct fronts *fronts)
{
	const struct ports *ports = fronts->conf->ports;
	for (size_t i = 0; i < ports->count; i++) {
		if (ports->items[i].forwarding.makes_request_ids)
			return true;
	}
	return false;
}

static bool says_other_port(const struct fronts *fronts)
{
	return fronts->port->protocol == LISTENER_HTTPS && fronts->port->forwarding.https_port != 0;
}

/* X-Forwarded-Port, unless somebody else says it. */
static unsigned told_port(const struct fronts *fronts)
{
	const struct port *port = fronts->port;
	return says_other_port(fronts) ? port->forwarding.https_port : port->port;
}

unsigned fronts_number(const struct fronts *fronts, unsigned name)
{
	const struct port_forwarding *forwarding = &fronts->port->forwarding;
	switch (name) {
	case NGINX_CONF_VALUE_CLAIM_LEN_MAX:
		return CLAIM_LEN_MAX;
	case NGINX_CONF_VALUE_HTTPS_PORT:
		return forwarding->https_port;
	case NGINX_CONF_VALUE_OWN_HTTPS_PORT:
		return forwarding->own_https_port;
	default:
		return told_port(fronts);
	}
}

/* Of who is believed about clients. */
bool fronts_block(const struct fronts *fronts, enum nginx_conf_block block)
{
	switch (block) {
	case NGINX_CONF_BLOCK_APPENDS:
		return appends(fronts);
	case NGINX_CONF_BLOCK_ASKER:
		return trusts_proxies(fronts);
	case NGINX_CONF_BLOCK_BELIEVES_HOST:
		return believes_host(fronts);
	case NGINX_CONF_BLOCK_BELIEVES_SCHEME:
		return believes_scheme(fronts);
	case NGINX_CONF_BLOCK_HEARS_PORT:
		return hears_port(fronts);
	case NGINX_CONF_BLOCK_HEARS_SCHEME:
		return hears_scheme(fronts);
	case NGINX_CONF_BLOCK_HOP_TELLS_CLIENT:
		return !trusts_proxies(fronts);
	case NGINX_CONF_BLOCK_KEEPS_CLAIMS:
		return fronts->port->forwarding.keeps_claims;
	case NGINX_CONF_BLOCK_MAKES_ANY_REQUEST_ID:
		return makes_any_request_id(fronts);
	case NGINX_CONF_BLOCK_MAKES_REQUEST_ID:
		return fronts->port->forwarding.makes_request_ids;
	case NGINX_CONF_BLOCK_ONE_CLIENT:
		return has_one_client(fronts);
	case NGINX_CONF_BLOCK_OWN_HOST:
		return !believes_host(fronts);
	case NGINX_CONF_BLOCK_OWN_HTTPS:
		return fronts->port->forwarding.own_https_port != 0;
	case NGINX_CONF_BLOCK_OWN_SCHEME:
		return !believes_scheme(fronts);
	case NGINX_CONF_BLOCK_READS_PROXY:
		return fronts->port->forwarding.reads_proxy;
	case NGINX_CONF_BLOCK_REPLACES:
		return !appends(fronts);
	case NGINX_CONF_BLOCK_SAYS_OTHER_PORT:
		return says_other_port(fronts);
	case NGINX_CONF_BLOCK_TELLER:
		return !trusts_proxies(fronts);
	case NGINX_CONF_BLOCK_TOLD_BY_PROXY:
		return is_told_by_proxy(fronts);
	case NGINX_CONF_BLOCK_WITHOUT_HOP:
		return fronts->port->protocol != LISTENER_HTTPS;
	case NGINX_CONF_BLOCK_TRUSTED_PROXIES:
		return trusts_proxies(fronts);
	case NGINX_CONF_BLOCK_TRUSTS_FRONTS:
		return trusts_fronts(fronts);
	default:
		return conf_option_block(fronts->conf->options, block);
	}
}

bool fronts_name_others(const struct fronts *fronts)
{
	return trusts_proxies(fronts) || fronts->port->forwarding.reads_proxy;
}
