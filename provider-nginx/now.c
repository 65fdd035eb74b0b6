// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/now.h"

#include "common/http.h"
#include "common/xalloc.h"
#include "proto/proxy_folder.h"
#include "provider-proxy/traffic_server.h"

#include <stdlib.h>

enum { CONNECTIONS_MAX = 4, ANSWER_LEN_MAX = 32 * 1024 * 1024 /* of 100,000 Ingresses */ };

static const double timeout_s = 20;

struct now {
	struct traffic_server *server;
	struct http *http;
	const struct local_options *options;
	char *(*control_socket)(void *ctx);
	void *ctx;
};

struct asked {
	struct http_peer peer;
	struct http_request *request; /* NULL: answered */
	struct traffic_now *told;
	void (*on_done)(void *ctx);
	void *done_ctx;
};

/* Without a good answer nothing is told. */
static void on_answer(void *ctx, const struct http_result *result)
{
	struct asked *asked = ctx;
	struct str rest = result->body;
	const char *end;
	asked->request = NULL;
	if (result->outcome != HTTP_ANSWERED || result->head.status != 200)
		rest = STR_NONE;
	while ((end = str_find(rest, '\n')) != NULL) {
		struct str line = {rest.p, (size_t)(end - rest.p)};
		traffic_now_take(asked->told, line);
		rest = str_skip(rest, line.len + 1);
	}
	asked->on_done(asked->done_ctx);
}

static void *ask(void *ctx, struct traffic_now *told, void (*on_done)(void *ctx), void *done_ctx)
{
	struct now *now = ctx;
	struct asked *asked = xcalloc(1, sizeof(*asked));
	struct http_call call = {
		.method = "GET",
		.url = "http://nginx/v1/traffic",
		.peer = &asked->peer,
		.body_max = ANSWER_LEN_MAX,
		.connect_timeout_s = timeout_s,
		.timeout_s = timeout_s,
		.on_done = on_answer,
		.ctx = asked,
	};
	asked->told = told;
	asked->on_done = on_done;
	asked->done_ctx = done_ctx;
	asked->peer.unix_socket = now->control_socket(now->ctx);
	asked->request = http_start(now->http, &call);
	return asked;
}

static void cancel(void *ctx)
{
	struct asked *asked = ctx;
	if (asked->request != NULL)
		http_cancel(asked->request);
	http_peer_fini(&asked->peer);
	free(asked);
}

/* Of sluice-proxy, which counts. */
static char *traffic_socket(void *ctx)
{
	const struct now *now = ctx;
	return xasprintf("%s/" TRAFFIC_SOCKET, local_proxy_dir(now->options));
}

struct now *now_new(struct daemon *daemon, struct local *local, const struct local_options *options,
	char *(*control_socket)(void *ctx), void *ctx)
{
	if (options->metrics_ingresses == 0)
		return NULL;
	struct now *now = xcalloc(1, sizeof(*now));
	struct traffic_source source = {
		.socket = traffic_socket,
		.ask = ask,
		.cancel = cancel,
		.ctx = now,
	};
	now->http = http_new(daemon_loop(daemon), "sluice-metrics", CONNECTIONS_MAX);
	now->options = options;
	now->control_socket = control_socket;
	now->ctx = ctx;
	now->server = traffic_server_new(daemon, local, options, &source);
	return now;
}

void now_free(struct now *now)
{
	if (now == NULL)
		return;
	traffic_server_free(now->server);
	http_free(now->http);
	free(now);
}
