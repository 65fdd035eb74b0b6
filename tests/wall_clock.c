// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded into a program (LD_PRELOAD), this moves its wall clock, and no other clock, while it runs: by as many seconds as stand, as a
 * 64-bit number of this machine, in the file that $WALL_CLOCK names. Whoever writes there makes the clock jump.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *offset;

/* Before main(), and so before a sandbox. */
[[gnu::constructor]] static void open_offset(void)
{
	const char *name = getenv("WALL_CLOCK");
	int fd = name != NULL ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *place = mmap(NULL, sizeof(*offset), PROT_READ, MAP_SHARED, fd, 0);
	offset = place != MAP_FAILED ? place : NULL;
	(void)close(fd);
}

static time_t offset_s(void)
{
	return offset != NULL ? (time_t)*offset : 0;
}

[[gnu::visibility("default")]] int clock_gettime(clockid_t id, struct timespec *now)
{
	int err = (int)syscall(SYS_clock_gettime, id, now);
	if (err == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		now->tv_sec += offset_s();
	return err;
}

[[gnu::visibility("default")]] int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	int err = (int)syscall(SYS_gettimeofday, now, zone);
	if (err == 0)
		now->tv_sec += offset_s();
	return err;
}

[[gnu::visibility("default")]] time_t time(time_t *place)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (place != NULL)
		*place = now.tv_sec;
	return now.tv_sec;
}
