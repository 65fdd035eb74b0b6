// SPDX-License-Identifier: Apache-2.0
/*
 * Who listens on this machine, according to /proc/net/tcp, tcp6, udp and udp6, and which processes own those sockets, as far as we may read
 * /proc/PID/fd: within the sandbox (Landlock) only of processes that we have started. What cannot be read is not known; nothing here fails.
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
	bool is_udp; /* otherwise TCP, which knows nothing of it */
};

struct socket_list {
	struct socket_address *items; /* sorted by socket_compare() */
	size_t count;
};

int socket_compare(const void *a, const void *b);
/* For TCP. */
bool socket_list_has(const struct socket_list *list, const struct check_ip *ip, uint16_t port);
bool socket_list_has_address(const struct socket_list *list, const struct socket_address *address);
bool socket_is_wildcard(const struct check_ip *ip);
/* Whether only one of the two addresses can be bound, unless both sides use SO_REUSEPORT: they are the same, or one is a wildcard for the other. */
bool socket_overlaps(const struct check_ip *a, const struct check_ip *b);
/* "ADDRESS:PORT" or "[ADDRESS]:PORT" at the beginning of the text, up to a blank, `;` or the end of the line; it is one of UDP if " udp" follows. */
bool socket_parse(struct str text, struct socket_address *ret_address);

struct listening {
	struct socket_address address;
	uint64_t inode;
	unsigned uid; /* of its creator */
	pid_t pid;    /* who has it open; 0: not known */
	char program[SOCKETS_NAME_MAX];
};

struct listeners {
	struct listening *items; /* in the arena */
	size_t count;
};

/* The addresses of this network namespace, in the arena. False: they cannot be known now. */
bool sockets_addresses(struct arena *arena, struct check_ip **ret_ips, size_t *ret_count);

/* The listening sockets of this network namespace on any of the ports, which are sorted. Owners are not looked up. */
void sockets_find(const uint16_t *ports, size_t port_count, struct arena *arena,
	struct listeners *ret_listeners);
/* Sets pid and program. Searches all processes: call it only when something is wrong. */
void sockets_find_owners(struct listeners *listeners);
/* Whether `pid` is `master` or one of its descendants. */
bool sockets_is_of(pid_t pid, pid_t master);
