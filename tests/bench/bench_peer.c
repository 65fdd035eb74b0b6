// SPDX-License-Identifier: Apache-2.0
/*
 * For scripts/bench: plays the provider of a translator, and at the same time reads what a `curl` watch of the API server prints; it
 * times both with one clock in one loop. Every change that the benchmark makes carries a mark, "change-<number>" in a path or
 * 10.x.y.z as an endpoint's address; a line `<mark> <curl ns> <provider ns>` is printed when both have been seen.
 *
 *   bench-peer RUNTIME_DIR [--answer] [--merged] < output of curl
 *
 * --answer: each load balancer is called applied at once; --merged: all Ingresses on one of them.
 * Lines `commit <serial> <objects> <ns>` say when a commit arrived.
 */
#include "common/tree.h"
#include "common/xalloc.h"
#include "proto/link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_LEN = 16 * 1024 * 1024, MARK_MAX_LEN = 32 };

struct mark {
	RB_ENTRY(mark) node;
	char text[MARK_MAX_LEN];
	uint64_t curl_ns;
	uint64_t provider_ns;
};

static int compare_marks(struct mark *a, struct mark *b)
{
	return strcmp(a->text, b->text);
}
RB_HEAD(marks, mark);
RB_GENERATE_LOCAL(marks, mark, node, compare_marks)

static struct marks marks = RB_INITIALIZER(&marks);
static struct arena arena;
static struct buf lines;
static uint64_t objects;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void see(struct str text, bool by_curl)
{
	struct mark key = {0};
	if (text.len >= MARK_MAX_LEN)
		return;
	memcpy(key.text, text.p, text.len);
	struct mark *mark = RB_FIND(marks, &marks, &key);
	if (mark == NULL) {
		mark = xmemdup(&key, sizeof(key));
		RB_INSERT(marks, &marks, mark);
	}
	uint64_t *stamp = by_curl ? &mark->curl_ns : &mark->provider_ns;
	if (*stamp != 0)
		return;
	*stamp = now_ns();
	if (mark->curl_ns != 0 && mark->provider_ns != 0)
		printf("%s %" PRIu64 " %" PRIu64 "\n", mark->text, mark->curl_ns,
			mark->provider_ns);
}

/* Notes each mark in a line of curl's. */
static void scan_line(struct str line)
{
	for (size_t at = 0; at < line.len; at++) {
		struct str rest = str_skip(line, at);
		if (!str_starts_with(rest, STR("change-")) &&
			!str_starts_with(rest, STR("\"10.64.")))
			continue;
		if (rest.p[0] == '"')
			rest = str_skip(rest, 1);
		size_t len = 0;
		while (len < rest.len && rest.p[len] != '"' && rest.p[len] != '/')
			len++;
		see((struct str){rest.p, len}, true);
		at += len;
	}
}

static void on_curl(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)events;
	uint8_t *room = buf_reserve(&lines, 65536);
	ssize_t got = room != NULL ? read(STDIN_FILENO, room, 65536) : 0;
	if (got <= 0) {
		ev_io_stop(loop, watcher);
		return;
	}
	buf_commit(&lines, (size_t)got);
	for (;;) {
		struct str text = buf_str(&lines);
		const char *end = memchr(text.p, '\n', text.len);
		if (end == NULL)
			break;
		scan_line((struct str){text.p, (size_t)(end - text.p)});
		buf_consume(&lines, (size_t)(end - text.p) + 1);
	}
	fflush(stdout);
}

static const char *on_up(void *ctx, struct link *link, const struct hello *peer)
{
	(void)ctx;
	(void)link;
	(void)peer;
	return NULL;
}

static void see_pool(struct link *link, const struct message *message)
{
	struct pool pool;
	if (link_decode(link, message, &arena, &pool) != 0)
		return;
	for (size_t i = 0; i < pool.endpoints.count; i++)
		see(pool.endpoints.items[i].ip, false);
}

static void see_host(struct link *link, const struct message *message)
{
	struct virtual_host host;
	if (link_decode(link, message, &arena, &host) != 0)
		return;
	for (size_t i = 0; i < host.rules.count; i++) {
		if (str_starts_with(host.rules.items[i].path, STR("/change-")))
			see(str_skip(host.rules.items[i].path, 1), false);
	}
}

/* Load balancers whose status is still to be sent, from `due_next` on. */
struct due {
	char *id;
	uint64_t rev;
};
static struct due *dues;
static size_t due_count;
static size_t due_next;

static void send_dues(struct link *link)
{
	struct address address = {.ip = STR("192.0.2.1")};
	for (; due_next < due_count && !link_is_full(link); due_next++) {
		struct due *due = &dues[due_next];
		struct lb_status status = {.id = str_from(due->id),
			.rev = due->rev,
			.state = LB_STATE_APPLIED,
			.addresses_known = true,
			.addresses = {&address, 1}};
		(void)link_send(link, MESSAGE_LB_STATUS, &status);
		free(due->id);
	}
}

static void answer(struct link *link, const struct message *message)
{
	struct load_balancer lb;
	if (link_decode(link, message, &arena, &lb) != 0)
		return;
	dues = xreallocarray(dues, due_count + 1, sizeof(*dues));
	dues[due_count++] = (struct due){str_dup(lb.key.id), lb.key.rev};
	send_dues(link);
}

static void on_room(void *ctx, struct link *link)
{
	(void)ctx;
	send_dues(link);
}

static int on_message(void *ctx, struct link *link, const struct message *message)
{
	const bool *answers = ctx;
	if (message->type == MESSAGE_UPSERT) {
		objects++;
		if (message->lb_kind == LB_POOL)
			see_pool(link, message);
		else if (message->lb_kind == LB_VIRTUAL_HOST)
			see_host(link, message);
		else if (message->lb_kind == LB_LOAD_BALANCER && *answers)
			answer(link, message);
	} else if (message->type == MESSAGE_COMMIT) {
		struct lb_commit commit;
		if (link_decode(link, message, &arena, &commit) == 0)
			printf("commit %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", commit.serial,
				objects, now_ns());
		objects = 0;
	}
	arena_reset(&arena);
	fflush(stdout);
	return 0;
}

static void on_nothing(void *ctx, struct link *link)
{
	(void)ctx;
	(void)link;
}

static const struct link_ops ops = {on_up, on_message, on_nothing, on_room, on_nothing};

int main(int argc, char **argv)
{
	static struct capabilities capabilities = {.grouping = GROUPING_PER_INGRESS};
	struct ev_loop *loop = ev_default_loop(0);
	bool answers = false;
	for (int i = 2; i < argc; i++) {
		answers = answers || strcmp(argv[i], "--answer") == 0;
		if (strcmp(argv[i], "--merged") == 0)
			capabilities.grouping = GROUPING_MERGED;
	}
	if (argc < 2) {
		fprintf(stderr, "usage: bench-peer RUNTIME_DIR [--answer] [--merged]\n");
		return 2;
	}
	char *path = xasprintf("%s/provider.sock", argv[1]);
	struct link_config config = {
		.loop = loop,
		.path = path,
		.hello = {.version_min = PROTO_VERSION_MIN,
			.version_max = PROTO_VERSION_MAX,
			.role = ROLE_PROVIDER,
			.name = STR("bench"),
			.software = STR("bench-peer"),
			.capabilities = &capabilities},
		.peer_role = ROLE_TRANSLATOR,
		.ops = &ops,
		.ctx = &answers,
	};
	ev_io curl;
	buf_init(&lines, LINE_MAX_LEN);
	arena_init(&arena);
	ev_io_init(&curl, on_curl, STDIN_FILENO, EV_READ);
	ev_io_start(loop, &curl);
	link_connect(&config);
	ev_run(loop, 0);
	return 0;
}
