// SPDX-License-Identifier: Apache-2.0
/* The blocks and values of haproxy.cfg.tmpl. */
#include "common/must.h"
#include "provider-haproxy/haproxy_cfg.tmpl.h"
#include "provider-haproxy/quote.h"
#include "provider-haproxy/render.h"
#include "provider-proxy/probe.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	RANGES_PER_LINE = 16,
	JUMPS_MAX = 8,
	HOST_LEN_MAX = CHECK_HOST_LEN_MAX + 7, /* with a final dot, a colon and a port */
};

/* Rendering position in the template. */
struct view {
	const struct render_input *input;
	const char *description; /* NULL: none */
	bool is_loop;            /* the second frontend of `port` */
	size_t port;             /* index */
	struct port_label label; /* of `port` */
	const struct check_ip *bind;
	size_t range_line;
	const struct check_cidr *range;
	size_t jump; /* from the right of the list of proxies, from 1 */
	struct check_cidr proxy;
	struct template_text text; /* of the last value */
};

static const struct port *port_of(const struct view *view)
{
	return &view->input->ports->items[view->port];
}

static bool is_plain_http(const struct view *view)
{
	return port_of(view)->protocol == LISTENER_HTTP;
}

/* Of the table `active` in haproxy.cfg.tmpl: with a minus before it, and a NUL. */
_Static_assert(CHECK_OWNER_LEN_MAX + 2 <= 320, "too short");

/* Of each request: for the access log, or to be counted. A row's value has more behind the name of the pool then. */
static bool writes_lines(const struct render_input *input)
{
	return input->access_log != ACCESS_LOG_OFF || input->metrics_ingresses != 0;
}

static struct trusted_options trusted_of(const struct view *view)
{
	return (struct trusted_options){
		view->input->trusted_proxies, str_from(view->input->client_header)};
}

static struct str client_header(const struct view *view)
{
	const struct trusted_options options = trusted_of(view);
	return trusted_proxies_header(&options, &port_of(view)->forwarding);
}

static bool believes_host(const struct view *view)
{
	const struct trusted_options options = trusted_of(view);
	return trusted_proxies_believe_host(&options, &port_of(view)->forwarding);
}

/* What backends are told, unless somebody else says it. */
static struct str told_port(struct view *view)
{
	const struct port *port = port_of(view);
	bool is_other = !is_plain_http(view) && port->forwarding.https_port != 0;
	return template_printf(
		&view->text, "%u", is_other ? port->forwarding.https_port : port->port);
}

/* Of what proxies in front say. */
static struct str front_value(struct view *view, unsigned name)
{
	switch (name) {
	case HAPROXY_CFG_VALUE_CLAIM_LEN_MAX:
		return template_printf(&view->text, "%d", CLAIM_LEN_MAX);
	case HAPROXY_CFG_VALUE_CLIENT_HEADER:
		return client_header(view);
	case HAPROXY_CFG_VALUE_HOST_VARIABLE:
		return believes_host(view) ? STR("txn.told") : STR("txn.n");
	case HAPROXY_CFG_VALUE_NAME_VARIABLE:
		return believes_host(view) ? STR("txn.told_name") : STR("txn.h");
	case HAPROXY_CFG_VALUE_HTTPS_PORT:
		return template_printf(&view->text, "%u", port_of(view)->forwarding.https_port);
	case HAPROXY_CFG_VALUE_OWN_HTTPS_PORT:
		return template_printf(&view->text, "%u", port_of(view)->forwarding.own_https_port);
	case HAPROXY_CFG_VALUE_NAME_SAMPLE:
		return believes_host(view) ? STR("var(txn.told_name)") : STR("var(txn.n),lower");
	case HAPROXY_CFG_VALUE_TOLD_PORT:
		return told_port(view);
	case HAPROXY_CFG_VALUE_FRONT_NETWORK:
	case HAPROXY_CFG_VALUE_TRUSTED_NETWORK:
		return template_printf(&view->text, "%s/%u", view->proxy.ip.text, view->proxy.bits);
	case HAPROXY_CFG_VALUE_JUMP:
	case HAPROXY_CFG_VALUE_LAST_JUMP:
		return template_printf(&view->text, "%zu",
			name == HAPROXY_CFG_VALUE_JUMP ? view->jump : view->jump - 1);
	default:
		must(false);
	}
}

/* What all servers of slots have. */
static struct str server_value(struct view *view, unsigned name)
{
	int number = name == HAPROXY_CFG_VALUE_IDLE_COUNT    ? RENDER_IDLE_COUNT
		     : name == HAPROXY_CFG_VALUE_IDLE_LOOK_S ? RENDER_IDLE_LOOK_S
							     : SERVER_WEIGHT;
	return template_printf(&view->text, "%d", number);
}

static struct str value(void *ctx, unsigned name)
{
	struct view *view = ctx;
	const struct render_input *input = view->input;
	switch ((enum haproxy_cfg_value)name) {
	case HAPROXY_CFG_VALUE_ACCESS_LOG_SERVER:
		return str_from(input->access_log_server);
	case HAPROXY_CFG_VALUE_ACTIVE_COUNT:
		return template_printf(&view->text, "%" PRId64, input->metrics_ingresses + 1);
	case HAPROXY_CFG_VALUE_ADDRESS:
		return template_address(&view->text, view->bind);
	case HAPROXY_CFG_VALUE_CIDR:
		return template_printf(
			&view->text, "%s/%u", view->range->ip.text, view->range->bits);
	case HAPROXY_CFG_VALUE_DESCRIPTION_TEXT:
		return str_from(view->description);
	case HAPROXY_CFG_VALUE_HARD_STOP_AFTER_S:
		return template_printf(&view->text, "%u", input->hard_stop_after_s);
	case HAPROXY_CFG_VALUE_HOST_LEN_MAX:
		return template_printf(&view->text, "%d", HOST_LEN_MAX);
	case HAPROXY_CFG_VALUE_IDLE_COUNT:
	case HAPROXY_CFG_VALUE_IDLE_LOOK_S:
	case HAPROXY_CFG_VALUE_SERVER_WEIGHT:
		return server_value(view, name);
	case HAPROXY_CFG_VALUE_LABEL:
		return str_from(view->label.text);
	case HAPROXY_CFG_VALUE_LOAD_BALANCER:
		return str_from(port_of(view)->load_balancer.text);
	case HAPROXY_CFG_VALUE_METRICS_INGRESSES:
		return template_printf(&view->text, "%" PRId64, input->metrics_ingresses);
	case HAPROXY_CFG_VALUE_PORT_NUMBER:
		return template_printf(&view->text, "%u", port_of(view)->port);
	case HAPROXY_CFG_VALUE_PROBE_TARGET:
		return STR(PROBE_TARGET);
	case HAPROXY_CFG_VALUE_PROXY_DIR:
		return str_from(input->proxy_dir);
	case HAPROXY_CFG_VALUE_SCHEME:
		return is_plain_http(view) ? STR("http") : STR("https");
	case HAPROXY_CFG_VALUE_STATE_DIR:
		return str_from(input->state_dir);
	case HAPROXY_CFG_VALUE_STATS_SOCKET:
		return str_from(input->socket);
	case HAPROXY_CFG_VALUE_SYSTEM_CA_DIGEST:
		return template_printf(&view->text, "%016" PRIx64, input->system_ca_digest);
	case HAPROXY_CFG_VALUE_SYSTEM_CA_FILE:
		return str_from(input->system_ca);
	case HAPROXY_CFG_VALUE_TRACE_FLAGS:
		return input->trace_context == TRACE_CONTEXT_SAMPLE ? STR("01") : STR("00");
	default:
		return front_value(view, name);
	}
}

/* A port is one frontend, or two if TLS is passed through for some hosts and terminated for others. */
static bool next_frontend(struct view *view, size_t index)
{
	if (index == 0) {
		view->port = 0;
		view->is_loop = false;
	} else if (!view->is_loop && port_of(view)->has_passthrough &&
		   port_of(view)->protocol == LISTENER_HTTPS) {
		view->is_loop = true;
		return true;
	} else {
		view->port++;
		view->is_loop = false;
	}
	if (view->port == view->input->ports->count)
		return false;
	view->label = port_label_of(port_of(view));
	return true;
}

static bool next_bind(struct view *view, size_t index)
{
	const struct port *port = port_of(view);
	view->bind = index < port->bind_count ? &port->binds[index] : NULL;
	return view->bind != NULL;
}

static bool next_range(struct view *view, size_t index)
{
	const struct port *port = port_of(view);
	size_t at = view->range_line * RANGES_PER_LINE + index;
	if (index == RANGES_PER_LINE || at >= port->range_count)
		return false;
	view->range = &port->ranges[at];
	return true;
}

static bool next_range_line(struct view *view, size_t index)
{
	view->range_line = index;
	return index * RANGES_PER_LINE < port_of(view)->range_count;
}

static bool next_proxy(struct view *view, size_t index)
{
	const struct trusted_options options = trusted_of(view);
	return trusted_proxies_next(&options, &port_of(view)->forwarding, index, &view->proxy);
}

static bool next_front(struct view *view, size_t index)
{
	const struct trusted_options options = trusted_of(view);
	return trusted_proxies_next_front(
		&options, &port_of(view)->forwarding, index, &view->proxy);
}

static bool trusts_proxies(const struct view *view)
{
	struct view first = *view;
	return next_proxy(&first, 0);
}

/* What is behind the loop hears from the frontend before it. */
static bool reads_proxy(const struct view *view)
{
	return port_of(view)->forwarding.reads_proxy && !view->is_loop;
}

static bool hears_scheme(const struct view *view)
{
	const struct trusted_options options = trusted_of(view);
	return trusted_proxies_believe_scheme(&options, &port_of(view)->forwarding);
}

/* By the PROXY protocol. */
static bool hears_port(const struct view *view)
{
	const struct trusted_options options = trusted_of(view);
	return trusted_proxies_believe_port(&options, &port_of(view)->forwarding) && !view->is_loop;
}

static bool believes_scheme(const struct view *view)
{
	return hears_scheme(view) || hears_port(view);
}

static bool appends(const struct view *view)
{
	const struct trusted_options options = trusted_of(view);
	return trusted_proxies_append(&options, &port_of(view)->forwarding);
}

static bool has_one_client(const struct view *view)
{
	const struct trusted_options options = trusted_of(view);
	return trusted_proxies_name_one(&options, &port_of(view)->forwarding);
}

/* Whether each request of a connection may have another client. */
static bool has_client_of_request(const struct view *view)
{
	return trusts_proxies(view) || reads_proxy(view) || believes_scheme(view) ||
	       believes_host(view) || appends(view);
}

static bool makes_request_ids(const struct render_input *input)
{
	for (size_t i = 0; i < input->ports->count; i++) {
		if (input->ports->items[i].forwarding.makes_request_ids)
			return true;
	}
	return false;
}

/* How many proxies may stand behind each other. */
static bool next_jump(struct view *view, size_t index)
{
	view->jump = index + 2;
	return index + 1 < JUMPS_MAX;
}

/* Whether TLS is terminated at the port itself. */
static bool is_opened(const struct port *port)
{
	return port->protocol == LISTENER_HTTPS && !port->has_passthrough;
}

static bool is_http(const struct view *view)
{
	const struct port *port = port_of(view);
	return view->is_loop || is_plain_http(view) || is_opened(port);
}

static bool is_v6_wildcard(const struct check_ip *ip)
{
	return ip->family == AF_INET6 && strcmp(ip->text, "::") == 0;
}

/* Of what is written of each request. */
static bool has_line_block(const struct render_input *input, enum haproxy_cfg_block block)
{
	switch (block) {
	case HAPROXY_CFG_BLOCK_ACCESS_LOG:
		return writes_lines(input);
	case HAPROXY_CFG_BLOCK_ACCESS_LOG_JSON:
		return input->access_log == ACCESS_LOG_JSON;
	case HAPROXY_CFG_BLOCK_ACCESS_LOG_LINES:
		return input->access_log != ACCESS_LOG_OFF;
	case HAPROXY_CFG_BLOCK_ACCESS_LOG_COPIED:
		return writes_lines(input) && input->access_log_server == NULL;
	case HAPROXY_CFG_BLOCK_ACCESS_LOG_SYSLOG:
		return input->access_log_server != NULL;
	case HAPROXY_CFG_BLOCK_ACCESS_LOG_TEXT:
		return input->access_log == ACCESS_LOG_TEXT;
	case HAPROXY_CFG_BLOCK_COUNTED:
		return input->metrics_ingresses != 0;
	case HAPROXY_CFG_BLOCK_NO_ACCESS_LOG:
		return !writes_lines(input);
	case HAPROXY_CFG_BLOCK_ONLY_COUNTED:
		return input->metrics_ingresses != 0 && input->access_log == ACCESS_LOG_OFF;
	case HAPROXY_CFG_BLOCK_REQUEST_ID:
		return input->access_log != ACCESS_LOG_OFF ||
		       input->trace_context != TRACE_CONTEXT_OFF || makes_request_ids(input);
	case HAPROXY_CFG_BLOCK_TRACE:
		return input->trace_context != TRACE_CONTEXT_OFF;
	case HAPROXY_CFG_BLOCK_UNCOUNTED:
		return input->metrics_ingresses == 0;
	case HAPROXY_CFG_BLOCK_UNTRACED:
		return input->trace_context == TRACE_CONTEXT_OFF;
	default:
		must(false);
	}
}

/* Of who is believed about clients. */
static bool has_client_block(const struct view *view, enum haproxy_cfg_block block)
{
	switch (block) {
	case HAPROXY_CFG_BLOCK_APPENDS:
		return appends(view);
	case HAPROXY_CFG_BLOCK_BELIEVES_HOST:
		return believes_host(view);
	case HAPROXY_CFG_BLOCK_BELIEVES_SCHEME:
		return believes_scheme(view);
	case HAPROXY_CFG_BLOCK_CLIENT_OF_REQUEST:
		return has_client_of_request(view);
	case HAPROXY_CFG_BLOCK_CLIENT_OF_SESSION:
		return !has_client_of_request(view);
	case HAPROXY_CFG_BLOCK_HEARS_PORT:
		return hears_port(view);
	case HAPROXY_CFG_BLOCK_HEARS_SCHEME:
		return hears_scheme(view);
	case HAPROXY_CFG_BLOCK_KEEPS_CLAIMS:
		return port_of(view)->forwarding.keeps_claims;
	case HAPROXY_CFG_BLOCK_MAKES_REQUEST_ID:
		return port_of(view)->forwarding.makes_request_ids;
	case HAPROXY_CFG_BLOCK_ONE_CLIENT:
		return has_one_client(view);
	case HAPROXY_CFG_BLOCK_NO_OWN_HTTPS:
		return port_of(view)->forwarding.own_https_port == 0;
	case HAPROXY_CFG_BLOCK_OWN_HTTPS:
		return port_of(view)->forwarding.own_https_port != 0;
	case HAPROXY_CFG_BLOCK_OWN_SCHEME:
		return !believes_scheme(view);
	case HAPROXY_CFG_BLOCK_PLAIN_SCHEME:
		return is_plain_http(view) && !believes_scheme(view);
	case HAPROXY_CFG_BLOCK_READS_PROXY:
	case HAPROXY_CFG_BLOCK_TOLD_BY_PROXY:
		return reads_proxy(view);
	case HAPROXY_CFG_BLOCK_REPLACES:
		return !appends(view);
	case HAPROXY_CFG_BLOCK_TLS_SCHEME:
		return !is_plain_http(view) && !believes_scheme(view);
	case HAPROXY_CFG_BLOCK_TRUSTED_PROXIES:
		return trusts_proxies(view);
	case HAPROXY_CFG_BLOCK_TRUSTS_FRONTS:
		return hears_scheme(view) || believes_host(view) || appends(view);
	case HAPROXY_CFG_BLOCK_UNSURE_SCHEME:
		return is_plain_http(view) || believes_scheme(view);
	default:
		return has_line_block(view->input, block);
	}
}

static bool has_block(const struct view *view, enum haproxy_cfg_block block)
{
	const struct render_input *input = view->input;
	switch (block) {
	case HAPROXY_CFG_BLOCK_CLOSED:
		return port_of(view)->is_closed;
	case HAPROXY_CFG_BLOCK_DESCRIPTION:
		return view->description != NULL;
	case HAPROXY_CFG_BLOCK_HTTP:
		return is_http(view);
	case HAPROXY_CFG_BLOCK_KNOWN_SYSTEM_CA:
		return input->system_ca_digest != 0;
	case HAPROXY_CFG_BLOCK_LOOP:
		return view->is_loop;
	case HAPROXY_CFG_BLOCK_OPENS_NONE:
		return port_of(view)->protocol != LISTENER_HTTPS;
	case HAPROXY_CFG_BLOCK_OPENS_OTHERS:
		return port_of(view)->protocol == LISTENER_HTTPS;
	case HAPROXY_CFG_BLOCK_PASSTHROUGH:
		return !is_http(view) && port_of(view)->protocol != LISTENER_TCP;
	case HAPROXY_CFG_BLOCK_PORT:
		return !view->is_loop;
	case HAPROXY_CFG_BLOCK_RESTRICTED:
		return port_of(view)->range_count != 0;
	case HAPROXY_CFG_BLOCK_STRICT_SNI:
		return !input->has_default;
	case HAPROXY_CFG_BLOCK_SYSTEM_CA:
		return input->system_ca != NULL;
	case HAPROXY_CFG_BLOCK_TCP:
		return !is_http(view) && port_of(view)->protocol == LISTENER_TCP;
	case HAPROXY_CFG_BLOCK_TLS:
		return is_opened(port_of(view));
	case HAPROXY_CFG_BLOCK_V6ONLY:
		return is_v6_wildcard(view->bind);
	case HAPROXY_CFG_BLOCK_WITH_TLS:
		return !is_plain_http(view);
	case HAPROXY_CFG_BLOCK_WITHOUT_TLS:
		return is_plain_http(view);
	default:
		return has_client_block(view, block);
	}
}

static bool turn(void *ctx, unsigned block, size_t index)
{
	struct view *view = ctx;
	switch (block) {
	case HAPROXY_CFG_BLOCK_BIND:
		return next_bind(view, index);
	case HAPROXY_CFG_BLOCK_FRONTEND:
		return next_frontend(view, index);
	case HAPROXY_CFG_BLOCK_RANGE:
		return next_range(view, index);
	case HAPROXY_CFG_BLOCK_RANGE_LINE:
		return next_range_line(view, index);
	case HAPROXY_CFG_BLOCK_TRUSTED_JUMP:
		return next_jump(view, index);
	case HAPROXY_CFG_BLOCK_TRUSTED_PROXY:
		return next_proxy(view, index);
	case HAPROXY_CFG_BLOCK_FRONT:
		return next_front(view, index);
	default:
		return index == 0 && has_block(view, block);
	}
}

/* Always fits: the values have passed checks, and their number is limited. */
static void render(struct buf *out, const struct render_input *input, const char *description)
{
	static const struct template_source source = {value, turn, quote_escape};
	struct view view = {.input = input, .description = description};
	must(template_render(&haproxy_cfg_template, &source, &view, out) == 0);
}

void render_main(struct buf *out, const struct render_input *input, char *ret_description)
{
	size_t begin = buf_len(out);
	render(out, input, NULL);
	struct str text = str_skip(buf_str(out), begin);
	text = str_skip(text, (size_t)(str_find(text, '\n') - text.p) + 1);
	struct str layout = {(const char *)&input->groups_layout, sizeof(input->groups_layout)};
	const struct str parts[] = {text, layout};
	uint64_t digest = name_digest(parts, 2);
	snprintf(ret_description, RENDER_DESCRIPTION_LEN, "sluice %016" PRIx64 " %zu", digest,
		input->group_count);
	buf_cut(out, begin);
	render(out, input, ret_description);
}
