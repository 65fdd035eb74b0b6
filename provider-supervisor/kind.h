// SPDX-License-Identifier: Apache-2.0
/*
 * The proxies that can be supervised, and how they differ: how each is started, checked, reloaded and drained. Both are started from files
 * that a provider has written into the state folder.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The order of the choices of --proxy. */
enum kind_id { KIND_HAPROXY, KIND_NGINX };

enum { KIND_ARGUMENTS_MAX = 12 };

struct kind_folders {
	const char *program;
	const char *state_dir;
	const char *proxy_dir;
};

/* A command line; argv ends in NULL. */
struct kind_command {
	char *argv[KIND_ARGUMENTS_MAX];
};

struct kind {
	const char
		*name; /* also that of its program in PATH, and of its processes (/proc/PID/comm) */
	const char *main_file; /* in the state folder: without it there is nothing to start from */
	const char *pid_file;  /* in the proxy's folder, as is the next */
	const char *log_file;
	const char *access_log_file;
	const char *
		lines_file; /* its standard output, where it tells of requests; NULL: that is the log, and it writes the access log itself */
	const char *
		traffic_file; /* where it has lines that are counted; NULL: among those of lines_file */
	const char *
		check_socket; /* where it asks for checks that take long; NULL: it makes them itself */
	int drain_signal;     /* takes no more connections, finishes those that it has, and ends */
	/* A worker whose master is gone ends by itself a moment later. Workers of the other kind go on serving until they are told to drain. */
	bool ends_orphans;
	bool fetches_listeners; /* fetches the listening sockets that it takes over; else it inherits them (transfer.h) */
	bool tells_old_workers; /* process titles show which workers are from before a reload */
	mode_t dir_mode; /* of the proxy's folder: nginx's workers are another user's, and connect to sockets in it */
};

const struct kind *kind_get(enum kind_id id);

/* `listeners`: a socket where it fetches listening sockets that it takes over; NULL: it opens all itself. The caller calls kind_command_fini(). */
void kind_start_command(const struct kind *kind, const struct kind_folders *folders,
	const char *listeners, struct kind_command *ret_command);
/* Checks the candidate that a provider has written beside the configuration in use. */
void kind_check_command(const struct kind *kind, const struct kind_folders *folders,
	struct kind_command *ret_command);
void kind_command_fini(struct kind_command *command);

/* The word after this option in a command line, with NUL between words as in /proc/PID/cmdline; NULL: there is none. */
const char *kind_word_behind(const char *words, size_t words_len, const char *option);
/* A command line of another kind_start_command(): whether it starts from this folder. */
bool kind_starts_from(
	const struct kind *kind, const char *words, size_t words_len, const char *state_dir);
/* The folder of its sockets, from such a command line; NULL: it does not say. The caller frees it. */
char *kind_find_proxy_dir(const struct kind *kind, const char *words, size_t words_len);

/* Removes the sockets of a killed proxy from this folder, which would keep the next one from listening. */
void kind_remove_sockets(const struct kind *kind, const char *dir);

/* Asks the running master to reload its files; 0 or a negative errno. The reload happens later, and may fail. */
int kind_reload(const struct kind *kind, const char *proxy_dir, int pidfd);
