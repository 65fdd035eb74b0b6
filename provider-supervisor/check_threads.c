// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/check_threads.h"

#include "common/xalloc.h"

#include <bsd/sys/queue.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NICENESS = 10 };

struct check_job {
	TAILQ_ENTRY(check_job) next;
	struct shared *shared;
	check_answer *on_answer; /* of the loop alone, as is the next; NULL: nobody waits */
	void *ctx;
	char *list;
	char *question; /* may be a secret */
	size_t question_len;
	char *answer; /* NULL: there is none yet */
	size_t answer_len;
	bool is_running;
};

TAILQ_HEAD(job_list, check_job);

/* What threads and loop share, until the last of them is gone. */
struct shared {
	pthread_mutex_t mutex;
	pthread_cond_t has_waiting;
	struct job_list waiting;
	struct job_list running;
	struct job_list done;
	size_t count; /* of all jobs */
	unsigned thread_count;
	bool is_ending;
	check_work *work;
	struct ev_loop *loop;
	ev_async answered;
};

struct check_threads {
	struct shared *shared;
};

/* ---- jobs ---- */

static void free_job(struct check_job *job)
{
	explicit_bzero(job->question, job->question_len);
	free(job->question);
	free(job->answer);
	free(job->list);
	free(job);
}

static void free_jobs(struct job_list *list)
{
	struct check_job *job;
	while ((job = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, job, next);
		free_job(job);
	}
}

static size_t count_running(const struct shared *shared, const char *list)
{
	const struct check_job *job;
	size_t count = 0;
	TAILQ_FOREACH (job, &shared->running, next)
		count += strcmp(job->list, list) == 0;
	return count;
}

/* The oldest of a list of which fewest are being checked. NULL: none waits. */
static struct check_job *take_next(struct shared *shared)
{
	struct check_job *job;
	struct check_job *best = NULL;
	size_t best_count = 0;
	TAILQ_FOREACH (job, &shared->waiting, next) {
		size_t count = count_running(shared, job->list);
		if (best == NULL || count < best_count) {
			best = job;
			best_count = count;
		}
		if (count == 0)
			break;
	}
	if (best == NULL)
		return NULL;
	TAILQ_REMOVE(&shared->waiting, best, next);
	TAILQ_INSERT_TAIL(&shared->running, best, next);
	best->is_running = true;
	return best;
}

/* ---- threads ---- */

/* With the mutex, which it gives back. */
static void leave(struct shared *shared)
{
	bool is_last = --shared->thread_count == 0 && shared->is_ending;
	pthread_mutex_unlock(&shared->mutex);
	if (!is_last)
		return;
	free_jobs(&shared->done);
	pthread_cond_destroy(&shared->has_waiting);
	pthread_mutex_destroy(&shared->mutex);
	free(shared);
}

static void *run(void *ctx)
{
	struct shared *shared = ctx;
	char *answer = xmalloc(CHECK_ANSWER_LEN_MAX);
	/* Of this thread alone. */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
	pthread_mutex_lock(&shared->mutex);
	while (!shared->is_ending) {
		struct check_job *job = take_next(shared);
		if (job == NULL) {
			pthread_cond_wait(&shared->has_waiting, &shared->mutex);
			continue;
		}
		pthread_mutex_unlock(&shared->mutex);
		size_t len = shared->work((struct str){job->question, job->question_len}, answer);
		pthread_mutex_lock(&shared->mutex);
		job->answer = xmemdup(answer, len);
		job->answer_len = len;
		TAILQ_REMOVE(&shared->running, job, next);
		TAILQ_INSERT_TAIL(&shared->done, job, next);
		if (!shared->is_ending)
			ev_async_send(shared->loop, &shared->answered);
	}
	free(answer);
	leave(shared);
	return NULL;
}

/* Signals are for the loop. */
static bool start_thread(struct shared *shared)
{
	pthread_t thread;
	sigset_t all;
	sigset_t former;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &former);
	int err = pthread_create(&thread, NULL, run, shared);
	pthread_sigmask(SIG_SETMASK, &former, NULL);
	if (err != 0)
		return false;
	pthread_detach(thread);
	shared->thread_count++;
	return true;
}

/* ---- questions ---- */

static void on_answered(struct ev_loop *loop, ev_async *watcher, int events)
{
	struct shared *shared = watcher->data;
	for (;;) {
		pthread_mutex_lock(&shared->mutex);
		struct check_job *job = TAILQ_FIRST(&shared->done);
		if (job != NULL) {
			TAILQ_REMOVE(&shared->done, job, next);
			shared->count--;
		}
		pthread_mutex_unlock(&shared->mutex);
		if (job == NULL)
			return;
		if (job->on_answer != NULL)
			job->on_answer(job->ctx, (struct str){job->answer, job->answer_len});
		free_job(job);
	}
}

struct check_job *check_threads_ask(struct check_threads *threads, struct str list,
	struct str question, check_answer *on_answer, void *ctx)
{
	struct shared *shared = threads->shared;
	struct check_job *job = NULL;
	pthread_mutex_lock(&shared->mutex);
	while (shared->thread_count < CHECK_THREADS && start_thread(shared))
		continue;
	if (shared->thread_count != 0 && shared->count < CHECKS_WAITING_MAX) {
		job = xcalloc(1, sizeof(*job));
		job->shared = shared;
		job->on_answer = on_answer;
		job->ctx = ctx;
		job->list = str_dup(list);
		job->question = str_dup(question);
		job->question_len = question.len;
		TAILQ_INSERT_TAIL(&shared->waiting, job, next);
		shared->count++;
		pthread_cond_signal(&shared->has_waiting);
	}
	pthread_mutex_unlock(&shared->mutex);
	return job;
}

void check_job_forget(struct check_job *job)
{
	struct shared *shared = job->shared;
	pthread_mutex_lock(&shared->mutex);
	bool is_waiting = !job->is_running;
	job->on_answer = NULL;
	if (is_waiting) {
		TAILQ_REMOVE(&shared->waiting, job, next);
		shared->count--;
	}
	pthread_mutex_unlock(&shared->mutex);
	if (is_waiting)
		free_job(job);
}

struct check_threads *check_threads_new(struct ev_loop *loop, check_work *work)
{
	struct check_threads *threads = xcalloc(1, sizeof(*threads));
	struct shared *shared = xcalloc(1, sizeof(*shared));
	threads->shared = shared;
	pthread_mutex_init(&shared->mutex, NULL);
	pthread_cond_init(&shared->has_waiting, NULL);
	TAILQ_INIT(&shared->waiting);
	TAILQ_INIT(&shared->running);
	TAILQ_INIT(&shared->done);
	shared->loop = loop;
	shared->work = work;
	ev_async_init(&shared->answered, on_answered);
	shared->answered.data = shared;
	ev_async_start(loop, &shared->answered);
	return threads;
}

void check_threads_free(struct check_threads *threads)
{
	if (threads == NULL)
		return;
	struct shared *shared = threads->shared;
	ev_async_stop(shared->loop, &shared->answered);
	pthread_mutex_lock(&shared->mutex);
	shared->is_ending = true;
	free_jobs(&shared->waiting);
	/* The loop counts as one more, which leaves now. */
	shared->thread_count++;
	pthread_cond_broadcast(&shared->has_waiting);
	leave(shared);
	free(threads);
}
