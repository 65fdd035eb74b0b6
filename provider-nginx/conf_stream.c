// SPDX-License-Identifier: Apache-2.0
/*
 * TCP listeners and TLS that is passed through.
 *
 * Where a port also serves hosts whose TLS is opened here, the client's address has to get to the http server, and the only way is a PROXY
 * header, which a stream server writes to all or none. So it is written to all, and a second hop takes it away again for those that
 * are passed through:
 *
 *   port --(PROXY)--> https-PORT.sock   http server
 *     '---(PROXY)--> pass-PORT.sock --> endpoints
 */
#include "provider-nginx/conf_text.h"

static const char stream_head[] = "stream {\n"
				  "\tmap_hash_max_size 65536;\n"
				  "\tmap_hash_bucket_size 512;\n"
				  "\tproxy_connect_timeout 5s;\n"
				  "\tproxy_timeout 1h;\n"
				  "\tproxy_next_upstream_tries 3;\n"
				  "\tpreread_timeout 10s;\n";

static bool is_stream(const struct conf_text *text, size_t index)
{
	const struct port *port = &text->conf->ports->items[index];
	if (!conf_text_has_piece(text, index))
		return false;
	return port->protocol == LISTENER_TCP || port->protocol == LISTENER_TLS_PASSTHROUGH ||
	       conf_text_has_passes(text, port);
}

static bool is_any(const struct conf_text *text)
{
	for (size_t i = 0; i < text->conf->ports->count; i++) {
		if (is_stream(text, i))
			return true;
	}
	return false;
}

static const struct conf_pool *pool_of(const struct conf_text *text, const struct name *name)
{
	const struct conf *conf = text->conf;
	for (size_t i = 0; i < conf->pool_count; i++) {
		if (strcmp(conf->pools[i].name.text, name->text) == 0)
			return &conf->pools[i];
	}
	return NULL;
}

static void add_pool(struct conf_text *text, const struct conf_pool *pool)
{
	if (pool->peer_count == 0)
		return;
	conf_text_add(text, "\tupstream %s {\n", pool->name.text);
	if (pool->algorithm == ALGORITHM_LEAST_CONNECTIONS)
		conf_text_add(text, "\t\tleast_conn;\n");
	else if (pool->algorithm == ALGORITHM_SOURCE)
		conf_text_add(text, "\t\thash $remote_addr consistent;\n");
	for (size_t i = 0; i < pool->peer_count; i++) {
		const struct check_ip *ip = &pool->peers[i].ip;
		bool is_v6 = ip->family == AF_INET6;
		conf_text_add(text, "\t\tserver %s%s%s:%u max_fails=1 fail_timeout=5s;\n",
			is_v6 ? "[" : "", ip->text, is_v6 ? "]" : "", pool->peers[i].port);
	}
	conf_text_add(text, "\t}\n");
}

/* Connections to a pool without endpoints are closed: nobody listens on that socket. */
static void add_target(struct conf_text *text, const struct name *name)
{
	const struct conf_pool *pool = pool_of(text, name);
	conf_text_add(
		text, "%s", pool != NULL && pool->peer_count != 0 ? name->text : "sluice_none");
}

static void add_none(struct conf_text *text)
{
	conf_text_add(text,
		"\tupstream sluice_none {\n\t\tserver \"unix:%.*s/hop/none.sock\";\n\t}\n",
		STR_FMT(text->conf->options->proxy_dir));
}

static void add_ranges(struct conf_text *text, const struct port *port)
{
	for (size_t i = 0; i < port->range_count; i++)
		conf_text_add(
			text, "\t\tallow %s/%u;\n", port->ranges[i].ip.text, port->ranges[i].bits);
	if (port->range_count != 0 || port->is_closed)
		conf_text_add(text, "\t\tdeny all;\n");
}

/* ---- TCP ---- */

static void add_tcp(struct conf_text *text, size_t index)
{
	const struct conf *conf = text->conf;
	const struct port *port = &conf->ports->items[index];
	struct name none = {.text = ""};
	const struct name *pool = &none;
	for (size_t i = 0; i < conf->tcp_count; i++) {
		if (conf->tcp[i].port == index)
			pool = &conf->tcp[i].pool;
	}
	conf_text_add(text, "\tserver {\n");
	conf_text_listen(text, port, " so_keepalive=on");
	add_ranges(text, port);
	conf_text_add(text, "\t\tproxy_pass ");
	add_target(text, pool);
	conf_text_add(text, ";\n\t}\n");
}

/* ---- passing through ---- */

static bool is_pass_of(const struct conf_text *text, size_t index, const struct port *port)
{
	return strcmp(text->conf->passes[index].load_balancer.text, port->load_balancer.text) ==
		       0 &&
	       conf_text_has_piece(text, text->conf->ports->count + index);
}

/* The host as a key of a map: one that begins with `~*` is a regular expression without case; exact names are compared without case. */
static void add_host(struct conf_text *text, struct str host)
{
	char pattern[3 * CHECK_HOST_LEN_MAX];
	size_t len = 0;
	if (!str_starts_with(host, STR("*."))) {
		conf_text_quote(text, host);
		return;
	}
	static const char head[] = "~*^[^.]+";
	memcpy(pattern, head, sizeof(head) - 1);
	len = sizeof(head) - 1;
	host = str_skip(host, 1);
	for (size_t i = 0; i < host.len && len < sizeof(pattern) - 3; i++) {
		if (host.p[i] == '.')
			pattern[len++] = '\\';
		pattern[len++] = host.p[i];
	}
	/* `$` would begin a variable elsewhere, and quote.h lets none through: \z is the end, too. */
	pattern[len++] = '\\';
	pattern[len++] = 'z';
	conf_text_quote(text, (struct str){pattern, len});
}

static void add_pools_map(struct conf_text *text, const struct port *port)
{
	conf_text_add(text,
		"\tmap $ssl_preread_server_name $sluice_pool_%s {\n\t\tdefault sluice_none;\n",
		port_label_of(port).text);
	for (size_t i = 0; i < text->conf->pass_count; i++) {
		if (!is_pass_of(text, i, port))
			continue;
		conf_text_add(text, "\t\t");
		add_host(text, text->conf->passes[i].host);
		conf_text_add(text, " ");
		add_target(text, &text->conf->passes[i].pool);
		conf_text_add(text, ";\n");
	}
	conf_text_add(text, "\t}\n");
}

static void add_hops_map(struct conf_text *text, const struct port *port)
{
	struct str dir = text->conf->options->proxy_dir;
	struct port_label label = port_label_of(port);
	conf_text_add(text,
		"\tmap $ssl_preread_server_name $sluice_hop_%s {\n"
		"\t\tdefault \"unix:%.*s/hop/https-%s.sock\";\n",
		label.text, STR_FMT(dir), label.text);
	for (size_t i = 0; i < text->conf->pass_count; i++) {
		if (!is_pass_of(text, i, port))
			continue;
		conf_text_add(text, "\t\t");
		add_host(text, text->conf->passes[i].host);
		conf_text_add(text, " \"unix:%.*s/hop/pass-%s.sock\";\n", STR_FMT(dir), label.text);
	}
	conf_text_add(text, "\t}\n");
}

static void add_passing(struct conf_text *text, const struct port *port)
{
	bool has_hops = port->protocol == LISTENER_HTTPS;
	struct port_label label = port_label_of(port);
	add_pools_map(text, port);
	if (has_hops) {
		add_hops_map(text, port);
		conf_text_add(text,
			"\tserver {\n"
			"\t\tlisten \"unix:%.*s/hop/pass-%s.sock\" proxy_protocol;\n"
			"\t\tssl_preread on;\n"
			"\t\tproxy_pass $sluice_pool_%s;\n"
			"\t}\n",
			STR_FMT(text->conf->options->proxy_dir), label.text, label.text);
	}
	conf_text_add(text, "\tserver {\n");
	conf_text_listen(text, port, " so_keepalive=on");
	add_ranges(text, port);
	conf_text_add(text, "\t\tssl_preread on;\n");
	if (has_hops)
		conf_text_add(text, "\t\tproxy_protocol on;\n\t\tproxy_pass $sluice_hop_%s;\n",
			label.text);
	else
		conf_text_add(text, "\t\tproxy_pass $sluice_pool_%s;\n", label.text);
	conf_text_add(text, "\t}\n");
}

void conf_stream_add(struct conf_text *text)
{
	const struct conf *conf = text->conf;
	if (!is_any(text))
		return;
	conf_text_add(text, "%s", stream_head);
	add_none(text);
	for (size_t i = 0; i < conf->pool_count; i++)
		add_pool(text, &conf->pools[i]);
	for (size_t i = 0; i < conf->ports->count; i++) {
		const struct port *port = &conf->ports->items[i];
		if (!is_stream(text, i))
			continue;
		if (port->protocol == LISTENER_TCP)
			add_tcp(text, i);
		else
			add_passing(text, port);
	}
	conf_text_add(text, "}\n");
}
