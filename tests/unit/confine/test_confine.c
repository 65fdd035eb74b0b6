// SPDX-License-Identifier: Apache-2.0
/*
 * Somebody has taken a process over. A child stands for it: it enters that process's sandbox, and tries to get at the credentials,
 * files and processes of the others, and at its own.
 */
#include "common/landlock.h"
#include "provider-common/filter_folder.h"
#include "provider-proxy/confine.h"
#include "provider-rancher/confine.h"
#include "translator/confine.h"
#include "watcher/confine.h"
#include "watcher/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* ---- what there is to get at ---- */

static char root[] = "/tmp/sluice-confine-XXXXXX";
static const char *const folders[] = {"kubernetes", "rancher", "haproxy-state", "haproxy-run",
	"nginx-state", "nginx-run", "run", "rendered", "elsewhere"};
enum { FOLDER_COUNT = sizeof(folders) / sizeof(folders[0]) };

static char *path_of(char *path, const char *folder, const char *file)
{
	snprintf(path, PATH_MAX, "%.64s/%.64s/%.64s", root, folder, file);
	return path;
}

static struct sockaddr_un neighbour;
static int neighbour_fd = -1;
static struct sockaddr_in server;
static int server_fd = -1;
static pid_t victim;

/* ---- whom it happens to ---- */

static struct sandbox *take_watcher(void)
{
	char token[PATH_MAX];
	struct target target = {.token_file = path_of(token, "kubernetes", "token")};
	return confine_watcher(&target);
}

static struct sandbox *take_rancher(void)
{
	char key[PATH_MAX];
	struct config config = {.secret_key_file = path_of(key, "rancher", "token")};
	return confine_provider(&config);
}

static struct sandbox *take_local(const char *state, const char *proxy)
{
	char state_dir[PATH_MAX];
	char proxy_dir[PATH_MAX];
	char runtime_dir[PATH_MAX];
	const struct confine_paths paths = {
		.state_dir = path_of(state_dir, state, ""),
		.proxy_dir = path_of(proxy_dir, proxy, ""),
		.runtime_dir = path_of(runtime_dir, "run", ""),
		.supervisor = "sluice-proxy",
		.proxy = {"proxy"},
	};
	return confine_local(&paths);
}

static struct sandbox *take_haproxy(void)
{
	return take_local("haproxy-state", "haproxy-run");
}

static struct sandbox *take_nginx(void)
{
	return take_local("nginx-state", "nginx-run");
}

/* A provider as a filter, whose folder was not there. */
static struct sandbox *take_renderer(void)
{
	char path[PATH_MAX];
	char made[PATH_MAX];
	struct filter_folder folder = {
		.path = path_of(path, "rendered", ""), .made = path_of(made, "rendered", "made")};
	return filter_folder_confine(&folder);
}

/* ---- what is tried: 0, or the errno of a failure ---- */

static int read_in(const char *folder)
{
	char path[PATH_MAX];
	return open(path_of(path, folder, "token"), O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
}

static int write_in(const char *folder)
{
	char path[PATH_MAX];
	int fd = open(path_of(path, folder, "new"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	unlink(path);
	return 0;
}

static int make_folder_in(const char *folder)
{
	char path[PATH_MAX];
	if (mkdir(path_of(path, folder, "folder"), 0700) != 0)
		return errno;
	rmdir(path);
	return 0;
}

static int connect_to(int family, const void *address, socklen_t len)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd < 0 || connect(fd, address, len) != 0 ? errno : 0;
}

static int call_server(const char *unused)
{
	return connect_to(AF_INET, &server, sizeof(server));
}

static int call_neighbour(const char *unused)
{
	return connect_to(AF_UNIX, &neighbour, sizeof(neighbour));
}

static int start_shell(const char *unused)
{
	execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
	return errno;
}

static int trace_victim(const char *unused)
{
	return ptrace(PTRACE_ATTACH, victim, NULL, NULL) < 0 ? errno : 0;
}

static int read_memory_of_victim(const char *unused)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)victim);
	return open(path, O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
}

static int read_environment_of_victim(const char *unused)
{
	char path[64];
	char byte = 0;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)victim);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || read(fd, &byte, 1) != 1 ? errno : 0;
}

static int mount_something(const char *unused)
{
	return syscall(SYS_unshare, 0x00020000 /* CLONE_NEWNS */) < 0 ? errno : 0;
}

enum {
	WATCHER = 1,
	TRANSLATOR = 2,
	RANCHER = 4,
	HAPROXY = 8,
	NGINX = 16,
	MANIFESTS = 32, /* the watcher as a filter */
	RENDERER = 64,  /* a provider as a filter */
	NOBODY = 0
};

static const struct {
	int who;
	const char *name;
	struct sandbox *(*take)(void);
} processes[] = {
	{WATCHER, "watcher", take_watcher},
	{TRANSLATOR, "translator", confine_translator},
	{RANCHER, "provider-rancher", take_rancher},
	{HAPROXY, "provider-haproxy", take_haproxy},
	{NGINX, "provider-nginx", take_nginx},
	{MANIFESTS, "the watcher as a filter", confine_filter},
	{RENDERER, "a provider as a filter", take_renderer},
};

static const struct {
	const char *what;
	int (*attempt)(const char *argument);
	const char *argument;
	int by; /* those that can, for it is their trade */
} attempts[] = {
	{"read the Kubernetes token", read_in, "kubernetes", WATCHER},
	{"read Rancher's keys", read_in, "rancher", RANCHER},
	{"read HAProxy's certificates", read_in, "haproxy-state", HAPROXY},
	{"read nginx's certificates", read_in, "nginx-state", NGINX},
	{"read somebody's files", read_in, "elsewhere", NOBODY},
	{"replace the Kubernetes token", write_in, "kubernetes", NOBODY},
	{"write HAProxy's state", write_in, "haproxy-state", HAPROXY},
	{"write nginx's state", write_in, "nginx-state", NGINX},
	{"put something among HAProxy's sockets", write_in, "haproxy-run", HAPROXY},
	{"put something among nginx's sockets", write_in, "nginx-run", NGINX},
	{"put something among the sockets", write_in, "run", NOBODY},
	{"write what is rendered", write_in, "rendered", RENDERER},
	{"make a folder in what is rendered", make_folder_in, "rendered", RENDERER},
	{"make a folder somewhere else", make_folder_in, "elsewhere", NOBODY},
	{"write somewhere else", write_in, "elsewhere", NOBODY},
	{"call a server", call_server, NULL, WATCHER | RANCHER | HAPROXY | NGINX},
	{"call a neighbour", call_neighbour, NULL, WATCHER | RANCHER | HAPROXY | NGINX},
	{"start a shell", start_shell, NULL, HAPROXY | NGINX},
	{"trace another process", trace_victim, NULL, NOBODY},
	{"read another process's memory", read_memory_of_victim, NULL, NOBODY},
	/* To know the proxy again they read /proc/PID/stat, and Landlock has no smaller right for that: here it takes a user of one's
	 * own for each process, as the units and images give it. */
	{"read the environment of a process of the same user", read_environment_of_victim, NULL,
		HAPROXY | NGINX},
	{"make a namespace", mount_something, NULL, NOBODY},
};
enum { ATTEMPT_COUNT = sizeof(attempts) / sizeof(attempts[0]) };

static int try_as(struct sandbox *(*take)(void), size_t attempt)
{
	int status = 0;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct sandbox_outcome outcome;
		char *problem = sandbox_enter(take(), SANDBOX_REQUIRE, &outcome);
		_exit(problem != NULL ? 201
				      : attempts[attempt].attempt(attempts[attempt].argument));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) < 200);
	return WEXITSTATUS(status);
}

static void test_what_each_can_reach(void **state)
{
	int bad = 0;
	(void)state;
	if (is_instrumented || landlock_version() == 0)
		skip(); /* a sanitizer wants what the sandbox takes; or this kernel cannot confine files */
	for (size_t p = 0; p < sizeof(processes) / sizeof(processes[0]); p++) {
		for (size_t i = 0; i < ATTEMPT_COUNT; i++) {
			int got = try_as(processes[p].take, i);
			bool want = (attempts[i].by & processes[p].who) != 0;
			if (want == (got == 0))
				continue;
			print_error("%s: %s: %s\n", processes[p].name, attempts[i].what,
				got == 0 ? "is possible" : strerror(got));
			bad++;
		}
	}
	assert_int_equal(bad, 0);
}

/* Without a sandbox all of it is possible that does not depend on who runs the test: what fails above fails because of it. */
static void test_nothing_else_is_in_the_way(void **state)
{
	(void)state;
	for (size_t i = 0; i < FOLDER_COUNT; i++) {
		assert_int_equal(read_in(folders[i]), 0);
		assert_int_equal(write_in(folders[i]), 0);
	}
	assert_int_equal(call_server(NULL), 0);
	assert_int_equal(call_neighbour(NULL), 0);
	assert_int_equal(read_environment_of_victim(NULL), 0);
}

/* No port, no name, no packet: whoever takes the translator over has nothing that leaves the machine, nor a new way to its neighbours. */
static int make_any_socket(void)
{
	static const int families[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, AF_PACKET, AF_VSOCK};
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET};
	int pair[2];
	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
			if (socket(families[f], types[t], 0) >= 0 || errno != EPERM)
				return 1;
		}
	}
	return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 ? 2 : 0;
}

static void test_the_translator_makes_no_socket(void **state)
{
	int status = 0;
	(void)state;
	if (is_instrumented)
		skip(); /* a sanitizer wants what the sandbox takes */
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct sandbox_outcome outcome;
		free(sandbox_enter(confine_translator(), SANDBOX_AUTO, &outcome));
		_exit(strcmp(outcome.calls, "confined") != 0 ? 200 : make_any_socket());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- the scene ---- */

static int listen_at(int family, void *address, socklen_t len)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, address, len), 0);
	assert_int_equal(listen(fd, 128), 0);
	return fd;
}

static void make_folders(void)
{
	char path[PATH_MAX];
	for (size_t i = 0; i < FOLDER_COUNT; i++) {
		assert_int_equal(mkdir(path_of(path, folders[i], ""), 0700), 0);
		int fd = open(
			path_of(path, folders[i], "token"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		close(fd);
	}
}

static int set_up(void **state)
{
	char path[PATH_MAX];
	socklen_t len = sizeof(server);
	(void)state;
	if (mkdtemp(root) == NULL)
		return -1;
	make_folders();
	neighbour.sun_family = AF_UNIX;
	snprintf(neighbour.sun_path, sizeof(neighbour.sun_path), "%.80s",
		path_of(path, "run", "source.sock"));
	neighbour_fd = listen_at(AF_UNIX, &neighbour, sizeof(neighbour));
	server.sin_family = AF_INET;
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server_fd = listen_at(AF_INET, &server, sizeof(server));
	getsockname(server_fd, (struct sockaddr *)&server, &len);
	victim = fork();
	if (victim == 0) {
		pause();
		_exit(0);
	}
	return victim > 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	char path[PATH_MAX];
	(void)state;
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
	close(neighbour_fd);
	close(server_fd);
	unlink(neighbour.sun_path);
	for (size_t i = 0; i < FOLDER_COUNT; i++) {
		unlink(path_of(path, folders[i], "token"));
		rmdir(path_of(path, folders[i], ""));
	}
	return rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_else_is_in_the_way),
		cmocka_unit_test(test_what_each_can_reach),
		cmocka_unit_test(test_the_translator_makes_no_socket),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
