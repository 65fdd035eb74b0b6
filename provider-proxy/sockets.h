// SPDX-License-Identifier: Apache-2.0
/*
 * Who listens on this machine, as the kernel says in /proc/net/tcp and tcp6, and whose sockets those are, as far as we may look into
 * /proc/PID/fd: within the sandbox (Landlock) that is what we have started ourselves. What cannot be read is not known; nothing here fails.
 */
#pragma once

#include "common/arena.h"
#include "provider-proxy/checks.h"

#include <sys/types.h>

enum {
	SOCKETS_MAX = 16 * 1024,      /* that are looked at */
	SOCKETS_FDS_MAX = 256 * 1024, /* descriptors that are looked through for owners */
	SOCKETS_NAME_MAX = 32,
	SOCKETS_ADDRESSES_MAX = 16 * 1024,
};

struct socket_address {
	struct check_ip ip;
	uint16_t port;
};

struct socket_list {
	struct socket_address *items; /* sorted by socket_compare() */
	size_t count;
};

int socket_compare(const void *a, const void *b);
bool socket_list_has(const struct socket_list *list, const struct check_ip *ip, uint16_t port);
bool socket_is_wildcard(const struct check_ip *ip);
/* Whether only one of the two addresses can be had, unless both sides agree: they are the same, or one is a wildcard for the other. */
bool socket_overlaps(const struct check_ip *a, const struct check_ip *b);
/* "ADDRESS:PORT" or "[ADDRESS]:PORT" at the beginning of the text, up to a blank, `;` or the end of the line. */
bool socket_parse(struct str text, struct socket_address *ret_address);

struct listening {
	struct socket_address address;
	uint64_t inode;
	unsigned uid; /* of who has made it */
	pid_t pid;    /* who has it open; 0: not known */
	char program[SOCKETS_NAME_MAX];
};

struct listeners {
	struct listening *items; /* in the arena */
	size_t count;
};

/* The addresses of this network namespace, of links that are up, in the arena. False: they cannot be known now. */
bool sockets_addresses(struct arena *arena, struct check_ip **ret_ips, size_t *ret_count);

/* The addresses of this network namespace, in the arena. False: they cannot be known now. */
bool sockets_addresses(struct arena *arena, struct check_ip **ret_ips, size_t *ret_count);

/* Those of this network namespace that listen on one of the ports, which are sorted. Owners are not looked for. */
void sockets_find(const uint16_t *ports, size_t port_count, struct arena *arena,
	struct listeners *ret_listeners);
/* Sets pid and program. Looks through all processes: to be called when something is wrong. */
void sockets_find_owners(struct listeners *listeners);
/* Whether `pid` is `master` or a process that it, or one of its children, has started. */
bool sockets_is_of(pid_t pid, pid_t master);
