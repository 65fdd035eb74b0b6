// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/traffic_server.h"

#include "common/http.h"
#include "common/metrics.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "provider-proxy/stock.h"
#include "provider-proxy/traffic.h"

enum {
	COUNTS_LEN_MAX = 128 * 1024 * 1024, /* of 100,000 Ingresses */
	SCRAPES_MAX = 4,
	PIECE_LEN = 64 * 1024,
};

static const double timeout_s = 20;

struct traffic_server {
	struct http *http;
	struct traffic_source source;
	struct state *state;
	size_t ingresses_max;
	const char *exemplar; /* of traffic_print_line() */
	unsigned running;     /* answers */
};

/* One answer. */
struct scrape {
	struct traffic_server *server;
	struct admin_reply *reply;
	struct http_peer peer;
	struct http_request *request; /* NULL: the source has answered, or does not */
	bool is_answered;
	void *asked;  /* somebody else; NULL: nobody */
	bool is_told; /* by whoever that is */
	struct buf counts;
	struct traffic_now *now;
	struct stock *stock;
	bool is_counted;                   /* all of the stock */
	const struct traffic_owner *owner; /* that was printed last */
	const struct stock_row *row;
	bool is_openmetrics;
	bool has_failed; /* the source does not tell */
	enum traffic_family family;
	size_t at;     /* where the next line of the counts begins */
	bool is_begun; /* the family */
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

/* False: there are no more. */
static bool print_next(struct scrape *scrape, struct buf *out, int *ret_err)
{
	struct str line;
	bool is_endpoint = scrape->family == TRAFFIC_FAMILY_ENDPOINTS;
	switch (scrape->family) {
	case TRAFFIC_FAMILY_ACTIVE:
		scrape->owner = traffic_now_next(scrape->now, scrape->owner);
		if (scrape->owner != NULL)
			*ret_err = traffic_print_active(out, scrape->owner);
		return scrape->owner != NULL;
	case TRAFFIC_FAMILY_ENDPOINTS:
	case TRAFFIC_FAMILY_CERTIFICATES:
		scrape->row = stock_next(
			scrape->stock, is_endpoint ? LB_POOL : LB_CERTIFICATE, scrape->row);
		if (scrape->row != NULL)
			*ret_err = is_endpoint ? traffic_print_endpoints(out, scrape->row)
					       : traffic_print_certificate(out, scrape->row);
		return scrape->row != NULL;
	default:
		if (!next_line(scrape, &line))
			return false;
		*ret_err = traffic_print_line(out, scrape->family,
			scrape->is_openmetrics ? scrape->server->exemplar : NULL, line);
		return true;
	}
}

/* The head of the family, or one line, or nothing behind its last. */
static int print_one(struct scrape *scrape, struct buf *out)
{
	int err = 0;
	if (!scrape->is_begun) {
		scrape->is_begun = true;
		return traffic_print_head(out, scrape->family, scrape->is_openmetrics);
	}
	if (!print_next(scrape, out, &err)) {
		scrape->family++;
		scrape->at = 0;
		scrape->is_begun = false;
	}
	return err;
}

/* Others of the loop have their turn in between. */
static bool is_ready(struct scrape *scrape)
{
	if (!scrape->is_answered || !scrape->is_told)
		return false;
	if (!scrape->is_counted && stock_read(scrape->stock, scrape->now)) {
		admin_reply_wake(scrape->reply);
		return false;
	}
	scrape->is_counted = true;
	return true;
}

static enum admin_turn produce(void *state, struct buf *out)
{
	struct scrape *scrape = state;
	/* Whoever reads OpenMetrics misses the end. */
	if (scrape->has_failed)
		return ADMIN_END;
	if (!is_ready(scrape))
		return ADMIN_WAIT;
	/* Lines are short, so a piece has room for one more. */
	size_t end = buf_len(out) + PIECE_LEN;
	while (scrape->family < TRAFFIC_FAMILY_COUNT) {
		if (buf_len(out) >= end)
			return ADMIN_MORE;
		if (print_one(scrape, out) != 0)
			return ADMIN_END;
	}
	if (scrape->is_openmetrics)
		must(buf_append_str(out, STR("# EOF\n")) == 0);
	return ADMIN_END;
}

static void release(void *state)
{
	struct scrape *scrape = state;
	if (scrape->request != NULL)
		http_cancel(scrape->request);
	if (scrape->asked != NULL)
		scrape->server->source.cancel(scrape->asked);
	scrape->server->running--;
	traffic_now_free(scrape->now);
	stock_free(scrape->stock);
	http_peer_fini(&scrape->peer);
	buf_fini(&scrape->counts);
	free(scrape);
}

/* ---- the question ---- */

static void on_told(void *ctx)
{
	struct scrape *scrape = ctx;
	scrape->is_told = true;
	admin_reply_wake(scrape->reply);
}

/* Which Ingresses have counts is known by now. */
static void ask_others(struct scrape *scrape)
{
	const struct traffic_source *source = &scrape->server->source;
	struct str line;
	while (next_line(scrape, &line))
		traffic_now_take(scrape->now, line);
	scrape->at = 0;
	scrape->asked = source->ask(source->ctx, scrape->now, on_told, scrape);
}

static void on_done(void *ctx, const struct http_result *result)
{
	struct scrape *scrape = ctx;
	bool is_good = result->outcome == HTTP_ANSWERED && result->head.status == 200;
	scrape->request = NULL;
	scrape->is_answered = true;
	if (!is_good || buf_append_str(&scrape->counts, result->body) != 0)
		scrape->has_failed = true;
	else
		ask_others(scrape);
	admin_reply_wake(scrape->reply);
}

static void ask(struct scrape *scrape)
{
	struct http_call call = {
		.method = "GET",
		.url = "http://sluice-proxy/v1/traffic",
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
	scrape->now = traffic_now_new(server->ingresses_max);
	scrape->stock = stock_new(server->state, server->ingresses_max);
	buf_init(&scrape->counts, COUNTS_LEN_MAX);
	ask(scrape);
	admin_reply_stream(reply, 200,
		scrape->is_openmetrics ? metrics_type_openmetrics : metrics_type_text, &producer,
		scrape);
}

struct traffic_server *traffic_server_new(struct daemon *daemon, struct local *local,
	const struct local_options *options, const struct traffic_source *source)
{
	if (options->metrics_ingresses == 0)
		return NULL;
	struct traffic_server *server = xcalloc(1, sizeof(*server));
	server->http = http_new(daemon_loop(daemon), "sluice-metrics", SCRAPES_MAX);
	server->source = *source;
	server->state = local_state(local);
	server->ingresses_max = (size_t)options->metrics_ingresses;
	server->exemplar = access_log_exemplar(options->trace_context);
	admin_add_path(daemon_admin(daemon), "/metrics/ingresses", ADMIN_PUBLIC, answer, server);
	return server;
}

void traffic_server_free(struct traffic_server *server)
{
	if (server == NULL)
		return;
	http_free(server->http);
	free(server);
}
