// SPDX-License-Identifier: Apache-2.0
#include "common/process_metrics.h"

#include "common/clock.h"
#include "common/version.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { FDS_STEP = 1024, FDS_MAX = 1024 * 1024 };

struct metric common_metrics[COMMON_METRIC_COUNT] = {
#define METRIC METRIC_DEFINE
#include "common/metrics.def"
#undef METRIC
};

static int statm = -1;

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void collect_memory(void)
{
	char text[128] = "";
	char *rest = text;
	double page = (double)sysconf(_SC_PAGESIZE);
	if (statm < 0 || pread(statm, text, sizeof(text) - 1, 0) <= 0)
		return;
	/* The first two numbers of statm. */
	double size = (double)strtoul(rest, &rest, 10);
	double resident = (double)strtoul(rest, &rest, 10);
	metric_set(&common_metrics[METRIC_VIRTUAL], 0, size * page);
	metric_set(&common_metrics[METRIC_RESIDENT], 0, resident * page);
}

/* Counts the open ones among the FDS_STEP descriptors from `first` on. */
static unsigned count_open(int first)
{
	struct pollfd fds[FDS_STEP];
	unsigned count = 0;
	for (int i = 0; i < FDS_STEP; i++)
		fds[i] = (struct pollfd){.fd = first + i};
	if (poll(fds, FDS_STEP, 0) < 0)
		return 0;
	for (int i = 0; i < FDS_STEP; i++)
		count += (fds[i].revents & POLLNVAL) == 0;
	return count;
}

/* Without /proc, which a confined process may not read. The lowest free number is always used first, so a gap of FDS_STEP is the end. */
static void collect_descriptors(void)
{
	struct rlimit limit;
	unsigned count = 0;
	unsigned open = 0;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	for (int first = 0;
		first + FDS_STEP <= FDS_MAX && (rlim_t)first + FDS_STEP <= limit.rlim_cur &&
		(open = count_open(first)) != 0;
		first += FDS_STEP)
		count += open;
	if (count != 0)
		metric_set(&common_metrics[METRIC_OPEN_FDS], 0, count);
	metric_set(&common_metrics[METRIC_MAX_FDS], 0, (double)limit.rlim_cur);
}

static void collect(void *ctx)
{
	struct rusage usage;
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		metric_set(&common_metrics[METRIC_CPU], 0,
			seconds(usage.ru_utime) + seconds(usage.ru_stime));
	collect_memory();
	collect_descriptors();
}

void process_metrics_start(void)
{
	statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	metric_set(&common_metrics[METRIC_BUILD], 0, 1);
	metric_set(&common_metrics[METRIC_START], 0, (double)clock_wall_s());
	metrics_add(common_metrics, COMMON_METRIC_COUNT);
	metrics_collect_with(collect, NULL);
}

void process_metrics_stop(void)
{
	if (statm >= 0)
		close(statm);
	statm = -1;
}
