// SPDX-License-Identifier: Apache-2.0
#include "watcher/status.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/message.h"
#include "watcher/metrics.h"
#include "watcher/status_log.h"
#include "watcher/status_patch.h"
#include "watcher/status_plan.h"
#include "watcher/status_text.h"

#include <bsd/sys/queue.h>
#include <math.h>
#include <stdio.h>

enum { PROBLEM_LEN = 512 };
static const double FORBIDDEN_WAIT_S = 30.0;
static const double PAUSE_S = 1.0;

enum place { PLACE_NOWHERE, PLACE_READY, PLACE_WAITING };

struct job {
	struct status_wish wish; /* first: the object's target points here */
	struct store_object *object;
	TAILQ_ENTRY(job) link;
	enum place place;
	enum status_step step; /* while it is ready */
};

TAILQ_HEAD(job_queue, job);

struct write {
	struct status_writer *writer;
	struct job *job; /* NULL: free */
	enum status_step step;
	struct api_request *request;
	char *target; /* NULL: none */
	char *revision;
};

struct status_writer {
	struct status_config config;
	const struct kind_version *version;
	struct job_queue ready;
	struct job_queue waiting;
	struct write writes[STATUS_WRITES_MAX];
	double paused_until; /* the server as a whole is failing */
	double wake_at;      /* no later than the earliest waiting job */
	ev_timer timer;
	enum status_ports ports;
	bool must_check_all;
	bool is_forbidden;
	bool is_passive; /* another replica writes */
};

static struct store_target *target_of(const struct job *job)
{
	struct store_target *target = store_target_of(job->object);
	must(target != NULL);
	return target;
}

static struct status_view view_of(const struct status_writer *w, const struct job *job)
{
	const struct store_target *target = target_of(job);
	return (struct status_view){
		.revision = target->revision,
		.status = str_from(target->status),
		.is_ours = target->status_is_ours,
		.ports = w->ports,
		.is_holdable = job->object->kind == RECORD_SERVICE,
		.wants_finalizer = target->wants_finalizer,
		.has_finalizer = target->has_finalizer,
	};
}

/* ---- queues ---- */

static void move(struct status_writer *w, struct job *job, enum place place)
{
	if (job->place == place)
		return;
	if (job->place != PLACE_NOWHERE)
		TAILQ_REMOVE(job->place == PLACE_READY ? &w->ready : &w->waiting, job, link);
	if (place != PLACE_NOWHERE)
		TAILQ_INSERT_TAIL(place == PLACE_READY ? &w->ready : &w->waiting, job, link);
	job->place = place;
}

static void pump(struct status_writer *w);

static void schedule(struct status_writer *w)
{
	double at = w->wake_at;
	if (!w->is_passive && !TAILQ_EMPTY(&w->ready) && w->paused_until < at)
		at = w->paused_until;
	ev_timer_stop(w->config.loop, &w->timer);
	if (isinf(at))
		return;
	double after_s = at - clock_monotonic_s();
	ev_timer_set(&w->timer, after_s > 0.01 ? after_s : 0.01, 0.);
	ev_timer_start(w->config.loop, &w->timer);
}

static void drop_job(struct status_writer *w, struct job *job)
{
	move(w, job, PLACE_NOWHERE);
	target_of(job)->wish = NULL;
	status_wish_fini(&job->wish);
	free(job);
}

/* Moves the job to the queue where it belongs now. A finished release is dropped. */
static void check(struct status_writer *w, struct job *job)
{
	struct status_view view = view_of(w, job);
	double until = 0;
	enum status_step step = status_decide(&job->wish, &view, clock_monotonic_s(), &until);
	if (step == STATUS_WAIT) {
		if (until < w->wake_at)
			w->wake_at = until;
		move(w, job, PLACE_WAITING);
	} else if (status_is_done(&job->wish, &view, step)) {
		drop_job(w, job);
	} else {
		job->step = step;
		move(w, job, step != STATUS_NOTHING ? PLACE_READY : PLACE_NOWHERE);
	}
}

/* The next pump() checks all jobs again. */
static void set_ports(struct status_writer *w, enum status_ports ports)
{
	w->must_check_all = w->must_check_all || w->ports != ports;
	w->ports = ports;
}

static void check_all(struct status_writer *w)
{
	struct store_object *object = store_first(w->config.store, w->config.kind);
	w->must_check_all = false;
	for (; object != NULL; object = store_next(object)) {
		const struct store_target *target = store_target_of(object);
		if (target != NULL && target->wish != NULL)
			check(w, (struct job *)target->wish);
	}
}

/* ---- results of writes ---- */

static void set_forbidden(struct status_writer *w, const char *problem)
{
	if (problem == NULL && !w->is_forbidden)
		return;
	w->is_forbidden = problem != NULL;
	w->config.on_problem(w->config.ctx, problem);
}

static void pause_all(struct status_writer *w, double wait_s)
{
	double until = clock_monotonic_s() + wait_s * (1.0 + 0.25 * backoff_random());
	if (until > w->paused_until)
		w->paused_until = until;
}

static void count(const struct write *write, bool is_written)
{
	unsigned kind = write->writer->config.kind == RECORD_SERVICE;
	metric_add(&watcher_metrics[WATCHER_STATUS], METRIC_PAIR(kind, 2, !is_written), 1);
}

static void take_success(struct write *write, const struct api_result *result)
{
	struct status_writer *w = write->writer;
	struct status_wish *wish = &write->job->wish;
	count(write, true);
	set_forbidden(w, NULL);
	status_patch_take_answer(
		wish, write->step, str_from(write->target), result->body, clock_monotonic_s());
	if (write->step == STATUS_WRITE)
		set_ports(w, status_learn_ports(w->ports, wish, str_from(write->target),
				     str_from(wish->left)));
	status_log_written(write->job->object, write->step, write->target);
}

static void take_failure(struct write *write, const struct api_result *result)
{
	struct status_writer *w = write->writer;
	struct status_wish *wish = &write->job->wish;
	char reason[PROBLEM_LEN];
	char problem[PROBLEM_LEN + 64];
	double now = clock_monotonic_s();
	long code = result->outcome == API_ANSWERED ? result->code : 0;
	api_result_text(result, reason, sizeof(reason));
	if (api_is_good(result)) {
		code = 0;
		snprintf(reason, sizeof(reason), "the answer is no object");
	}
	if (code == 409 || (code == 404 && write->step != STATUS_WRITE)) {
		/* A conflict: the watch will bring the other write, or the deletion. */
		status_conflicted(wish, str_from(write->revision), now);
		return;
	}
	double wait_s = -1;
	if (code == 0 || code == 429) {
		wait_s = status_failed(wish, result->retry_after_s, backoff_random(), now);
		pause_all(w, result->retry_after_s > PAUSE_S ? result->retry_after_s : PAUSE_S);
	} else if (code == 401 || code == 403) {
		/* Permissions are rarely granted soon; tokens are renewed. */
		double pause_s = code == 403 ? FORBIDDEN_WAIT_S : PAUSE_S;
		wait_s = status_failed(wish, code == 403 ? pause_s : -1, backoff_random(), now);
		pause_all(w, pause_s / 2);
		snprintf(problem, sizeof(problem), "%s: patch %s%s: %s",
			write->step == STATUS_WRITE ? "status" : "finalizer", w->version->resource,
			write->step == STATUS_WRITE ? "/status" : "", reason);
		set_forbidden(w, problem);
	} else if (code >= 500 || status_patch_is_momentary(code) || write->step != STATUS_WRITE) {
		/* A finalizer left behind is worse than one request too many. */
		wait_s = status_failed(wish, result->retry_after_s, backoff_random(), now);
	} else {
		status_refused(wish, str_from(write->target));
	}
	count(write, false);
	if (code == 403)
		status_log_forbidden(write->job->object, problem, wait_s);
	else
		status_log_failed(write->job->object, write->step, reason, wait_s);
}

static void end_write(struct write *write)
{
	free(write->target);
	free(write->revision);
	write->target = write->revision = NULL;
	write->request = NULL;
	write->job = NULL;
}

/* The object may have changed while the write was in flight, when changes were not compared. */
static void observe(struct status_writer *w, struct job *job)
{
	struct status_view view = view_of(w, job);
	set_ports(w, status_learn_ports(w->ports, &job->wish, STR_NONE, view.status));
	if (status_saw(&job->wish, &view, clock_monotonic_s())) {
		const char *by = target_of(job)->status_manager;
		status_log_fight(job->object, by, job->wish.trouble->yield_s);
		w->config.on_fight(w->config.ctx, job->object, by);
	}
	check(w, job);
}

static void on_done(void *ctx, const struct api_result *result)
{
	struct write *write = ctx;
	struct status_writer *w = write->writer;
	struct job *job = write->job;
	if (api_is_good(result) && status_patch_is_object(result->body))
		take_success(write, result);
	else
		take_failure(write, result);
	end_write(write);
	observe(w, job);
	pump(w);
}

/* ---- writing ---- */

static void start_write(struct status_writer *w, struct write *write, struct job *job)
{
	struct str target = status_target(&job->wish);
	char *path =
		status_patch_path(w->version, w->config.finalizer_manager, job->object, job->step);
	char *body = status_patch_body(job->object, job->step, target);
	write->job = job;
	write->step = job->step;
	write->target = target.len != 0 ? str_dup(target) : NULL;
	write->revision = xstrdup(target_of(job)->revision);
	status_begun(&job->wish, clock_monotonic_s());
	write->request =
		api_start(w->config.api, &(struct api_call){
						 .method = "PATCH",
						 .path = path,
						 .body = str_from(body),
						 .content_type = "application/merge-patch+json",
						 .on_done = on_done,
						 .ctx = write,
					 });
	free(path);
	free(body);
}

static struct write *free_write(struct status_writer *w)
{
	for (size_t i = 0; i < STATUS_WRITES_MAX; i++) {
		if (w->writes[i].job == NULL)
			return &w->writes[i];
	}
	return NULL;
}

static bool is_idle(const struct status_writer *w)
{
	for (size_t i = 0; i < STATUS_WRITES_MAX; i++) {
		if (w->writes[i].job != NULL)
			return false;
	}
	return true;
}

/* One write finds out whether the server keeps ports, and the others wait for it. */
static bool must_wait_for_trial(const struct status_writer *w, const struct job *job)
{
	struct status_view view = view_of(w, job);
	return w->ports == STATUS_PORTS_UNKNOWN && !is_idle(w) && job->step == STATUS_WRITE &&
	       status_is_about_ports(&job->wish, &view);
}

static void pump(struct status_writer *w)
{
	struct job *job;
	struct write *write;
	if (w->must_check_all)
		check_all(w);
	while (!w->is_passive && w->version != NULL && clock_monotonic_s() >= w->paused_until &&
		(job = TAILQ_FIRST(&w->ready)) != NULL && !must_wait_for_trial(w, job) &&
		(write = free_write(w)) != NULL) {
		move(w, job, PLACE_NOWHERE);
		/* A server that gives objects no revision cannot be written to safely. */
		if (target_of(job)->revision != NULL)
			start_write(w, write, job);
	}
	/* Nothing is left to write. */
	if (TAILQ_EMPTY(&w->ready) && TAILQ_EMPTY(&w->waiting) && is_idle(w))
		set_forbidden(w, NULL);
	schedule(w);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct status_writer *w = timer->data;
	struct job_queue due;
	struct job *job;
	TAILQ_INIT(&due);
	if (clock_monotonic_s() >= w->wake_at) {
		w->wake_at = INFINITY;
		/* Each job is checked again, and may go back to the waiting ones. */
		TAILQ_CONCAT(&due, &w->waiting, link);
	}
	while ((job = TAILQ_FIRST(&due)) != NULL) {
		TAILQ_REMOVE(&due, job, link);
		job->place = PLACE_NOWHERE;
		check(w, job);
	}
	pump(w);
}

/* ---- events of the store and the translator ---- */

static struct job *job_of(struct store_object *object)
{
	struct store_target *target = store_target_for(object);
	if (target->wish == NULL) {
		struct job *job = xcalloc(1, sizeof(*job));
		job->object = object;
		job->wish.is_wanted = target->wants_finalizer;
		target->wish = &job->wish;
	}
	return (struct job *)target->wish;
}

static void on_put(void *ctx, struct store_object *object, enum store_change change)
{
	struct status_writer *w = ctx;
	struct store_target *target =
		object->kind == w->config.kind ? store_target_of(object) : NULL;
	if (target == NULL)
		return;
	bool must_be_held = target->wants_finalizer && !target->has_finalizer;
	if (target->wish == NULL && !must_be_held)
		return;
	observe(w, job_of(object));
	pump(w);
}

static void on_remove(void *ctx, struct store_object *object)
{
	struct status_writer *w = ctx;
	struct store_target *target =
		object->kind == w->config.kind ? store_target_of(object) : NULL;
	if (target == NULL || target->wish == NULL)
		return;
	struct job *job = (struct job *)target->wish;
	for (size_t i = 0; i < STATUS_WRITES_MAX; i++) {
		if (w->writes[i].job == job) {
			api_cancel(w->writes[i].request);
			end_write(&w->writes[i]);
		}
	}
	drop_job(w, job);
	pump(w);
}

void status_wish(struct status_writer *w, const struct status_update *update)
{
	const struct record_key *key = &update->key;
	struct store_object *object =
		store_find(w->config.store, w->config.kind, key->namespace, key->name);
	must(key->kind == w->config.kind);
	if (object == NULL || (key->uid.len != 0 && !str_eq(store_uid(object), key->uid)))
		return;
	/* There is nothing of ours on it to remove. */
	if (update->release && store_target_of(object) == NULL)
		return;
	struct arena arena;
	size_t refused = 0;
	arena_init(&arena);
	struct str want =
		status_text(update->addresses.items, update->addresses.count, &arena, &refused);
	if (refused != 0)
		status_log_bad_addresses(key, refused);
	/* A list with only unusable addresses is not a request for an empty status. */
	if (want.len != 0 || update->addresses.count == 0) {
		struct job *job = job_of(object);
		(void)status_wish_set(&job->wish, want, update->release);
		status_wish_set_without_ports(
			&job->wish, status_text_without_ports(update->addresses.items,
					    update->addresses.count, &arena));
		check(w, job);
	}
	arena_fini(&arena);
	pump(w);
}

/* ---- lifecycle ---- */

void status_set_version(struct status_writer *w, const struct kind_version *version)
{
	w->version = version;
	pump(w);
}

void status_set_ports_dropped(struct status_writer *w, bool are_dropped)
{
	set_ports(w, are_dropped ? STATUS_PORTS_DROPPED : STATUS_PORTS_UNKNOWN);
	pump(w);
}

void status_set_active(struct status_writer *w, bool is_active)
{
	w->is_passive = !is_active;
	pump(w);
}

struct status_writer *status_new(const struct status_config *config)
{
	struct status_writer *w = xcalloc(1, sizeof(*w));
	struct store_observer observer = {.on_put = on_put, .on_remove = on_remove, .ctx = w};
	w->config = *config;
	w->wake_at = INFINITY;
	TAILQ_INIT(&w->ready);
	TAILQ_INIT(&w->waiting);
	for (size_t i = 0; i < STATUS_WRITES_MAX; i++)
		w->writes[i].writer = w;
	ev_init(&w->timer, on_timer);
	w->timer.data = w;
	must(config->kind == RECORD_INGRESS || config->kind == RECORD_SERVICE);
	store_observe(config->store, &observer);
	return w;
}

void status_free(struct status_writer *w)
{
	struct store_object *object;
	if (w == NULL)
		return;
	for (size_t i = 0; i < STATUS_WRITES_MAX; i++) {
		if (w->writes[i].job != NULL) {
			api_cancel(w->writes[i].request);
			end_write(&w->writes[i]);
		}
	}
	object = store_first(w->config.store, w->config.kind);
	for (; object != NULL; object = store_next(object)) {
		const struct store_target *target = store_target_of(object);
		if (target != NULL && target->wish != NULL)
			drop_job(w, (struct job *)target->wish);
	}
	ev_timer_stop(w->config.loop, &w->timer);
	free(w);
}
