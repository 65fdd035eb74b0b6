// SPDX-License-Identifier: Apache-2.0
/*
 * Programs joined by pipes, and what they write: each has what it needs and no other descriptor. What is read has a limit, and all of it an end: who is silent for
 * too long is killed.
 */
#pragma once

#include "common/buf.h"
#include "sluicectl/progress.h"

#include <stdbool.h>
#include <sys/types.h>

enum {
	PIPELINE_PROGRAMS_MAX = 3,
	PIPELINE_OUTPUTS_MAX = PIPELINE_PROGRAMS_MAX + 5,
	PIPELINE_KEPT_MAX = 3,
	PIPELINE_PATH_LEN = 32,
	PIPELINE_SILENCE_MAX_S = 300,
};

struct pipeline_program {
	char *const *words; /* words[0] is the path; ends in NULL */
	int input;          /* 0: our standard input, or nothing to read */
	int output;         /* 0: dropped */
	bool has_our_input; /* with input 0 */
	/* Descriptors that it finds under their numbers, see pipeline_path(). */
	int kept[PIPELINE_KEPT_MAX];
	size_t kept_count;
};

struct pipeline_status {
	const char *program; /* its name, a view of its path */
	int exit_code;       /* -1: a signal ended it, or it could not be started */
	int signal;
	struct buf complaints; /* of its standard error */
};

struct pipeline_source {
	int fd; /* negative: it has ended */
	struct buf *into;
	const char *program; /* NULL: not known */
};

struct pipeline {
	struct pipeline_status statuses[PIPELINE_PROGRAMS_MAX];
	pid_t pids[PIPELINE_PROGRAMS_MAX]; /* 0: it has ended */
	int ends;                          /* signalfd(2) of SIGCHLD */
	size_t count;
	struct pipeline_source sources[PIPELINE_OUTPUTS_MAX];
	size_t source_count;
	bool waits_for_people; /* somebody types: there is no hurry */
	double heard_s;        /* when something was heard last */
	size_t read_len;       /* of all outputs */
	struct progress progress;
	char *problem;
};

void pipeline_init(struct pipeline *pipeline);
/* Kills what still runs. */
void pipeline_fini(struct pipeline *pipeline);

/* The end of a pipe to be given to programs, whose bytes are appended to `into`. All ends and files belong to the pipeline once a program is started with them. */
int pipeline_output(struct pipeline *pipeline, struct buf *into);
/* A pipe from one program to the next. */
void pipeline_join(int *ret_output, int *ret_input);
/* A file in memory. */
int pipeline_file(struct str content);
/* Where a program finds a descriptor that is kept for it. */
void pipeline_path(int fd, char path[static PIPELINE_PATH_LEN]);

void pipeline_start(struct pipeline *pipeline, const struct pipeline_program *program);
/* Until all have ended. NULL, or why they were not waited for (allocated). */
char *pipeline_wait(struct pipeline *pipeline);
const struct pipeline_status *pipeline_status(const struct pipeline *pipeline, size_t index);
