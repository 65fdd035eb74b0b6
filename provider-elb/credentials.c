// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/credentials.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "provider-elb/credentials_fetch.h"

#include <math.h>

static const double RETRY_FIRST_S = 1;
static const double RETRY_CAP_S = 30;   /* with the jitter up to a minute */
static const double FILE_REREAD_S = 60; /* keys in files are replaced by people */
static const double RENEWAL_GAP_S =
	10; /* keys that were got because AWS refused others are not replaced sooner */
enum { CONNECTIONS_MAX = 2 };

LIST_HEAD(waiter_list, credentials_waiter);

struct credentials {
	struct credentials_config config;
	struct credential_source source;
	struct http *http;
	struct metadata *metadata;
	struct credentials_fetch fetch;
	ev_timer timer; /* until the next attempt */
	struct backoff backoff;
	struct waiter_list waiters;
	struct key_set set;
	uint64_t serial;
	bool is_busy;    /* an attempt is under way, or begins now */
	bool is_refused; /* by AWS: the attempt has to bring others */
	bool is_told;    /* on_change() was called */
	double refused_at;
	char *problem;
};

/* ---- the end of an attempt ---- */

static void schedule(struct credentials *credentials, double delay_s)
{
	ev_timer_stop(credentials->config.loop, &credentials->timer);
	ev_timer_set(&credentials->timer, delay_s, 0.);
	ev_timer_start(credentials->config.loop, &credentials->timer);
}

static void schedule_renewal(struct credentials *credentials)
{
	double delay_s = key_set_renewal_s(&credentials->set, clock_wall_s());
	if (credentials->source.kind == SOURCE_FILE)
		delay_s = FILE_REREAD_S;
	if (delay_s >= 0)
		schedule(credentials, fmax(delay_s, RETRY_FIRST_S));
}

/* The waiters that there are now; new ones wait for the next attempt. */
static void tell_waiters(struct credentials *credentials, const char *problem)
{
	struct waiter_list told;
	LIST_INIT(&told);
	struct credentials_waiter *waiter;
	while ((waiter = LIST_FIRST(&credentials->waiters)) != NULL) {
		LIST_REMOVE(waiter, entry);
		LIST_INSERT_HEAD(&told, waiter, entry);
	}
	while ((waiter = LIST_FIRST(&told)) != NULL) {
		LIST_REMOVE(waiter, entry);
		waiter->is_waiting = false;
		waiter->on_end(waiter, problem);
	}
}

static void tell_change(struct credentials *credentials, bool is_change, const char *problem)
{
	if (!is_change && credentials->is_told)
		return;
	credentials->is_told = true;
	credentials->config.on_change(credentials->config.ctx, problem);
}

static void take_set(struct credentials *credentials, struct key_set *set)
{
	bool had = credentials->set.access_key != NULL;
	bool is_same = had && key_set_is_same(&credentials->set, set);
	bool is_refused = credentials->is_refused;
	key_set_fini(&credentials->set);
	credentials->set = *set;
	if (!is_same)
		credentials->serial++;
	free(credentials->problem);
	credentials->problem = NULL;
	credentials->is_refused = false;
	backoff_succeeded(&credentials->backoff);
	schedule_renewal(credentials);
	tell_change(credentials, !had, NULL);
	tell_waiters(credentials, is_same && is_refused
					  ? "AWS refuses the credentials, and there are no others"
					  : NULL);
}

static void note_problem(struct credentials *credentials, const char *problem)
{
	bool had = credentials->set.access_key != NULL;
	bool is_news = credentials->problem == NULL || strcmp(credentials->problem, problem) != 0;
	if (is_news) {
		free(credentials->problem);
		credentials->problem = xstrdup(problem);
	}
	if (key_set_has_expired(&credentials->set, clock_wall_s()))
		key_set_fini(&credentials->set);
	bool has = credentials->set.access_key != NULL;
	credentials->is_refused = false;
	schedule(credentials, backoff_next(&credentials->backoff));
	if (!has)
		tell_change(credentials, had || is_news, credentials->problem);
	tell_waiters(credentials, credentials->problem);
}

static void on_fetched(void *ctx, struct key_set *set, const char *problem)
{
	struct credentials *credentials = ctx;
	credentials->is_busy = false;
	if (problem != NULL) {
		note_problem(credentials, problem);
	} else if (key_set_has_expired(set, clock_wall_s())) {
		char *late = xasprintf(
			"%s: the keys have ended already, or the clock of this machine is wrong",
			credentials->source.text);
		key_set_fini(set);
		note_problem(credentials, late);
		free(late);
	} else {
		take_set(credentials, set);
	}
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct credentials *credentials = timer->data;
	ev_timer_stop(loop, timer);
	credentials->is_busy = true;
	credentials_fetch_start(&credentials->fetch);
}

/* ---- public functions ---- */

struct credentials *credentials_new(const struct credentials_config *config, char **ret_problem)
{
	struct credentials *credentials = xcalloc(1, sizeof(*credentials));
	credentials->config = *config;
	credentials->refused_at = -INFINITY;
	LIST_INIT(&credentials->waiters);
	backoff_init(&credentials->backoff, RETRY_FIRST_S, RETRY_CAP_S);
	ev_init(&credentials->timer, on_timer);
	credentials->timer.data = credentials;
	char *problem = credential_source_find(&credentials->source, config->environment);
	if (problem != NULL) {
		credentials_free(credentials);
		*ret_problem = problem;
		return NULL;
	}
	credentials->http =
		http_new(config->loop, "sluice-provider-elb/" SLUICE_VERSION, CONNECTIONS_MAX);
	if (credentials->source.kind == SOURCE_METADATA)
		credentials->metadata = metadata_new(config->loop, config->environment);
	credentials->fetch = (struct credentials_fetch){
		.source = &credentials->source,
		.environment = config->environment,
		.endpoints = config->endpoints,
		.http = credentials->http,
		.metadata = credentials->metadata,
		.on_done = on_fetched,
		.ctx = credentials,
	};
	return credentials;
}

void credentials_free(struct credentials *credentials)
{
	if (credentials == NULL)
		return;
	credentials_fetch_stop(&credentials->fetch);
	while (!LIST_EMPTY(&credentials->waiters))
		credentials_unwait(LIST_FIRST(&credentials->waiters));
	ev_timer_stop(credentials->config.loop, &credentials->timer);
	metadata_free(credentials->metadata);
	http_free(credentials->http);
	credential_source_fini(&credentials->source);
	key_set_fini(&credentials->set);
	free(credentials->problem);
	free(credentials);
}

void credentials_peer_changed(struct credentials *credentials)
{
	http_drop_idle(credentials->http);
}

static void attempt_now(struct credentials *credentials)
{
	if (credentials->is_busy)
		return;
	credentials->is_busy = true;
	schedule(credentials, 0);
}

void credentials_start(struct credentials *credentials)
{
	attempt_now(credentials);
}

bool credentials_get(const struct credentials *credentials, struct aws_keys *ret_keys)
{
	const struct key_set *set = &credentials->set;
	if (set->access_key == NULL)
		return false;
	*ret_keys = (struct aws_keys){.access_key = set->access_key,
		.secret_key = &set->secret_key,
		.session_token = &set->session_token,
		.serial = credentials->serial};
	return true;
}

bool credentials_renew(struct credentials *credentials)
{
	double now = clock_monotonic_s();
	if (credentials->source.kind == SOURCE_ENVIRONMENT)
		return false;
	if (!credentials->is_busy && now - credentials->refused_at < RENEWAL_GAP_S)
		return false;
	if (!credentials->is_busy)
		credentials->refused_at = now;
	credentials->is_refused = true;
	attempt_now(credentials);
	return true;
}

bool credentials_wait(struct credentials *credentials, struct credentials_waiter *waiter)
{
	must(!waiter->is_waiting);
	if (!credentials->is_busy)
		return false;
	waiter->is_waiting = true;
	LIST_INSERT_HEAD(&credentials->waiters, waiter, entry);
	return true;
}

void credentials_unwait(struct credentials_waiter *waiter)
{
	if (!waiter->is_waiting)
		return;
	LIST_REMOVE(waiter, entry);
	waiter->is_waiting = false;
}

const char *credentials_source(const struct credentials *credentials)
{
	return credentials->source.text;
}

const char *credentials_problem(const struct credentials *credentials)
{
	return credentials->problem;
}
