// SPDX-License-Identifier: Apache-2.0
#include "watcher/lease.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/leadership.h"
#include "watcher/log_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { IDENTITY_MAX = 96, PROBLEM_LEN = 512, BODY_MAX = 4096, HOST_MAX = 64 };

struct lease {
	struct lease_config config;
	char *namespace;
	char *name;
	char identity[IDENTITY_MAX];
	struct election election;
	struct api_request *request;
	ev_timer next;  /* until the next attempt */
	ev_timer limit; /* of the current request */
	ev_timer end;   /* of our leadership */
	bool leads;
	bool is_known; /* the leader has been reported once */
	bool has_problem;
	bool is_ending; /* the Lease is being released */
};

/* The same clock for all of it, including what is reported to neighbours. */
static double now_s(void)
{
	return (double)leadership_clock_ms() / 1000;
}

static void go_on(struct lease *lease, enum election_step step);

/* ---- reporting ---- */

static void tell(struct lease *lease)
{
	double now = now_s();
	bool leads = election_leads(&lease->election, now);
	ev_timer_stop(lease->config.loop, &lease->end);
	if (leads) {
		ev_timer_set(&lease->end, lease->election.until - now, 0.);
		ev_timer_start(lease->config.loop, &lease->end);
	}
	if (leads != lease->leads || !lease->is_known) {
		const char *holder = lease->election.holder;
		log_event(leads ? &EV_LEADING : &EV_FOLLOWING, LOG_STR("lease", lease->name),
			LOG_STR("holder", holder[0] != '\0' ? holder : "nobody"));
	}
	bool is_news = leads || lease->leads || !lease->is_known;
	lease->leads = leads;
	lease->is_known = true;
	uint64_t until_ms = leads ? (uint64_t)(lease->election.until * 1000) : 0;
	if (is_news)
		lease->config.on_lead(lease->config.ctx, until_ms);
}

static void on_end(struct ev_loop *loop, ev_timer *timer, int events)
{
	tell(timer->data);
}

static void tell_problem(struct lease *lease, const struct api_result *result)
{
	char reason[PROBLEM_LEN];
	char problem[PROBLEM_LEN + 128];
	if (result == NULL) {
		if (lease->has_problem)
			lease->config.on_problem(lease->config.ctx, NULL);
		lease->has_problem = false;
		return;
	}
	api_result_text(result, reason, sizeof(reason));
	snprintf(problem, sizeof(problem), "lease %.64s/%.128s: %.300s", lease->namespace,
		lease->name, reason);
	log_event(&EV_LEASE_FAILED, LOG_STR("reason", problem));
	lease->has_problem = true;
	lease->config.on_problem(lease->config.ctx, problem);
}

/* ---- the object ---- */

/* "2026-07-14T09:30:00.123456Z": exactly six digits, others are refused (kubernetes/apimachinery, micro_time.go). */
static void print_now(char *text, size_t room)
{
	struct timespec now = clock_wall();
	struct tm tm;
	char seconds[32];
	gmtime_r(&now.tv_sec, &tm);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, room, "%s.%06ldZ", seconds, now.tv_nsec / 1000);
}

static void add_spec(const struct lease *lease, struct json *object)
{
	const struct election *election = &lease->election;
	char now[64];
	print_now(now, sizeof(now));
	struct json *spec = json_add_object(object, "spec");
	json_add_str(
		spec, "holderIdentity", lease->is_ending ? STR("") : str_from(lease->identity));
	json_add_int(spec, "leaseDurationSeconds",
		lease->is_ending ? 1 : (int64_t)election->config.duration_s);
	json_add_str(spec, "acquireTime",
		election_keeps_acquired(election) ? str_from(election->acquired) : str_from(now));
	json_add_str(spec, "renewTime", str_from(now));
	json_add_int(spec, "leaseTransitions", election_transitions(election));
}

static struct json *make_object(const struct lease *lease, bool is_new)
{
	struct json *object = json_new_object();
	json_add_str(object, "apiVersion", STR("coordination.k8s.io/v1"));
	json_add_str(object, "kind", STR("Lease"));
	struct json *metadata = json_add_object(object, "metadata");
	json_add_str(metadata, "name", str_from(lease->name));
	json_add_str(metadata, "namespace", str_from(lease->namespace));
	if (!is_new)
		json_add_str(metadata, "resourceVersion", str_from(lease->election.revision));
	add_spec(lease, object);
	return object;
}

/* False if it is not a Lease. */
static bool read_lease(const struct json *object, struct election_lease *ret_lease)
{
	const struct json *spec = json_get(object, "spec");
	int64_t seconds = 0;
	int64_t transitions = 0;
	if (!json_whole_number(json_get(spec, "leaseDurationSeconds"), 1, INT32_MAX, &seconds))
		seconds = 1;
	if (!json_whole_number(json_get(spec, "leaseTransitions"), 0, INT32_MAX - 1, &transitions))
		transitions = 0;
	*ret_lease = (struct election_lease){
		.revision = json_text(json_path(object, "metadata", "resourceVersion", NULL)),
		.holder = json_text(json_get(spec, "holderIdentity")),
		.acquired = json_text(json_get(spec, "acquireTime")),
		.renewed = json_text(json_get(spec, "renewTime")),
		.duration_s = (double)seconds,
		.transitions = transitions,
	};
	return ret_lease->revision.len != 0 && ret_lease->revision.len < ELECTION_TEXT_MAX &&
	       ret_lease->holder.len < ELECTION_TEXT_MAX;
}

/* ---- requests ---- */

static void take_answer(struct lease *lease, const struct api_result *result)
{
	struct election_lease seen = {0};
	enum election_answer answer = ELECTION_FAILED;
	struct json *object = NULL;
	bool was_read = lease->election.step == ELECTION_READ;
	if (result != NULL && api_is_good(result)) {
		object = json_parse(result->body, NULL, NULL);
		answer = read_lease(object, &seen) ? ELECTION_OK : ELECTION_FAILED;
	} else if (result != NULL && result->outcome == API_ANSWERED && result->code == 404 &&
		   was_read) {
		answer = ELECTION_NOT_FOUND;
	}
	bool is_race = result != NULL && result->outcome == API_ANSWERED && result->code == 409;
	if (answer == ELECTION_OK)
		tell_problem(lease, NULL);
	else if (answer == ELECTION_FAILED && result != NULL && !is_race)
		tell_problem(lease, result);
	enum election_step step =
		election_answered(&lease->election, answer, &seen, now_s(), backoff_random());
	json_free(object);
	if (!lease->is_ending)
		tell(lease);
	go_on(lease, step);
}

static void on_done(void *ctx, const struct api_result *result)
{
	struct lease *lease = ctx;
	lease->request = NULL;
	ev_timer_stop(lease->config.loop, &lease->limit);
	take_answer(lease, result);
}

static void on_limit(struct ev_loop *loop, ev_timer *timer, int events)
{
	static const struct api_result silence = {
		.outcome = API_E_NETWORK, .http = HTTP_E_TIMEOUT, .error = "no answer in time"};
	struct lease *lease = timer->data;
	api_cancel(lease->request);
	lease->request = NULL;
	take_answer(lease, &silence);
}

static void send(struct lease *lease, enum election_step step)
{
	static const char *const methods[] = {
		[ELECTION_READ] = "GET", [ELECTION_CREATE] = "POST", [ELECTION_WRITE] = "PUT"};
	struct buf body;
	char *path = xasprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases%s%s",
		lease->namespace, step == ELECTION_CREATE ? "" : "/",
		step == ELECTION_CREATE ? "" : lease->name);
	buf_init(&body, BODY_MAX);
	if (step != ELECTION_READ) {
		struct json *object = make_object(lease, step == ELECTION_CREATE);
		must(json_print(object, &body) == 0);
		json_free(object);
	}
	lease->request = api_start(lease->config.api, &(struct api_call){
							      .method = methods[step],
							      .path = path,
							      .body = buf_str(&body),
							      .content_type = "application/json",
							      .on_done = on_done,
							      .ctx = lease,
						      });
	buf_fini(&body);
	free(path);
	/* Half of the deadline, so that one hanging request does not cost the leadership. */
	ev_timer_set(&lease->limit, lease->config.deadline_s / 2, 0.);
	ev_timer_start(lease->config.loop, &lease->limit);
}

static void go_on(struct lease *lease, enum election_step step)
{
	if (lease->is_ending)
		return;
	if (step == ELECTION_WAIT)
		step = election_next(&lease->election, now_s());
	if (step != ELECTION_WAIT) {
		send(lease, step);
		return;
	}
	double after_s = lease->election.next_at - now_s();
	ev_timer_stop(lease->config.loop, &lease->next);
	ev_timer_set(&lease->next, after_s > 0 ? after_s : 0, 0.);
	ev_timer_start(lease->config.loop, &lease->next);
}

static void on_next(struct ev_loop *loop, ev_timer *timer, int events)
{
	go_on(timer->data, ELECTION_WAIT);
}

/* ---- lifecycle ---- */

bool lease_leads(const struct lease *lease)
{
	return election_leads(&lease->election, now_s());
}

static void make_identity(struct lease *lease)
{
	char host[HOST_MAX] = "";
	if (gethostname(host, sizeof(host) - 1) != 0)
		snprintf(host, sizeof(host), "host");
	snprintf(lease->identity, sizeof(lease->identity), "%s_%08x", host,
		(unsigned)(backoff_random() * 4294967295.0));
}

char *lease_default_namespace(void)
{
	struct secret text = {0};
	char *namespace = secret_load_file(&text, TARGET_IN_CLUSTER_DIR "/namespace") == 0
				  ? xstrdup(text.text)
				  : xstrdup("default");
	secret_fini(&text);
	return namespace;
}

struct lease *lease_new(const struct lease_config *config)
{
	struct lease *lease = xcalloc(1, sizeof(*lease));
	lease->config = *config;
	lease->namespace = xstrdup(config->namespace);
	lease->name = xstrdup(config->name);
	make_identity(lease);
	election_init(&lease->election, &(struct election_config){
						.identity = str_from(lease->identity),
						.duration_s = config->duration_s,
						.deadline_s = config->deadline_s,
						.retry_s = config->retry_s,
					});
	ev_timer_init(&lease->next, on_next, 0., 0.);
	ev_timer_init(&lease->limit, on_limit, 0., 0.);
	ev_timer_init(&lease->end, on_end, 0., 0.);
	lease->next.data = lease->limit.data = lease->end.data = lease;
	ev_timer_start(config->loop, &lease->next);
	return lease;
}

static void stop_all(struct lease *lease)
{
	ev_timer_stop(lease->config.loop, &lease->next);
	ev_timer_stop(lease->config.loop, &lease->limit);
	ev_timer_stop(lease->config.loop, &lease->end);
	api_cancel(lease->request);
	lease->request = NULL;
}

void lease_release(struct lease *lease, double limit_s)
{
	if (lease == NULL || !lease_leads(lease))
		return;
	stop_all(lease);
	lease->is_ending = true;
	lease->config.deadline_s = 2 * limit_s;
	lease->election.step = ELECTION_WRITE;
	send(lease, ELECTION_WRITE);
	while (lease->request != NULL)
		ev_run(lease->config.loop, EVRUN_ONCE);
}

void lease_free(struct lease *lease)
{
	if (lease == NULL)
		return;
	stop_all(lease);
	free(lease->namespace);
	free(lease->name);
	free(lease);
}
