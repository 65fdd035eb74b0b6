// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/predecessor.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "provider-supervisor/kind.h"
#include "provider-supervisor/log_events.h"
#include "provider-supervisor/processes.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATIENCE_MS = 1000 };

static bool is_our_user(pid_t pid)
{
	struct stat st;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) == 0 && st.st_uid == geteuid();
}

static bool is_predecessor(const struct process *process, const void *ctx)
{
	struct buf words;
	bool is_it = false;
	if (process->pid == getpid() || !process_is_called(process, "sluice-proxy") ||
		!is_our_user(process->pid))
		return false;
	buf_init(&words, PROCESSES_WORDS_LEN_MAX);
	if (process_read_words(process->pid, &words)) {
		const char *dir =
			kind_word_behind(buf_str(&words).p, buf_len(&words), "--state-dir");
		is_it = dir != NULL && strcmp(dir, ctx) == 0;
	}
	buf_fini(&words);
	return is_it;
}

static void end(const struct process *process)
{
	struct process now;
	int pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	if (pidfd < 0)
		return;
	log_event(&EV_PREDECESSOR, LOG_INT("pid", process->pid));
	(void)process_signal(process, SIGUSR1);
	/* One that drains waits for its proxy to end, as the pid file notes; a stopped one would resume later. */
	if (poll(&ended, 1, PATIENCE_MS) == 0 && process_read(process->pid, &now) &&
		now.state == 'T')
		(void)process_signal(process, SIGKILL);
	close(pidfd);
}

void predecessor_end(const char *state_dir)
{
	size_t count = 0;
	struct process *list = processes_list(is_predecessor, state_dir, &count);
	for (size_t i = 0; i < count; i++)
		end(&list[i]);
	free(list);
}
