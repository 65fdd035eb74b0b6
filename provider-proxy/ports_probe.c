// SPDX-License-Identifier: Apache-2.0
/* Whether the ports of ports.h are available on this machine, and who holds them otherwise. */
#include "provider-proxy/ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* With port 0: whether the address is one of this machine's. */
static int try_bind(const struct check_ip *ip, uint16_t port, bool is_udp)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	bool is_v4 = ip->family == AF_INET;
	memcpy(&v4.sin_addr, ip->bytes, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, ip->bytes, sizeof(v6.sin6_addr));
	const struct sockaddr *address = is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	int fd = socket(ip->family, (is_udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
	int one = 1;
	int err = 0;
	if (fd < 0)
		return -errno;
	/* Closing connections do not block the port; listeners do. With UDP it would let two have it. */
	if (!is_udp)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!is_v4)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, address, is_v4 ? sizeof(v4) : sizeof(v6)) != 0 ||
		(port != 0 && !is_udp && listen(fd, 1) != 0))
		err = -errno;
	close(fd);
	return err;
}

static bool is_absent(const struct check_ip *ip)
{
	int err = socket_is_wildcard(ip) ? 0 : try_bind(ip, 0, false);
	/* EINVAL: a link-local address, which is invalid without its link. EAFNOSUPPORT: no IPv6 at all. */
	return err == -EADDRNOTAVAIL || err == -EINVAL || err == -EAFNOSUPPORT;
}

/* ---- obstacles ---- */

/* An IPv6 wildcard may accept IPv4 connections, too. */
static bool is_in_the_way(const struct listening *listening, const struct check_ip *ip)
{
	const struct check_ip *there = &listening->address.ip;
	return socket_overlaps(there, ip) ||
	       (there->family == AF_INET6 && ip->family == AF_INET && socket_is_wildcard(there));
}

static bool is_ours(const struct listening *listening, const struct ports_proxy *proxy)
{
	if (listening->pid != 0 && proxy->master != 0)
		return sockets_is_of(listening->pid, proxy->master);
	return socket_list_has_address(proxy->held, &listening->address);
}

/* True: somebody else holds it, and *ret_why says who. */
static bool is_taken(const struct listeners *listeners, const struct socket_address *address,
	const struct ports_proxy *proxy, struct arena *arena, const char **ret_why)
{
	bool is_ours_alone = false;
	*ret_why = "another program listens on it";
	for (size_t i = 0; i < listeners->count; i++) {
		const struct listening *listening = &listeners->items[i];
		if (listening->address.port != address->port ||
			listening->address.is_udp != address->is_udp ||
			!is_in_the_way(listening, &address->ip))
			continue;
		if (is_ours(listening, proxy)) {
			is_ours_alone = true;
			continue;
		}
		*ret_why =
			listening->pid != 0
				? arena_printf(arena, "%s (process %d) listens on it",
					  listening->program, (int)listening->pid)
					  .p
				: arena_printf(arena, "another program, of user %u, listens on it",
					  listening->uid)
					  .p;
		return true;
	}
	return !is_ours_alone;
}

static const char *words_of(int err, struct arena *arena)
{
	if (err == -EACCES || err == -EPERM)
		return "permission is denied";
	return arena_printf(arena, "%s", strerrordesc_np(-err)).p;
}

/* ---- all ports ---- */

/* An address of a port, and the result for it. */
struct trial {
	struct socket_address address;
	int err; /* for the port; 0: it is free, or ours */
	bool is_absent;
};

static struct trial try_one(const struct socket_address *address, const struct ports_proxy *proxy)
{
	struct trial trial = {.address = *address, .is_absent = is_absent(&address->ip)};
	if (!trial.is_absent && !socket_list_has_address(proxy->held, address) &&
		!socket_list_has_address(proxy->inherited, address))
		trial.err = try_bind(&address->ip, address->port, address->is_udp);
	return trial;
}

static struct trial *try_all(
	const struct ports *ports, const struct ports_proxy *proxy, struct arena *arena)
{
	struct trial *trials = NULL;
	size_t count = 0;
	for (size_t i = 0; i < ports->count; i++) {
		const struct port *port = &ports->items[i];
		for (size_t k = 0; k < port->bind_count; k++) {
			struct trial *trial =
				arena_push(arena, (void **)&trials, &count, sizeof(*trial));
			struct socket_address address = port_address(port, &port->binds[k]);
			*trial = try_one(&address, proxy);
		}
	}
	return trials;
}

/* Finds who listens on the ports in use; `ports` is sorted, and so are the trials. */
static void find_listeners(const struct ports *ports, const struct trial *trials,
	struct arena *arena, struct listeners *ret_listeners)
{
	uint16_t *numbers = arena_calloc(arena, ports->count + 1, sizeof(*numbers));
	size_t count = 0;
	for (size_t i = 0; i < ports->count; i++) {
		bool is_used = false;
		for (size_t k = 0; k < ports->items[i].bind_count; k++)
			is_used |= (trials++)->err == -EADDRINUSE;
		if (is_used)
			numbers[count++] = ports->items[i].port;
	}
	sockets_find(numbers, count, arena, ret_listeners);
	sockets_find_owners(ret_listeners);
}

static bool is_had(const struct trial *trial, const struct listeners *listeners,
	const struct ports_proxy *proxy, struct arena *arena, const char **ret_why)
{
	if (trial->is_absent)
		*ret_why = "it is no address of this machine";
	else if (trial->err == -EADDRINUSE)
		return !is_taken(listeners, &trial->address, proxy, arena, ret_why);
	else if (trial->err != 0)
		*ret_why = words_of(trial->err, arena);
	return !trial->is_absent && trial->err == 0;
}

void ports_probe(struct ports *ports, const struct ports_proxy *proxy, struct arena *arena)
{
	struct listeners listeners;
	const struct trial *trial = try_all(ports, proxy, arena);
	size_t kept = 0;
	find_listeners(ports, trial, arena, &listeners);
	for (size_t i = 0; i < ports->count; i++) {
		struct port *port = &ports->items[i];
		size_t bind_count = 0;
		for (size_t k = 0; k < port->bind_count; k++, trial++) {
			const char *why = "";
			if (is_had(trial, &listeners, proxy, arena, &why)) {
				port->binds[bind_count++] = port->binds[k];
				continue;
			}
			ports_add_unserved(arena, ports, port, &trial->address,
				trial->is_absent ? UNSERVED_ADDRESS : UNSERVED_TAKEN, why);
		}
		port->bind_count = bind_count;
		if (bind_count != 0)
			ports->items[kept++] = *port;
	}
	ports->count = kept;
}

bool ports_have_changed(const struct ports *ports)
{
	for (size_t i = 0; i < ports->unserved_count; i++) {
		const struct unserved_port *unserved = &ports->unserved[i];
		const struct socket_address *address = &unserved->address;
		if (unserved->cause == UNSERVED_ADDRESS && !is_absent(&address->ip))
			return true;
		if (unserved->cause == UNSERVED_TAKEN &&
			(is_absent(&address->ip) ||
				try_bind(&address->ip, address->port, address->is_udp) == 0))
			return true;
	}
	for (size_t i = 0; i < ports->count; i++) {
		for (size_t k = 0; k < ports->items[i].bind_count; k++) {
			if (is_absent(&ports->items[i].binds[k]))
				return true;
		}
	}
	return false;
}
