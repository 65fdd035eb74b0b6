// SPDX-License-Identifier: Apache-2.0
/* A proxy that writes without end, and nobody but the provider who takes it away. */
#include "provider-proxy/proxy_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { PIECE_LEN = 64 * 1024, FLOOD_LEN = 64 * 1024 * 1024 };

static char dir[] = "/tmp/sluice-proxy-log-XXXXXX";

static void a_flood_does_not_fill_the_memory(void **state)
{
	static const char *const names[] = {"proxy.log", "nginx.log"};
	static char piece[PIECE_LEN];
	struct ev_loop *loop = ev_default_loop(0);
	(void)state;
	memset(piece, 'x', sizeof(piece));
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < 2; i++) {
		char path[64];
		struct stat st;
		off_t left = 0;
		off_t former = 0;
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		struct proxy_log *log = proxy_log_new(loop, dir);
		for (size_t written = 0; written < FLOOD_LEN; written += PIECE_LEN) {
			assert_int_equal(write(fd, piece, PIECE_LEN), PIECE_LEN);
			assert_int_equal(fstat(fd, &st), 0);
			/* However slow this machine is: it is emptied before the proxy goes on. */
			while (st.st_size > 2 * PROXY_LOG_LEN_MAX) {
				ev_run(loop, EVRUN_ONCE);
				assert_int_equal(fstat(fd, &st), 0);
			}
			left += st.st_size < former;
			former = st.st_size;
		}
		assert_true(left >= FLOOD_LEN / (2 * PROXY_LOG_LEN_MAX) - 1);
		proxy_log_free(log);
		close(fd);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_flood_does_not_fill_the_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
