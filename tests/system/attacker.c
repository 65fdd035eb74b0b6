// SPDX-License-Identifier: Apache-2.0
// Takes the place of a process of the line, with its rights, and tries what each argument names. For each it prints "reached ARGUMENT" or
// "blocked ARGUMENT: why", then "done", and goes on running. It needs no shared library, so that it runs in every image.
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_MS 2000

// Attempts return whether they got what they wanted; if not, errno says why.
typedef bool attempt(const char *value);

static bool try_read(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	ssize_t n = read(fd, &byte, 1);
	int why = n == 0 ? ENODATA : errno;
	close(fd);
	errno = why;
	return n == 1;
}

static bool try_list(const char *path)
{
	DIR *folder = opendir(path);
	if (!folder)
		return false;
	closedir(folder);
	return true;
}

static bool try_write(const char *folder)
{
	char path[512];
	snprintf(path, sizeof path, "%s/attacker-%d", folder, (int)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd == -1)
		return false;
	close(fd);
	unlink(path);
	return true;
}

static int connect_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1 || connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	int why = errno;
	close(fd);
	errno = why;
	return -1;
}

// Connected, and not sent away by the peer.
static bool try_connect(const char *path)
{
	int fd = connect_unix(path);
	if (fd == -1)
		return false;
	// The length of a frame, then an array of two, the type first: "bye" says that we are not let in (proto/PROTOCOL.md).
	char head[4 + 1 + 4];
	static const char bye[] = "\x92\xa3"
				  "bye";
	struct pollfd poller = {.fd = fd, .events = POLLIN};
	struct timeval patience = {.tv_sec = 10};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	// A peer that says nothing waits for us to speak: we are in.
	bool in = poll(&poller, 1, PATIENCE_MS) == 0 ||
		  (recv(fd, head, sizeof head, MSG_WAITALL) == sizeof head &&
			  memcmp(head + 4, bye, sizeof head - 4) != 0);
	close(fd);
	errno = ECONNRESET;
	return in;
}

// Whether the admin server at a socket answers us.
static bool try_ask(const char *path)
{
	static const char request[] = "GET /healthz HTTP/1.0\r\n\r\n", wanted[] = "HTTP/1.1 200 ";
	char answer[sizeof wanted] = "";
	int fd = connect_unix(path);
	if (fd == -1)
		return false;
	struct timeval patience = {.tv_sec = 10};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	bool told = send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0 &&
		    recv(fd, answer, sizeof wanted - 1, MSG_WAITALL) > 0 && !strcmp(answer, wanted);
	close(fd);
	errno = EACCES;
	return told;
}

static bool try_listen(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return false;
	bool in = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
	int why = errno;
	if (in)
		unlink(path);
	close(fd);
	errno = why;
	return in;
}

// A port of 127.0.0.1.
static bool try_tcp(const char *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return false;
	bool in = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
	int why = errno;
	close(fd);
	errno = why;
	return in;
}

static bool try_family(const char *number)
{
	int family = atoi(number);
	// An ordinary socket of AF_INET, or a raw one of any other family.
	int fd = socket(family, (family == AF_INET ? SOCK_STREAM : SOCK_RAW) | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return false;
	close(fd);
	return true;
}

static bool try_signal(const char *pid)
{
	return kill(atoi(pid), SIGCONT) == 0;
}

static bool try_trace(const char *pid)
{
	return ptrace(PTRACE_SEIZE, atoi(pid), NULL, NULL) == 0;
}

static bool try_see(const char *pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%s/status", pid);
	return try_read(path);
}

static bool try_memory(const char *pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%s/environ", pid);
	return try_read(path);
}

// Rights that other users or only the kernel have.
static bool try_root(const char *how)
{
	if (!strcmp(how, "setuid"))
		return setuid(0) == 0;
	if (!strcmp(how, "namespace"))
		return unshare(CLONE_NEWUSER) == 0;
	if (!strcmp(how, "mount"))
		return mount("none", "/tmp", "tmpfs", 0, NULL) == 0;
	if (!strcmp(how, "hostname"))
		return sethostname("attacker", 8) == 0;
	if (!strcmp(how, "module"))
		return syscall(SYS_init_module, "", 0, "") == 0;
	if (!strcmp(how, "device"))
		return mknod("/tmp/attacker-device", S_IFBLK | 0600, 0) == 0;
	errno = EINVAL;
	return false;
}

// Memory that is first written and then executed.
static bool try_code(const char *unused)
{
	(void)unused;
	void *page = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return false;
	munmap(page, 4096);
	return true;
}

static const struct {
	const char *name;
	attempt *attempt;
} attempts[] = {
	{"read", try_read},
	{"list", try_list},
	{"write", try_write},
	{"connect", try_connect},
	{"ask", try_ask},
	{"listen", try_listen},
	{"tcp", try_tcp},
	{"family", try_family},
	{"signal", try_signal},
	{"trace", try_trace},
	{"see", try_see},
	{"memory", try_memory},
	{"root", try_root},
	{"code", try_code},
};

static void try_one(const char *word)
{
	size_t length = strcspn(word, "=");
	for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
		if (strlen(attempts[i].name) == length &&
			!strncmp(word, attempts[i].name, length)) {
			if (attempts[i].attempt(word + length + 1))
				printf("reached %s\n", word);
			else
				printf("blocked %s: %s\n", word, strerror(errno));
			return;
		}
	printf("unknown %s\n", word);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	// A forbidden system call may end the process: then "done" is missing.
	for (int i = 1; i < argc; i++)
		try_one(argv[i]);
	puts("done");
	for (;;)
		pause();
}
