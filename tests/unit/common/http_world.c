// SPDX-License-Identifier: Apache-2.0
#include "http_world.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_MAX = 64 * 1024 * 1024 };

struct world world;

/* Time */

static void on_limit(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
	world.late = true;
}

void wait_begin(double limit_s)
{
	ev_timer_stop(world.loop, &world.limit);
	ev_now_update(world.loop);
	world.late = false;
	ev_timer_init(&world.limit, on_limit, limit_s, 0.);
	ev_timer_start(world.loop, &world.limit);
}

bool wait_more(void)
{
	ev_run(world.loop, EVRUN_ONCE);
	return !world.late;
}

void run_for(double seconds)
{
	wait_begin(seconds);
	while (wait_more()) {
	}
}

/* Requests */

static void on_head(void *ctx, const struct http_head *head)
{
	struct answer *answer = ctx;
	assert_false(world.in_call);
	assert_false(answer->done);
	answer->heads++;
	answer->head = *head;
	if (answer->on_head != NULL)
		answer->on_head(answer);
}

static int on_data(void *ctx, struct str piece)
{
	struct answer *answer = ctx;
	assert_false(world.in_call);
	assert_false(answer->done);
	assert_int_equal(answer->heads, 1);
	answer->pieces++;
	assert_int_equal(buf_append_str(&answer->text, piece), 0);
	return answer->on_data != NULL ? answer->on_data(answer) : 0;
}

static void on_done(void *ctx, const struct http_result *result)
{
	struct answer *answer = ctx;
	assert_false(world.in_call);
	assert_false(answer->done);
	assert_true((result->outcome == HTTP_ANSWERED) == (result->error[0] == '\0'));
	answer->done = true;
	answer->outcome = result->outcome;
	answer->status = result->head.status;
	answer->retry_after_s = result->head.retry_after_s;
	answer->is_json = result->head.is_json;
	snprintf(answer->error, sizeof(answer->error), "%s", result->error);
	assert_int_equal(buf_append_str(&answer->text, result->body), 0);
	if (answer->on_done != NULL)
		answer->on_done(answer);
	answer->request = NULL;
}

static void answer_init(struct answer *answer)
{
	*answer = (struct answer){0};
	buf_init(&answer->text, TEXT_MAX);
}

void answer_fini(struct answer *answer)
{
	buf_fini(&answer->text);
}

static struct http_call make_call(struct answer *answer, int port, const char *path)
{
	answer_fini(answer);
	answer_init(answer);
	snprintf(answer->url, sizeof(answer->url), "%s://127.0.0.1:%d%s",
		port == PORT_HTTP ? "http" : "https", world.ports[port], path);
	return (struct http_call){.method = "GET",
		.url = answer->url,
		.body_max = 1024 * 1024,
		.connect_timeout_s = 10,
		.timeout_s = 15,
		.on_head = on_head,
		.on_done = on_done,
		.ctx = answer};
}

#define FORMAT_PATH(path, format)                                \
	char path[400];                                          \
	va_list args;                                            \
	va_start(args, format);                                  \
	must(vsnprintf(path, sizeof(path), format, args) < 400); \
	va_end(args)

struct http_call call_of(struct answer *answer, int port, const char *format, ...)
{
	FORMAT_PATH(path, format);
	return make_call(answer, port, path);
}

struct http_call stream_of(struct answer *answer, int port, const char *format, ...)
{
	FORMAT_PATH(path, format);
	struct http_call call = make_call(answer, port, path);
	call.on_data = on_data;
	call.timeout_s = 0;
	return call;
}

void start(struct http *http, const struct http_call *call)
{
	struct answer *answer = call->ctx;
	CALL(answer->request = http_start(http, call));
}

void run(const struct http_call *call)
{
	struct answer *answer = call->ctx;
	start(world.http, call);
	WAIT_FOR(answer->done);
}

void cancel(struct answer *answer)
{
	CALL(http_cancel(answer->request));
	answer->request = NULL;
}

const char *ask(const char *format, ...)
{
	static struct answer answer;
	FORMAT_PATH(path, format);
	struct http_call call = make_call(&answer, PORT_HTTP, path);
	start(world.control, &call);
	WAIT_FOR(answer.done);
	assert_int_equal(answer.status, 200);
	static char text[256];
	snprintf(text, sizeof(text), "%.*s", STR_FMT(text_of(&answer)));
	answer_fini(&answer);
	return text;
}

struct str text_of(const struct answer *answer)
{
	return buf_str(&answer->text);
}

/* Life */

char *path_of(const char *name)
{
	return xasprintf("%s/%s", world.folder, name);
}

char *read_file(const char *name)
{
	char *path = path_of(name);
	char *text = xcalloc(1, 65536);
	FILE *file = fopen(path, "re");
	must(file != NULL);
	must(fread(text, 1, 65535, file) > 0);
	fclose(file);
	free(path);
	return text;
}

static void start_server(void)
{
	char template[] = "/tmp/test-http-XXXXXX";
	int input[2];
	int output[2];
	must(mkdtemp(template) != NULL && pipe(input) == 0 && pipe(output) == 0);
	world.folder = xstrdup(template);
	world.server_pid = fork();
	must(world.server_pid >= 0);
	if (world.server_pid == 0) {
		dup2(input[0], STDIN_FILENO);
		dup2(output[1], STDOUT_FILENO);
		close(input[1]);
		close(output[0]);
		execl("/usr/bin/python3", "python3", SERVER, world.folder, (char *)NULL);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	world.server_input = input[1];
	FILE *lines = fdopen(output[0], "r");
	must(lines != NULL);
	must(fscanf(lines, "%d %d %d", &world.ports[0], &world.ports[1], &world.ports[2]) == 3);
	fclose(lines);
}

int world_start(void **state)
{
	static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTPS_PROXY",
		"all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"};
	(void)state;
	for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
		unsetenv(proxies[i]);
	signal(SIGPIPE, SIG_IGN);
	start_server();
	world.loop = ev_loop_new(EVFLAG_AUTO);
	world.http = http_new(world.loop, "test/1", 20);
	world.control = http_new(world.loop, "control/1", 2);
	return 0;
}

int world_stop(void **state)
{
	static const char *const files[] = {"ca.crt", "stranger.crt", "address.crt", "address.key",
		"named.crt", "named.key", "client.crt", "client.key"};
	(void)state;
	http_free(world.http);
	http_free(world.control);
	ev_timer_stop(world.loop, &world.limit);
	ev_loop_destroy(world.loop);
	close(world.server_input);
	waitpid(world.server_pid, NULL, 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *path = path_of(files[i]);
		unlink(path);
		free(path);
	}
	rmdir(world.folder);
	free(world.folder);
	return 0;
}

void world_replace_http(unsigned connections_max)
{
	CALL(http_free(world.http));
	world.http = http_new(world.loop, "test/1", connections_max);
}
