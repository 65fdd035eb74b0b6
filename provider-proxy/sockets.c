// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	/* TCP_LISTEN and TCP_CLOSE of the kernel's net/tcp_states.h; sockets of UDP that are not connected have the latter. */
	TCP_LISTENING = 0x0a,
	UDP_LISTENING = 0x07,
	ANCESTORS_MAX = 4
};

/* ---- addresses ---- */

int socket_compare(const void *a_, const void *b_)
{
	const struct socket_address *a = a_;
	const struct socket_address *b = b_;
	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	if (a->ip.family != b->ip.family)
		return a->ip.family == AF_INET ? -1 : 1;
	int order = memcmp(a->ip.bytes, b->ip.bytes, sizeof(a->ip.bytes));
	return order != 0 ? order : (int)a->is_udp - (int)b->is_udp;
}

bool socket_list_has(const struct socket_list *list, const struct check_ip *ip, uint16_t port)
{
	const struct socket_address wanted = {.ip = *ip, .port = port};
	return socket_list_has_address(list, &wanted);
}

bool socket_list_has_address(const struct socket_list *list, const struct socket_address *address)
{
	return list != NULL && list->count != 0 &&
	       bsearch(address, list->items, list->count, sizeof(*address), socket_compare) != NULL;
}

bool socket_is_wildcard(const struct check_ip *ip)
{
	static const uint8_t zero[16];
	return memcmp(ip->bytes, zero, sizeof(zero)) == 0;
}

bool socket_overlaps(const struct check_ip *a, const struct check_ip *b)
{
	return a->family == b->family && (socket_is_wildcard(a) || socket_is_wildcard(b) ||
						 memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0);
}

bool socket_parse(struct str text, struct socket_address *ret_address)
{
	size_t len = 0;
	int64_t port = 0;
	while (len < text.len && len < CHECK_IP_LEN_MAX + 8 && strchr(" ;\n", text.p[len]) == NULL)
		len++;
	const char *colon = len != 0 ? memrchr(text.p, ':', len) : NULL;
	if (colon == NULL)
		return false;
	struct str ip = {text.p, (size_t)(colon - text.p)};
	struct str digits = {colon + 1, len - ip.len - 1};
	if (ip.len > 2 && ip.p[0] == '[' && ip.p[ip.len - 1] == ']')
		ip = (struct str){ip.p + 1, ip.len - 2};
	if (!str_to_int(digits, 1, UINT16_MAX, &port) || !check_ip(ip, &ret_address->ip))
		return false;
	ret_address->port = (uint16_t)port;
	ret_address->is_udp = str_starts_with(str_skip(text, len), STR(" udp"));
	return true;
}

static bool read_sockaddr(const struct sockaddr *address, struct check_ip *ret_ip)
{
	const void *at = address;
	int family = address != NULL ? address->sa_family : AF_UNSPEC;
	char text[CHECK_IP_LEN_MAX];
	if (family != AF_INET && family != AF_INET6)
		return false;
	const void *bytes = family == AF_INET
				    ? (const void *)&((const struct sockaddr_in *)at)->sin_addr
				    : (const void *)&((const struct sockaddr_in6 *)at)->sin6_addr;
	return inet_ntop(family, bytes, text, sizeof(text)) != NULL &&
	       check_ip(str_from(text), ret_ip);
}

bool sockets_addresses(struct arena *arena, struct check_ip **ret_ips, size_t *ret_count)
{
	struct ifaddrs *all;
	struct check_ip ip;
	void *ips = NULL;
	size_t count = 0;
	if (getifaddrs(&all) != 0)
		return false;
	for (const struct ifaddrs *one = all; one != NULL && count < SOCKETS_ADDRESSES_MAX;
		one = one->ifa_next) {
		if (!read_sockaddr(one->ifa_addr, &ip))
			continue;
		struct check_ip *place = arena_push(arena, &ips, &count, sizeof(*place));
		*place = ip;
	}
	freeifaddrs(all);
	*ret_ips = ips;
	*ret_count = count;
	return true;
}

/* ---- listening sockets ---- */

static int compare_ports(const void *a, const void *b)
{
	return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

/* The kernel prints four-byte words as numbers in host byte order. */
static bool read_address(const char *hex, int family, struct check_ip *ret_ip)
{
	uint32_t words[4] = {0};
	char text[CHECK_IP_LEN_MAX];
	size_t count = family == AF_INET ? 1 : 4;
	for (size_t i = 0; i < count; i++) {
		char word[9] = {0};
		char *end;
		memcpy(word, hex + 8 * i, strnlen(hex + 8 * i, 8));
		words[i] = (uint32_t)strtoul(word, &end, 16);
		if (end != word + 8)
			return false;
	}
	return inet_ntop(family, words, text, sizeof(text)) != NULL &&
	       check_ip(str_from(text), ret_ip);
}

/* Fields of a line of /proc/net/tcp and the like, proc(5). */
enum { FIELD_LOCAL = 1, FIELD_STATE = 3, FIELD_UID = 7, FIELD_INODE = 9, FIELD_COUNT };

static bool read_line(const char *line, int family, unsigned long state, struct listening *ret)
{
	static const char blanks[] = " \n";
	const char *fields[FIELD_COUNT] = {NULL};
	size_t count = 0;
	*ret = (struct listening){.pid = 0};
	for (const char *at = line + strspn(line, blanks); *at != 0 && count < FIELD_COUNT;
		at += strspn(at, blanks)) {
		fields[count++] = at;
		at += strcspn(at, blanks);
	}
	if (count < FIELD_COUNT || strtoul(fields[FIELD_STATE], NULL, 16) != state)
		return false;
	const char *colon = strchr(fields[FIELD_LOCAL], ':');
	if (colon == NULL)
		return false;
	ret->uid = (unsigned)strtoul(fields[FIELD_UID], NULL, 10);
	ret->inode = strtoull(fields[FIELD_INODE], NULL, 10);
	ret->address.port = (uint16_t)strtoul(colon + 1, NULL, 16);
	ret->address.is_udp = state == UDP_LISTENING;
	return read_address(fields[FIELD_LOCAL], family, &ret->address.ip);
}

static void read_file(const char *path, int family, unsigned long state, const uint16_t *ports,
	size_t port_count, struct arena *arena, struct listeners *listeners)
{
	char line[512];
	FILE *file = fopen(path, "re");
	struct listening found;
	if (file == NULL)
		return;
	bool more = fgets(line, sizeof(line), file) != NULL; /* the headings */
	while (more && listeners->count < SOCKETS_MAX && fgets(line, sizeof(line), file) != NULL) {
		bool is_listening = read_line(line, family, state, &found);
		/* Listening sockets of TCP come first. */
		more = is_listening || state != TCP_LISTENING;
		if (!is_listening || bsearch(&found.address.port, ports, port_count, sizeof(*ports),
					     compare_ports) == NULL)
			continue;
		struct listening *place = arena_push(
			arena, (void **)&listeners->items, &listeners->count, sizeof(*place));
		*place = found;
	}
	fclose(file);
}

void sockets_find(const uint16_t *ports, size_t port_count, struct arena *arena,
	struct listeners *ret_listeners)
{
	*ret_listeners = (struct listeners){0};
	if (port_count == 0)
		return;
	read_file("/proc/net/tcp", AF_INET, TCP_LISTENING, ports, port_count, arena, ret_listeners);
	read_file(
		"/proc/net/tcp6", AF_INET6, TCP_LISTENING, ports, port_count, arena, ret_listeners);
	read_file("/proc/net/udp", AF_INET, UDP_LISTENING, ports, port_count, arena, ret_listeners);
	read_file(
		"/proc/net/udp6", AF_INET6, UDP_LISTENING, ports, port_count, arena, ret_listeners);
}

/* ---- owners ---- */

static void read_program(int process, char *ret_program)
{
	char text[SOCKETS_NAME_MAX];
	int fd = openat(process, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\0'))
		len--;
	/* Programs can have any name. */
	for (ssize_t i = 0; i < len; i++)
		ret_program[i] = text[i] > 0x20 && text[i] < 0x7f ? text[i] : '?';
	ret_program[len > 0 ? len : 0] = '\0';
}

static void take_owner(struct listeners *listeners, uint64_t inode, int process, pid_t pid)
{
	for (size_t i = 0; i < listeners->count; i++) {
		struct listening *listening = &listeners->items[i];
		if (listening->inode != inode || listening->pid != 0)
			continue;
		listening->pid = pid;
		read_program(process, listening->program);
	}
}

static void read_process(struct listeners *listeners, int process, pid_t pid, size_t *fds)
{
	int folder = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;
	struct dirent *entry;
	if (dir == NULL && folder >= 0)
		close(folder);
	while (dir != NULL && *fds < SOCKETS_FDS_MAX && (entry = readdir(dir)) != NULL) {
		static const char socket_mark[] = "socket:[";
		char target[64];
		ssize_t len = readlinkat(folder, entry->d_name, target, sizeof(target) - 1);
		++*fds;
		target[len > 0 ? len : 0] = '\0';
		if (strncmp(target, socket_mark, strlen(socket_mark)) == 0)
			take_owner(listeners, strtoull(target + strlen(socket_mark), NULL, 10),
				process, pid);
	}
	if (dir != NULL)
		closedir(dir);
}

void sockets_find_owners(struct listeners *listeners)
{
	DIR *proc = listeners->count != 0 ? opendir("/proc") : NULL;
	struct dirent *entry;
	size_t fds = 0;
	while (proc != NULL && fds < SOCKETS_FDS_MAX && (entry = readdir(proc)) != NULL) {
		int64_t pid = 0;
		if (!str_to_int(str_from(entry->d_name), 1, INT32_MAX, &pid))
			continue;
		int process =
			openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (process < 0)
			continue;
		read_process(listeners, process, (pid_t)pid, &fds);
		close(process);
	}
	if (proc != NULL)
		closedir(proc);
}

/* 0: unknown. */
static pid_t parent_of(pid_t pid)
{
	char path[64];
	char text[512] = "";
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return 0;
	size_t len = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[len] = '\0';
	/* "PID (NAME) STATE PARENT ..."; the name may contain anything. */
	const char *rest = strrchr(text, ')');
	return rest != NULL && strlen(rest) > 4 ? (pid_t)strtol(rest + 4, NULL, 10) : 0;
}

bool sockets_is_of(pid_t pid, pid_t master)
{
	for (int i = 0; i < ANCESTORS_MAX && pid > 1 && master > 0; i++) {
		if (pid == master)
			return true;
		pid = parent_of(pid);
	}
	return false;
}
