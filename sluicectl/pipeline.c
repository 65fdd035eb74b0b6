// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/pipeline.h"

#include "common/clock.h"
#include "common/must.h"
#include "common/signals.h"
#include "common/xalloc.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ_LEN = 64 * 1024, COMPLAINTS_LEN_MAX = 256 * 1024, EXIT_NOT_STARTED = 127 };

void pipeline_init(struct pipeline *pipeline)
{
	*pipeline = (struct pipeline){.count = 0};
}

/* Without descriptors nothing can be done here. */
static void make_pipe(int ends[2])
{
	must(pipe2(ends, O_CLOEXEC) == 0);
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
	int fd = memfd_create("frames", MFD_CLOEXEC);
	must(fd >= 0);
	while (content.len != 0) {
		ssize_t done = write(fd, content.p, content.len);
		must(done > 0);
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

_Noreturn static void become(const struct pipeline_program *program, int complaints)
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
	pid_t pid = fork();
	must(pid >= 0);
	if (pid == 0)
		become(program, complaints);
	pipeline->pids[pipeline->count] = pid;
	pipeline->handles[pipeline->count] = pidfd_open(pid, 0);
	must(pipeline->handles[pipeline->count] >= 0);
	pipeline->count++;
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
	if (got > 0)
		buf_commit(source->into, (size_t)got);
	else if (got == 0 || (errno != EINTR && errno != EAGAIN))
		end_source(source);
	return true;
}

static void take_status(struct pipeline *pipeline, size_t index)
{
	int how = 0;
	struct pipeline_status *status = &pipeline->statuses[index];
	close(pipeline->handles[index]);
	pipeline->handles[index] = -1;
	if (waitpid(pipeline->pids[index], &how, 0) < 0)
		return;
	if (WIFEXITED(how))
		status->exit_code = WEXITSTATUS(how);
	else if (WIFSIGNALED(how))
		status->signal = WTERMSIG(how);
}

/* Sources first, then the programs; those that have ended are passed over by poll(). */
static size_t list_all(const struct pipeline *pipeline, struct pollfd *list, bool *ret_is_any)
{
	size_t count = 0;
	*ret_is_any = false;
	for (size_t i = 0; i < pipeline->source_count; i++)
		list[count++] = (struct pollfd){.fd = pipeline->sources[i].fd, .events = POLLIN};
	for (size_t i = 0; i < pipeline->count; i++)
		list[count++] = (struct pollfd){.fd = pipeline->handles[i], .events = POLLIN};
	for (size_t i = 0; i < count; i++)
		*ret_is_any |= list[i].fd >= 0;
	return count;
}

static bool turn(struct pipeline *pipeline)
{
	struct pollfd list[PIPELINE_OUTPUTS_MAX + PIPELINE_PROGRAMS_MAX];
	bool is_any = false;
	size_t count = list_all(pipeline, list, &is_any);
	if (!is_any)
		return false;
	int ready =
		poll(list, count, pipeline->waits_for_people ? -1 : PIPELINE_SILENCE_MAX_S * 1000);
	if (ready == 0) {
		pipeline->problem = xasprintf("the programs of the line have said nothing for %d "
					      "seconds, and were ended",
			PIPELINE_SILENCE_MAX_S);
		return false;
	}
	for (size_t i = 0; i < pipeline->source_count && ready > 0; i++) {
		if (list[i].revents != 0 && !read_source(pipeline, &pipeline->sources[i]))
			return false;
	}
	for (size_t i = 0; i < pipeline->count && ready > 0; i++) {
		if (list[pipeline->source_count + i].revents != 0)
			take_status(pipeline, i);
	}
	return true;
}

char *pipeline_wait(struct pipeline *pipeline)
{
	while (turn(pipeline))
		;
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
		if (pipeline->handles[i] >= 0) {
			kill(pipeline->pids[i], SIGKILL);
			take_status(pipeline, i);
		}
		buf_fini(&pipeline->statuses[i].complaints);
	}
	free(pipeline->problem);
}

const struct pipeline_status *pipeline_status(const struct pipeline *pipeline, size_t index)
{
	must(index < pipeline->count);
	return &pipeline->statuses[index];
}
