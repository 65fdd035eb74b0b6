// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/render.h"

#include "common/xalloc.h"
#include "provider-haproxy/text.h"
#include "provider-local/probe.h"

#include <stdio.h>

enum {
	RANGES_PER_LINE = 16,
	HOST_LEN_MAX = CHECK_HOST_LEN_MAX + 7, /* with a dot behind it, a colon and a port */
	HEADERS_MAX = 256, /* of a request or an answer: some applications send more than 101 */
};

bool render_is_path(const char *path)
{
	for (const char *c = path; *c != 0; c++) {
		bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
				(*c >= '0' && *c <= '9') || strchr("/._-", *c) != NULL;
		if (!is_plain)
			return false;
	}
	return path[0] == '/';
}

/* ---- the same for all ---- */

static void add_global(struct buf *out, const struct render_input *input)
{
	text_add(out,
		"global\n"
		"\tstats socket %s mode 600 level admin expose-fd listeners\n"
		"\tstats timeout 1d\n"
		"\thard-stop-after %us\n"
		"\ttune.http.maxhdr %d\n"
		"\ttune.ssl.default-dh-param 2048\n"
		"\tssl-default-bind-options ssl-min-ver TLSv1.2\n",
		input->socket, input->hard_stop_after_s, HEADERS_MAX);
}

/* A request that got no byte of an answer is sent to another endpoint, as nginx does. Until the answer begins this costs each request that may
 * be repeated a copy of itself, one buffer of 16 kB; one that does not fit it is not repeated. */
static void add_defaults(struct buf *out)
{
	text_add(out, "\ndefaults\n"
		      "\tmode http\n"
		      "\toption dontlognull\n"
		      "\toption redispatch 1\n"
		      "\toption idle-close-on-response\n"
		      "\toption http-restrict-req-hdr-names delete\n"
		      "\tretries 3\n"
		      "\tretry-on conn-failure empty-response\n"
		      "\ttimeout connect 5s\n"
		      "\ttimeout client 60s\n"
		      "\ttimeout server 60s\n"
		      "\ttimeout http-request 10s\n"
		      "\ttimeout http-keep-alive 60s\n"
		      "\ttimeout queue 5s\n"
		      "\ttimeout tunnel 1h\n"
		      "\ttimeout client-fin 30s\n");
}

/* Where requests go for which nothing better is known. */
static void add_ends(struct buf *out)
{
	text_add(out,
		"\nbackend none\n"
		"\tmode http\n"
		"\thttp-request return status 503 content-type text/plain string \"no "
		"endpoints\\n\"\n"
		"\nbackend " PROBE_TARGET "\n"
		"\tmode http\n"
		"\thttp-request return status 200 content-type text/plain lf-string \"%%pid\"\n"
		"\nbackend closed\n"
		"\tmode tcp\n"
		"\ttcp-request content reject\n");
}

/* ---- listeners ---- */

static void add_binds(struct buf *out, const struct port *port, const char *options)
{
	for (size_t i = 0; i < port->bind_count; i++) {
		const struct check_ip *ip = &port->binds[i];
		bool is_v6 = ip->family == AF_INET6;
		bool is_any = is_v6 && strcmp(ip->text, "::") == 0;
		text_add(out, "\tbind %s%s%s:%u%s%s\n", is_v6 ? "[" : "", ip->text,
			is_v6 ? "]" : "", port->port, is_any ? " v6only" : "", options);
	}
}

static void add_ranges(struct buf *out, const struct port *port)
{
	if (port->is_closed)
		text_add(out, "\ttcp-request connection reject\n");
	for (size_t i = 0; i < port->range_count; i++) {
		const struct check_cidr *range = &port->ranges[i];
		if (i % RANGES_PER_LINE == 0)
			text_add(out, "%s\tacl is_allowed src", i != 0 ? "\n" : "");
		text_add(out, " %s/%u", range->ip.text, range->bits);
	}
	if (port->range_count != 0)
		text_add(out, "\n\ttcp-request connection reject if !is_allowed\n");
}

static void add_refusal(struct buf *out, unsigned status, const char *text, const char *conditions)
{
	text_add(out,
		"\thttp-request return status %u content-type text/plain string \"%s\\n\" %s\n",
		status, text, conditions);
}

/* What nginx refuses before it asks anybody is refused here, too, as far as HAProxy can tell. Regular expressions go over what they have read
 * at most twice; the one for NUL is a search for one byte. */
static void add_request_checks(struct buf *out)
{
	static const char bad[] = "bad request";
	static const char version[] = "version not supported";
	static const char not_allowed[] = "not allowed";
	add_refusal(out, 400, bad, "if { req.hdrs -m reg '\\x00' }");
	add_refusal(out, 400, bad, "if METH_CONNECT");
	add_refusal(out, 405, not_allowed, "if METH_TRACE");
	add_refusal(out, 400, bad, "unless { method -m reg ^[A-Z_-]+$ }");
	/* As text; what is spoken may be HTTP/2. */
	add_refusal(out, 505, version, "if { fc_http_major 1 } !{ req.ver -m beg 1. }");
	add_refusal(out, 400, bad, "if { req.ver 1.0 } { req.hdr(transfer-encoding) -m found }");
	add_refusal(out, 400, bad, "if { url -m str * } !METH_OPTIONS");
	/* A user or nobody where the host of an absolute target stands. */
	add_refusal(out, 400, bad, "if { url -m reg ^[^/]*//([^/?]*@|[/?]|$) } !{ url -m beg / }");
	add_refusal(out, 400, bad, "if { path -m reg %(00|(?![0-9A-Fa-f]{2})) }");
}

static void add_host_checks(struct buf *out)
{
	static const char bad[] = "bad host";
	char too_long[64];
	snprintf(too_long, sizeof(too_long), "if { req.hdr(host) -m len gt %d }", HOST_LEN_MAX);
	add_refusal(out, 400, bad,
		"if { fc_http_major 1 } !{ req.ver 1.0 } !{ req.hdr(host) -m found }");
	add_refusal(out, 400, bad, "if { req.hdr_cnt(host) gt 1 }");
	add_refusal(out, 400, bad, too_long);
	add_refusal(out, 400, bad,
		"if { req.hdr(host) -m found } !{ req.hdr(host) -m reg "
		"^(\\[[0-9a-fA-F:.]+\\]|[A-Za-z0-9._-]*)(:[0-9]{0,5})?$ }");
	add_refusal(out, 400, bad, "if { req.hdr(host) -m sub .. }");
	add_refusal(out, 400, bad, "if { req.hdr(host),port_only gt 65535 }");
}

static void add_request_form(struct buf *out)
{
	text_add(out,
		/* An absolute target names the same host: else HAProxy has refused it. It may have no path. */
		"\thttp-request set-var(txn.u) pathq if { fc_http_major 1 } !{ url -m beg / } !{ "
		"url -m str * }\n"
		"\thttp-request set-uri %%[var(txn.u)] if { var(txn.u) -m len gt 0 }\n"
		"\thttp-request set-uri / if { fc_http_major 1 } !{ url -m beg / } !{ url -m str * "
		"}\n"
		/* What is not idempotent (RFC 9110, section 9.2.2) is repeated only where no connection was made. */
		"\thttp-request disable-l7-retry unless { method GET HEAD OPTIONS PUT DELETE }\n");
}

/* From the host's key and the path to the pool, and from the pool to its backend. `also` goes on with each condition. */
static void add_path_lookup(struct buf *out, const char *lb, const char *dir, const char *also)
{
	text_add(out,
		"\thttp-request set-var(txn.v) "
		"var(txn.k),concat(,txn.p),map_str(%s/maps/whole.map) if { var(txn.k) -m found "
		"}%s\n"
		"\thttp-request set-var(txn.v) "
		"var(txn.k),concat(,txn.p,/),map_beg(%s/maps/prefix.map) if { var(txn.k) -m found "
		"} !{ var(txn.v) -m found }%s\n"
		"\thttp-request set-var(txn.v) str(default:%s),map_str(%s/maps/whole.map) if !{ "
		"var(txn.v) -m found }%s\n"
		"\thttp-request set-var(txn.b) "
		"str(pool:),concat(,txn.v),map_str(%s/maps/whole.map) if { var(txn.v) -m found "
		"}%s\n",
		dir, also, dir, also, lb, dir, also, dir, also);
}

/* routes.h says what the keys are. */
static void add_lookup(
	struct buf *out, const struct render_input *input, const struct port *port, bool is_plain)
{
	const char *lb = port->load_balancer.text;
	const char *dir = input->state_dir;
	text_add(out,
		"\thttp-request set-var(txn.h) req.hdr(host),host_only,regsub([.]$,)\n"
		"\thttp-request set-var(txn.k) "
		"str(host:%s:),concat(,txn.h),map_str(%s/maps/whole.map)\n"
		"\thttp-request set-var(txn.w) var(txn.h),regsub(^[^.]+,*) unless { var(txn.k) -m "
		"found }\n"
		"\thttp-request set-var(txn.k) "
		"str(host:%s:),concat(,txn.w),map_str(%s/maps/whole.map) unless { var(txn.k) -m "
		"found }\n"
		"\thttp-request set-var(txn.k) str(host:%s:*),map_str(%s/maps/whole.map) unless { "
		"var(txn.k) -m found }\n",
		lb, dir, lb, dir, lb, dir);
	if (is_plain)
		text_add(out,
			"\thttp-request set-var(txn.q) "
			"str(plain:),concat(,txn.k),map_str(%s/maps/whole.map) if { var(txn.k) -m "
			"found }\n"
			"\thttp-request set-var(txn.k) var(txn.q) if { var(txn.q) -m found }\n",
			dir);
	text_add(out, "\thttp-request set-var(txn.p) path\n");
	add_path_lookup(out, lb, dir, "");
	text_add(out,
		"\thttp-request return status 404 content-type text/plain string \"no route\\n\" "
		"unless { var(txn.v) -m found }\n");
	/* Rows change while requests are looked up: when the pool has gone since its route was found, the route leads elsewhere by now. */
	text_add(out, "\thttp-request unset-var(txn.v) unless { var(txn.b) -m found }\n");
	add_path_lookup(out, lb, dir, " !{ var(txn.b) -m found }");
}

static void add_headers(struct buf *out)
{
	text_add(out,
		"\thttp-request del-header x-forwarded- -m beg\n"
		"\thttp-request del-header forwarded\n"
		"\thttp-request del-header x-real-ip\n"
		"\thttp-request set-header X-Forwarded-For %%[src]\n"
		"\thttp-request set-header X-Real-IP %%[src]\n"
		"\thttp-request set-header X-Forwarded-Proto %%[ssl_fc,iif(https,http)]\n"
		"\thttp-request set-header X-Forwarded-Host %%[req.hdr(host)] if { req.hdr(host) "
		"-m found }\n"
		"\thttp-request set-header X-Forwarded-Port %%[dst_port]\n"
		"\thttp-request set-header Forwarded "
		"\"for=%%[src];host=\\\"%%[req.hdr(host)]\\\";proto=%%[ssl_fc,iif(https,http)]\" "
		"if { src -m ip 0.0.0.0/0 }\n"
		"\thttp-request set-header Forwarded "
		"\"for=\\\"[%%[src]]\\\";host=\\\"%%[req.hdr(host)]\\\";proto=%%[ssl_fc,iif(https,"
		"http)]\" unless { src -m ip 0.0.0.0/0 }\n"
		/* fhdr: as a list, hdr would make a value of each comma. */
		"\thttp-request del-header upgrade unless { req.fhdr(upgrade) -i websocket }\n"
		"\thttp-request set-header upgrade websocket if { req.fhdr(upgrade) -m found }\n"
		"\thttp-request set-header connection upgrade if { req.fhdr(upgrade) -m found }\n"
		"\thttp-request del-header connection unless { req.fhdr(upgrade) -m found }\n"
		"\thttp-request del-header proxy\n"
		"\thttp-request del-header keep-alive\n"
		"\thttp-request del-header proxy-connection\n"
		"\thttp-request del-header http2-settings\n");
}

static void add_http(struct buf *out, const struct render_input *input, const struct port *port)
{
	add_request_checks(out);
	add_host_checks(out);
	add_request_form(out);
	add_lookup(out, input, port, port->protocol == LISTENER_HTTP);
	add_headers(out);
	text_add(out, "\tuse_backend %%[var(txn.b)] if { var(txn.b) -m found }\n"
		      "\tdefault_backend none\n");
}

static void add_tcp(struct buf *out, const struct render_input *input, const struct port *port)
{
	const char *dir = input->state_dir;
	text_add(out,
		"\tmode tcp\n"
		"\ttimeout client 1h\n"
		"\ttcp-request content set-var(sess.v) str(tcp:%s:%u),map_str(%s/maps/whole.map)\n"
		"\ttcp-request content set-var(sess.b) "
		"str(pool:),concat(,sess.v),map_str(%s/maps/whole.map)\n"
		"\tuse_backend %%[var(sess.b)] if { var(sess.b) -m found }\n"
		"\tdefault_backend closed\n",
		port->load_balancer.text, port->port, dir, dir);
}

/* Looks at the server name and passes the connection on unopened, or to the listener that opens it. */
static void add_passthrough(
	struct buf *out, const struct render_input *input, const struct port *port)
{
	const char *lb = port->load_balancer.text;
	const char *dir = input->state_dir;
	text_add(out,
		"\tmode tcp\n"
		"\ttimeout client 1h\n"
		"\ttcp-request inspect-delay 5s\n"
		"\ttcp-request content set-var(sess.n) req.ssl_sni,lower,rtrim(.) if { "
		"req.ssl_hello_type 1 }\n"
		"\ttcp-request content set-var(sess.v) "
		"str(sni:%s:),concat(,sess.n),map_str(%s/maps/whole.map) if { var(sess.n) -m found "
		"}\n"
		"\ttcp-request content set-var(sess.w) var(sess.n),regsub(^[^.]+,*) if { "
		"var(sess.n) -m found } !{ var(sess.v) -m found }\n"
		"\ttcp-request content set-var(sess.v) "
		"str(sni:%s:),concat(,sess.w),map_str(%s/maps/whole.map) if { var(sess.w) -m found "
		"} !{ var(sess.v) -m found }\n"
		"\ttcp-request content set-var(sess.v) str(sni:%s:*),map_str(%s/maps/whole.map) if "
		"{ var(sess.n) -m found } !{ var(sess.v) -m found }\n"
		"\ttcp-request content set-var(sess.b) "
		"str(pool:),concat(,sess.v),map_str(%s/maps/whole.map) if { var(sess.v) -m found "
		"}\n"
		"\ttcp-request content accept if { req.ssl_hello_type 1 }\n"
		"\ttcp-request content reject\n"
		"\tuse_backend %%[var(sess.b)] if { var(sess.b) -m found }\n"
		"\tuse_backend closed if { var(sess.v) -m found }\n",
		lb, dir, lb, dir, lb, dir, dir);
	if (port->protocol == LISTENER_HTTPS)
		text_add(out, "\tdefault_backend loop%s\n", port_label_of(port).text);
	else
		text_add(out, "\tdefault_backend closed\n");
}

static void add_loop(
	struct buf *out, const struct render_input *input, const struct port *port, const char *tls)
{
	struct port_label label = port_label_of(port);
	text_add(out,
		"\nbackend loop%s\n"
		"\tmode tcp\n"
		"\ttimeout server 1h\n"
		"\tserver loop unix@%s/loop%s.sock send-proxy-v2\n"
		"\nfrontend tls%s\n"
		"\tbind unix@%s/loop%s.sock mode 600 accept-proxy%s\n",
		label.text, input->proxy_dir, label.text, label.text, input->proxy_dir, label.text,
		tls);
	add_http(out, input, port);
}

static void add_port(struct buf *out, const struct render_input *input, const struct port *port)
{
	char *tls = xasprintf(" ssl crt-list %s/certs/list.txt alpn h2,http/1.1%s",
		input->state_dir, input->has_default ? "" : " strict-sni");
	bool is_opened = port->protocol == LISTENER_HTTPS && !port->has_passthrough;
	text_add(out, "\nfrontend port%s\n", port_label_of(port).text);
	add_binds(out, port, is_opened ? tls : "");
	add_ranges(out, port);
	if (port->protocol == LISTENER_HTTP || is_opened)
		add_http(out, input, port);
	else if (port->protocol == LISTENER_TCP)
		add_tcp(out, input, port);
	else
		add_passthrough(out, input, port);
	if (port->has_passthrough && port->protocol == LISTENER_HTTPS)
		add_loop(out, input, port, tls);
	free(tls);
}

/* HAProxy does not start without any listener. */
static void add_idle(struct buf *out, const struct render_input *input)
{
	text_add(out,
		"\nfrontend idle\n"
		"\tbind unix@%s/idle.sock mode 600\n"
		"\tdefault_backend none\n",
		input->proxy_dir);
	/* The maps exist for HAProxy only if something names them. */
	text_add(out,
		"\thttp-request set-var(txn.k) str(none),map_str(%s/maps/whole.map)\n"
		"\thttp-request set-var(txn.k) str(none),map_beg(%s/maps/prefix.map)\n",
		input->state_dir, input->state_dir);
	text_add(out,
		"\tbind unix@%s/idle-tls.sock mode 600 ssl crt-list %s/certs/list.txt strict-sni\n",
		input->proxy_dir, input->state_dir);
	/* Likewise the file, which is too long to be told later. */
	if (input->system_ca_digest != 0)
		text_add(out, "\n# %016llx", (unsigned long long)input->system_ca_digest);
	if (input->system_ca != NULL)
		text_add(out,
			"\nbackend trusted\n"
			"\tserver nobody 127.0.0.1:1 disabled ssl verify required ca-file %s\n",
			input->system_ca);
}

void render_main(struct buf *out, const struct render_input *input, char *ret_description)
{
	text_add(out, "# Written by Sluice; changes are lost.\n");
	size_t body = buf_len(out);
	add_global(out, input);
	size_t global_end = buf_len(out);
	add_defaults(out);
	add_ends(out);
	add_idle(out, input);
	for (size_t i = 0; i < input->ports->count; i++)
		add_port(out, input, &input->ports->items[i]);
	struct str text = str_skip(buf_str(out), body);
	struct str layout = {(const char *)&input->groups_layout, sizeof(input->groups_layout)};
	const struct str parts[] = {text, layout};
	uint64_t digest = name_digest(parts, 2);
	snprintf(ret_description, RENDER_DESCRIPTION_LEN, "sluice %016llx %zu",
		(unsigned long long)digest, input->group_count);
	/* The description goes behind the global section, whose last line it becomes. */
	char *rest = str_dup(str_skip(buf_str(out), global_end));
	buf_cut(out, global_end);
	text_add(out, "\tdescription \"%s\"\n%s", ret_description, rest);
	free(rest);
}

size_t render_read_group_count(struct str content)
{
	static const char mark[] = "\n\tdescription \"sluice ";
	const char *at =
		content.len != 0 ? memmem(content.p, content.len, mark, sizeof(mark) - 1) : NULL;
	int64_t count = 0;
	if (at == NULL)
		return 0;
	struct str rest = str_skip(content, (size_t)(at - content.p) + sizeof(mark) - 1 + 16 + 1);
	const char *end = str_find(rest, '"');
	rest.len = end != NULL ? (size_t)(end - rest.p) : 0;
	return str_to_int(rest, 0, SLOTS_GROUPS_MAX, &count) ? (size_t)count : 0;
}

/* ---- groups ---- */

static void add_servers(struct buf *out, struct slot *slot)
{
	struct server *server = slot_first_server(slot);
	for (; server != NULL; server = slot_next_server(server)) {
		bool is_v6 = server->ip.family == AF_INET6;
		if (!server->is_wanted || server->is_refused)
			continue;
		text_add(out, "\tserver %s %s%s%s:%u weight %u%s%s\n", server->name,
			is_v6 ? "[" : "", server->ip.text, is_v6 ? "]" : "", server->port,
			server->weight, slot->group->sort->server,
			slot->words != NULL ? slot->words : "");
	}
}

void render_group(struct buf *out, const struct group *group)
{
	text_add(out, "# Written by Sluice; changes are lost.\n");
	if (group->sort == NULL) {
		text_add(out, "#-\n");
		return;
	}
	const char *line = group->sort->lines;
	while (*line != 0) {
		const char *end = strchrnul(line, '\n');
		text_add(out, "#=%.*s\n", (int)(end - line), line);
		line = *end != 0 ? end + 1 : end;
	}
	text_add(out, "#+%s\n", group->sort->server);
	for (size_t i = 0; i < group->size; i++) {
		const struct slot *slot = &group->slots[i];
		text_add(out, "\nbackend %s\n%s", slot->name, group->sort->lines);
		add_servers(out, (struct slot *)(uintptr_t)slot);
	}
}

static uint32_t count_backends(struct str content)
{
	struct str word = STR("\nbackend s");
	uint32_t count = 0;
	const char *at;
	while (count < SLOTS_PER_GROUP && content.len != 0 &&
		(at = memmem(content.p, content.len, word.p, word.len)) != NULL) {
		content = str_skip(content, (size_t)(at - content.p) + word.len);
		count++;
	}
	return count;
}

bool render_read_group(struct str content, struct slots *slots)
{
	struct buf lines;
	struct str server = STR_NONE;
	bool is_vacant = false;
	buf_init(&lines, RENDER_LEN_MAX);
	while (content.len != 0 && content.p[0] == '#') {
		const char *end = str_find(content, '\n');
		if (end == NULL)
			break;
		struct str line = {content.p, (size_t)(end - content.p)};
		content = str_skip(content, line.len + 1);
		if (str_starts_with(line, STR("#=")))
			text_add(&lines, "%.*s\n", STR_FMT(str_skip(line, 2)));
		else if (str_starts_with(line, STR("#+")))
			server = str_skip(line, 2);
		is_vacant = is_vacant || str_eq(line, STR("#-"));
	}
	if (is_vacant) {
		buf_fini(&lines);
		return slots_add_group(slots, NULL, 0) != NULL;
	}
	bool is_one = server.p != NULL && buf_len(&lines) != 0;
	if (is_one) {
		char *lines_text = str_dup(buf_str(&lines));
		char *server_text = str_dup(server);
		is_one = slots_add_group(slots, slots_find_class(slots, lines_text, server_text),
				 count_backends(content)) != NULL;
		free(lines_text);
		free(server_text);
	}
	buf_fini(&lines);
	return is_one;
}
