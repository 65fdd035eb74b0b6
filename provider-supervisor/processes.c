// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/processes.h"

#include "common/descriptors.h"
#include "common/files.h"
#include "common/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STAT_LEN_MAX = 32 * 1024 };

/* "PID (NAME) STATE PARENT GROUP SESSION ... STARTED", proc(5); the name may contain anything. */
static bool read_fields(const char *text, struct process *process)
{
	const char *name = strchr(text, '(');
	const char *rest = strrchr(text, ')');
	if (name == NULL || rest == NULL || rest < name || strlen(rest) < 4)
		return false;
	snprintf(process->name, sizeof(process->name), "%.*s", (int)(rest - name - 1), name + 1);
	process->state = rest[2];
	for (int field = 3; field <= 22; field++) {
		rest = strchr(rest + 1, ' ');
		if (rest == NULL)
			return false;
		unsigned long long value = strtoull(rest + 1, NULL, 10);
		if (field == 4)
			process->parent = (pid_t)value;
		else if (field == 6)
			process->session = (pid_t)value;
		else if (field == 22)
			process->started = value;
	}
	return process->started != 0;
}

bool process_read(pid_t pid, struct process *ret_process)
{
	struct process process = {.pid = pid};
	struct buf stat;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	buf_init(&stat, STAT_LEN_MAX);
	bool is_there = files_read(path, &stat) == 0 && buf_append(&stat, "", 1) == 0 &&
			read_fields(buf_str(&stat).p, &process) && process.state != 'Z' &&
			process.state != 'X';
	buf_fini(&stat);
	if (is_there)
		*ret_process = process;
	return is_there;
}

bool process_read_words(pid_t pid, struct buf *words)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	buf_clear(words);
	return files_read(path, words) == 0 && buf_append(words, "", 1) == 0;
}

bool process_is_called(const struct process *process, const char *name)
{
	return strncmp(process->name, name, sizeof(process->name) - 1) == 0;
}

struct process *processes_list(bool (*is_wanted)(const struct process *process, const void *ctx),
	const void *ctx, size_t *ret_count)
{
	struct process *list = NULL;
	size_t count = 0;
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	/* Nobody must be taken for ended because of that. */
	if (folder == NULL)
		descriptors_check(errno);
	while (folder != NULL && count < PROCESSES_MAX && (entry = readdir(folder)) != NULL) {
		struct process process;
		long pid = strtol(entry->d_name, NULL, 10);
		if (pid <= 1 || !process_read((pid_t)pid, &process) || !is_wanted(&process, ctx))
			continue;
		list = xreallocarray(list, count + 1, sizeof(*list));
		list[count++] = process;
	}
	if (folder != NULL)
		closedir(folder);
	*ret_count = count;
	return list;
}

int process_signal(const struct process *process, int signal)
{
	struct process now;
	int err = -ESRCH;
	int pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	/* The pid may have been reused before it was opened. */
	if (pidfd >= 0 && process_read(process->pid, &now) && now.started == process->started)
		err = syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0 ? 0 : -errno;
	if (pidfd >= 0)
		close(pidfd);
	return err;
}
