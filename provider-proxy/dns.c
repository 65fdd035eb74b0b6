// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/dns.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <ares.h>
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <bsd/sys/queue.h>

enum { TIMEOUT_MS = 2000, TRIES = 2 };

struct dns_socket {
	ev_io io;
	LIST_ENTRY(dns_socket) link;
	struct dns *dns;
};

struct dns {
	struct ev_loop *loop;
	ares_channel channel;
	ev_timer timer;
	LIST_HEAD(dns_sockets, dns_socket) sockets;
	bool is_ending;
};

struct query {
	struct dns *dns;
	char *name;
	bool is_v6;
	dns_reply *reply;
	void *ctx;
};

/* ---- the loop ---- */

static void set_timer(struct dns *dns)
{
	struct timeval wait;
	ev_timer_stop(dns->loop, &dns->timer);
	if (ares_timeout(dns->channel, NULL, &wait) == NULL)
		return;
	ev_timer_set(&dns->timer, (double)wait.tv_sec + (double)wait.tv_usec / 1e6, 0.);
	ev_timer_start(dns->loop, &dns->timer);
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct dns *dns = watcher->data;
	ares_process_fd(dns->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_timer(dns);
}

static void on_io(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct dns_socket *socket = watcher->data;
	struct dns *dns = socket->dns;
	int fd = watcher->fd;
	/* The callback may close it, and free the socket. */
	ares_process_fd(dns->channel, (events & EV_READ) != 0 ? fd : ARES_SOCKET_BAD,
		(events & EV_WRITE) != 0 ? fd : ARES_SOCKET_BAD);
	set_timer(dns);
}

static void on_socket(void *ctx, ares_socket_t fd, int is_readable, int is_writable)
{
	struct dns *dns = ctx;
	struct dns_socket *socket;
	LIST_FOREACH (socket, &dns->sockets, link) {
		if (socket->io.fd == fd)
			break;
	}
	if (socket == NULL) {
		socket = xcalloc(1, sizeof(*socket));
		socket->dns = dns;
		LIST_INSERT_HEAD(&dns->sockets, socket, link);
	} else {
		ev_io_stop(dns->loop, &socket->io);
	}
	if (is_readable == 0 && is_writable == 0) {
		LIST_REMOVE(socket, link);
		free(socket);
		return;
	}
	ev_io_init(&socket->io, on_io, fd,
		(is_readable != 0 ? EV_READ : 0) | (is_writable != 0 ? EV_WRITE : 0));
	socket->io.data = socket;
	ev_io_start(dns->loop, &socket->io);
}

/* ---- responses ---- */

static void add_ip(struct dns_answer *answer, int family, const void *bytes, int ttl)
{
	char text[INET6_ADDRSTRLEN];
	if (inet_ntop(family, bytes, text, sizeof(text)) == NULL ||
		!check_ip(str_from(text), &answer->ips[answer->ip_count]))
		return;
	if (answer->ip_count++ == 0 || ttl < answer->ttl_s)
		answer->ttl_s = ttl;
}

static int read_v4(const unsigned char *bytes, int len, struct dns_answer *answer)
{
	struct ares_addrttl found[DNS_ADDRESSES_MAX];
	int count = DNS_ADDRESSES_MAX;
	int status = ares_parse_a_reply(bytes, len, NULL, found, &count);
	for (int i = 0; status == ARES_SUCCESS && i < count; i++)
		add_ip(answer, AF_INET, &found[i].ipaddr, found[i].ttl);
	return status;
}

static int read_v6(const unsigned char *bytes, int len, struct dns_answer *answer)
{
	struct ares_addr6ttl found[DNS_ADDRESSES_MAX];
	int count = DNS_ADDRESSES_MAX;
	int status = ares_parse_aaaa_reply(bytes, len, NULL, found, &count);
	for (int i = 0; status == ARES_SUCCESS && i < count; i++)
		add_ip(answer, AF_INET6, &found[i].ip6addr, found[i].ttl);
	return status;
}

static void set_failure(struct dns_answer *answer, int status)
{
	answer->outcome = DNS_FAILED;
	answer->why = "no name server gives an answer";
	if (status == ARES_ENOTFOUND) {
		answer->outcome = DNS_NOTHING;
		answer->why = "there is no such name";
	} else if (status == ARES_ENODATA || status == ARES_SUCCESS) {
		answer->outcome = DNS_NOTHING;
		answer->why = "it has no address";
	} else if (status == ARES_ESERVFAIL || status == ARES_EREFUSED || status == ARES_ENOTIMP) {
		answer->why = "the name server refuses to answer, or cannot";
	} else if (status == ARES_EBADRESP || status == ARES_EBADNAME || status == ARES_EFORMERR) {
		answer->why = "the name server's answer cannot be read";
	}
}

static void on_answer(void *ctx, int status, int timeouts, unsigned char *bytes, int len);

static void send_query(struct query *query)
{
	ares_query(query->dns->channel, query->name, ns_c_in, query->is_v6 ? ns_t_aaaa : ns_t_a,
		on_answer, query);
}

static void on_answer(void *ctx, int status, int timeouts, unsigned char *bytes, int len)
{
	struct query *query = ctx;
	struct dns_answer answer = {.outcome = DNS_FOUND};
	if (status == ARES_SUCCESS)
		status = query->is_v6 ? read_v6(bytes, len, &answer) : read_v4(bytes, len, &answer);
	bool is_empty = status == ARES_ENODATA || (status == ARES_SUCCESS && answer.ip_count == 0);
	if (is_empty && !query->is_v6 && !query->dns->is_ending) {
		query->is_v6 = true;
		send_query(query);
		return;
	}
	if (answer.ip_count == 0)
		set_failure(&answer, status);
	if (!query->dns->is_ending)
		query->reply(query->ctx, &answer);
	free(query->name);
	free(query);
}

void dns_ask(struct dns *dns, const char *name, dns_reply *reply, void *ctx)
{
	struct query *query = xcalloc(1, sizeof(*query));
	*query = (struct query){.dns = dns, .name = xstrdup(name), .reply = reply, .ctx = ctx};
	send_query(query);
	set_timer(dns);
}

/* ---- lifecycle ---- */

static char *set_servers(struct dns *dns, const struct option_list *servers)
{
	char *all = xstrdup("");
	for (size_t i = 0; i < servers->count; i++) {
		char *longer = xasprintf("%s%s%s", all, i != 0 ? "," : "", servers->items[i]);
		free(all);
		all = longer;
	}
	int status =
		servers->count != 0 ? ares_set_servers_ports_csv(dns->channel, all) : ARES_SUCCESS;
	free(all);
	return status == ARES_SUCCESS
		       ? NULL
		       : xstrdup("--dns-server must be an IP address, with :PORT or without");
}

struct dns *dns_new(struct ev_loop *loop, const struct option_list *servers, char **ret_problem)
{
	struct dns *dns = xcalloc(1, sizeof(*dns));
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = TIMEOUT_MS,
		.tries = TRIES,
		.sock_state_cb = on_socket,
		.sock_state_cb_data = dns,
	};
	dns->loop = loop;
	LIST_INIT(&dns->sockets);
	ev_init(&dns->timer, on_timer);
	dns->timer.data = dns;
	must(ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS);
	int status = ares_init_options(&dns->channel, &options,
		ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
	char *problem = status != ARES_SUCCESS ? xasprintf("the resolver cannot be set up: %s",
							 ares_strerror(status))
					       : set_servers(dns, servers);
	if (problem == NULL)
		return dns;
	*ret_problem = problem;
	dns_free(dns);
	return NULL;
}

void dns_free(struct dns *dns)
{
	if (dns == NULL)
		return;
	dns->is_ending = true;
	/* Cancels running queries, and closes the sockets. */
	if (dns->channel != NULL)
		ares_destroy(dns->channel);
	ev_timer_stop(dns->loop, &dns->timer);
	ares_library_cleanup();
	free(dns);
}
