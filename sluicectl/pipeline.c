// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/pipeline.h"

#include "common/clock.h"
#include "common/must.h"
#include "common/signals.h"
#include "common/xalloc.h"
#include "sluicectl/args.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	READ_LEN = 64 * 1024,
	COMPLAINTS_LEN_MAX = 256 * 1024,
	EXIT_NOT_STARTED = 127,
	TICK_MS = 1000, /* how often somebody looks at the clock */
	BYTES_PER_KB = 1000,
};

/* Without descriptors, processes or memory we cannot go on. */
static int or_exit(int outcome, const char *what)
{
	if (outcome < 0) {
		fprintf(stderr, "sluicectl: %s: %s\n", what, strerror(errno));
		exit(CTL_EXIT_AWAY);
	}
	return outcome;
}

void pipeline_init(struct pipeline *pipeline)
{
	sigset_t ends;
	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	*pipeline = (struct pipeline){
		.ends = or_exit(signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd")};
}

static void make_pipe(int ends[2])
{
	or_exit(pipe2(ends, O_CLOEXEC), "a pipe for the programs of the line");
}

int pipeline_output(struct pipeline *pipeline, struct buf *into)
{
	int ends[2];
	make_pipe(ends);
	must(pipeline->source_count < PIPELINE_OUTPUTS_MAX);
	pipeline->sources[pipeline->source_count++] =
		(struct pipeline_source){.fd = ends[0], .into = into};
	return ends[1];
}

void pipeline_join(int *ret_output, int *ret_input)
{
	int ends[2];
	make_pipe(ends);
	*ret_input = ends[0];
	*ret_output = ends[1];
}

int pipeline_file(struct str content)
{
	static const char what[] = "a file in memory for the programs of the line";
	int fd = or_exit(memfd_create("frames", MFD_CLOEXEC), what);
	while (content.len != 0) {
		int done = or_exit((int)write(fd, content.p, content.len), what);
		content = str_skip(content, (size_t)done);
	}
	must(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

void pipeline_path(int fd, char path[static PIPELINE_PATH_LEN])
{
	snprintf(path, PIPELINE_PATH_LEN, "/dev/fd/%d", fd);
}

/* ---- starting ---- */

_Noreturn static void exec_program(const struct pipeline_program *program, int complaints)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	signals_reset(NULL);
	if (program->input != 0 || !program->has_our_input)
		dup2(program->input != 0 ? program->input : nothing, STDIN_FILENO);
	dup2(program->output != 0 ? program->output : nothing, STDOUT_FILENO);
	dup2(complaints, STDERR_FILENO);
	for (size_t i = 0; i < program->kept_count; i++)
		fcntl(program->kept[i], F_SETFD, 0);
	execv(program->words[0], program->words);
	dprintf(STDERR_FILENO, "it cannot be started: %m\n");
	_exit(EXIT_NOT_STARTED);
}

void pipeline_start(struct pipeline *pipeline, const struct pipeline_program *program)
{
	must(pipeline->count < PIPELINE_PROGRAMS_MAX);
	struct pipeline_status *status = &pipeline->statuses[pipeline->count];
	const char *slash = strrchr(program->words[0], '/');
	*status = (struct pipeline_status){
		.program = slash != NULL ? slash + 1 : program->words[0], .exit_code = -1};
	buf_init(&status->complaints, COMPLAINTS_LEN_MAX);
	int complaints = pipeline_output(pipeline, &status->complaints);
	pipeline->sources[pipeline->source_count - 1].program = status->program;
	(void)fflush(stdout);
	pid_t pid = or_exit(fork(), "a process for a program of the line");
	if (pid == 0)
		exec_program(program, complaints);
	pipeline->pids[pipeline->count++] = pid;
	pipeline->waits_for_people |= program->input == 0 && program->has_our_input;
	close(complaints);
	if (program->input != 0)
		close(program->input);
	if (program->output != 0)
		close(program->output);
	for (size_t i = 0; i < program->kept_count; i++)
		close(program->kept[i]);
}

/* ---- waiting ---- */

static void end_source(struct pipeline_source *source)
{
	close(source->fd);
	source->fd = -1;
}

static bool read_source(struct pipeline *pipeline, struct pipeline_source *source)
{
	size_t room_len = source->into->max - buf_len(source->into);
	uint8_t *room = buf_reserve(source->into, room_len < READ_LEN ? room_len : READ_LEN);
	if (room_len == 0 || room == NULL) {
		pipeline->problem = xasprintf("%s writes more than %zu bytes",
			source->program != NULL ? source->program : "a program of the line",
			source->into->max);
		return false;
	}
	ssize_t got = read(source->fd, room, room_len < READ_LEN ? room_len : READ_LEN);
	pipeline->read_len += got > 0 ? (size_t)got : 0;
	if (got > 0)
		buf_commit(source->into, (size_t)got);
	else if (got == 0 || (errno != EINTR && errno != EAGAIN))
		end_source(source);
	return true;
}

/* If the program has ended; `options` of waitpid(). */
static void take_status(struct pipeline *pipeline, size_t index, int options)
{
	int how = 0;
	struct pipeline_status *status = &pipeline->statuses[index];
	if (pipeline->pids[index] == 0 || waitpid(pipeline->pids[index], &how, options) == 0)
		return;
	pipeline->pids[index] = 0;
	if (WIFEXITED(how))
		status->exit_code = WEXITSTATUS(how);
	else if (WIFSIGNALED(how))
		status->signal = WTERMSIG(how);
}

static void take_ended(struct pipeline *pipeline)
{
	struct signalfd_siginfo ended;
	while (read(pipeline->ends, &ended, sizeof(ended)) > 0)
		;
	for (size_t i = 0; i < pipeline->count; i++)
		take_status(pipeline, i, WNOHANG);
}

/* The sources (poll() ignores closed ones), then the pidfds of the programs. False: nothing is left to wait for. */
static bool list_all(const struct pipeline *pipeline, struct pollfd *list, size_t *ret_count)
{
	bool is_any = false;
	size_t count = 0;
	for (size_t i = 0; i < pipeline->source_count; i++) {
		is_any |= pipeline->sources[i].fd >= 0;
		list[count++] = (struct pollfd){.fd = pipeline->sources[i].fd, .events = POLLIN};
	}
	for (size_t i = 0; i < pipeline->count; i++)
		is_any |= pipeline->pids[i] != 0;
	list[count++] = (struct pollfd){.fd = pipeline->ends, .events = POLLIN};
	*ret_count = count;
	return is_any;
}

static bool turn(struct pipeline *pipeline)
{
	struct pollfd list[PIPELINE_OUTPUTS_MAX + 1];
	size_t count = 0;
	if (!list_all(pipeline, list, &count))
		return false;
	int ready = poll(list, count, TICK_MS);
	double now_s = clock_monotonic_s();
	pipeline->heard_s = ready != 0 ? now_s : pipeline->heard_s;
	/* Who types manifests is not told that nothing has come. */
	if (pipeline->read_len != 0 || !pipeline->waits_for_people)
		progress_tell(&pipeline->progress, pipeline->read_len / BYTES_PER_KB, 0);
	if (!pipeline->waits_for_people && now_s - pipeline->heard_s > PIPELINE_SILENCE_MAX_S) {
		pipeline->problem = xasprintf("the programs of the line have said nothing for %d "
					      "seconds, and were ended",
			PIPELINE_SILENCE_MAX_S);
		return false;
	}
	for (size_t i = 0; i < pipeline->source_count && ready > 0; i++) {
		if (list[i].revents != 0 && !read_source(pipeline, &pipeline->sources[i]))
			return false;
	}
	if (ready > 0 && list[count - 1].revents != 0)
		take_ended(pipeline);
	return true;
}

char *pipeline_wait(struct pipeline *pipeline)
{
	pipeline->heard_s = clock_monotonic_s();
	progress_begin(&pipeline->progress, "KB of answers of the line's programs");
	while (turn(pipeline))
		;
	progress_end(&pipeline->progress);
	char *problem = pipeline->problem;
	pipeline->problem = NULL;
	return problem;
}

void pipeline_fini(struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->source_count; i++) {
		if (pipeline->sources[i].fd >= 0)
			end_source(&pipeline->sources[i]);
	}
	for (size_t i = 0; i < pipeline->count; i++) {
		if (pipeline->pids[i] != 0)
			kill(pipeline->pids[i], SIGKILL);
		take_status(pipeline, i, 0);
		buf_fini(&pipeline->statuses[i].complaints);
	}
	close(pipeline->ends);
	free(pipeline->problem);
}

const struct pipeline_status *pipeline_status(const struct pipeline *pipeline, size_t index)
{
	must(index < pipeline->count);
	return &pipeline->statuses[index];
}
