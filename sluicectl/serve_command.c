// SPDX-License-Identifier: Apache-2.0
/*
 * `serve`: exposes /healthz, /readyz and /metrics of one program over TCP, so that it needs no network of its own.
 *
 * In:       requests over TCP; GET and HEAD of the three paths, everything else is refused (common/admin_server.h has the limits).
 * Out:      one request to the Unix socket of the program for each; its response, or a 503.
 * Trusted:  with nothing. After the start it can open no file, and no socket but to neighbours.
 *
 * When the program is away, hangs or ends: 503, until it responds again. When we end: the program does not notice.
 */
#include "common/heap.h"
#include "common/http.h"
#include "common/log.h"
#include "common/notify.h"
#include "common/sandbox.h"
#include "common/signals.h"
#include "common/admin_server.h"
#include "common/xalloc.h"
#include "sluicectl/commands.h"
#include "sluicectl/live.h"
#include "sluicectl/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* The program has ADMIN_CONNECTIONS_MAX connections for all clients; further requests wait, within their timeout. */
	QUESTIONS_MAX = 8,
};

struct server {
	struct ev_loop *loop;
	struct ask question;
	const char *program;
	struct http_peer peer;
	struct http *http;
	struct admin_server *admin;
	bool was_told; /* the program's silence was reported; its beginning and end are */
	ev_signal terminate;
	ev_signal interrupt;
	ev_timer watchdog;
};

/* A client waiting for a page. */
struct page_request {
	struct server *server;
	struct admin_reply *reply;
	struct http_request *request;
};

/* For a person or the journal. */
[[gnu::format(printf, 2, 3)]] static void tell(enum log_level level, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fprintf(stderr, "%ssluicectl: ", log_prefix(level));
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

/* ---- pages ---- */

static void tell_silence(struct server *server, const struct serve_answer *answer)
{
	if (server->was_told == !answer->is_heard)
		return;
	server->was_told = !answer->is_heard;
	if (answer->is_heard)
		tell(LOG_LEVEL_INFO, "sluice-%s answers", server->program);
	else
		tell(LOG_LEVEL_WARN, "%s: %s; 503 is answered until it does",
			server->peer.unix_socket, answer->problem);
	notify_status("%s", answer->is_heard ? "it answers" : answer->problem);
}

static void on_answer(void *ctx, const struct http_result *result)
{
	struct page_request *visit = ctx;
	struct serve_answer answer;
	serve_answer_make(visit->server->program, result, &answer);
	tell_silence(visit->server, &answer);
	if (answer.is_heard)
		admin_reply_bytes(visit->reply, answer.status, answer.content_type, answer.body);
	else
		admin_reply_text(visit->reply, answer.status, "%s\n", answer.problem);
	free(visit);
}

static void on_gone(void *ctx)
{
	struct page_request *visit = ctx;
	http_cancel(visit->request);
	free(visit);
}

static void answer_page(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	struct server *server = ctx;
	struct page_request *visit = xcalloc(1, sizeof(*visit));
	char *url = xasprintf("http://sluice%.*s", STR_FMT(request->path));
	char *accept = xasprintf("Accept: %.*s", STR_FMT(request->accept));
	const char *const headers[] = {request->accept.len != 0 ? accept : NULL, NULL};
	const struct http_call call = {
		.method = "GET",
		.url = url,
		.headers = headers,
		.peer = &server->peer,
		.body_max = ADMIN_WHOLE_LEN_MAX,
		.connect_timeout_s = server->question.timeout_s,
		.timeout_s = server->question.timeout_s,
		.on_done = on_answer,
		.ctx = visit,
	};
	*visit = (struct page_request){.server = server, .reply = reply};
	admin_reply_later(reply, on_gone, visit);
	visit->request = http_start(server->http, &call);
	free(accept);
	free(url);
}

/* ---- lifecycle ---- */

static int complain_of_listen(const char *address, int err)
{
	if (err == -EINVAL)
		tell(LOG_LEVEL_ERROR,
			"--listen %s: ADDRESS:PORT is expected, with an IP address, or "
			"[ADDRESS]:PORT",
			address);
	else
		tell(LOG_LEVEL_ERROR, "--listen %s: %s", address, strerror(-err));
	return err == -EINVAL ? CTL_EXIT_USAGE : CTL_EXIT_LISTEN;
}

static int listen_on(struct server *server, const char *address)
{
	unsigned inherited = admin_listen_inherited(server->admin);
	if ((inherited & ADMIN_UNIX) != 0) {
		tell(LOG_LEVEL_ERROR, "serve listens on TCP: hand over no Unix socket");
		return CTL_EXIT_USAGE;
	}
	if (inherited == 0 && address == NULL) {
		tell(LOG_LEVEL_ERROR, "serve needs --listen ADDRESS:PORT, or a socket of the "
				      "service manager named \"admin\"");
		return CTL_EXIT_USAGE;
	}
	int err = address != NULL ? admin_listen_tcp(server->admin, address) : 0;
	return err == 0 ? CTL_EXIT_GOOD : complain_of_listen(address, err);
}

static void confine(const struct server *server)
{
	struct sandbox_outcome outcome = {0};
	free(sandbox_enter(sandbox_new(SANDBOX_NEIGHBOURS), SANDBOX_AUTO, &outcome));
	tell(LOG_LEVEL_INFO, "shows %s at port %d (files %s, system calls %s)",
		server->peer.unix_socket, admin_port(server->admin), outcome.files, outcome.calls);
}

static void on_stop_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
	ev_break(loop, EVBREAK_ALL);
}

static void on_watchdog(struct ev_loop *loop, ev_timer *watcher, int events)
{
	notify_watchdog();
}

static void start_watchers(struct server *server)
{
	double period_s = notify_watchdog_period();
	ev_signal_init(&server->terminate, on_stop_signal, SIGTERM);
	ev_signal_init(&server->interrupt, on_stop_signal, SIGINT);
	ev_signal_start(server->loop, &server->terminate);
	ev_signal_start(server->loop, &server->interrupt);
	signals_reset(NULL);
	signal(SIGPIPE, SIG_IGN);
	if (period_s > 0) {
		/* Sent from the loop itself, so that a hung loop is noticed. */
		ev_timer_init(&server->watchdog, on_watchdog, 0., period_s);
		ev_timer_start(server->loop, &server->watchdog);
	}
}

static void run(struct server *server)
{
	static const char *const paths[] = {"/healthz", "/readyz", "/metrics"};
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		admin_add_path(server->admin, paths[i], ADMIN_PUBLIC, answer_page, server);
	start_watchers(server);
	confine(server);
	notify_ready();
	ev_run(server->loop, 0);
	notify_stopping();
}

/* A signal that arrives before the loop runs is handled once it does. */
static void block_signals(void)
{
	sigset_t held;
	sigemptyset(&held);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGINT);
	signals_reset(&held);
}

int command_serve(const struct args *args)
{
	struct server server = {0};
	if (args->rest.count != 1 || !serve_is_program(args->rest.items[0])) {
		tell(LOG_LEVEL_ERROR, "serve needs one PROGRAM, such as translator");
		return CTL_EXIT_USAGE;
	}
	if (!live_open(args, &server.question))
		return CTL_EXIT_USAGE;
	block_signals();
	heap_configure();
	log_init("sluicectl", LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
	server.program = args->rest.items[0];
	server.loop = ev_default_loop(EVFLAG_AUTO);
	server.peer.unix_socket =
		xasprintf("%s/%s.admin", server.question.runtime_dir, server.program);
	server.http = http_new(server.loop, "sluicectl", QUESTIONS_MAX);
	server.admin = admin_server_new(server.loop, NULL, 0);
	int code = listen_on(&server, args->listen);
	if (code == CTL_EXIT_GOOD)
		run(&server);
	admin_server_free(server.admin);
	http_free(server.http);
	http_peer_fini(&server.peer);
	ev_loop_destroy(server.loop);
	return code;
}
