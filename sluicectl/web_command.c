// SPDX-License-Identifier: Apache-2.0
/*
 * `web`: a page for a browser on this machine.
 *
 * In:       requests over TCP on loopback; GET and HEAD, with the key of web_guard.h, everything else is refused (common/admin_server.h has the limits).
 * Out:      the files of web/, and what commands of sluicectl print (web_api.h), which are run for it (web_run.h).
 * Trusted:  with what those commands show: never with a private key. After the start it can open the sockets of the line, and programs of this machine.
 *
 * When a program of the line is away: the page says so, as the commands do.
 */
#include "common/heap.h"
#include "common/must.h"
#include "common/sandbox.h"
#include "common/signals.h"
#include "sluicectl/commands.h"
#include "sluicectl/live.h"
#include "sluicectl/reasons.h"
#include "sluicectl/web_guard.h"
#include "sluicectl/web_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only our own files, no inline script or style, no other place to send anything to, in nobody's frame; and no text becomes markup. */
static const char headers[] =
	"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src "
	"'self'; connect-src 'self'; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for "
	"'script'; trusted-types 'none'\r\n"
	"Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n"
	"Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n";

static const char api_prefix[] = "api/";

struct web_file {
	const char *name;
	const char *type;
	struct str bytes;
};

#include "sluicectl/web_files.h"

struct web {
	struct ev_loop *loop;
	struct ask question;
	struct web_guard guard;
	struct admin_server *admin;
	struct web_runs *runs;
	ev_signal terminate;
	ev_signal interrupt;
};

/* ---- requests ---- */

static void refuse(enum web_verdict verdict, struct admin_reply *reply)
{
	if (verdict == WEB_E_HOST)
		admin_reply_text(reply, 421, "this page has another address\n");
	else if (verdict == WEB_E_SITE)
		admin_reply_text(reply, 403, "this page is for nobody else's\n");
	else
		admin_reply_text(reply, 404,
			"there is nothing here: open the whole address that sluicectl web has "
			"printed, which is another one after each start\n");
}

static void answer_file(struct str name, struct admin_reply *reply)
{
	for (size_t i = 0; i < sizeof(web_files) / sizeof(web_files[0]); i++) {
		const struct web_file *file = &web_files[i];
		if (str_eq_c(name.len != 0 ? name : STR("index.html"), file->name)) {
			admin_reply_bytes(reply, 200, file->type, file->bytes);
			return;
		}
	}
	admin_reply_text(reply, 404, "there is nothing of this name\n");
}

/* The catalogue of what to do, which no command has as a whole. */
static void answer_reasons(struct admin_reply *reply)
{
	struct buf body;
	buf_init(&body, ADMIN_WHOLE_LEN_MAX);
	must(reasons_put_json(&body) == 0);
	admin_reply_bytes(reply, 200, "application/json", buf_str(&body));
	buf_fini(&body);
}

static void answer_api(
	struct web *web, struct str name, struct str query, struct admin_reply *reply)
{
	const struct web_api *api = web_api_find(name);
	if (api != NULL)
		web_runs_add(web->runs, api, query, reply);
	else if (str_eq(name, STR("reasons")))
		answer_reasons(reply);
	else
		admin_reply_text(reply, 404, "there is nothing of this name\n");
}

static void answer(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	struct web *web = ctx;
	struct str path;
	enum web_verdict verdict = web_guard_check(&web->guard, request, &path);
	if (verdict != WEB_WELCOME) {
		refuse(verdict, reply);
		return;
	}
	if (str_starts_with(path, str_from(api_prefix)))
		answer_api(web, str_skip(path, sizeof(api_prefix) - 1), request->query, reply);
	else
		answer_file(path, reply);
}

/* ---- lifecycle ---- */

static int listen_on(struct web *web, const char *address)
{
	int err = web_guard_init(&web->guard, address) ? admin_listen_tcp(web->admin, address)
						       : -EINVAL;
	if (err == -EINVAL) {
		fprintf(stderr,
			"sluicectl: --listen %s: a loopback address and a port are expected, as in "
			"127.0.0.1:8080 or [::1]:8080\n",
			address);
		return CTL_EXIT_USAGE;
	}
	if (err != 0) {
		fprintf(stderr, "sluicectl: --listen %s: %s\n", address, strerror(-err));
		return CTL_EXIT_LISTEN;
	}
	web->guard.port = admin_port(web->admin);
	return CTL_EXIT_GOOD;
}

static void confine(const struct web *web)
{
	struct sandbox_outcome outcome = {0};
	struct sandbox *sandbox =
		sandbox_new(SANDBOX_NEIGHBOURS | SANDBOX_FILES | SANDBOX_PROGRAMS);
	/* It may be made, or made anew, after this. */
	sandbox_allow_read_beside(sandbox, web->question.runtime_dir);
	sandbox_allow_execute(sandbox, "/proc/self/exe");
	free(sandbox_enter(sandbox, SANDBOX_AUTO, &outcome));
}

static void on_stop_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
	ev_break(loop, EVBREAK_ALL);
}

static void start_watchers(struct web *web)
{
	ev_signal_init(&web->terminate, on_stop_signal, SIGTERM);
	ev_signal_init(&web->interrupt, on_stop_signal, SIGINT);
	ev_signal_start(web->loop, &web->terminate);
	ev_signal_start(web->loop, &web->interrupt);
	signals_reset(NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void run(struct web *web)
{
	admin_add_headers(web->admin, headers);
	admin_add_path(web->admin, "/", ADMIN_PUBLIC | ADMIN_PREFIX, answer, web);
	start_watchers(web);
	confine(web);
	printf("http://%s:%d/%s/\n", web->guard.host, web->guard.port, web->guard.key);
	fflush(stdout);
	ev_run(web->loop, 0);
}

int command_web(const struct args *args)
{
	struct web web = {0};
	if (args->rest.count != 0) {
		fputs("sluicectl: web has no arguments\n", stderr);
		return CTL_EXIT_USAGE;
	}
	if (!live_open(args, &web.question))
		return CTL_EXIT_USAGE;
	heap_configure();
	web.loop = ev_default_loop(EVFLAG_AUTO);
	web.runs = web_runs_new(web.loop, web.question.runtime_dir, web.question.timeout_s);
	web.admin = admin_server_new(web.loop, NULL, 0);
	int code = listen_on(&web, args->listen != NULL ? args->listen : "127.0.0.1:0");
	if (code == CTL_EXIT_GOOD)
		run(&web);
	web_runs_stop(web.runs);
	admin_server_free(web.admin);
	web_runs_free(web.runs);
	ev_loop_destroy(web.loop);
	return code;
}
