// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/class.h"
#include "provider-haproxy/quote.h"
#include "provider-haproxy/render.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

struct quote_case {
	struct str in;
	const char *config; /* NULL: refused */
	const char *command;
};

static void words_are_quoted(void **state)
{
	static const struct quote_case cases[] = {
		{STR("plain"), "\"plain\"", "plain"},
		{STR("a\"b\\c$d"), "\"a\\\"b\\\\c\\$d\"", "a\"b\\\\c$d"},
		{STR("a b;c"), "\"a b;c\"", "a\\ b\\;c"},
		{STR("a\nb"), "\"a\\x0ab\"", NULL},
		{STR("a\rb\x7f"), "\"a\\x0db\\x7f\"", NULL},
		{STR("a\0b"), NULL, NULL},
		{STR("%[src]{}#'"), "\"%[src]{}#'\"", "%[src]{}#'"},
	};
	struct buf out;
	(void)state;
	buf_init(&out, 1024);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_clear(&out);
		int err = quote_config(&out, cases[i].in);
		assert_int_equal(err, cases[i].config != NULL ? 0 : -EINVAL);
		assert_true(err != 0 || str_eq_c(buf_str(&out), cases[i].config));
		buf_clear(&out);
		err = quote_command(&out, cases[i].in);
		assert_int_equal(err, cases[i].command != NULL ? 0 : -EINVAL);
		assert_true(err != 0 || str_eq_c(buf_str(&out), cases[i].command));
	}
	buf_fini(&out);
}

static void values_of_a_template_stay_values(void **state)
{
	static const struct {
		struct str in;
		const char *quoted; /* NULL: refused */
		const char *bare;
	} cases[] = {
		{STR("/run/a-1_b.sock"), "/run/a-1_b.sock", "/run/a-1_b.sock"},
		{STR("[fd00::1]"), "[fd00::1]", "[fd00::1]"},
		{STR(""), "", NULL},
		{STR("a b"), "a b", NULL},
		{STR("a\nbackend x"), "a\\x0abackend x", NULL},
		{STR("a\" b"), "a\\\" b", NULL},
		{STR("a#b"), "a#b", NULL},
		{STR("a,b)"), "a,b)", NULL},
		{STR("%(x)"), "%(x)", NULL},
		{STR("$HOME"), "\\$HOME", NULL},
		{STR("a'b"), "a'b", NULL},
		{STR("\xc3\xa4"), "\xc3\xa4", NULL},
		{STR("a\0b"), NULL, NULL},
	};
	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const char *want = i % 2 == 0 ? cases[i / 2].quoted : cases[i / 2].bare;
		struct buf out;
		buf_init(&out, 1024);
		assert_int_equal(quote_escape(&out, cases[i / 2].in, i % 2 == 0),
			want != NULL ? 0 : -EINVAL);
		assert_true(want == NULL || str_eq_c(buf_str(&out), want));
		buf_fini(&out);
	}
}

static void classes_hold_what_cannot_change(void **state)
{
	struct stickiness sticky = {.cookie = STR("A;B"), .mode = STICKINESS_INSERT};
	struct health_check check = {.type = HEALTH_CHECK_HTTP, .path = STR("/x\"y"), .port = 8081};
	struct pool pool = {.protocol = POOL_H2C, .stickiness = &sticky, .health_check = &check};
	const char *refused = NULL;
	(void)state;
	struct class_text text = class_of_pool(&pool, "k\"ey", &refused);
	assert_non_null(strstr(refused, "cookie"));
	assert_null(strstr(text.lines, "A;B"));
	assert_non_null(strstr(text.lines, "uri \"/x\\\"y\" ver"));
	assert_string_equal(text.server, " proto h2 check inter 2000ms rise 2 fall 3 port 8081");
	class_text_fini(&text);
	sticky.cookie = STR("GOOD");
	text = class_of_pool(&pool, "k\"ey", &refused);
	assert_null(refused);
	assert_non_null(
		strstr(text.lines, "cookie \"GOOD\" insert indirect nocache httponly dynamic"));
	assert_non_null(strstr(text.lines, "dynamic-cookie-key \"k\\\"ey\""));
	class_text_fini(&text);
}

static void cookies_say_what_they_can(void **state)
{
	struct affinity affinity = {.path = STR("/a\"%\\b"),
		.expires_s = 5,
		.same_site = SAME_SITE_LAX,
		.secure = SECURE_TLS,
		.stays = true};
	struct stickiness sticky = {.cookie = STR("A.B"), .affinity = &affinity};
	struct pool pool = {.stickiness = &sticky};
	const char *refused = NULL;
	struct class_text text = class_of_pool(&pool, "key", &refused);
	assert_null(refused);
	assert_non_null(strstr(text.lines,
		"\tcookie \"A.B\" insert indirect nocache dynamic\n\tdynamic-cookie-key \"key\"\n"
		"\thttp-after-response set-var(txn.secure) str(\"; Secure\") if { ssl_fc } or "
		"{ var(txn.tls) -m found }\n"
		"\thttp-after-response set-var(txn.same_site) str(\"; SameSite=Lax\")\n"
		"\thttp-after-response replace-header Set-Cookie \"^(A[.]B=[0-9a-f]+); path=/.*\" "
		"\"\\\\1; Expires=%[date,http_date(5)]; Path=/a\\\"%%\\\\\\\\b%[var(txn.secure)]; "
		"HttpOnly%[var(txn.same_site)]\"\n"));
	class_text_fini(&text);
	affinity = (struct affinity){.max_age_s = 7, .expires_s = 5, .secure = SECURE_ALWAYS};
	text = class_of_pool(&pool, "key", &refused);
	assert_non_null(strstr(text.lines, "str(\"; Secure\")\n"));
	assert_non_null(strstr(
		text.lines, "%[date,http_date(5)]; Max-Age=7; Path=/%[var(txn.secure)]; HttpOnly"));
	assert_null(strstr(text.lines, "user-agent"));
	class_text_fini(&text);
	affinity = (struct affinity){.same_site = SAME_SITE_NONE, .same_site_known = true};
	text = class_of_pool(&pool, "key", &refused);
	assert_non_null(strstr(text.lines, "Chrome/5"));
	assert_non_null(strstr(
		text.lines, "str(\"; SameSite=None\") unless { var(txn.unknowing) -m found }\n"));
	class_text_fini(&text);
}

static void hashes_are_made_of_pieces(void **state)
{
	struct piece pieces[] = {
		{.value = REQUEST_TARGET},
		{.text = STR(" 100%[src] \"$x")},
		{.value = REQUEST_HEADER, .text = STR("x-user")},
		{.value = REQUEST_SCHEME},
	};
	struct pool pool = {.algorithm = ALGORITHM_LEAST_CONNECTIONS};
	const char *refused = NULL;
	pool.hash.items = pieces;
	pool.hash.count = 4;
	struct class_text text = class_of_pool(&pool, "key", &refused);
	assert_null(refused);
	assert_string_equal(text.lines, "\thttp-request set-var-fmt(txn.key) \"%[pathq] 100%%[src] "
					"\\\"\\$x%[req.fhdr(x-user)]%[ssl_fc,iif(https,http)]\"\n"
					"\tbalance hash var(txn.key)\n\thash-type consistent\n");
	class_text_fini(&text);
	pool.hash_subset = 3;
	text = class_of_pool(&pool, "key", &refused);
	assert_null(refused);
	assert_non_null(strstr(text.lines, "%[ssl_fc,iif(https,http)]#%[rand,mod(3)]\"\n"));
	class_text_fini(&text);
	/* A name that would end its bracket, and a value that a backend does not have. */
	pieces[2].text = STR("x)],lua.x");
	text = class_of_pool(&pool, "key", &refused);
	assert_non_null(strstr(refused, "take turns"));
	assert_non_null(strstr(text.lines, "\tbalance leastconn\n"));
	class_text_fini(&text);
	char text_of_many[5000];
	memset(text_of_many, '%', sizeof(text_of_many));
	pieces[2] = (struct piece){.text = {text_of_many, sizeof(text_of_many)}};
	text = class_of_pool(&pool, "key", &refused);
	assert_non_null(strstr(refused, "take turns"));
	class_text_fini(&text);
	pool.protocol = POOL_TCP;
	pieces[2].text = STR("x");
	text = class_of_pool(&pool, "key", &refused);
	assert_null(refused);
	assert_null(strstr(text.lines, "hash"));
	class_text_fini(&text);
	pool.protocol = POOL_HTTP;
	pieces[2] = (struct piece){.value = REQUEST_GROUP, .group = 1};
	text = class_of_pool(&pool, "key", &refused);
	assert_non_null(strstr(refused, "take turns"));
	class_text_fini(&text);
}

static void words_of_tls_leave_nothing_open(void **state)
{
	struct str ciphers[] = {STR("AES256-SHA"), STR("AES128-SHA")};
	const struct {
		struct pool_tls tls;
		unsigned check; /* 0: none */
		const char *words;
	} rows[] = {
		{{.verify = TLS_VERIFY_OFF}, 0,
			" ssl verify none sni var(txn.n),host_only alpn http/1.1"},
		{{.verify = TLS_VERIFY_OFF, .server_name = STR("a.b"), .http2 = true}, 1,
			" ssl verify none sni str(a.b) check-sni a.b alpn h2 check-alpn h2"},
		{{.verify = TLS_VERIFY_OFF, .server_name = STR("a.b"), .http2 = true}, 3,
			" ssl verify none sni str(a.b) check-ssl check-sni a.b alpn h2 check-alpn "
			"h2"},
		{{.verify = TLS_VERIFY_OFF, .server_name = STR("a.b"), .http2 = true}, 2,
			" ssl verify none sni str(a.b) alpn h2"},
		{{.verify = TLS_VERIFY_OFF, .server_name = STR("a.b")}, 2,
			" ssl verify none sni str(a.b) alpn http/1.1"},
		{{.verify = TLS_VERIFY_SYSTEM, .server_name = STR("a.b")}, 0,
			" ssl verify required ca-file @system-ca verifyhost a.b sni str(a.b) alpn "
			"http/1.1"},
		{{.verify = TLS_VERIFY_CA, .server_name = STR("a.b")}, 0,
			" ssl verify required ca-file /s/trust/aX.pem verifyhost a.b crt "
			"/s/trust/iX.pem sni str(a.b) alpn http/1.1"},
		{{.verify = TLS_VERIFY_OFF, .nameless = true, .min_version = 12, .max_version = 13},
			3,
			" ssl verify none ssl-min-ver TLSv1.2 ssl-max-ver TLSv1.3 check-ssl alpn "
			"http/1.1"},
		{{.verify = TLS_VERIFY_SYSTEM,
			 .server_name = STR("a_b"),
			 .nameless = true,
			 .ciphers = {ciphers, 2}},
			3,
			" ssl verify required ca-file @system-ca verifyhost a_b ciphers "
			"AES256-SHA:AES128-SHA check-ssl alpn http/1.1"},
	};
	static const struct class_paths paths = {.state_dir = "/s"};
	static const struct class_paths others = {.state_dir = "/s", .system_ca = "/ca.pem"};
	/* The port of the third one is refused, so there is no check. */
	struct health_check checks[] = {{.port = 0}, {.port = 80}, {.port = 70000}, {.port = 0}};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pool_tls tls = rows[i].tls;
		struct trust trust = {0};
		struct pool pool = {
			.tls = &tls,
			.health_check = rows[i].check != 0 ? &checks[rows[i].check] : NULL,
		};
		if (tls.verify == TLS_VERIFY_CA)
			trust = (struct trust){.ca = {"aX"}, .client = {"iX"}};
		char *words = class_words_of_tls(&pool, &trust, &paths);
		assert_string_equal(words, rows[i].words);
		free(words);
		words = class_words_of_tls(&pool, &trust, &others);
		assert_int_equal(strstr(words, " ca-file /ca.pem ") != NULL,
			tls.verify == TLS_VERIFY_SYSTEM);
		free(words);
	}
}

static struct check_ip ip_of(const char *text)
{
	struct check_ip ip;
	assert_true(check_ip(str_from(text), &ip));
	return ip;
}

static void a_group_is_read_back(void **state)
{
	struct slots slots;
	struct slots again;
	struct buf text;
	struct buf second;
	(void)state;
	slots_init(&slots);
	slots_init(&again);
	buf_init(&text, RENDER_LEN_MAX);
	buf_init(&second, RENDER_LEN_MAX);
	struct slot_class *class =
		slots_find_class(&slots, "\tmode http\n\tdynamic-cookie-key \"x\"\n", " proto h2");
	struct group *group = slots_add_group(&slots, class, 0);
	assert_int_equal(group->size, SLOTS_PER_RARE_GROUP);
	struct name pool = name_of(NAME_POOL, STR("p"));
	struct slot *slot = slots_take(&slots, class, &pool);
	struct check_ip v4 = ip_of("10.0.0.1");
	struct check_ip v6 = ip_of("fd00::1");
	slots_begin_servers(slot);
	slots_want_server(&slots, slot, &v4, 80, true);
	slots_want_server(&slots, slot, &v6, 81, false);
	slots_end_servers(&slots, slot);
	render_group(&text, group);
	assert_non_null(memmem(buf_data(&text), buf_len(&text),
		"\tserver 10.0.0.1_80 10.0.0.1:80 proto h2\n", 41));
	assert_non_null(memmem(buf_data(&text), buf_len(&text),
		"\tserver fd00--1_81 [fd00::1]:81 weight 0 proto h2\n", 50));
	assert_true(render_read_group(buf_str(&text), &again));
	assert_int_equal(again.groups[0]->size, group->size);
	slots_leave(&slots, slot);
	buf_clear(&text);
	render_group(&text, group);
	render_group(&second, again.groups[0]);
	assert_true(str_eq(buf_str(&text), buf_str(&second)));
	assert_false(render_read_group(STR("backend x\n"), &again));
	/* One that was given back. */
	buf_clear(&text);
	render_group(&text, slots_add_group(&slots, NULL, 0));
	assert_true(render_read_group(buf_str(&text), &again));
	assert_null(again.groups[again.group_count - 1]->sort);
	buf_fini(&text);
	buf_fini(&second);
	slots_fini(&slots);
	slots_fini(&again);
}

static void the_description_tells_texts_apart(void **state)
{
	struct check_ip binds[] = {ip_of("127.0.0.1"), ip_of("fd00::1")};
	struct port port = {.port = 80,
		.protocol = LISTENER_HTTP,
		.load_balancer = name_of(NAME_LOAD_BALANCER, STR("lb")),
		.binds = binds,
		.bind_count = 2};
	struct ports ports = {.items = &port, .count = 1};
	struct render_input input = {.state_dir = "/tmp/x",
		.proxy_dir = "/tmp/y",
		.socket = "/tmp/y/s",
		.ports = &ports,
		.group_count = 3,
		.hard_stop_after_s = 5};
	char first[RENDER_DESCRIPTION_LEN];
	char second[RENDER_DESCRIPTION_LEN];
	struct buf text;
	(void)state;
	buf_init(&text, RENDER_LEN_MAX);
	render_main(&text, &input, first);
	assert_non_null(memmem(buf_data(&text), buf_len(&text), first, strlen(first)));
	struct socket_list read = ports_read_sockets(buf_str(&text), RENDER_BIND);
	assert_int_equal(read.count, 2);
	assert_true(socket_list_has(&read, &binds[0], 80));
	assert_true(socket_list_has(&read, &binds[1], 80));
	free(read.items);
	port.port = 81;
	buf_clear(&text);
	render_main(&text, &input, second);
	assert_string_not_equal(first, second);
	input.groups_layout++;
	render_main(&text, &input, first);
	assert_string_not_equal(first, second);
	buf_fini(&text);
	assert_true(render_is_path("/var/lib/sluice-1/a.b"));
	assert_false(render_is_path("relative"));
	assert_false(render_is_path("/a b"));
	assert_false(render_is_path("/a,b)"));
}

/* Of requests and ports of any kind: no value is refused. */
static void a_main_file_can_always_be_written(void **state)
{
	static const char *const servers[] = {NULL, "127.0.0.1:514"};
	struct check_ip bind = ip_of("127.0.0.1");
	(void)state;
	for (size_t i = 0; i < 3 * 3 * 2 * 3; i++) {
		struct port port = {.port = 80,
			.protocol = i % 3 == 0   ? LISTENER_HTTP
				    : i % 3 == 1 ? LISTENER_HTTPS
						 : LISTENER_TCP,
			.load_balancer = name_of(NAME_LOAD_BALANCER, STR("lb")),
			.binds = &bind,
			.bind_count = 1};
		struct ports ports = {.items = &port, .count = 1};
		struct render_input input = {.state_dir = "/tmp/x",
			.proxy_dir = "/tmp/y",
			.socket = "/tmp/y/s",
			.ports = &ports,
			.has_default = true,
			.access_log = (enum access_log_form)(i / 3 % 3),
			.access_log_server = servers[i / 9 % 2],
			.trace_context = (enum trace_context)(i / 18),
			.metrics_ingresses = i / 9 % 2 == 0 ? 1000 : 0};
		char description[RENDER_DESCRIPTION_LEN];
		struct buf text;
		buf_init(&text, RENDER_LEN_MAX);
		render_main(&text, &input, description);
		/* Owners are behind a bar where lines need them. */
		bool has_lines = input.access_log != ACCESS_LOG_OFF || input.metrics_ingresses != 0;
		bool has_field =
			memmem(buf_data(&text), buf_len(&text),
				"bytes(0,17),map_str(/tmp/x/maps/pools.map)",
				sizeof("bytes(0,17),map_str(/tmp/x/maps/pools.map)") - 1) != NULL;
		assert_int_equal(has_field, has_lines);
		buf_fini(&text);
	}
}

/* How often a piece stands in the main file of a single port. */
static size_t count_in_main(const struct port *port, bool has_default, const char *piece)
{
	struct port copy = *port;
	struct ports ports = {.items = &copy, .count = 1};
	struct render_input input = {.state_dir = "/s",
		.proxy_dir = "/p",
		.socket = "/p/h",
		.ports = &ports,
		.has_default = has_default};
	char description[RENDER_DESCRIPTION_LEN];
	struct buf text;
	size_t count = 0;
	buf_init(&text, RENDER_LEN_MAX);
	render_main(&text, &input, description);
	struct str rest = buf_str(&text);
	const char *at;
	while (rest.len != 0 && (at = memmem(rest.p, rest.len, piece, strlen(piece))) != NULL) {
		rest = str_skip(rest, (size_t)(at - rest.p) + strlen(piece));
		count++;
	}
	buf_fini(&text);
	return count;
}

static void each_listener_has_its_frontends(void **state)
{
	static const struct {
		enum listener_protocol protocol;
		bool has_passthrough;
		bool has_default;
		const char *piece;
		size_t count;
	} rows[] = {
		{LISTENER_HTTP, false, false, "\tbind [::]:443 v6only\n", 1},
		{LISTENER_HTTP, false, false, "str(plain:)", 3},
		{LISTENER_HTTP, false, false, "X-Forwarded-Proto http\n", 1},
		{LISTENER_HTTP, false, false, ";proto=http\"\n", 1},
		{LISTENER_HTTP, false, false, "\tdefault_backend none\n", 4},
		{LISTENER_HTTPS, false, false,
			"\tbind [::]:443 v6only ssl crt-list /s/certs/list.txt alpn h2,http/1.1 "
			"crt-ignore-err all ca-ignore-err all strict-sni\n",
			1},
		{LISTENER_HTTPS, false, true,
			"alpn h2,http/1.1 crt-ignore-err all ca-ignore-err all\n", 1},
		{LISTENER_HTTPS, false, false, "str(plain:)", 0},
		{LISTENER_HTTPS, false, false, "X-Forwarded-Proto https\n", 1},
		{LISTENER_HTTPS, true, false, "X-Forwarded-Proto https\n", 1},
		{LISTENER_HTTPS, true, false, ";proto=https\"\n", 1},
		{LISTENER_HTTPS, true, false, "\tbind [::]:443 v6only\n", 1},
		{LISTENER_HTTPS, true, false, "\tdefault_backend loop443\n\nbackend loop443\n", 1},
		{LISTENER_HTTPS, true, true,
			"\tbind unix@/p/loop443.sock mode 600 accept-proxy ssl crt-list "
			"/s/certs/list.txt alpn h2,http/1.1 crt-ignore-err all ca-ignore-err all\n",
			1},
		{LISTENER_TLS_PASSTHROUGH, true, false, "\tdefault_backend closed\n", 1},
		{LISTENER_TLS_PASSTHROUGH, true, false, "loop443", 0},
		{LISTENER_TCP, false, false,
			":443),map_str(/s/maps/hosts.map),map_str(/s/maps/pools.map)\n", 1},
		/* 16 ranges a line. */
		{LISTENER_TCP, false, false, "\tacl is_allowed src 10.0.0.0/8", 2},
		{LISTENER_TCP, false, false, " 10.0.0.0/8", 17},
		{LISTENER_TCP, false, false,
			" 10.0.0.0/8\n\ttcp-request connection reject if !is_allowed\n\tmode tcp\n",
			1},
	};
	struct check_ip any = ip_of("::");
	struct check_cidr ranges[17];
	(void)state;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		ranges[i] = (struct check_cidr){.ip = ip_of("10.0.0.0"), .bits = 8};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct port port = {.port = 443,
			.protocol = rows[i].protocol,
			.has_passthrough = rows[i].has_passthrough,
			.load_balancer = name_of(NAME_LOAD_BALANCER, STR("lb")),
			.binds = &any,
			.bind_count = 1,
			.ranges = ranges,
			.range_count = 17};
		assert_int_equal(
			count_in_main(&port, rows[i].has_default, rows[i].piece), rows[i].count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_quoted),
		cmocka_unit_test(values_of_a_template_stay_values),
		cmocka_unit_test(classes_hold_what_cannot_change),
		cmocka_unit_test(cookies_say_what_they_can),
		cmocka_unit_test(hashes_are_made_of_pieces),
		cmocka_unit_test(words_of_tls_leave_nothing_open),
		cmocka_unit_test(a_group_is_read_back),
		cmocka_unit_test(the_description_tells_texts_apart),
		cmocka_unit_test(a_main_file_can_always_be_written),
		cmocka_unit_test(each_listener_has_its_frontends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
