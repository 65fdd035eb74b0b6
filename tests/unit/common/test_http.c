// SPDX-License-Identifier: Apache-2.0
/* One request at a time: what goes out, what comes back, and every way it can fail. */
#include "http_world.h"

#include "common/json.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <netinet/in.h>
#include <unistd.h>

static struct answer got;

static struct json *echo(const struct http_call *call)
{
	run(call);
	assert_string_equal(got.error, "");
	assert_int_equal(got.status, 200);
	struct json *document = json_parse(text_of(&got), NULL, NULL);
	assert_non_null(document);
	return document;
}

/* The values of all headers of that name, joined by "|". */
static const char *header_of(const struct json *document, const char *name)
{
	static char values[512];
	values[0] = '\0';
	for (const struct json *pair = json_first(json_get(document, "headers")); pair != NULL;
		pair = json_next(pair)) {
		const struct json *key = json_first(pair);
		if (!str_eq_c(json_text(key), name))
			continue;
		size_t used = strlen(values);
		snprintf(values + used, sizeof(values) - used, "%s%.*s", used != 0 ? "|" : "",
			STR_FMT(json_text(json_next(key))));
	}
	return values;
}

static void assert_member(const struct json *document, const char *name, const char *want)
{
	struct str text = json_text(json_get(document, name));
	if (!str_eq_c(text, want))
		fail_msg("%s: \"%.*s\", not \"%s\"", name, STR_FMT(text), want);
}

static void answers_whole_bodies(void **state)
{
	(void)state;
	struct http_call call = call_of(&got, PORT_HTTP, "/hello");
	run(&call);
	assert_int_equal(got.outcome, HTTP_ANSWERED);
	assert_int_equal(got.status, 200);
	assert_int_equal(got.heads, 1);
	assert_true(str_eq_c(text_of(&got), "hello"));
	call = call_of(&got, PORT_HTTP, "/interim");
	run(&call);
	assert_int_equal(got.status, 200);
	assert_int_equal(got.heads, 1);
	assert_true(got.retry_after_s < 0);
	assert_true(str_eq_c(text_of(&got), "after all"));
	call = call_of(&got, PORT_HTTP, "/hello");
	call.method = "HEAD";
	run(&call);
	assert_int_equal(got.status, 200);
	assert_int_equal(buf_len(&got.text), 0);
}

static void tells_the_head(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		long status;
		double retry_after_s;
		bool is_json;
	} rows[] = {
		{"/status/204", 204, -1, false},
		{"/status/404?Content-Type=application/json", 404, -1, true},
		{"/status/410?Content-Type=application/json;charset=utf-8", 410, -1, true},
		{"/status/200?Content-Type=application/json%3Bstream=watch", 200, -1, true},
		{"/status/200?Content-Type=Application/JSON", 200, -1, true},
		{"/status/200?Content-Type=application/problem%2Bjson", 200, -1, true},
		{"/status/200?Content-Type=application/jsonp", 200, -1, false},
		{"/status/200?Content-Type=text/plain", 200, -1, false},
		{"/status/429?Retry-After=7", 429, 7, false},
		{"/status/429?retry-after=%20007", 429, -1, false},
		{"/status/503?Retry-After=0", 503, 0, false},
		{"/status/503?Retry-After=Fri,+31+Dec+1999+23:59:59+GMT", 503, -1, false},
		{"/status/503?Retry-After=-1", 503, -1, false},
		{"/status/503?Retry-After=1.5", 503, -1, false},
		{"/status/503?Retry-After=999999999999", 503, 3600, false},
		/* Never followed. */
		{"/status/302?Location=/hello", 302, -1, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_call call = call_of(&got, PORT_HTTP, "%s", rows[i].path);
		run(&call);
		if (got.status != rows[i].status || got.retry_after_s != rows[i].retry_after_s ||
			got.is_json != rows[i].is_json || got.heads != 1 ||
			got.head.status != got.status ||
			got.head.retry_after_s != got.retry_after_s)
			fail_msg("%s: %ld %f %d", rows[i].path, got.status, got.retry_after_s,
				got.is_json);
	}
}

static void sends_what_the_call_says(void **state)
{
	(void)state;
	static const char *const headers[] = {
		"Accept: application/json", "Content-Type: application/merge-patch+json", NULL};
	struct http_call call = call_of(&got, PORT_HTTP, "/echo/a%%2Fb/../c?d=e&f");
	struct json *document = echo(&call);
	assert_member(document, "method", "GET");
	assert_member(document, "target", "/echo/a%2Fb/../c?d=e&f");
	assert_string_equal(header_of(document, "User-Agent"), "test/1");
	assert_string_equal(header_of(document, "Accept-Encoding"), "");
	assert_string_equal(header_of(document, "Authorization"), "");
	json_free(document);

	call = call_of(&got, PORT_HTTP, "/echo");
	call.method = "PATCH";
	call.headers = headers;
	call.body = STR("{\"a\":1}");
	document = echo(&call);
	assert_member(document, "method", "PATCH");
	assert_member(document, "body", "{\"a\":1}");
	assert_string_equal(header_of(document, "Accept"), "application/json");
	assert_string_equal(header_of(document, "Content-Type"), "application/merge-patch+json");
	assert_string_equal(header_of(document, "Expect"), "");
	json_free(document);
}

static void sends_bodies_of_every_size(void **state)
{
	(void)state;
	static const size_t lengths[] = {0, 1, 100, 70 * 1000, 400 * 1000};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char *body = xmalloc(lengths[i] + 1);
		memset(body, 'b', lengths[i] + 1);
		struct http_call call = call_of(&got, PORT_HTTP, "/echo");
		call.method = "POST";
		call.body = (struct str){body, lengths[i]};
		call.body_is_secret = true;
		struct json *document = echo(&call);
		assert_int_equal(json_text(json_get(document, "body")).len, lengths[i]);
		assert_string_equal(header_of(document, "Content-Type"), "");
		json_free_wiped(document);
		free(body);
	}
	static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE"};
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		struct http_call call = call_of(&got, PORT_HTTP, "/echo");
		call.method = methods[i];
		struct json *document = echo(&call);
		assert_member(document, "method", methods[i]);
		assert_string_equal(header_of(document, "Content-Length"), i < 3 ? "0" : "");
		json_free(document);
	}
}

static void sends_credentials(void **state)
{
	(void)state;
	struct secret token = {0};
	struct secret password = {0};
	assert_int_equal(secret_set(&token, STR("abc.def")), 0);
	assert_int_equal(secret_set(&password, STR("p:w\xc3\xa4")), 0);
	struct http_call call = call_of(&got, PORT_HTTP, "/echo");
	call.bearer = &token;
	struct json *document = echo(&call);
	assert_string_equal(header_of(document, "Authorization"), "Bearer abc.def");
	json_free(document);
	call = call_of(&got, PORT_HTTP, "/echo");
	call.username = "user";
	call.password = &password;
	document = echo(&call);
	assert_string_equal(header_of(document, "Authorization"), "Basic dXNlcjpwOnfDpA==");
	json_free(document);
	call = call_of(&got, PORT_HTTP, "/echo");
	call.username = "user";
	document = echo(&call);
	assert_string_equal(header_of(document, "Authorization"), "Basic dXNlcjo=");
	json_free(document);
	secret_fini(&token);
	secret_fini(&password);
}

static void hides_credentials_in_what_a_refusal_repeats(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int status;
		const char *token; /* NULL: user "user" and password "pa:ss" */
		const char *hidden[2];
		const char *shown;
	} table[] = {
		{"token", 401, "abc.def", {"abc.def"}, "Bearer *******"},
		{"token, later", 503, "abc.def", {"abc.def"}, "Bearer *******"},
		{"password", 403, NULL, {"dXNlcjpwYTpzcw==", "pa:ss"}, "pw=***** "},
		{"stars", 401, "****", {NULL}, "Bearer ****"},
		{"success", 200, "abc.def", {NULL}, "Bearer abc.def"},
	};
	struct secret password = {0};
	assert_int_equal(secret_set(&password, STR("pa:ss")), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct secret token = {0};
		/* "pw=pa:ss " */
		struct http_call call =
			call_of(&got, PORT_HTTP, "/refuse/%d?x=cHc9cGE6c3Mg", table[i].status);
		if (table[i].token != NULL) {
			assert_int_equal(secret_set(&token, str_from(table[i].token)), 0);
			call.bearer = &token;
		} else {
			call.username = "user";
			call.password = &password;
		}
		run(&call);
		assert_int_equal(got.status, table[i].status);
		assert_int_equal(buf_append(&got.text, "", 1), 0);
		const char *text = (const char *)buf_data(&got.text);
		for (size_t k = 0; k < 2 && table[i].hidden[k] != NULL; k++) {
			if (strstr(text, table[i].hidden[k]) != NULL)
				fail_msg("%s: %s", table[i].name, text);
		}
		if (strstr(text, table[i].shown) == NULL)
			fail_msg("%s: %s", table[i].name, text);
		secret_fini(&token);
	}
	secret_fini(&password);
}

static void hides_the_tokens_of_aws_as_well(void **state)
{
	(void)state;
	static const char *const headers[] = {"X-Amz-Security-Token: IQoJb3Jp//abc",
		"X-aws-ec2-metadata-token: AQAE==", "Authorization: plain-token", NULL};
	struct http_call call = call_of(&got, PORT_HTTP, "/refuse/403");
	call.headers = headers;
	run(&call);
	assert_int_equal(buf_append(&got.text, "", 1), 0);
	const char *text = (const char *)buf_data(&got.text);
	assert_non_null(strstr(text, "*****"));
	assert_null(strstr(text, "IQoJb3Jp"));
	assert_null(strstr(text, "AQAE"));
	assert_null(strstr(text, "plain"));
}

/* A line break in a header or a token would begin a header, or a request, of whoever wrote it. */
static void refuses_calls_that_make_no_request(void **state)
{
	(void)state;
	static const char *const headers[] = {"X: a\r\nY: b", NULL};
	struct secret token = {0};
	assert_int_equal(secret_set(&token, STR("abc\ndef")), 0);
	struct http_call calls[3];
	calls[0] = call_of(&got, PORT_HTTP, "/echo");
	calls[0].headers = headers;
	calls[1] = calls[0];
	calls[1].headers = NULL;
	calls[1].bearer = &token;
	calls[2] = calls[1];
	calls[2].bearer = NULL;
	calls[2].username = "user\nname";
	for (size_t i = 0; i < 2; i++) {
		run(&calls[i]);
		assert_int_equal(got.outcome, HTTP_E_OTHER);
		assert_int_equal(got.status, 0);
		assert_null(strstr(got.error, "abc"));
		got.done = false;
	}
	/* Inside base64 it breaks nothing. */
	struct json *document = echo(&calls[2]);
	assert_string_equal(header_of(document, "Authorization"), "Basic dXNlcgpuYW1lOg==");
	json_free(document);
	static const char *const urls[] = {"", "no url", "ftp://127.0.0.1/", "file:///etc/passwd",
		"http://", "http://a b/", "http://127.0.0.1:99999/", "http://127.0.0.1/\r\nX: y"};
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct http_call call = call_of(&got, PORT_HTTP, "/");
		call.url = urls[i];
		run(&call);
		if (got.outcome != HTTP_E_OTHER)
			fail_msg("%s: %s", urls[i], http_outcome_text(got.outcome));
	}
	secret_fini(&token);
}

static void names_every_failure(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		enum http_outcome outcome;
		long status;
	} rows[] = {
		{"/nothing", HTTP_E_CUT, 0},
		{"/cut", HTTP_E_CUT, 200},
		{"/cut-head", HTTP_E_CUT, 0},
		{"/cut-chunks", HTTP_E_CUT, 200},
		{"/reset", HTTP_E_CUT, 200},
		{"/garbage", HTTP_E_OTHER, 0},
		/* libcurl's words tell it from a lost connection. */
		{"/bad-chunk", HTTP_E_CUT, 200},
		{"/zeros/2000000", HTTP_E_TOO_LONG, 200},
		{"/long-head", HTTP_E_TOO_LONG, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int port = PORT_HTTP; port <= PORT_HTTPS; port++) {
			static const struct http_peer insecure = {.insecure = true};
			struct http_call call = call_of(&got, port, "%s", rows[i].path);
			call.peer = &insecure;
			run(&call);
			if (got.outcome != rows[i].outcome || got.status != rows[i].status)
				fail_msg("%s: %s, %ld: %s", got.url, http_outcome_text(got.outcome),
					got.status, got.error);
			assert_true(got.error[0] != '\0');
			assert_int_equal(buf_len(&got.text), 0);
		}
	}
}

static int closed_port(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	close(fd);
	return ntohs(address.sin_port);
}

static void names_failures_to_connect(void **state)
{
	(void)state;
	struct http_call call = call_of(&got, PORT_HTTP, "/");
	snprintf(got.url, sizeof(got.url), "http://127.0.0.1:%d/", closed_port());
	run(&call);
	assert_int_equal(got.outcome, HTTP_E_CONNECT);
	/* A label of more than 63 bytes is no name to ask anybody for. */
	call = call_of(&got, PORT_HTTP, "/");
	snprintf(got.url, sizeof(got.url), "http://%070d.invalid/", 0);
	run(&call);
	assert_int_equal(got.outcome, HTTP_E_RESOLVE);
}

/* A process that accepts nobody hangs; it is there. */
static void a_full_backlog_is_no_absence(void **state)
{
	(void)state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/sluice-backlog-%d", getpid());
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	int waiting = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 0), 0);
	assert_int_equal(connect(waiting, (struct sockaddr *)&address, sizeof(address)), 0);
	struct http_peer peer = {.unix_socket = address.sun_path};
	struct http_call call = call_of(&got, PORT_HTTP, "/");
	call.peer = &peer;
	run(&call);
	close(waiting);
	close(listener);
	assert_int_equal(got.outcome, HTTP_E_TIMEOUT);
	call = call_of(&got, PORT_HTTP, "/");
	call.peer = &peer;
	run(&call);
	assert_int_equal(got.outcome, HTTP_E_CONNECT);
	unlink(address.sun_path);
}

static void bounds_the_answer_exactly(void **state)
{
	(void)state;
	for (size_t max = 4999; max <= 5001; max++) {
		struct http_call call = call_of(&got, PORT_HTTP, "/zeros/5000");
		call.body_max = max;
		run(&call);
		assert_int_equal(got.outcome, max < 5000 ? HTTP_E_TOO_LONG : HTTP_ANSWERED);
		assert_int_equal(buf_len(&got.text), max < 5000 ? 0 : 5000);
	}
	struct http_call call = call_of(&got, PORT_HTTP, "/bomb");
	call.accept_gzip = true;
	run(&call);
	assert_int_equal(got.outcome, HTTP_E_TOO_LONG);
}

static void unpacks_only_when_asked(void **state)
{
	(void)state;
	struct http_call call = call_of(&got, PORT_HTTP, "/gzip");
	run(&call);
	assert_true(str_eq_c(text_of(&got), "unpacked"));
	call = call_of(&got, PORT_HTTP, "/gzip");
	call.accept_gzip = true;
	run(&call);
	assert_int_equal(buf_len(&got.text), 7000);
	assert_true(str_starts_with(text_of(&got), STR("packed packed ")));
	/* Known of libcurl, and why watches never ask for it. */
	call = call_of(&got, PORT_HTTP, "/two-members");
	call.accept_gzip = true;
	run(&call);
	assert_int_equal(got.outcome, HTTP_E_OTHER);
}

/* TLS */

static void assert_tls(struct http_peer *peer, int port, enum http_outcome want)
{
	struct http_call call = call_of(&got, port, "/hello");
	call.peer = peer;
	run(&call);
	if (got.outcome != want)
		fail_msg("%s: %s", http_outcome_text(got.outcome), got.error);
	http_peer_fini(peer);
}

static void verifies_the_server(void **state)
{
	(void)state;
	assert_tls(&(struct http_peer){0}, PORT_HTTPS, HTTP_E_TLS);
	assert_tls(&(struct http_peer){.ca_file = path_of("ca.crt")}, PORT_HTTPS, HTTP_ANSWERED);
	assert_tls(&(struct http_peer){.ca_data = read_file("ca.crt")}, PORT_HTTPS, HTTP_ANSWERED);
	assert_tls(&(struct http_peer){.ca_file = path_of("stranger.crt")}, PORT_HTTPS, HTTP_E_TLS);
	assert_tls(
		&(struct http_peer){.ca_data = read_file("stranger.crt")}, PORT_HTTPS, HTTP_E_TLS);
	assert_tls(&(struct http_peer){.ca_data = read_file("stranger.crt"),
			   .ca_file = path_of("ca.crt")},
		PORT_HTTPS, HTTP_E_TLS);
	assert_tls(&(struct http_peer){.ca_data = xstrdup("nonsense")}, PORT_HTTPS, HTTP_E_TLS);
	assert_tls(&(struct http_peer){.ca_file = path_of("none")}, PORT_HTTPS, HTTP_E_TLS);
	assert_tls(&(struct http_peer){.insecure = true}, PORT_HTTPS, HTTP_ANSWERED);
}

static void takes_another_server_name(void **state)
{
	(void)state;
	struct http_peer peer = {
		.ca_file = path_of("ca.crt"), .server_name = xstrdup("api.example.test")};
	struct http_call call = call_of(&got, PORT_HTTPS, "/echo?a=b");
	call.peer = &peer;
	struct json *document = echo(&call);
	char want[64];
	snprintf(want, sizeof(want), "127.0.0.1:%d", world.ports[PORT_HTTPS]);
	assert_string_equal(header_of(document, "Host"), want);
	assert_member(document, "target", "/echo?a=b");
	json_free(document);
	http_peer_fini(&peer);
	assert_tls(&(struct http_peer){.ca_file = path_of("ca.crt"),
			   .server_name = xstrdup("other.example.test")},
		PORT_HTTPS, HTTP_E_TLS);
}

static struct http_peer client_peer(bool data)
{
	struct http_peer peer = {.ca_file = path_of("ca.crt")};
	if (!data) {
		peer.cert_file = path_of("client.crt");
		peer.key_file = path_of("client.key");
		return peer;
	}
	peer.cert_data = read_file("client.crt");
	char *key = read_file("client.key");
	assert_int_equal(secret_set(&peer.key_data, str_from(key)), 0);
	free(key);
	return peer;
}

static void shows_its_certificate(void **state)
{
	(void)state;
	const int port = PORT_HTTPS_WITH_CLIENT;
	struct http_peer peer = client_peer(false);
	assert_tls(&peer, port, HTTP_ANSWERED);
	peer = client_peer(true);
	assert_tls(&peer, port, HTTP_ANSWERED);
	peer = client_peer(true);
	free(peer.cert_data);
	peer.cert_data = read_file("address.crt");
	assert_tls(&peer, port, HTTP_E_TLS);
	/* TLS 1.3: the server looks at the certificate when we believe to be through. */
	struct http_call call = call_of(&got, port, "/hello");
	peer = (struct http_peer){.ca_file = path_of("ca.crt")};
	call.peer = &peer;
	run(&call);
	assert_true(got.outcome == HTTP_E_TLS || got.outcome == HTTP_E_CUT);
	assert_int_equal(got.status, 0);
	http_peer_fini(&peer);
}

static void goes_through_a_proxy(void **state)
{
	(void)state;
	struct secret token = {0};
	assert_int_equal(secret_set(&token, STR("abc")), 0);
	struct http_peer peer = {.ca_file = path_of("ca.crt")};
	peer.proxy_url = xasprintf("http://127.0.0.1:%d", world.ports[PORT_HTTP]);
	struct http_call call = call_of(&got, PORT_HTTPS, "/echo");
	call.peer = &peer;
	call.bearer = &token;
	struct json *document = echo(&call);
	assert_string_equal(header_of(document, "Authorization"), "Bearer abc");
	assert_string_equal(ask("/count?of=tunnel"), "0");
	assert_int_equal(got.heads, 1);
	assert_true(got.retry_after_s < 0);
	json_free(document);
	http_peer_fini(&peer);
	secret_fini(&token);
}

static void escapes_text(void **state)
{
	(void)state;
	static const struct {
		struct str in;
		const char *want;
	} rows[] = {
		{{"", 0}, ""},
		{{NULL, 0}, ""},
		{{"aZ09-._~", 8}, "aZ09-._~"},
		{{"a/b?c=d&e f%\xc3\xa4\"+", 15}, "a%2Fb%3Fc%3Dd%26e%20f%25%C3%A4%22"},
		{{"\0x", 2}, "%00x"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *escaped = http_escape(rows[i].in);
		assert_string_equal(escaped, rows[i].want);
		free(escaped);
	}
	for (int i = HTTP_ANSWERED; i <= HTTP_E_OTHER; i++)
		assert_true(strlen(http_outcome_text((enum http_outcome)i)) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_whole_bodies),
		cmocka_unit_test(tells_the_head),
		cmocka_unit_test(sends_what_the_call_says),
		cmocka_unit_test(sends_bodies_of_every_size),
		cmocka_unit_test(sends_credentials),
		cmocka_unit_test(hides_credentials_in_what_a_refusal_repeats),
		cmocka_unit_test(hides_the_tokens_of_aws_as_well),
		cmocka_unit_test(refuses_calls_that_make_no_request),
		cmocka_unit_test(names_every_failure),
		cmocka_unit_test(names_failures_to_connect),
		cmocka_unit_test(a_full_backlog_is_no_absence),
		cmocka_unit_test(bounds_the_answer_exactly),
		cmocka_unit_test(unpacks_only_when_asked),
		cmocka_unit_test(verifies_the_server),
		cmocka_unit_test(takes_another_server_name),
		cmocka_unit_test(shows_its_certificate),
		cmocka_unit_test(goes_through_a_proxy),
		cmocka_unit_test(escapes_text),
	};
	int failed = cmocka_run_group_tests(tests, world_start, world_stop);
	answer_fini(&got);
	return failed;
}
