// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/traffic_server.h"

#include "common/http.h"
#include "common/metrics.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "provider-proxy/traffic.h"

enum {
	COUNTS_LEN_MAX = 64 * 1024 * 1024, /* of 100,000 Ingresses */
	SCRAPES_MAX = 4,
	PIECE_LEN = 64 * 1024,
};

static const double timeout_s = 20;

struct traffic_server {
	struct http *http;
	struct traffic_source source;
	unsigned running; /* answers */
};

/* One answer. */
struct scrape {
	struct traffic_server *server;
	struct admin_reply *reply;
	struct http_peer peer;
	struct http_request *request; /* NULL: the source has answered, or does not */
	struct buf counts;
	bool is_openmetrics;
	bool has_failed; /* the source does not tell */
	enum traffic_family family;
	size_t at; /* where the next line of the counts begins */
};

/* ---- the answer ---- */

/* The next line; false: there is none. */
static bool next_line(struct scrape *scrape, struct str *ret_line)
{
	struct str rest = str_skip(buf_str(&scrape->counts), scrape->at);
	const char *end = rest.len != 0 ? str_find(rest, '\n') : NULL;
	if (end == NULL)
		return false;
	*ret_line = (struct str){rest.p, (size_t)(end - rest.p)};
	scrape->at += ret_line->len + 1;
	return true;
}

/* Lines are short, so a piece has room for one more. */
static int print_some(struct scrape *scrape, struct buf *out)
{
	struct str line;
	int err = scrape->at != 0 ? 0
				  : traffic_print_head(out, scrape->family, scrape->is_openmetrics);
	while (err == 0 && buf_len(out) < PIECE_LEN) {
		if (!next_line(scrape, &line)) {
			scrape->family++;
			scrape->at = 0;
			return 0;
		}
		err = traffic_print_line(out, scrape->family, line);
	}
	return err;
}

static enum admin_turn produce(void *state, struct buf *out)
{
	struct scrape *scrape = state;
	if (scrape->request != NULL)
		return ADMIN_WAIT;
	/* Whoever reads OpenMetrics misses the end. */
	if (scrape->has_failed)
		return ADMIN_END;
	if (scrape->family < TRAFFIC_FAMILY_COUNT)
		return print_some(scrape, out) == 0 ? ADMIN_MORE : ADMIN_END;
	if (scrape->is_openmetrics)
		must(buf_append_str(out, STR("# EOF\n")) == 0);
	return ADMIN_END;
}

static void release(void *state)
{
	struct scrape *scrape = state;
	if (scrape->request != NULL)
		http_cancel(scrape->request);
	scrape->server->running--;
	http_peer_fini(&scrape->peer);
	buf_fini(&scrape->counts);
	free(scrape);
}

/* ---- the question ---- */

static void on_done(void *ctx, const struct http_result *result)
{
	struct scrape *scrape = ctx;
	bool is_good = result->outcome == HTTP_ANSWERED && result->head.status == 200;
	scrape->request = NULL;
	if (!is_good || buf_append_str(&scrape->counts, result->body) != 0)
		scrape->has_failed = true;
	admin_reply_wake(scrape->reply);
}

static void ask(struct scrape *scrape)
{
	struct http_call call = {
		.method = "GET",
		.url = scrape->server->source.url,
		.peer = &scrape->peer,
		.body_max = COUNTS_LEN_MAX,
		.connect_timeout_s = timeout_s,
		.timeout_s = timeout_s,
		.on_done = on_done,
		.ctx = scrape,
	};
	const struct traffic_source *source = &scrape->server->source;
	scrape->peer.unix_socket = source->socket(source->ctx);
	scrape->request = http_start(scrape->server->http, &call);
}

static void answer(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	static const struct admin_producer producer = {produce, release};
	struct traffic_server *server = ctx;
	if (server->running == SCRAPES_MAX) {
		admin_reply_text(reply, 503, "others are being answered\n");
		return;
	}
	struct scrape *scrape = xcalloc(1, sizeof(*scrape));
	server->running++;
	scrape->server = server;
	scrape->reply = reply;
	scrape->is_openmetrics = metrics_wants_openmetrics(request->accept);
	buf_init(&scrape->counts, COUNTS_LEN_MAX);
	ask(scrape);
	admin_reply_stream(reply, 200,
		scrape->is_openmetrics ? metrics_type_openmetrics : metrics_type_text, &producer,
		scrape);
}

struct traffic_server *traffic_server_new(
	struct ev_loop *loop, struct admin_server *admin, const struct traffic_source *source)
{
	struct traffic_server *server = xcalloc(1, sizeof(*server));
	server->http = http_new(loop, "sluice-metrics", SCRAPES_MAX);
	server->source = *source;
	admin_add_path(admin, "/metrics/ingresses", ADMIN_PUBLIC, answer, server);
	return server;
}

void traffic_server_free(struct traffic_server *server)
{
	if (server == NULL)
		return;
	http_free(server->http);
	free(server);
}
