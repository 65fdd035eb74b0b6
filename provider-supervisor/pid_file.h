// SPDX-License-Identifier: Apache-2.0
/* Which proxy runs, for our successor: "PID STARTED", followed by " ending" when it has been told to end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pid_file {
	pid_t pid;        /* 0: none is named */
	uint64_t started; /* in clock ticks since the boot */
	bool is_ending;
};

struct pid_file pid_file_read(const char *path);
/* Failures are ignored: without the file, our successor finds the proxy in other ways. */
void pid_file_write(const char *path, const struct pid_file *content);
