// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/probe.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/http.h"
#include "common/xalloc.h"
#include "provider-proxy/checksum.h"
#include "common/files.h"
#include "provider-proxy/log_events.h"

#include <bsd/stdlib.h>
#include <stdio.h>

enum {
	TOKEN_LEN = 32,
	AT_ONCE_MAX = 4,
	ANSWER_LEN_MAX = 256,
	HUNG_FACTOR = 3,
	/* Successes in a row required after a failure, since others on a port, or an old worker, may answer some probes. */
	RIGHT_ANSWERS = 8,
};
static const double round_s = 2;    /* between two rounds while all is well */
static const double again_s = 0.05; /* while a target has not succeeded; doubles */
static const double again_max_s = 1;

struct target {
	struct probe *probe;
	struct check_ip ip;
	uint16_t port;
	enum listener_protocol protocol;
	bool is_open;               /* speaks HTTP */
	bool reads_proxy;           /* and the PROXY protocol first */
	bool is_well;               /* the last probe succeeded */
	bool is_heard;              /* a probe has succeeded, whoever else responds */
	bool was_silent;            /* it was not refused, but nothing came */
	unsigned right_answers_due; /* successes still required after a wrong answer */
	unsigned wrong_status;      /* of the last wrong answer; 200: of another program */
	double asked;               /* first probe since the last success; 0: it has succeeded */
	struct http_request *request;
};

struct probe {
	struct ev_loop *loop;
	struct rows *rows;
	const struct probe_ops *ops;
	void *ctx;
	double timeout_s;
	char host[TOKEN_LEN + sizeof(".sluice.invalid")];
	struct http *http;
	struct http_peer peer;
	ev_timer timer;
	double pause_s;
	struct target *targets;
	size_t count;
	size_t next; /* index of the next target */
	size_t running;
	char **row_keys;
	size_t row_count;
	double control_asked; /* since when the control socket owes a response; 0: it does not */
	bool is_up;
	bool is_replacing;
	char *trouble;
};

/* ---- result ---- */

static bool is_late(const struct probe *probe, double since, double factor)
{
	return since != 0 && clock_monotonic_s() - since >= probe->timeout_s * factor;
}

static char *describe_target(const struct target *target)
{
	char answer[sizeof("a probe is answered with 4294967295")];
	snprintf(answer, sizeof(answer), "a probe is answered with %u", target->wrong_status);
	bool is_v6 = target->ip.family == AF_INET6;
	return xasprintf("%s at %s%s%s:%u",
		target->right_answers_due == 0 ? "the proxy does not answer"
		: target->wrong_status == 200  ? "another program than the present proxy answers"
					       : answer,
		is_v6 ? "[" : "", target->ip.text, is_v6 ? "]" : "", target->port);
}

static char *describe(const struct probe *probe)
{
	for (size_t i = 0; i < probe->count; i++) {
		if (is_late(probe, probe->targets[i].asked, 1))
			return describe_target(&probe->targets[i]);
	}
	if (is_late(probe, probe->control_asked, 1))
		return xstrdup("the proxy does not answer on its control socket");
	return NULL;
}

/* Whether nothing at all responds; a proxy that is busy, or has lost one port, must not be replaced. */
static bool is_hung(const struct probe *probe)
{
	if (!is_late(probe, probe->control_asked, HUNG_FACTOR))
		return false;
	for (size_t i = 0; i < probe->count; i++) {
		const struct target *target = &probe->targets[i];
		if (target->is_open && !(target->was_silent && is_late(probe, target->asked, 1)))
			return false;
	}
	return true;
}

static void judge(struct probe *probe)
{
	char *trouble = probe->is_up ? describe(probe) : NULL;
	bool is_same = (trouble == NULL) == (probe->trouble == NULL) &&
		       (trouble == NULL || strcmp(trouble, probe->trouble) == 0);
	if (!is_same && trouble != NULL)
		log_event(&EV_PROXY_SILENT, LOG_STR("reason", trouble));
	else if (!is_same && probe->is_up)
		log_event(&EV_PROXY_HEARD);
	free(probe->trouble);
	probe->trouble = trouble;
	if (probe->is_up && !probe->is_replacing && is_hung(probe)) {
		probe->is_replacing = true;
		log_event(&EV_PROXY_HUNG, LOG_STR("reason", trouble != NULL ? trouble : ""));
		probe->ops->replace(probe->ctx);
	}
	/* May free `probe`. */
	probe->ops->on_change(probe->ctx);
}

bool probe_is_pending(const struct probe *probe)
{
	for (size_t i = 0; i < probe->count; i++) {
		if (!probe->targets[i].is_well)
			return true;
	}
	return false;
}

bool probe_is_heard(const struct probe *probe)
{
	for (size_t i = 0; i < probe->count; i++) {
		if (!probe->targets[i].is_heard)
			return false;
	}
	return true;
}

const char *probe_trouble(const struct probe *probe)
{
	return probe->trouble;
}

/* ---- one probe ---- */

static void wait_for(struct probe *probe, double seconds)
{
	ev_timer_stop(probe->loop, &probe->timer);
	ev_timer_set(&probe->timer, seconds, 0.);
	ev_timer_start(probe->loop, &probe->timer);
}

static void settle(struct target *target, bool is_right, bool was_silent)
{
	struct probe *probe = target->probe;
	probe->running--;
	target->request = NULL;
	target->was_silent = was_silent;
	target->is_heard |= is_right;
	if (is_right && target->right_answers_due != 0)
		target->right_answers_due--;
	target->is_well = is_right && target->right_answers_due == 0;
	if (target->is_well)
		target->asked = 0;
	else if (is_right)
		wait_for(probe, again_s);
	judge(probe);
}

static void on_answer(void *ctx, const struct http_result *result)
{
	struct target *target = ctx;
	struct probe *probe = target->probe;
	/* Without HTTP, connecting is enough. */
	bool is_well = !target->is_open;
	switch (result->outcome) {
	case HTTP_ANSWERED:
		is_well |=
			result->head.status == 200 && probe->ops->is_ours(probe->ctx, result->body);
		if (!is_well) {
			target->right_answers_due = RIGHT_ANSWERS;
			target->wrong_status = (unsigned)result->head.status;
		}
		break;
	case HTTP_E_TLS:
		is_well = target->protocol == LISTENER_HTTPS;
		break;
	case HTTP_E_CONNECT:
		is_well = false;
		break;
	default:
		break;
	}
	settle(target, is_well, result->outcome == HTTP_E_TIMEOUT);
}

static void ask(struct target *target)
{
	struct probe *probe = target->probe;
	bool is_v6 = target->ip.family == AF_INET6;
	bool is_tls = target->protocol == LISTENER_HTTPS && target->is_open;
	char *url = xasprintf("%s://%s%s%s:%u/", is_tls ? "https" : "http", is_v6 ? "[" : "",
		target->ip.text, is_v6 ? "]" : "", target->port);
	char *host = xasprintf("Host: %s", probe->host);
	/* An idle connection would keep a draining proxy alive. */
	const char *const headers[] = {host, "Connection: close", NULL};
	struct http_call call = {
		.method = "GET",
		.url = url,
		.headers = headers,
		.peer = &probe->peer,
		.body_max = ANSWER_LEN_MAX,
		.connect_timeout_s = probe->timeout_s,
		/* Without HTTP nothing is expected after the connection. */
		.timeout_s = target->is_open ? probe->timeout_s : 1,
		.only_once = true,
		.sends_proxy = target->reads_proxy,
		.on_done = on_answer,
		.ctx = target,
	};
	if (target->asked == 0)
		target->asked = clock_monotonic_s();
	probe->running++;
	target->request = http_start(probe->http, &call);
	free(url);
	free(host);
}

/* ---- rounds ---- */

static void ask_control(struct probe *probe)
{
	if (probe->control_asked == 0)
		probe->control_asked = clock_monotonic_s();
	probe->ops->ask_control(probe->ctx);
}

/* First targets without a success, then the next ones in turn. */
static void ask_some(struct probe *probe)
{
	for (size_t i = 0; i < probe->count && probe->running < AT_ONCE_MAX; i++) {
		if (!probe->targets[i].is_well && probe->targets[i].request == NULL)
			ask(&probe->targets[i]);
	}
	for (size_t i = 0; i < probe->count && probe->running < AT_ONCE_MAX; i++) {
		struct target *target = &probe->targets[probe->next++ % probe->count];
		if (target->request == NULL && target->is_well)
			ask(target);
	}
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct probe *probe = watcher->data;
	if (!probe->is_up)
		return;
	bool is_waiting = probe_is_pending(probe);
	ask_some(probe);
	if (!is_waiting || probe->pause_s >= again_max_s)
		ask_control(probe);
	probe->pause_s =
		is_waiting && probe->pause_s * 2 < again_max_s ? probe->pause_s * 2 : again_max_s;
	/* Jitter keeps several providers from falling into step. */
	wait_for(probe, (is_waiting ? probe->pause_s : round_s) * (0.75 + backoff_random() / 2));
	judge(probe);
}

static void ask_soon(struct probe *probe)
{
	probe->pause_s = again_s;
	if (probe->is_up)
		wait_for(probe, 0);
}

void probe_control_answered(struct probe *probe)
{
	bool was_late = is_late(probe, probe->control_asked, 1);
	probe->control_asked = 0;
	if (was_late)
		judge(probe);
}

/* ---- targets ---- */

static void forget_targets(struct probe *probe)
{
	for (size_t i = 0; i < probe->count; i++) {
		if (probe->targets[i].request != NULL)
			http_cancel(probe->targets[i].request);
	}
	free(probe->targets);
	probe->targets = NULL;
	probe->count = probe->running = 0;
}

static void ask_all_anew(struct probe *probe)
{
	for (size_t i = 0; i < probe->count; i++) {
		struct target *target = &probe->targets[i];
		if (target->request != NULL)
			http_cancel(target->request);
		target->request = NULL;
		target->is_well = target->is_heard = target->was_silent = false;
		target->right_answers_due = 0;
		target->asked = 0;
	}
	probe->running = 0;
	probe->control_asked = 0;
}

static struct check_ip reachable(const struct check_ip *bind)
{
	struct check_ip ip = *bind;
	if (strcmp(ip.text, "0.0.0.0") == 0)
		(void)check_ip(STR("127.0.0.1"), &ip);
	else if (strcmp(ip.text, "::") == 0)
		(void)check_ip(STR("::1"), &ip);
	return ip;
}

static struct target make_target(
	struct probe *probe, const struct port *port, const struct check_ip *bind)
{
	bool is_http = port->protocol == LISTENER_HTTP || port->protocol == LISTENER_HTTPS;
	return (struct target){
		.probe = probe,
		.ip = reachable(bind),
		.port = port->port,
		.protocol = port->protocol,
		.is_open = is_http && port->range_count == 0 && !port->is_closed,
		.reads_proxy = port->forwarding.reads_proxy,
	};
}

static bool is_same(const struct target *a, const struct target *b)
{
	return a->port == b->port && a->protocol == b->protocol && a->is_open == b->is_open &&
	       a->reads_proxy == b->reads_proxy && strcmp(a->ip.text, b->ip.text) == 0;
}

static size_t count_binds(const struct ports *ports)
{
	size_t count = 0;
	for (size_t i = 0; i < ports->count; i++)
		count += ports->items[i].bind_count;
	return count;
}

void probe_set_listeners(
	struct probe *probe, const struct ports *ports, const struct socket_list *sockets)
{
	struct target *targets = xcalloc(count_binds(ports) + 1, sizeof(*targets));
	size_t count = 0;
	bool is_changed = false;
	for (size_t i = 0; i < ports->count; i++) {
		const struct port *port = &ports->items[i];
		for (size_t k = 0; k < port->bind_count; k++) {
			/* Nothing that we could ask answers there. */
			if (port_is_udp(port))
				continue;
			if (sockets != NULL &&
				!socket_list_has(sockets, &port->binds[k], port->port))
				continue;
			targets[count] = make_target(probe, port, &port->binds[k]);
			is_changed = is_changed || count >= probe->count ||
				     !is_same(&targets[count], &probe->targets[count]);
			count++;
		}
	}
	if (!is_changed && count == probe->count) {
		free(targets);
		return;
	}
	forget_targets(probe);
	probe->targets = targets;
	probe->count = count;
	ask_soon(probe);
}

void probe_set_proxy(struct probe *probe, bool is_up)
{
	ask_all_anew(probe);
	probe->is_up = is_up;
	probe->is_replacing = false;
	ev_timer_stop(probe->loop, &probe->timer);
	ask_soon(probe);
	if (!is_up) {
		free(probe->trouble);
		probe->trouble = NULL;
	}
}

static bool has_key(const struct probe *probe, const char *key)
{
	for (size_t i = 0; i < probe->row_count; i++) {
		if (strcmp(probe->row_keys[i], key) == 0)
			return true;
	}
	return false;
}

static void want_row(struct probe *probe, char *key)
{
	if (has_key(probe, key)) {
		free(key);
		return;
	}
	probe->row_keys =
		xreallocarray(probe->row_keys, probe->row_count + 1, sizeof(*probe->row_keys));
	probe->row_keys[probe->row_count++] = key;
	rows_want(probe->rows, ROW_WHOLE, str_from(key), STR(PROBE_TARGET));
}

void probe_want_rows(struct probe *probe, const struct ports *ports)
{
	char **old = probe->row_keys;
	size_t old_count = probe->row_count;
	probe->row_keys = NULL;
	probe->row_count = 0;
	if (ports->count != 0)
		want_row(probe, xstrdup(PROBE_TARGET "/"));
	for (size_t i = 0; i < ports->count; i++)
		want_row(probe,
			xasprintf("host:%s:%s", ports->items[i].load_balancer.text, probe->host));
	for (size_t i = 0; i < old_count; i++) {
		if (!has_key(probe, old[i]))
			rows_want(probe->rows, ROW_WHOLE, str_from(old[i]), STR_NONE);
		free(old[i]);
	}
	free(old);
}

/* ---- lifecycle ---- */

static bool is_token(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (strchr("0123456789abcdef", text.p[i]) == NULL || text.p[i] == 0)
			return false;
	}
	return text.len == TOKEN_LEN;
}

/* Kept across restarts, so that no row changes; if the disk cannot be written, a new one for each run. */
static void make_host(struct probe *probe, const char *token_file)
{
	struct buf text;
	buf_init(&text, 256);
	if (checksum_read(token_file, &text) == NULL && is_token(buf_str(&text))) {
		snprintf(probe->host, sizeof(probe->host), "%.*s.sluice.invalid",
			STR_FMT(buf_str(&text)));
	} else {
		uint64_t bits[2];
		arc4random_buf(bits, sizeof(bits));
		snprintf(probe->host, sizeof(probe->host), "%016llx%016llx.sluice.invalid",
			(unsigned long long)bits[0], (unsigned long long)bits[1]);
		(void)checksum_write(token_file, (struct str){probe->host, TOKEN_LEN}, 0600);
	}
	buf_fini(&text);
}

struct probe *probe_new(const struct probe_config *config)
{
	struct probe *probe = xcalloc(1, sizeof(*probe));
	probe->loop = config->loop;
	probe->rows = config->rows;
	probe->ops = config->ops;
	probe->ctx = config->ctx;
	probe->timeout_s = config->timeout_s;
	probe->http = http_new(config->loop, "sluice-probe", AT_ONCE_MAX);
	/* Proxy variables of the environment do not apply to this machine. */
	probe->peer = (struct http_peer){.insecure = true, .proxy_url = xstrdup("")};
	ev_init(&probe->timer, on_timer);
	probe->timer.data = probe;
	make_host(probe, config->token_file);
	return probe;
}

void probe_free(struct probe *probe)
{
	if (probe == NULL)
		return;
	ev_timer_stop(probe->loop, &probe->timer);
	forget_targets(probe);
	http_free(probe->http);
	http_peer_fini(&probe->peer);
	for (size_t i = 0; i < probe->row_count; i++)
		free(probe->row_keys[i]);
	free(probe->row_keys);
	free(probe->trouble);
	free(probe);
}
