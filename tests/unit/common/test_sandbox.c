// SPDX-License-Identifier: Apache-2.0
/* An attacker in the sandbox: a child enters it, tries something, and tells by its exit code how that ended. */
#include "common/sandbox.h"

#include "common/landlock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
static const bool is_instrumented = true;
#else
static const bool is_instrumented = false;
#endif

static char folder[PATH_MAX];
static char inside[PATH_MAX];
static char outside[PATH_MAX];

/* 0, or the errno of a failure. */
typedef int attempt_fn(void);

static int result(int outcome)
{
	return outcome < 0 ? errno : 0;
}

static int read_inside(void)
{
	return result(open(inside, O_RDONLY | O_CLOEXEC));
}

static int read_outside(void)
{
	return result(open(outside, O_RDONLY | O_CLOEXEC));
}

static int write_inside(void)
{
	return result(open(inside, O_WRONLY | O_CLOEXEC));
}

static int make_inside(void)
{
	char path[PATH_MAX + 8];
	snprintf(path, sizeof(path), "%s.new", inside);
	int outcome = result(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	unlink(path);
	return outcome;
}

static int make_unix_socket(void)
{
	return result(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int make_tcp_socket(void)
{
	return result(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int make_raw_socket(void)
{
	return result(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int listen_tcp(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return fd < 0 ? errno : result(bind(fd, (struct sockaddr *)&address, sizeof(address)));
}

static int start_program(void)
{
	char name[] = "true";
	char *const argv[] = {name, NULL};
	execv("/bin/true", argv);
	return errno;
}

static int make_process(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return pid < 0 ? errno : 0;
}

static void *do_nothing(void *ctx)
{
	return ctx;
}

static int make_thread(void)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, do_nothing, NULL);
	if (err == 0)
		pthread_join(thread, NULL);
	return err;
}

static int signal_parent(void)
{
	return result(kill(getppid(), 0));
}

/* Of oneself, which is the process that one may look into in any case. */
static int take_descriptor(void)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	return pidfd < 0 ? errno : result((int)syscall(SYS_pidfd_getfd, pidfd, 2, 0));
}

static int take_descriptor_as_a_proxy(void)
{
	sandbox_forbid_descriptors();
	return take_descriptor();
}

static int trace_parent(void)
{
	return result((int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int make_code(void)
{
	void *page = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page == MAP_FAILED ? errno : 0;
}

static int turn_data_to_code(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page == MAP_FAILED ? -1 : result(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}

static int leave_namespace(void)
{
	return result(unshare(CLONE_NEWUSER));
}

static int allocate(void)
{
	char *big = malloc((size_t)8 * 1024 * 1024);
	if (big == NULL)
		return errno;
	memset(big, 1, (size_t)8 * 1024 * 1024);
	free(big);
	return 0;
}

enum { NO = 1, YES = 2, AS_OUTSIDE = 3 };

/* In which sandbox what works. */
static const struct {
	const char *name;
	attempt_fn *attempt;
	int nothing;  /* as the translator */
	int network;  /* as the watcher and provider-rancher */
	int programs; /* as the providers of proxies on this machine */
} attempts[] = {
	{"use memory", allocate, YES, YES, YES},
	{"read what was allowed", read_inside, NO, YES, YES},
	{"read another file", read_outside, NO, NO, NO},
	{"write what may be read", write_inside, NO, NO, NO},
	{"make a file", make_inside, NO, NO, NO},
	{"a Unix socket", make_unix_socket, NO, YES, YES},
	{"a TCP socket", make_tcp_socket, NO, YES, YES},
	{"a raw socket", make_raw_socket, NO, NO, AS_OUTSIDE},
	{"listen for TCP", listen_tcp, NO, NO, YES},
	{"start a program", start_program, NO, NO, YES},
	{"a process", make_process, NO, NO, YES},
	{"a thread", make_thread, NO, YES, YES},
	{"signal another process", signal_parent, NO, NO, YES},
	{"trace another process", trace_parent, NO, NO, NO},
	{"take a descriptor of a process", take_descriptor, NO, NO, NO},
	{"memory that is written and executed", make_code, NO, NO, YES},
	{"data that becomes code", turn_data_to_code, NO, NO, YES},
	{"another namespace", leave_namespace, NO, NO, NO},
};

static struct sandbox *make_sandbox(unsigned needs)
{
	struct sandbox *sandbox = sandbox_new(needs);
	sandbox_allow_read_beside(sandbox, inside);
	return sandbox;
}

/* A number over 200: the sandbox itself was not entered. */
static int try_in_sandbox(unsigned needs, attempt_fn *attempt)
{
	int status = 0;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct sandbox_outcome outcome;
		char *problem = sandbox_enter(make_sandbox(needs), SANDBOX_REQUIRE, &outcome);
		if (problem != NULL) {
			fprintf(stderr, "%s\n", problem);
			_exit(201);
		}
		_exit(attempt());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) < 200);
	return WEXITSTATUS(status);
}

static void check(const char *sandbox, const char *what, int want, int got)
{
	if (want != AS_OUTSIDE && (want == YES) != (got == 0))
		fail_msg("in the sandbox for %s: %s: %s", sandbox, what,
			got == 0 ? "is possible" : strerror(got));
}

static void test_what_an_attacker_can(void **state)
{
	const unsigned network = SANDBOX_NEIGHBOURS | SANDBOX_NETWORK;
	(void)state;
	if (is_instrumented || landlock_version() == 0)
		skip(); /* a sanitizer wants what the sandbox takes; or this kernel cannot confine files */
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		attempt_fn *attempt = attempts[i].attempt;
		check("nothing", attempts[i].name, attempts[i].nothing, try_in_sandbox(0, attempt));
		check("the network", attempts[i].name, attempts[i].network,
			try_in_sandbox(network, attempt));
		check("programs", attempts[i].name, attempts[i].programs,
			try_in_sandbox(network | SANDBOX_PROGRAMS, attempt));
	}
}

static void test_descriptors(void **state)
{
	const unsigned needs = SANDBOX_PROGRAMS | SANDBOX_DESCRIPTORS;
	(void)state;
	if (is_instrumented || landlock_version() == 0)
		skip(); /* a sanitizer wants what the sandbox takes; or this kernel cannot confine files */
	assert_int_equal(try_in_sandbox(needs, take_descriptor), 0);
	assert_int_equal(try_in_sandbox(needs, take_descriptor_as_a_proxy), EPERM);
}

/* Each attempt but those on other processes works outside, so what fails above fails because of the sandbox. */
static void test_without_a_sandbox(void **state)
{
	static attempt_fn *const possible[] = {allocate, read_inside, read_outside, write_inside,
		make_inside, make_unix_socket, make_tcp_socket, listen_tcp, make_process,
		make_thread, signal_parent, take_descriptor, make_code, turn_data_to_code};
	(void)state;
	for (size_t i = 0; i < sizeof(possible) / sizeof(possible[0]); i++)
		assert_int_equal(possible[i](), 0);
}

static void test_off(void **state)
{
	struct sandbox_outcome outcome;
	(void)state;
	assert_null(sandbox_enter(make_sandbox(0), SANDBOX_OFF, &outcome));
	assert_string_equal(outcome.files, "off");
	assert_int_equal(read_outside(), 0);
}

static void make_file(char *path, const char *name)
{
	snprintf(path, PATH_MAX, "%.4000s/%s", folder, name);
	mkdir(path, 0700);
	strncat(path, "/file", PATH_MAX - strlen(path) - 1);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void remove_file(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/sluice-sandbox-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	make_file(inside, "inside");
	make_file(outside, "outside");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	remove_file(inside);
	remove_file(outside);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_sandbox),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_what_an_attacker_can),
		cmocka_unit_test(test_descriptors),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
