// SPDX-License-Identifier: Apache-2.0
#include "common/xalloc.h"
#include "provider-nginx/conf.h"
#include "provider-nginx/datagrams.h"
#include "provider-nginx/quote.h"
#include "provider-nginx/temp_folders.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct fixture {
	struct conf_options options;
	struct port ports_items[4];
	struct ports ports;
	struct check_ip bind;
	struct conf_peer peer;
	struct conf_pool pool;
	struct conf_tcp tcp;
	struct conf_pass passes[2];
	struct conf conf;
	struct buf text;
};

static void set_up(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->options = (struct conf_options){
		.state_dir = STR("/state"),
		.proxy_dir = STR("/run/proxy"),
		.lua_dir = STR("/lua"),
		.modules_dir = STR("/modules"),
		.user = STR(""),
		.open_files = 1024,
		.dictionary_mb = 64,
		.shutdown_s = 60,
		.control = 'a',
	};
	struct name lb = name_of(NAME_LOAD_BALANCER, STR("lb"));
	f->ports_items[0] =
		(struct port){.port = 80, .protocol = LISTENER_HTTP, .load_balancer = lb};
	f->ports_items[1] =
		(struct port){.port = 443, .protocol = LISTENER_HTTPS, .load_balancer = lb};
	f->ports_items[2] = (struct port){
		.port = 5432, .protocol = LISTENER_TCP, .load_balancer = lb, .service = STR("a/b")};
	f->ports = (struct ports){.items = f->ports_items, .count = 3};
	assert_true(check_ip(STR("::"), &f->bind));
	for (size_t i = 0; i < 3; i++) {
		f->ports_items[i].binds = &f->bind;
		f->ports_items[i].bind_count = 1;
	}
	assert_true(check_ip(STR("2001:db8::1"), &f->peer.ip));
	f->peer.port = 5432;
	f->pool = (struct conf_pool){
		.name = name_of(NAME_POOL, STR("pool")), .peers = &f->peer, .peer_count = 1};
	f->tcp = (struct conf_tcp){2, f->pool.name};
	f->passes[0] = (struct conf_pass){lb, STR("lb"), STR("a.test"), f->pool.name, STR("x/y")};
	f->passes[1] =
		(struct conf_pass){lb, STR("lb"), STR("*.b-c.test"), f->pool.name, STR("x/z")};
	f->conf = (struct conf){.options = &f->options,
		.ports = &f->ports,
		.tcp = &f->tcp,
		.tcp_count = 1,
		.passes = f->passes,
		.pools = &f->pool,
		.pool_count = 1};
	buf_init(&f->text, CONF_LEN_MAX);
}

static uint64_t render(struct fixture *f, const bool *is_out)
{
	uint64_t generation = 0;
	buf_clear(&f->text);
	assert_int_equal(conf_render(&f->conf, is_out, &f->text, &generation), 0);
	assert_int_equal(buf_append(&f->text, "", 1), 0);
	return generation;
}

static bool has(const struct fixture *f, const char *words)
{
	return strstr(buf_str(&f->text).p, words) != NULL;
}

/* Line by line: with sanitizers strstr() looks at the whole rest of a text each time. */
static size_t count_lines(const struct fixture *f, const char *words)
{
	size_t count = 0;
	struct str rest = buf_str(&f->text);
	while (rest.len != 0) {
		const char *end = memchr(rest.p, '\n', rest.len);
		size_t len = end != NULL ? (size_t)(end - rest.p) : rest.len;
		count += memmem(rest.p, len, words, strlen(words)) != NULL;
		rest = str_skip(rest, end != NULL ? len + 1 : len);
	}
	return count;
}

static void test_listeners(void **state)
{
	struct fixture f;
	(void)state;
	set_up(&f);
	uint64_t generation = render(&f, NULL);
	assert_true(has(&f, "listen [::]:80 ipv6only=off;"));
	assert_true(has(&f, "listen [::]:443 ssl http2 ipv6only=off;"));
	assert_true(has(&f, "listen [::]:5432 so_keepalive=on ipv6only=off;"));
	assert_true(has(&f, "server [2001:db8::1]:5432"));
	assert_false(has(&f, "proxy_protocol on"));
	assert_false(has(&f, "deny all"));
	assert_true(render(&f, NULL) == generation);
	f.options.control = 'b';
	assert_true(render(&f, NULL) != generation);
	f.ports_items[2].is_closed = true;
	render(&f, NULL);
	assert_true(has(&f, "deny all"));
	f.pool.peer_count = 0;
	render(&f, NULL);
	assert_true(has(&f, "proxy_pass sluice_none;"));
	buf_fini(&f.text);
}

/* Every path that nginx was built with, and would use unless told otherwise. */
static void test_kept_connections(void **state)
{
	struct fixture f;
	(void)state;
	set_up(&f);
	f.options.open_files = 65536;
	render(&f, NULL);
	assert_true(has(&f, "worker_connections 49152;"));
	assert_true(has(&f, "upstream 0_http {"));
	assert_true(has(&f, "upstream 7xxx_h2 {"));
	assert_false(has(&f, "upstream 0xxxx_http {"));
	/* 32 times 768 are one half, 3 times 32 times 96 three sixteenths. */
	assert_int_equal(count_lines(&f, "\tkeepalive 768;"), CONF_SHARDS);
	assert_int_equal(count_lines(&f, "\tkeepalive 96;"), 3 * CONF_SHARDS);
	f.options.open_files = 100;
	render(&f, NULL);
	assert_int_equal(count_lines(&f, "\tkeepalive 1;"), 4 * CONF_SHARDS);
	buf_fini(&f.text);
}

static void test_clients_of_both_families(void **state)
{
	struct fixture f;
	struct check_ip binds[2];
	(void)state;
	set_up(&f);
	assert_true(check_ip(STR("0.0.0.0"), &binds[0]));
	assert_true(check_ip(STR("::"), &binds[1]));
	f.ports_items[0].binds = &binds[0];
	render(&f, NULL);
	assert_int_equal(count_lines(&f, "Forwarded: for=$remote_addr;"), 1);
	assert_int_equal(count_lines(&f, "Forwarded: for=\\\"[$remote_addr]\\\";"), 1);
	assert_int_equal(
		count_lines(&f, "Forwarded: for=$sluice_for_begin$remote_addr$sluice_for_end;"), 0);
	f.ports_items[0].bind_count = 2;
	render(&f, NULL);
	assert_int_equal(count_lines(&f, "Forwarded: for=$remote_addr;"), 0);
	assert_int_equal(
		count_lines(&f, "Forwarded: for=$sluice_for_begin$remote_addr$sluice_for_end;"), 1);
	buf_fini(&f.text);
}

static void test_own_folders(void **state)
{
	struct fixture f;
	(void)state;
	set_up(&f);
	render(&f, NULL);
	assert_true(has(&f, "\tclient_body_temp_path \"/state/temp/client_body\";\n"));
	assert_true(has(&f, "\tproxy_temp_path \"/state/temp/proxy\";\n"));
	assert_true(has(&f, "\tfastcgi_temp_path \"/state/temp/fastcgi\";\n"));
	assert_true(has(&f, "\tuwsgi_temp_path \"/state/temp/uwsgi\";\n"));
	assert_true(has(&f, "\tscgi_temp_path \"/state/temp/scgi\";\n"));
	/* The folders that are made are these. */
	for (size_t i = 0; i < TEMP_FOLDER_COUNT; i++) {
		char path[64];
		snprintf(path, sizeof(path), "_temp_path \"/state/%s\";\n", temp_folders[i]);
		assert_true(has(&f, path));
	}
	assert_int_equal(count_lines(&f, "_temp_path "), TEMP_FOLDER_COUNT);
	assert_true(has(&f, "\npid \"/run/proxy/nginx.master\";\n"));
	assert_true(has(&f, "\nlock_file \"/run/proxy/nginx.lock\";\n"));
	assert_true(has(&f, "\nerror_log stderr "));
	assert_true(has(&f, "\taccess_log off;\n"));
	buf_fini(&f.text);
}

static void test_pieces(void **state)
{
	struct fixture f;
	(void)state;
	set_up(&f);
	f.conf.pass_count = 2;
	assert_int_equal(conf_piece_count(&f.conf), 5);
	assert_false(conf_piece_is_owned(&f.conf, 0));
	assert_true(conf_piece_is_owned(&f.conf, 2));
	assert_true(conf_piece_is_owned(&f.conf, 4));
	render(&f, NULL);
	assert_true(has(&f, "\"a.test\" \"unix:/run/proxy/hop/pass-443.sock\";"));
	assert_true(has(&f, "\"~*^[^.]+\\\\.b-c\\\\.test\\\\z\""));
	assert_true(
		has(&f, "listen \"unix:/run/proxy/hop/https-443.sock\" ssl http2 proxy_protocol;"));
	bool is_out[5] = {false, false, true, true, false};
	render(&f, is_out);
	assert_false(has(&f, "5432 so_keepalive"));
	assert_false(has(&f, "a.test"));
	assert_true(has(&f, "b-c"));
	is_out[4] = true;
	render(&f, is_out);
	assert_true(has(&f, "listen [::]:443 ssl http2 ipv6only=off;"));
	assert_false(has(&f, "proxy_protocol on"));
	buf_fini(&f.text);
}

/* Each with a pool of its own, beside as many listeners of others as there may be: whoever walks through all of them for each of them does not come to an end. */
static void test_very_many_hosts(void **state)
{
	enum { HOSTS = 200 * 1000, DIGITS = 6 };
	struct fixture f;
	(void)state;
	set_up(&f);
	char *texts = xcalloc(HOSTS, DIGITS + 1);
	struct conf_pass *passes = xcalloc(HOSTS, sizeof(*passes));
	struct conf_pool *pools = xcalloc(2 * HOSTS, sizeof(*pools));
	struct port *items = xcalloc(PORTS_MAX, sizeof(*items));
	for (size_t i = 0; i < HOSTS; i++) {
		char *host = texts + i * (DIGITS + 1);
		snprintf(host, DIGITS + 1, "%0*zu", DIGITS, (i * 7919) % HOSTS);
		passes[i] = f.passes[0];
		passes[i].host = (struct str){host, DIGITS};
		passes[i].pool = name_of(NAME_POOL, passes[i].host);
		pools[2 * i] = f.pool;
		pools[2 * i].name = passes[i].pool;
		pools[2 * i + 1] = pools[2 * i];
	}
	for (size_t i = 0; i < PORTS_MAX; i++) {
		char id[8];
		snprintf(id, sizeof(id), "%zu", i);
		items[i] = f.ports_items[1];
		items[i].port = (uint16_t)(i + 1);
		items[i].load_balancer = i == 500 ? f.passes[0].load_balancer
						  : name_of(NAME_LOAD_BALANCER, str_from(id));
	}
	f.ports = (struct ports){.items = items, .count = PORTS_MAX};
	f.conf.tcp_count = 0;
	f.conf.passes = passes;
	f.conf.pass_count = HOSTS;
	f.conf.pools = pools;
	f.conf.pool_count = 2 * HOSTS;
	conf_sort(&f.conf);
	assert_int_equal(f.conf.pool_count, HOSTS);
	render(&f, NULL);
	assert_int_equal(count_lines(&f, "\tupstream p"), HOSTS);
	assert_int_equal(count_lines(&f, " \"unix:/run/proxy/hop/pass-501.sock\";"), HOSTS);
	/* None of them leads nowhere, but what is none of them. */
	assert_int_equal(count_lines(&f, " sluice_none;"), 1);
	buf_fini(&f.text);
	free(texts);
	free(passes);
	free(pools);
	free(items);
}

static void test_refused_option(void **state)
{
	struct fixture f;
	uint64_t generation = 1;
	(void)state;
	set_up(&f);
	f.options.state_dir = STR("/a$b");
	assert_int_equal(buf_append(&f.text, "before", 6), 0);
	assert_int_equal(conf_render(&f.conf, NULL, &f.text, &generation), -EINVAL);
	assert_true(str_eq_c(buf_str(&f.text), "before"));
	assert_true(generation == 1);
	buf_fini(&f.text);
}

static void test_what_is_held(void **state)
{
	struct fixture f;
	struct check_ip v4;
	uint16_t both[] = {80, 443};
	size_t count;
	(void)state;
	set_up(&f);
	assert_true(check_ip(STR("0.0.0.0"), &v4));
	render(&f, NULL);
	struct socket_list held = ports_read_sockets(buf_str(&f.text), CONF_LISTEN);
	assert_int_equal(held.count, 3);
	assert_true(socket_list_has(&held, &f.bind, 5432));
	assert_false(socket_list_has(&held, &v4, 5432));
	free(held.items);
	uint16_t *split = conf_read_split(buf_str(&f.text), &count);
	assert_int_equal(count, 0);
	free(split);
	assert_false(has(&f, "reuseport"));
	f.conf.split = both;
	f.conf.split_count = 2;
	render(&f, NULL);
	assert_true(has(&f, "listen [::]:80 ipv6only=off reuseport;"));
	assert_true(has(&f, "listen [::]:5432 so_keepalive=on ipv6only=off;"));
	split = conf_read_split(buf_str(&f.text), &count);
	assert_int_equal(count, 2);
	assert_int_equal(split[1], 443);
	free(split);
	split = conf_read_split(STR("\n# split 80 0 x"), &count);
	assert_int_equal(count, 1);
	free(split);
	buf_fini(&f.text);
}

static void set_udp(struct fixture *f)
{
	set_up(f);
	f->ports_items[3] = f->ports_items[2];
	f->ports_items[3].protocol = LISTENER_UDP;
	f->ports.count = 4;
	f->tcp.port = 3;
}

/* A port of TCP may have its number, and knows nothing of it. */
static void test_datagrams(void **state)
{
	struct fixture f;
	(void)state;
	set_udp(&f);
	f.options.open_files = 65536;
	render(&f, NULL);
	assert_true(has(&f, "\tlimit_conn_zone $pid:$server_port zone=sluice_udp:1m;"));
	assert_true(has(&f, "listen [::]:5432 udp ipv6only=off reuseport;"));
	assert_true(has(&f, "listen [::]:5432 so_keepalive=on ipv6only=off;"));
	assert_true(has(&f, "limit_conn sluice_udp 3072;"));
	assert_true(has(&f, "proxy_timeout 60s;"));
	assert_false(has(&f, "proxy_responses"));
	assert_false(has(&f, "return \"\";"));
	struct socket_list held = ports_read_sockets(buf_str(&f.text), CONF_LISTEN);
	const struct socket_address udp = {.ip = f.bind, .port = 5432, .is_udp = true};
	const struct socket_address other = {.ip = f.bind, .port = 443, .is_udp = true};
	assert_int_equal(held.count, 4);
	assert_true(socket_list_has_address(&held, &udp));
	assert_true(socket_list_has(&held, &f.bind, 5432));
	assert_false(socket_list_has_address(&held, &other));
	free(held.items);
	buf_fini(&f.text);
}

static void test_sessions(void **state)
{
	struct fixture f;
	(void)state;
	set_udp(&f);
	f.ports_items[3].idle_s = 600;
	f.ports_items[3].responses = 1;
	f.ports_items[3].is_closed = true;
	render(&f, NULL);
	assert_true(has(&f, "proxy_timeout 600s;\n\t\tproxy_responses 1;"));
	assert_true(has(&f, "deny all;"));
	f.ports_items[3].responses = 0;
	f.ports_items[3].one_way = true;
	render(&f, NULL);
	assert_true(has(&f, "proxy_responses 0;"));
	/* What they may have is for all ports together. */
	assert_int_equal(datagrams_sessions(&f.conf), 1024 / 4 * 3 / 16);
	f.ports_items[2].protocol = LISTENER_UDP;
	assert_int_equal(datagrams_sessions(&f.conf), 1024 / 4 * 3 / 16 / 2);
	buf_fini(&f.text);
}

/* Nobody answers for it, then. */
static void test_datagrams_without_endpoints(void **state)
{
	struct fixture f;
	(void)state;
	set_udp(&f);
	f.pool.peer_count = 0;
	render(&f, NULL);
	assert_int_equal(count_lines(&f, "\t\treturn \"\";"), 1);
	assert_int_equal(count_lines(&f, "proxy_pass sluice_none;"), 1); /* of TCP */
	f.conf.tcp_count = 0;
	render(&f, NULL);
	assert_int_equal(count_lines(&f, "\t\treturn \"\";"), 1);
	buf_fini(&f.text);
}

static void test_two_load_balancers_on_one_port(void **state)
{
	struct fixture f;
	struct check_ip binds[2];
	uint16_t split[] = {80};
	struct socket_address leaving = {.port = 80};
	(void)state;
	set_up(&f);
	assert_true(check_ip(STR("0.0.0.0"), &binds[0]) && check_ip(STR("::"), &binds[1]));
	assert_true(check_ip(STR("10.0.0.1"), &leaving.ip));
	f.ports_items[0].binds = binds;
	f.ports_items[0].bind_count = 2;
	f.ports_items[1] = (struct port){.port = 80,
		.protocol = LISTENER_HTTPS,
		.has_own_address = true,
		.binds = &f.peer.ip,
		.bind_count = 1,
		.load_balancer = name_of(NAME_LOAD_BALANCER, STR("other"))};
	f.ports.count = 2;
	f.conf.tcp_count = 0;
	f.conf.split = split;
	f.conf.split_count = 1;
	f.conf.leaving = (struct socket_list){&leaving, 1};
	render(&f, NULL);
	/* Each family has a wildcard of its own, then. */
	assert_true(has(&f, "listen 0.0.0.0:80 reuseport;"));
	assert_true(has(&f, "listen [::]:80 reuseport;"));
	assert_true(has(&f, "listen [2001:db8::1]:80 ssl http2 reuseport;"));
	assert_true(has(&f, "listen 10.0.0.1:80 reuseport;"));
	assert_true(has(&f, port_label_of(&f.ports_items[1]).text));
	assert_string_not_equal(port_label_of(&f.ports_items[1]).text, "80");
	buf_fini(&f.text);
}

static void test_where_it_listens(void **state)
{
	struct fixture f;
	(void)state;
	set_up(&f);
	f.options.control = 'b';
	render(&f, NULL);
	assert_true(str_eq(
		conf_read_control(buf_str(&f.text)), STR("/run/proxy/control/control-b.sock")));
	assert_true(str_is_empty(conf_read_control(STR(""))));
	assert_true(str_is_empty(conf_read_control(STR("\t\tlisten \"unix:/hop/x.sock\";"))));
	assert_true(str_is_empty(conf_read_control(STR("\t\tlisten \"unix:/s/control/x"))));
	buf_fini(&f.text);
}

static void test_quote(void **state)
{
	static const struct {
		struct str in;
		const char *quoted;
		bool is_plain;
	} cases[] = {
		{STR("/run/a-1_b.sock"), "/run/a-1_b.sock", true},
		{STR("[fd00::1]"), "[fd00::1]", true},
		{STR(""), "", false},
		{STR("a b"), "a b", false},
		{STR("a;"), "a;", false},
		{STR("a{"), "a{", false},
		{STR("a#"), "a#", false},
		{STR("a'"), "a'", false},
		{STR("a\"; b\\{}#'"), "a\\\"; b\\\\{}#'", false},
	};
	struct buf out;
	(void)state;
	buf_init(&out, 8192);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_clear(&out);
		assert_int_equal(quote_escape(&out, cases[i].in, true), 0);
		assert_true(str_eq_c(buf_str(&out), cases[i].quoted));
		buf_clear(&out);
		assert_int_equal(
			quote_escape(&out, cases[i].in, false), cases[i].is_plain ? 0 : -EINVAL);
		assert_true(str_eq(buf_str(&out), cases[i].is_plain ? cases[i].in : STR("")));
	}
	const struct str bad[] = {STR("$x"), STR("a\nb"), STR("\r"), STR("\0"), STR("\x7f"),
		STR("\xc3\xbc"), STR("\xff"), STR("\t")};
	for (size_t i = 0; i < 2 * sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(quote_escape(&out, bad[i / 2], i % 2 == 0), -EINVAL);
	static char long_text[QUOTE_LEN_MAX + 1];
	memset(long_text, 'x', sizeof(long_text));
	assert_int_equal(
		quote_escape(&out, (struct str){long_text, sizeof(long_text)}, true), -EINVAL);
	assert_int_equal(quote_escape(&out, (struct str){long_text, QUOTE_LEN_MAX}, true), 0);
	buf_fini(&out);
}

static void test_paths(void **state)
{
	(void)state;
	assert_true(conf_check_path(STR("/var/lib/sluice-1.0_x@y+z")));
	const struct str bad[] = {STR(""), STR("relative"), STR("/a b"), STR("/a;b"), STR("/a$b"),
		STR("/a\"b"), STR("/a{b"), STR("/a\nb"), STR("/a?b")};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(conf_check_path(bad[i]));
}

static void test_trusts(void **state)
{
	struct name authority = name_of(NAME_AUTHORITY, STR("a"));
	struct conf_trust trusts[] = {
		{.name = authority, .terms.base = authority},
		{.name = {"system"}, .terms.base = {"system"}},
	};
	struct str terms;
	char location[64];
	struct fixture f;
	struct name name;
	(void)state;
	set_up(&f);
	uint64_t without = render(&f, NULL);
	assert_false(has(&f, "_ssl_verify on"));
	assert_true(has(&f, "location @https_off {"));
	struct str names = conf_read_trusts(buf_str(&f.text));
	assert_false(conf_next_trust(&names, &name, &terms));
	f.conf.trusts = trusts;
	f.conf.trust_count = 2;
	f.options.system_ca = STR("/etc/ca.crt");
	uint64_t with = render(&f, NULL);
	assert_true(with != without);
	assert_true(conf_is_generation(buf_str(&f.text), with));
	assert_false(conf_is_generation(buf_str(&f.text), without));
	snprintf(location, sizeof(location), "location @h2_%s {", authority.text);
	/* In both servers and in that of questions, for HTTP/1.1 and HTTP/2. */
	assert_int_equal(count_lines(&f, location), 3);
	assert_int_equal(count_lines(&f, "proxy_ssl_verify on"), 6);
	assert_int_equal(count_lines(&f, "grpc_ssl_trusted_certificate \"/etc/ca.crt\""), 3);
	/* Nothing that was made for one is taken up by another. */
	assert_int_equal(count_lines(&f, "_ssl_session_reuse off"), 18);
	assert_int_equal(count_lines(&f, "://sluice_strict"), 18);
	names = conf_read_trusts(buf_str(&f.text));
	assert_true(conf_next_trust(&names, &name, &terms));
	assert_string_equal(name.text, authority.text);
	assert_true(conf_next_trust(&names, &name, &terms));
	assert_string_equal(name.text, "system");
	assert_false(conf_next_trust(&names, &name, &terms));
	buf_fini(&f.text);
}

static void test_terms_are_directives(void **state)
{
	struct name name = {"mterms"};
	struct conf_trust trusts[] = {
		{.name = name, .text = STR("system/n/12/12/1/AES256-SHA:AES128-SHA")}};
	struct fixture f;
	struct str terms;
	(void)state;
	set_up(&f);
	assert_true(terms_read(trusts[0].text, &trusts[0].terms));
	f.conf.trusts = trusts;
	f.conf.trust_count = 1;
	f.options.system_ca = STR("/etc/ca.crt");
	(void)render(&f, NULL);
	assert_int_equal(count_lines(&f, "location @https_mterms {"), 3);
	assert_int_equal(count_lines(&f, "proxy_ssl_server_name off;"), 3);
	assert_int_equal(count_lines(&f, "grpc_ssl_server_name off;"), 3);
	assert_int_equal(count_lines(&f, "proxy_ssl_protocols TLSv1.2;"), 3);
	assert_int_equal(count_lines(&f, "proxy_ssl_ciphers \"AES256-SHA:AES128-SHA\";"), 3);
	assert_int_equal(count_lines(&f, "grpc_ssl_verify_depth 1;"), 3);
	struct str names = conf_read_trusts(buf_str(&f.text));
	assert_true(conf_next_trust(&names, &name, &terms));
	assert_string_equal(name.text, "mterms");
	assert_true(str_eq(terms, trusts[0].text));
	assert_false(conf_next_trust(&names, &name, &terms));
	/* Versions that are both offered, and nobody is checked. */
	trusts[0].text = STR("off/-/12/13/0/");
	assert_true(terms_read(trusts[0].text, &trusts[0].terms));
	(void)render(&f, NULL);
	assert_int_equal(count_lines(&f, "proxy_ssl_protocols TLSv1.2 TLSv1.3;"), 4);
	assert_false(has(&f, "_ssl_verify on"));
	assert_false(has(&f, "_ssl_trusted_certificate"));
	buf_fini(&f.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listeners),
		cmocka_unit_test(test_kept_connections),
		cmocka_unit_test(test_clients_of_both_families),
		cmocka_unit_test(test_own_folders),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_very_many_hosts),
		cmocka_unit_test(test_refused_option),
		cmocka_unit_test(test_what_is_held),
		cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_datagrams_without_endpoints),
		cmocka_unit_test(test_two_load_balancers_on_one_port),
		cmocka_unit_test(test_where_it_listens),
		cmocka_unit_test(test_quote),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_trusts),
		cmocka_unit_test(test_terms_are_directives),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
