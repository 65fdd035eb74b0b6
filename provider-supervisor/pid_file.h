// SPDX-License-Identifier: Apache-2.0
/* Who runs, for the next life of this process: "PID STARTED", and " ending" behind it when it has been told to end. */
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
/* It is there for who comes after us: when it cannot be written, the proxy is found in other ways. */
void pid_file_write(const char *path, const struct pid_file *content);
