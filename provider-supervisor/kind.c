// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/kind.h"

#include "common/files.h"
#include "common/unix_socket.h"
#include "common/xalloc.h"
#include "proto/proxy_folder.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct kind kinds[] = {
	[KIND_HAPROXY] = {.name = "haproxy",
		.main_file = "haproxy.d/00-main.cfg",
		.pid_file = "proxy.pid",
		.log_file = "proxy.log",
		.access_log_file = "proxy-access.log",
		.lines_file = "proxy-lines.log",
		.check_socket = CHECKS_SOCKET,
		.drain_signal = SIGUSR1,
		.ends_orphans = true,
		.fetches_listeners = true,
		.dir_mode = 0700},
	[KIND_NGINX] = {.name = "nginx",
		.main_file = "nginx.conf",
		.pid_file = "nginx.pid",
		.log_file = "nginx.log",
		.access_log_file = ACCESS_LOG_NGINX_FILE,
		.traffic_file = TRAFFIC_NGINX_FILE,
		.drain_signal = SIGQUIT,
		.tells_old_workers = true,
		.dir_mode = 0711},
};

const struct kind *kind_get(enum kind_id id)
{
	return &kinds[id];
}

static void add(struct kind_command *command, char *word)
{
	size_t count = 0;
	while (command->argv[count] != NULL)
		count++;
	command->argv[count] = word;
}

static bool is_haproxy(const struct kind *kind)
{
	return kind == &kinds[KIND_HAPROXY];
}

void kind_start_command(const struct kind *kind, const struct kind_folders *folders,
	const char *listeners, struct kind_command *ret_command)
{
	*ret_command = (struct kind_command){0};
	add(ret_command, xstrdup(folders->program));
	if (is_haproxy(kind)) {
		add(ret_command, xstrdup("-W"));
		add(ret_command, xstrdup("-S"));
		add(ret_command, xasprintf("%s/master.sock,mode,600", folders->proxy_dir));
		add(ret_command, xstrdup("-f"));
		add(ret_command, xasprintf("%s/haproxy.d", folders->state_dir));
		if (listeners != NULL) {
			add(ret_command, xstrdup("-x"));
			add(ret_command, xstrdup(listeners));
		}
	} else {
		add(ret_command, xstrdup("-c"));
		add(ret_command, xasprintf("%s/nginx.conf", folders->state_dir));
		add(ret_command, xstrdup("-g"));
		add(ret_command, xstrdup("daemon off;"));
		/* For messages before it has read the file. */
		add(ret_command, xstrdup("-e"));
		add(ret_command, xstrdup("stderr"));
	}
}

void kind_check_command(const struct kind *kind, const struct kind_folders *folders,
	struct kind_command *ret_command)
{
	*ret_command = (struct kind_command){0};
	add(ret_command, xstrdup(folders->program));
	if (is_haproxy(kind)) {
		add(ret_command, xstrdup("-c"));
		add(ret_command, xstrdup("-f"));
		add(ret_command, xasprintf("%s/staged", folders->state_dir));
	} else {
		add(ret_command, xstrdup("-t"));
		add(ret_command, xstrdup("-q"));
		add(ret_command, xstrdup("-e"));
		add(ret_command, xstrdup("stderr"));
		add(ret_command, xstrdup("-c"));
		add(ret_command, xasprintf("%s/nginx.conf.candidate", folders->state_dir));
	}
}

void kind_command_fini(struct kind_command *command)
{
	for (size_t i = 0; command->argv[i] != NULL; i++)
		free(command->argv[i]);
	*command = (struct kind_command){0};
}

/* ---- command lines ---- */

const char *kind_word_behind(const char *words, size_t words_len, const char *option)
{
	const char *end = words + words_len;
	for (const char *word = words; word < end;
		word += strnlen(word, (size_t)(end - word)) + 1) {
		if (strncmp(word, option, (size_t)(end - word)) != 0)
			continue;
		const char *next = word + strlen(option) + 1;
		return next < end && memchr(next, 0, (size_t)(end - next)) != NULL ? next : NULL;
	}
	return NULL;
}

bool kind_starts_from(
	const struct kind *kind, const char *words, size_t words_len, const char *state_dir)
{
	const char *given = kind_word_behind(words, words_len, is_haproxy(kind) ? "-f" : "-c");
	char *expected =
		xasprintf("%s/%s", state_dir, is_haproxy(kind) ? "haproxy.d" : "nginx.conf");
	bool is_it = given != NULL && strcmp(given, expected) == 0;
	/* nginx's running master shows all its arguments as one word, separated by spaces. */
	char *in_title = xasprintf(" -c %s -g ", expected);
	is_it = is_it ||
		(!is_haproxy(kind) && memmem(words, words_len, in_title, strlen(in_title)) != NULL);
	free(in_title);
	free(expected);
	return is_it;
}

char *kind_find_proxy_dir(const struct kind *kind, const char *words, size_t words_len)
{
	/* `-S DIR/master.sock,mode,600` */
	const char *master = is_haproxy(kind) ? kind_word_behind(words, words_len, "-S") : NULL;
	const char *end = master != NULL ? strstr(master, "/master.sock,") : NULL;
	return end != NULL ? xasprintf("%.*s", (int)(end - master), master) : NULL;
}

/* ---- sockets ---- */

void kind_remove_sockets(const struct kind *kind, const char *dir)
{
	/* HAProxy replaces its own sockets, but one that is ending must not be taken for its successor. */
	char *path = xasprintf("%s/%s", dir, is_haproxy(kind) ? "haproxy.sock" : "control");
	char *hop = xasprintf("%s/hop", dir);
	if (is_haproxy(kind)) {
		(void)files_remove(path);
	} else {
		files_remove_sockets(path);
		files_remove_sockets(hop);
	}
	free(path);
	free(hop);
}

/* ---- reload ---- */

/* The master takes commands only when it can reload; an early signal would end it. */
static int reload_haproxy(const char *proxy_dir)
{
	static const char command[] = "reload\n";
	char *path = xasprintf("%s/master.sock", proxy_dir);
	int fd = unix_connect(path);
	free(path);
	if (fd < 0)
		return fd;
	ssize_t sent = send(fd, command, strlen(command), MSG_NOSIGNAL);
	int err = sent == (ssize_t)strlen(command) ? 0 : sent < 0 ? -errno : -EPIPE;
	/* Does not wait for a response: the new worker shows success. Half-closed, so that the command is
	 * read. */
	shutdown(fd, SHUT_WR);
	close(fd);
	return err;
}

int kind_reload(const struct kind *kind, const char *proxy_dir, int pidfd)
{
	if (is_haproxy(kind))
		return reload_haproxy(proxy_dir);
	return syscall(SYS_pidfd_send_signal, pidfd, SIGHUP, NULL, 0) == 0 ? 0 : -errno;
}
