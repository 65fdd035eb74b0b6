// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/conf.h"

#include "common/xalloc.h"
#include "provider-nginx/conf_text.h"
#include "provider-nginx/pool_text.h"
#include "provider-nginx/temp_folders.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

size_t conf_piece_count(const struct conf *conf)
{
	return conf->ports->count + conf->pass_count;
}

bool conf_piece_is_owned(const struct conf *conf, size_t piece)
{
	return piece >= conf->ports->count || !str_is_empty(conf->ports->items[piece].service);
}

bool conf_check_path(struct str path)
{
	if (path.len == 0 || path.len > 512 || path.p[0] != '/')
		return false;
	for (size_t i = 0; i < path.len; i++) {
		char c = path.p[i];
		bool is_word =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!is_word && (c == '\0' || strchr("/._-+@", c) == NULL))
			return false;
	}
	return true;
}

/* ---- the process ---- */

static void add_module(struct conf_text *text, const char *name)
{
	char path[1024];
	int len = snprintf(
		path, sizeof(path), "%.*s/%s", STR_FMT(text->conf->options->modules_dir), name);
	conf_text_add(text, "load_module ");
	conf_text_quote(text, (struct str){path, (size_t)len});
	conf_text_add(text, ";\n");
}

/* For conf_read_split(). */
static void add_head(struct conf_text *text)
{
	const struct conf *conf = text->conf;
	conf_text_add(text, "# control %c\n# split", conf->options->control);
	for (size_t i = 0; i < conf->split_count; i++)
		conf_text_add(text, " %u", conf->split[i]);
	conf_text_add(text, "\n");
}

static void add_trust_names(struct conf_text *text)
{
	conf_text_add(text, "# trusts");
	for (size_t i = 0; i < text->conf->trust_count; i++)
		conf_text_add(text, " %s", text->conf->trusts[i].text);
	conf_text_add(text, "\n");
}

char *conf_control_path(const struct conf_options *options)
{
	return xasprintf(
		"%.*s/control/control-%c.sock", STR_FMT(options->proxy_dir), options->control);
}

struct str conf_read_control(struct str file)
{
	static const char mark[] = "\t\tlisten \"unix:";
	static const char folder[] = "/control/";
	struct str rest = file;
	const char *at;
	while (rest.len != 0 && (at = memmem(rest.p, rest.len, mark, sizeof(mark) - 1)) != NULL) {
		rest = str_skip(rest, (size_t)(at - rest.p) + sizeof(mark) - 1);
		const char *end = str_find(rest, '"');
		size_t len = end != NULL ? (size_t)(end - rest.p) : 0;
		if (len != 0 && memmem(rest.p, len, folder, sizeof(folder) - 1) != NULL)
			return (struct str){rest.p, len};
	}
	return STR("");
}

struct str conf_read_trusts(struct str file)
{
	static const char mark[] = "\n# trusts";
	const char *at = file.len != 0 ? memmem(file.p, file.len, mark, sizeof(mark) - 1) : NULL;
	return at != NULL ? str_skip(file, (size_t)(at - file.p) + sizeof(mark) - 1) : STR("");
}

bool conf_next_trust(struct str *rest, struct name *ret_name)
{
	size_t len = 1;
	if (rest->len == 0 || rest->p[0] != ' ')
		return false;
	while (len < rest->len && rest->p[len] != ' ' && rest->p[len] != '\n')
		len++;
	if (len - 1 > NAME_LEN)
		return false;
	*ret_name = (struct name){0};
	memcpy(ret_name->text, rest->p + 1, len - 1);
	*rest = str_skip(*rest, len);
	return true;
}

unsigned conf_read_reloads(struct str file)
{
	static const char mark[] = "\n# reloads ";
	const char *at = file.len != 0 ? memmem(file.p, file.len, mark, sizeof(mark) - 1) : NULL;
	int64_t count = 0;
	if (at == NULL)
		return 0;
	struct str rest = str_skip(file, (size_t)(at - file.p) + sizeof(mark) - 1);
	const char *end = str_find(rest, '\n');
	rest.len = end != NULL ? (size_t)(end - rest.p) : 0;
	return str_to_int(rest, 1, UINT32_MAX, &count) ? (unsigned)count : 0;
}

bool conf_is_generation(struct str file, uint64_t generation)
{
	char line[64];
	int len =
		snprintf(line, sizeof(line), "set $sluice_generation %016" PRIx64 ";", generation);
	return file.len != 0 && memmem(file.p, file.len, line, (size_t)len) != NULL;
}

uint16_t *conf_read_split(struct str file, size_t *ret_count)
{
	static const char mark[] = "\n# split";
	const char *at = file.len != 0 ? memmem(file.p, file.len, mark, sizeof(mark) - 1) : NULL;
	struct str rest =
		at != NULL ? str_skip(file, (size_t)(at - file.p) + sizeof(mark) - 1) : STR("");
	uint16_t *ports = xcalloc(PORTS_MAX, sizeof(*ports));
	size_t count = 0;
	while (rest.len != 0 && rest.p[0] == ' ' && count < PORTS_MAX) {
		size_t len = 1;
		int64_t port = 0;
		while (len < rest.len && rest.p[len] >= '0' && rest.p[len] <= '9')
			len++;
		if (!str_to_int((struct str){rest.p + 1, len - 1}, 1, 65535, &port))
			break;
		ports[count++] = (uint16_t)port;
		rest = str_skip(rest, len);
	}
	*ret_count = count;
	return ports;
}

static void add_process(struct conf_text *text)
{
	const struct conf_options *options = text->conf->options;
	conf_text_add(text, "# Written by sluice-provider-nginx; changes are overwritten.\n");
	add_head(text);
	add_trust_names(text);
	if (options->reloads != 0)
		conf_text_add(text, "# reloads %u\n", options->reloads);
	if (options->has_ndk_module)
		add_module(text, "ndk_http_module.so");
	if (options->has_lua_module)
		add_module(text, "ngx_http_lua_module.so");
	if (options->has_stream_module)
		add_module(text, "ngx_stream_module.so");
	if (!str_is_empty(options->user)) {
		conf_text_add(text, "user ");
		conf_text_quote(text, options->user);
		conf_text_add(text, ";\n");
	}
	if (options->workers > 0)
		conf_text_add(text, "worker_processes %" PRId64 ";\n", options->workers);
	else
		conf_text_add(text, "worker_processes auto;\n");
	conf_text_add(text, "worker_rlimit_nofile %" PRId64 ";\n", options->open_files);
	conf_text_add(text, "worker_shutdown_timeout %" PRId64 "s;\n", options->shutdown_s);
	conf_text_add(text, "error_log stderr notice;\npid ");
	conf_text_proxy_path(text, "nginx.master");
	conf_text_add(text, ";\nlock_file ");
	conf_text_proxy_path(text, "nginx.lock");
	conf_text_add(text, ";\nevents {\n\tworker_connections %" PRId64 ";\n}\n",
		options->open_files / 2);
}

/* ---- http ---- */

static const char http_head[] = "\taccess_log off;\n"
				"\tserver_tokens off;\n"
				"\tdefault_type text/plain;\n"
				"\tlua_shared_dict sluice_health 8m;\n"
				"\tlua_max_running_timers 512;\n"
				"\tmerge_slashes off;\n"
				"\tclient_max_body_size 0;\n"
				"\tclient_header_timeout 10s;\n"
				"\tlarge_client_header_buffers 4 16k;\n"
				"\tkeepalive_timeout 60s;\n"
				"\tkeepalive_requests 1000000;\n"
				"\tserver_names_hash_bucket_size 128;\n"
				"\tssl_protocols TLSv1.2 TLSv1.3;\n"
				"\tssl_prefer_server_ciphers off;\n"
				"\tssl_session_cache shared:sluice_tls:10m;\n"
				"\tssl_session_timeout 1h;\n"
				"\tssl_buffer_size 4k;\n";

/* Bodies are streamed both ways: nothing is written to disk, and a refused connection can still be tried elsewhere. */
static const char proxy_head[] = "\tproxy_http_version 1.1;\n"
				 "\tproxy_buffering off;\n"
				 "\tproxy_request_buffering off;\n"
				 "\tproxy_max_temp_file_size 0;\n"
				 "\tproxy_buffer_size 16k;\n"
				 "\tproxy_buffers 4 16k;\n"
				 "\tproxy_busy_buffers_size 32k;\n"
				 "\tproxy_redirect off;\n"
				 "\tproxy_connect_timeout 5s;\n"
				 "\tproxy_send_timeout 60s;\n"
				 "\tproxy_read_timeout 60s;\n"
				 "\tproxy_next_upstream error timeout;\n"
				 "\tproxy_ssl_server_name on;\n"
				 "\tproxy_ssl_name $sluice_server_name;\n"
				 "\tproxy_set_header Host $sluice_host;\n"
				 "\tproxy_set_header Connection $sluice_connection;\n"
				 "\tproxy_set_header Upgrade $sluice_upgrade;\n"
				 "\tproxy_set_header X-Forwarded-For $remote_addr;\n"
				 "\tproxy_set_header X-Forwarded-Proto $scheme;\n"
				 "\tproxy_set_header X-Forwarded-Host $sluice_host;\n"
				 "\tproxy_set_header X-Forwarded-Port $sluice_port;\n"
				 "\tproxy_set_header X-Real-IP $remote_addr;\n"
				 "\tproxy_set_header Forwarded $sluice_forwarded;\n"
				 "\tproxy_set_header Proxy \"\";\n"
				 "\tproxy_set_header Keep-Alive \"\";\n"
				 "\tproxy_set_header Proxy-Connection \"\";\n"
				 "\tproxy_set_header HTTP2-Settings \"\";\n"
				 "\tgrpc_ssl_server_name on;\n"
				 "\tgrpc_ssl_name $sluice_server_name;\n"
				 "\tgrpc_connect_timeout 5s;\n"
				 "\tgrpc_send_timeout 1h;\n"
				 "\tgrpc_read_timeout 1h;\n"
				 "\tgrpc_buffer_size 16k;\n"
				 "\tgrpc_next_upstream error timeout;\n"
				 "\tgrpc_set_header Host $sluice_host;\n"
				 "\tgrpc_set_header X-Forwarded-For $remote_addr;\n"
				 "\tgrpc_set_header X-Forwarded-Proto $scheme;\n"
				 "\tgrpc_set_header X-Forwarded-Host $sluice_host;\n"
				 "\tgrpc_set_header X-Forwarded-Port $sluice_port;\n"
				 "\tgrpc_set_header X-Real-IP $remote_addr;\n"
				 "\tgrpc_set_header Forwarded $sluice_forwarded;\n"
				 "\tgrpc_set_header Proxy \"\";\n"
				 "\tgrpc_set_header Keep-Alive \"\";\n"
				 "\tgrpc_set_header Proxy-Connection \"\";\n"
				 "\tgrpc_set_header HTTP2-Settings \"\";\n";

static const char upstream[] =
	"\tupstream sluice_%s {\n"
	"\t\tserver 0.0.0.1;\n"
	"\t\tbalancer_by_lua_block { require(\"sluice.request\").balance() }\n"
	"\t\tkeepalive 256;\n"
	"\t\tkeepalive_timeout 30s;\n"
	"\t\tkeepalive_requests 1000000;\n"
	"\t}\n";

/* Its connections end with the request: nginx finds one that is kept by its address alone, and it may have been made for somebody else,
 * who trusts others or has another client certificate. For the same reason no TLS session is taken up again. */
static const char strict_upstream[] =
	"\tupstream sluice_strict {\n"
	"\t\tserver 0.0.0.1;\n"
	"\t\tbalancer_by_lua_block { require(\"sluice.request\").balance() }\n"
	"\t}\n";

static const char variables[] = "\t\tset $sluice_host \"\";\n"
				"\t\tset $sluice_server_name \"\";\n"
				"\t\tset $sluice_forwarded \"\";\n"
				"\t\tset $sluice_connection \"\";\n"
				"\t\tset $sluice_upgrade \"\";\n"
				"\t\tset $sluice_pool \"\";\n"
				"\t\tset $sluice_client \"\";\n"
				"\t\tset $sluice_client_key \"\";\n";

static const char locations[] =
	"\t\theader_filter_by_lua_block { return require(\"sluice.response\").filter() }\n"
	"\t\tlog_by_lua_block { require(\"sluice.request\").log() }\n"
	"\t\tlocation / {\n"
	"\t\t\taccess_by_lua_block { return require(\"sluice.request\").access() }\n"
	"\t\t\tproxy_pass http://sluice_http;\n"
	"\t\t}\n"
	"\t\tlocation @https {\n"
	"\t\t\taccess_by_lua_block { return require(\"sluice.request\").access_named() }\n"
	"\t\t\tproxy_pass https://sluice_https;\n"
	"\t\t}\n"
	"\t\tlocation @h2c {\n"
	"\t\t\taccess_by_lua_block { return require(\"sluice.request\").access_named() }\n"
	"\t\t\tgrpc_pass grpc://sluice_h2c;\n"
	"\t\t}\n"
	"\t\tlocation @h2 {\n"
	"\t\t\taccess_by_lua_block { return require(\"sluice.request\").access_named() }\n"
	"\t\t\tgrpc_pass grpcs://sluice_h2;\n"
	"\t\t}\n";

static void add_temp_folders(struct conf_text *text)
{
	for (size_t i = 0; i < TEMP_FOLDER_COUNT; i++) {
		conf_text_add(text, "\t%s ", temp_folders[i].directive);
		conf_text_path(text, temp_folders[i].path);
		conf_text_add(text, ";\n");
	}
}

static void add_http_head(struct conf_text *text)
{
	const struct conf_options *options = text->conf->options;
	char path[1024];
	int len = snprintf(path, sizeof(path), "%.*s/?.lua;;", STR_FMT(options->lua_dir));
	conf_text_add(text, "http {\n%s", http_head);
	conf_text_add(text, "%s", proxy_head);
	add_temp_folders(text);
	conf_text_add(text, "\tlua_shared_dict sluice %" PRId64 "m;\n\tlua_package_path ",
		options->dictionary_mb);
	conf_text_quote(text, (struct str){path, (size_t)len});
	/* conf_check_path() leaves nothing that would mean something to Lua. */
	conf_text_add(text,
		";\n\tinit_by_lua_block { require(\"sluice.start\").init(\"%.*s/state\", \"off",
		STR_FMT(options->state_dir));
	for (size_t i = 0; i < text->conf->trust_count; i++)
		conf_text_add(text, " %s", text->conf->trusts[i].text);
	conf_text_add(
		text, "\") }\n\tinit_worker_by_lua_block { require(\"sluice.health\").start() }\n");
	conf_text_add(text, upstream, "http");
	conf_text_add(text, upstream, "https");
	conf_text_add(text, upstream, "h2c");
	conf_text_add(text, upstream, "h2");
	conf_text_add(text, "%s", strict_upstream);
}

static void add_control(struct conf_text *text, uint64_t generation)
{
	const struct conf_options *options = text->conf->options;
	conf_text_add(text, "\tserver {\n\t\tlisten \"unix:%.*s/control/control-%c.sock\";\n",
		STR_FMT(options->proxy_dir), options->control);
	/* Variables have to be known even where no listener sets them. */
	conf_text_add(text, "%s\t\tset $sluice_port 0;\n", variables);
	conf_text_add(text,
		"\t\tset $sluice_generation %016" PRIx64 ";\n"
		"\t\tclient_max_body_size 8m;\n"
		"\t\tclient_body_buffer_size 8m;\n"
		"\t\tlocation = /v1/state {\n"
		"\t\t\tcontent_by_lua_block { require(\"sluice.control\").state() }\n"
		"\t\t}\n"
		"\t\tlocation = /v1/batch {\n"
		"\t\t\tcontent_by_lua_block { require(\"sluice.control\").batch() }\n"
		"\t\t}\n"
		"\t\tlocation / {\n"
		"\t\t\treturn 404;\n"
		"\t\t}\n"
		"\t}\n",
		generation);
}

static void add_tls(struct conf_text *text, const struct port *port)
{
	conf_text_add(text, "\t\tssl_certificate ");
	conf_text_path(text, "placeholder.pem");
	conf_text_add(text, ";\n\t\tssl_certificate_key ");
	conf_text_path(text, "placeholder.pem");
	conf_text_add(text,
		";\n\t\tssl_certificate_by_lua_block { require(\"sluice.tls\").choose(\"%s\", %u) "
		"}\n",
		port->load_balancer.text, port->port);
}

static void add_verify(struct conf_text *text, const char *directives, const struct name *trust)
{
	char file[64];
	if (trust == NULL)
		return;
	conf_text_add(text,
		"\t\t\t%s_ssl_verify on;\n\t\t\t%s_ssl_verify_depth 5;\n"
		"\t\t\t%s_ssl_trusted_certificate ",
		directives, directives, directives);
	snprintf(file, sizeof(file), "trust/%s.pem", trust->text);
	bool is_system = strcmp(trust->text, POOL_TEXT_SYSTEM) == 0;
	if (is_system)
		conf_text_quote(text, text->conf->options->system_ca);
	else
		conf_text_path(text, file);
	conf_text_add(text, ";");
	if (is_system && text->conf->options->system_ca_digest != 0)
		conf_text_add(text, " # %016llx",
			(unsigned long long)text->conf->options->system_ca_digest);
	conf_text_add(text, "\n");
}

/* The location of pools with TLS for which somebody is trusted (NULL: anybody), or a client certificate is shown. */
static void add_strict(struct conf_text *text, const char *directives, const char *name,
	const char *scheme, const struct name *trust)
{
	conf_text_add(text,
		"\t\tlocation @%s_%s {\n"
		"\t\t\taccess_by_lua_block { return require(\"sluice.request\").access_named() "
		"}\n"
		"\t\t\t%s_ssl_session_reuse off;\n"
		"\t\t\t%s_ssl_certificate $sluice_client;\n"
		"\t\t\t%s_ssl_certificate_key $sluice_client_key;\n",
		name, trust != NULL ? trust->text : "off", directives, directives, directives);
	add_verify(text, directives, trust);
	conf_text_add(text, "\t\t\t%s_pass %s://sluice_strict;\n\t\t}\n", directives, scheme);
}

static void add_trusts(struct conf_text *text)
{
	const struct conf *conf = text->conf;
	for (size_t i = 0; i <= conf->trust_count; i++) {
		const struct name *trust = i < conf->trust_count ? &conf->trusts[i] : NULL;
		add_strict(text, "proxy", "https", "https", trust);
		add_strict(text, "grpc", "h2", "grpcs", trust);
	}
}

static void add_server(struct conf_text *text, const struct port *port)
{
	bool is_tls = port->protocol == LISTENER_HTTPS;
	conf_text_add(text, "\tserver {\n");
	/* The hop is always there, so that connections on their way through it survive the reload that begins or ends passing through. */
	if (is_tls)
		conf_text_add(text,
			"\t\tlisten \"unix:%.*s/hop/https-%s.sock\" ssl http2 proxy_protocol;\n"
			"\t\tset_real_ip_from unix:;\n"
			"\t\treal_ip_header proxy_protocol;\n",
			STR_FMT(text->conf->options->proxy_dir), port_label_of(port).text);
	if (!conf_text_has_passes(text, port))
		conf_text_listen(text, port, is_tls ? " ssl http2" : "");
	if (is_tls)
		add_tls(text, port);
	conf_text_add(text,
		"\t\tset $sluice_lb %s;\n\t\tset $sluice_port %u;\n\t\tset $sluice_tls %d;\n",
		port->load_balancer.text, port->port, is_tls);
	conf_text_add(text, "%s%s", variables, locations);
	add_trusts(text);
	conf_text_add(text, "\t}\n");
}

static void add_servers(struct conf_text *text)
{
	const struct ports *ports = text->conf->ports;
	for (size_t i = 0; i < ports->count; i++) {
		const struct port *port = &ports->items[i];
		bool is_http = port->protocol == LISTENER_HTTP || port->protocol == LISTENER_HTTPS;
		if (is_http && conf_text_has_piece(text, i))
			add_server(text, port);
	}
}

/* Their sockets take part in the port from now on, so that others can be bound beside them; nobody has a host there any more. */
static void add_leaving(struct conf_text *text)
{
	const struct socket_list *leaving = &text->conf->leaving;
	if (leaving->count == 0)
		return;
	conf_text_add(text, "\tserver {\n");
	for (size_t i = 0; i < leaving->count; i++) {
		struct check_ip ip = leaving->items[i].ip;
		struct port port = {.port = leaving->items[i].port, .binds = &ip, .bind_count = 1};
		conf_text_listen(text, &port, "");
	}
	conf_text_add(text, "%s\t\tset $sluice_port 0;\n\t\treturn 404;\n\t}\n", variables);
}

int conf_render(
	const struct conf *conf, const bool *is_out, struct buf *out, uint64_t *ret_generation)
{
	struct conf_text text = {.conf = conf, .is_out = is_out, .out = out};
	size_t start = buf_len(out);
	add_process(&text);
	conf_stream_add(&text);
	add_http_head(&text);
	add_servers(&text);
	add_leaving(&text);
	struct str whole = str_skip(buf_str(out), start);
	uint64_t generation = name_digest(&whole, 1);
	add_control(&text, generation);
	conf_text_add(&text, "}\n");
	if (text.err == 0)
		*ret_generation = generation;
	else
		buf_cut(out, start);
	return text.err;
}
