// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/publish.h"

#include "common/xalloc.h"
#include "provider-proxy/sockets.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

struct publish {
	struct str *hostnames; /* copies */
	size_t hostname_count;
	struct check_ip *ips;
	size_t ip_count;
	struct check_ip *binds;
	size_t bind_count;
	bool is_given; /* by --publish-address */
	bool is_known; /* by --publish-address or --bind-address */
};

static bool ask_for_ipv6(void)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is_there = fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0;
	if (fd >= 0)
		close(fd);
	return is_there;
}

/* It does not change while a process runs. */
static bool has_ipv6(void)
{
	static bool is_known;
	static bool answer;
	if (!is_known)
		answer = ask_for_ipv6();
	is_known = true;
	return answer;
}

void publish_prepare(void)
{
	(void)has_ipv6();
}

static char *read_binds(struct publish *publish, const struct option_list *binds)
{
	publish->binds = xcalloc(binds->count + 2, sizeof(*publish->binds));
	for (size_t i = 0; i < binds->count; i++) {
		if (!check_ip(str_from(binds->items[i]), &publish->binds[publish->bind_count++]))
			return xasprintf(
				"--bind-address \"%.200s\" is no IP address", binds->items[i]);
	}
	if (binds->count == 0) {
		/* Two sockets, so that IPv4 clients do not appear with mapped addresses. */
		check_ip(STR("0.0.0.0"), &publish->binds[publish->bind_count++]);
		if (has_ipv6())
			check_ip(STR("::"), &publish->binds[publish->bind_count++]);
	}
	return NULL;
}

static char *read_items(struct publish *publish, const struct option_list *items)
{
	publish->ips = xcalloc(items->count + publish->bind_count, sizeof(*publish->ips));
	publish->hostnames = xcalloc(items->count + 1, sizeof(*publish->hostnames));
	publish->is_given = items->count != 0;
	publish->is_known = publish->is_given;
	for (size_t i = 0; i < items->count; i++) {
		struct str item = str_from(items->items[i]);
		if (check_ip(item, &publish->ips[publish->ip_count]))
			publish->ip_count++;
		else if (check_host(item))
			publish->hostnames[publish->hostname_count++] =
				(struct str){str_dup(item), item.len};
		else
			return xasprintf("--publish-address \"%.200s\" is neither an IP address "
					 "nor a host name",
				items->items[i]);
	}
	for (size_t i = 0; i < publish->bind_count && items->count == 0; i++) {
		if (socket_is_wildcard(&publish->binds[i]))
			continue;
		publish->ips[publish->ip_count++] = publish->binds[i];
		publish->is_known = true;
	}
	return NULL;
}

struct publish *publish_new(
	const struct option_list *items, const struct option_list *binds, char **ret_problem)
{
	struct publish *publish = xcalloc(1, sizeof(*publish));
	char *problem = read_binds(publish, binds);
	if (problem == NULL)
		problem = read_items(publish, items);
	if (problem == NULL)
		return publish;
	publish_free(publish);
	*ret_problem = problem;
	return NULL;
}

void publish_free(struct publish *publish)
{
	if (publish == NULL)
		return;
	for (size_t i = 0; i < publish->hostname_count; i++)
		free((char *)(uintptr_t)publish->hostnames[i].p);
	free(publish->hostnames);
	free(publish->ips);
	free(publish->binds);
	free(publish);
}

/* The source address of packets to the rest of the world. Connecting a datagram socket sends nothing. */
static bool find_source(int family, struct check_ip *ret_ip)
{
	struct check_ip ip = {.family = family};
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = 9};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = 9};
	struct sockaddr *address =
		family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	socklen_t len = family == AF_INET ? sizeof(v4) : sizeof(v6);
	/* RFC 5737 and RFC 3849: addresses reserved for documentation. */
	inet_pton(AF_INET, "192.0.2.1", &v4.sin_addr);
	inet_pton(AF_INET6, "2001:db8::1", &v6.sin6_addr);
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_found =
		fd >= 0 && connect(fd, address, len) == 0 && getsockname(fd, address, &len) == 0;
	if (fd >= 0)
		close(fd);
	if (!is_found)
		return false;
	const void *bytes =
		family == AF_INET ? (const void *)&v4.sin_addr : (const void *)&v6.sin6_addr;
	return inet_ntop(family, bytes, ip.text, sizeof(ip.text)) != NULL &&
	       check_ip(str_from(ip.text), ret_ip);
}

static int by_text(const void *a_, const void *b_)
{
	const struct address *a = a_;
	const struct address *b = b_;
	int order = str_cmp(a->ip, b->ip);
	return order != 0 ? order : str_cmp(a->hostname, b->hostname);
}

size_t publish_list(
	const struct publish *publish, struct arena *arena, struct address **ret_addresses)
{
	size_t count = 0;
	struct address *list =
		arena_calloc(arena, publish->ip_count + publish->hostname_count + 2, sizeof(*list));
	for (size_t i = 0; i < publish->ip_count; i++)
		list[count++].ip = str_from(publish->ips[i].text);
	for (size_t i = 0; i < publish->hostname_count; i++)
		list[count++].hostname = publish->hostnames[i];
	struct check_ip found;
	if (!publish->is_known && find_source(AF_INET, &found))
		list[count++].ip = arena_str(arena, str_from(found.text));
	if (!publish->is_known && find_source(AF_INET6, &found))
		list[count++].ip = arena_str(arena, str_from(found.text));
	qsort(list, count, sizeof(*list), by_text);
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || by_text(&list[kept - 1], &list[i]) != 0)
			list[kept++] = list[i];
	}
	*ret_addresses = list;
	return kept;
}

size_t publish_binds(const struct publish *publish, const struct check_ip **ret_binds)
{
	*ret_binds = publish->binds;
	return publish->bind_count;
}

bool publish_is_given(const struct publish *publish)
{
	return publish->is_given;
}
