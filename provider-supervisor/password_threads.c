// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/password_threads.h"

#include "common/xalloc.h"
#include "provider-supervisor/password.h"

#include <bsd/sys/queue.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NICENESS = 10 };

struct password_job {
	TAILQ_ENTRY(password_job) next;
	struct shared *shared;
	password_answer *on_answer; /* of the loop alone, as is the next; NULL: nobody waits */
	void *ctx;
	char *list;
	char *hash;
	size_t hash_len;
	char *password;
	size_t password_len;
	bool is_running;
	bool fits;
};

TAILQ_HEAD(job_list, password_job);

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
	struct ev_loop *loop;
	ev_async answered;
};

struct password_threads {
	struct shared *shared;
};

/* ---- jobs ---- */

static void wipe(char *text, size_t len)
{
	explicit_bzero(text, len);
	free(text);
}

static void free_job(struct password_job *job)
{
	wipe(job->hash, job->hash_len);
	wipe(job->password, job->password_len);
	free(job->list);
	free(job);
}

static void free_jobs(struct job_list *list)
{
	struct password_job *job;
	while ((job = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, job, next);
		free_job(job);
	}
}

static size_t count_running(const struct shared *shared, const char *list)
{
	const struct password_job *job;
	size_t count = 0;
	TAILQ_FOREACH (job, &shared->running, next)
		count += strcmp(job->list, list) == 0;
	return count;
}

/* The oldest of a list of which fewest are being checked. NULL: none waits. */
static struct password_job *take_next(struct shared *shared)
{
	struct password_job *job;
	struct password_job *best = NULL;
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
	struct crypt_data *scratch = xcalloc(1, sizeof(*scratch));
	/* Of this thread alone. */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
	pthread_mutex_lock(&shared->mutex);
	while (!shared->is_ending) {
		struct password_job *job = take_next(shared);
		if (job == NULL) {
			pthread_cond_wait(&shared->has_waiting, &shared->mutex);
			continue;
		}
		pthread_mutex_unlock(&shared->mutex);
		bool fits = password_fits((struct str){job->password, job->password_len},
			(struct str){job->hash, job->hash_len}, scratch);
		pthread_mutex_lock(&shared->mutex);
		job->fits = fits;
		TAILQ_REMOVE(&shared->running, job, next);
		TAILQ_INSERT_TAIL(&shared->done, job, next);
		if (!shared->is_ending)
			ev_async_send(shared->loop, &shared->answered);
	}
	free(scratch);
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
		struct password_job *job = TAILQ_FIRST(&shared->done);
		if (job != NULL) {
			TAILQ_REMOVE(&shared->done, job, next);
			shared->count--;
		}
		pthread_mutex_unlock(&shared->mutex);
		if (job == NULL)
			return;
		if (job->on_answer != NULL)
			job->on_answer(job->ctx, job->fits);
		free_job(job);
	}
}

struct password_job *password_threads_ask(struct password_threads *threads,
	const struct password_question *question, password_answer *on_answer, void *ctx)
{
	struct shared *shared = threads->shared;
	struct password_job *job = NULL;
	pthread_mutex_lock(&shared->mutex);
	while (shared->thread_count < PASSWORD_THREADS && start_thread(shared))
		continue;
	if (shared->thread_count != 0 && shared->count < PASSWORD_WAITING_MAX) {
		job = xcalloc(1, sizeof(*job));
		job->shared = shared;
		job->on_answer = on_answer;
		job->ctx = ctx;
		job->list = str_dup(question->list);
		job->hash = str_dup(question->hash);
		job->hash_len = question->hash.len;
		job->password = str_dup(question->password);
		job->password_len = question->password.len;
		TAILQ_INSERT_TAIL(&shared->waiting, job, next);
		shared->count++;
		pthread_cond_signal(&shared->has_waiting);
	}
	pthread_mutex_unlock(&shared->mutex);
	return job;
}

void password_job_forget(struct password_job *job)
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

struct password_threads *password_threads_new(struct ev_loop *loop)
{
	struct password_threads *threads = xcalloc(1, sizeof(*threads));
	struct shared *shared = xcalloc(1, sizeof(*shared));
	threads->shared = shared;
	pthread_mutex_init(&shared->mutex, NULL);
	pthread_cond_init(&shared->has_waiting, NULL);
	TAILQ_INIT(&shared->waiting);
	TAILQ_INIT(&shared->running);
	TAILQ_INIT(&shared->done);
	shared->loop = loop;
	ev_async_init(&shared->answered, on_answered);
	shared->answered.data = shared;
	ev_async_start(loop, &shared->answered);
	return threads;
}

void password_threads_free(struct password_threads *threads)
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
