// SPDX-License-Identifier: Apache-2.0
/*
 * The listeners that a proxy on this machine needs, from all load balancers. A port belongs to an address: one of the listener's own, or
 * each of those where the provider binds by default. The same port of a specific address and of a wildcard are two ports: the kernel gives
 * connections to that address to the former, as both are bound with SO_REUSEPORT. If two listeners want the same port of the same address,
 * the older one gets it. A port that cannot be bound is left out, the others stay, and it is reported as unserved (unserved.h).
 */
#pragma once

#include "provider-common/state.h"
#include "provider-proxy/checks.h"
#include "provider-proxy/names.h"
#include "provider-proxy/notices.h"
#include "provider-proxy/publish.h"
#include "provider-proxy/routes.h"
#include "provider-proxy/sockets.h"
#include "provider-proxy/trusted_proxies.h"

/* The proxy has a socket of each worker for each port of UDP. */
enum { PORTS_MAX = 1024, PORTS_UDP_MAX = 128, PORTS_RANGES_MAX = 256 };

/* One port of a load balancer, on all its addresses. */
struct port {
	uint16_t port;
	enum listener_protocol protocol;
	struct name load_balancer;
	struct check_ip *binds; /* sorted, without duplicates */
	size_t bind_count;
	bool has_own_address;           /* not where the provider binds by default */
	bool has_passthrough;           /* https: TLS of some hosts is passed through */
	struct str default_certificate; /* id; empty: none */
	struct check_cidr *ranges;      /* who may connect */
	size_t range_count;             /* 0: all */
	bool is_closed;     /* ranges were given but none is usable: nobody may connect */
	struct str service; /* namespace/name of who wants it; empty: the load balancer itself */
	struct str load_balancer_id;
	struct port_forwarding forwarding;
	/* UDP: as in struct listener. */
	uint32_t idle_s; /* 0: the usual one */
	uint32_t responses;
	bool one_way;
};

static inline bool port_is_udp(const struct port *port)
{
	return port->protocol == LISTENER_UDP;
}
static inline struct socket_address port_address(const struct port *port, const struct check_ip *ip)
{
	return (struct socket_address){*ip, port->port, port_is_udp(port)};
}

enum unserved_cause {
	UNSERVED_CONFLICT, /* an older listener has it */
	UNSERVED_LIMIT,    /* there are too many */
	UNSERVED_TAKEN,    /* another program has it, or we lack the permission */
	UNSERVED_ADDRESS,  /* the address is not one of this machine */
};

/* A port of an address that is wanted and is not served. */
struct unserved_port {
	enum unserved_cause cause;
	struct str load_balancer; /* id */
	struct str service;       /* as in struct port */
	struct socket_address address;
	struct str message; /* "port 80 of 0.0.0.0 is not served: ..." */
};

struct ports {
	struct port *items; /* sorted by port, then load balancer, TCP before UDP */
	size_t count;
	struct unserved_port *unserved;
	size_t unserved_count;
};

/* The ports that are wanted, of which conflicts are decided by age, in the arena; invalid source ranges are reported. A load balancer with
 * `keep` gets what it has in `old`, which may be NULL. */
void ports_collect(struct state *state, const struct routes *routes, const struct publish *publish,
	struct notices *notices, const struct ports *old, struct arena *arena,
	struct ports *ret_ports);

/* What is known of our own proxy. */
struct ports_proxy {
	const struct socket_list *held; /* where it listens, or will when it is back; may be NULL */
	const struct socket_list
		*inherited; /* it gets them from the proxy that listens there now; may be NULL */
	pid_t master;       /* 0: it does not run, or cannot be seen from here */
};
/* Leaves out, as unserved, what cannot be bound or is not an address of this machine. Ports that our proxy has are not tried. */
void ports_probe(struct ports *ports, const struct ports_proxy *proxy, struct arena *arena);
/* Whether ports_probe() would have another result now. Cheap. */
bool ports_have_changed(const struct ports *ports);
/* For ports_probe(): `why` follows "port 80 of 0.0.0.0 is not served: ". */
void ports_add_unserved(struct arena *arena, struct ports *ports, const struct port *port,
	const struct socket_address *address, enum unserved_cause cause, const char *why);

/* Identifies the port in the names of sockets and of parts of a configuration: its number, followed by 40 bits of the load balancer's name if it
 * has an address of its own. */
struct port_label {
	char text[sizeof("65535_12345678")];
};
struct port_label port_label_of(const struct port *port);

/* Id of the certificate for who asks for no name that has one; empty: there is none. */
struct str ports_default_certificate(const struct ports *ports);
/* Whether some load balancer says which proxies stand in front. */
bool ports_name_fronts(const struct ports *ports);
/* Where a proxy with these ports listens; the caller frees the items. */
struct socket_list ports_sockets(const struct ports *ports);
/* Likewise, from a configuration in which each address follows `mark`. */
struct socket_list ports_read_sockets(struct str file, const char *mark);

/* Whether the configuration names a load balancer that the state no longer has. Its routes must stay until another configuration is in force. */
bool ports_names_former(struct str file, struct state *state);

/* Deep copy on the heap. */
struct ports *ports_copy(const struct ports *ports);
void ports_free(struct ports *ports);
