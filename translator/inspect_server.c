// SPDX-License-Identifier: Apache-2.0
#include "translator/inspect_server.h"

#include "common/clock.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "translator/explain.h"
#include "translator/explain_request.h"
#include "translator/inspect.h"

#include <bsd/sys/queue.h>
#include <stdio.h>
#include <stdlib.h>

static const char body_type[] = "application/msgpack";
static const char stream_type[] = "application/vnd.sluice.frames";

enum { PIECE_LEN = 32 * 1024, NAMESPACE_LEN = 64, NAME_LEN = 254, ID_LEN = 1024 };

struct peer {
	char *name;
	char *software;
	bool is_up;
	int64_t since_s;
};

/* A client that follows events. */
struct follower {
	LIST_ENTRY(follower) link;
	struct inspect_server *server;
	struct admin_reply *reply;
	uint64_t next; /* serial number of the next event */
	uint64_t end;  /* the first one that is not wanted; UINT64_MAX: it follows */
};

struct inspect_server {
	struct ev_loop *loop;
	struct engine *engine;
	struct peer peers[INSPECT_PEERS];
	int64_t started_s;
	struct buf events[INSPECT_EVENTS_MAX]; /* frames; a ring indexed by serial number */
	uint64_t event_count;
	LIST_HEAD(follower_list, follower) followers;
};

/* ---- complete responses ---- */

static void reply_value(struct admin_reply *reply, const struct schema *schema, const void *value)
{
	struct buf body;
	buf_init(&body, FRAME_LEN_MAX);
	if (inspection_encode(schema, value, &body) == 0)
		admin_reply_bytes(reply, 200, body_type, buf_str(&body));
	else
		admin_reply_text(reply, 500, "the answer breaks a limit\n");
	buf_fini(&body);
}

static void fill_counts(
	struct inspect_server *server, struct arena *arena, struct inspection_status *status)
{
	struct engine_counts counts;
	size_t count = 0;
	engine_count(server->engine, &counts);
	status->counts.items = arena_calloc(
		arena, RECORD_KIND_COUNT + LB_KIND_COUNT, sizeof(struct inspection_count));
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++)
		status->counts.items[count++] = (struct inspection_count){
			str_from(record_kind_word((enum record_kind)kind)), counts.records[kind]};
	for (int kind = LB_NONE + 1; kind < LB_KIND_COUNT; kind++)
		status->counts.items[count++] = (struct inspection_count){
			str_from(lb_kind_word((enum lb_kind)kind)), counts.objects[kind]};
	status->counts.count = count;
}

static void answer_status(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	static const char *const roles[] = {"watcher", "provider"};
	struct inspect_server *server = ctx;
	struct inspection_peer peers[INSPECT_PEERS];
	struct inspection_status status = {
		.program = STR("translator"),
		.software = STR("sluice-translator " SLUICE_VERSION),
		.missing = str_from(engine_missing(server->engine)),
		.started = (uint64_t)server->started_s,
		.peers = {peers, INSPECT_PEERS},
	};
	struct arena arena;
	arena_init(&arena);
	for (size_t i = 0; i < INSPECT_PEERS; i++) {
		const struct peer *peer = &server->peers[i];
		peers[i] = (struct inspection_peer){
			.role = str_from(roles[i]),
			.name = str_from(peer->name),
			.software = str_from(peer->software),
			.is_up = peer->is_up,
			.since = (uint64_t)peer->since_s,
			.waiting = i == INSPECT_WATCHER ? inspect_waiting_up(server->engine)
							: inspect_waiting_down(server->engine),
		};
	}
	fill_counts(server, &arena, &status);
	status.trouble = inspect_trouble(server->engine, &arena);
	reply_value(reply, &inspection_status_schema, &status);
	arena_fini(&arena);
}

/* ---- responses in pieces ---- */

/* A response that was built as a whole and is sent in pieces. */
struct made {
	struct buf body;
};

static enum admin_turn produce_made(void *state, struct buf *out)
{
	struct made *made = state;
	size_t len = buf_len(&made->body) < PIECE_LEN ? buf_len(&made->body) : PIECE_LEN;
	if (len != 0 && buf_append(out, buf_data(&made->body), len) != 0)
		return ADMIN_END;
	buf_consume(&made->body, len);
	return buf_len(&made->body) != 0 ? ADMIN_MORE : ADMIN_END;
}

static void release_made(void *state)
{
	struct made *made = state;
	buf_fini(&made->body);
	free(made);
}

static void reply_explanation(struct inspect_server *server, struct admin_reply *reply,
	struct inspection_explanation *explanation)
{
	static const struct admin_producer producer = {produce_made, release_made};
	struct made *made = xcalloc(1, sizeof(*made));
	const struct peer *provider = &server->peers[INSPECT_PROVIDER];
	explanation->provider = provider->is_up ? str_from(provider->name) : STR_NONE;
	buf_init(&made->body, FRAME_LEN_MAX);
	if (inspection_encode(&inspection_explanation_schema, explanation, &made->body) == 0) {
		admin_reply_stream(reply, 200, body_type, &producer, made);
	} else {
		release_made(made);
		admin_reply_text(reply, 500, "the answer breaks a limit\n");
	}
}

static void answer_request(
	struct inspect_server *server, const char *url, struct admin_reply *reply)
{
	struct inspection_explanation explanation;
	struct explain_request request;
	struct arena arena;
	arena_init(&arena);
	const char *problem = explain_read_url(str_from(url), &arena, &request);
	if (problem == NULL) {
		explain_find_route(server->engine, &request, &arena, &explanation);
		reply_explanation(server, reply, &explanation);
	} else {
		admin_reply_text(reply, 400, "%s\n", problem);
	}
	arena_fini(&arena);
}

static void answer_explain(
	void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	struct inspect_server *server = ctx;
	char url[EXPLAIN_URL_LEN_MAX + 1];
	char namespace[NAMESPACE_LEN];
	char name[NAME_LEN];
	char word[sizeof("ingress")];
	enum record_kind kind = RECORD_INGRESS;
	struct inspection_explanation explanation;
	struct arena arena;
	if (admin_query(request->query, "url", url, sizeof(url))) {
		answer_request(server, url, reply);
		return;
	}
	if (!admin_query(request->query, "namespace", namespace, sizeof(namespace)) ||
		!admin_query(request->query, "name", name, sizeof(name))) {
		admin_reply_text(reply, 400, "namespace and name are needed, or url\n");
		return;
	}
	if (admin_query(request->query, "kind", word, sizeof(word))) {
		if (strcmp(word, "service") != 0 && strcmp(word, "ingress") != 0) {
			admin_reply_text(reply, 400, "kind is ingress or service\n");
			return;
		}
		kind = strcmp(word, "service") == 0 ? RECORD_SERVICE : RECORD_INGRESS;
	}
	arena_init(&arena);
	if (!explain_object(server->engine, kind, str_from(namespace), str_from(name), &arena,
		    &explanation))
		admin_reply_text(reply, 404, "there is no %s %s/%s\n",
			kind == RECORD_SERVICE ? "Service" : "Ingress", namespace, name);
	else
		reply_explanation(server, reply, &explanation);
	arena_fini(&arena);
}

struct listing {
	struct inspect_server *server;
	struct inspect_list list;
	struct buf frame;
};

static enum admin_turn produce_listing(void *state, struct buf *out)
{
	struct listing *listing = state;
	size_t before = buf_len(out);
	while (buf_len(out) - before < PIECE_LEN) {
		/* A frame that did not fit goes into the next piece. */
		if (buf_len(&listing->frame) == 0 &&
			!inspect_next(&listing->list, listing->server->engine, &listing->frame))
			return ADMIN_END;
		size_t room = ADMIN_PIECE_LEN_MAX - (buf_len(out) - before);
		size_t len = buf_len(&listing->frame) < room ? buf_len(&listing->frame) : room;
		if (buf_append(out, buf_data(&listing->frame), len) != 0)
			return ADMIN_END;
		buf_consume(&listing->frame, len);
	}
	return ADMIN_MORE;
}

static void release_listing(void *state)
{
	struct listing *listing = state;
	inspect_fini(&listing->list);
	buf_fini(&listing->frame);
	free(listing);
}

/* By ?id=, or ?namespace= and ?name=; true if there is such a filter. */
static bool read_key(struct str query, char key[ID_LEN])
{
	char namespace[NAMESPACE_LEN] = "";
	char name[NAME_LEN];
	if (admin_query(query, "id", key, ID_LEN))
		return true;
	if (!admin_query(query, "name", name, sizeof(name)))
		return false;
	(void)admin_query(query, "namespace", namespace, sizeof(namespace));
	snprintf(key, ID_LEN, "%s%s%s", namespace, namespace[0] != '\0' ? "/" : "", name);
	return true;
}

static void answer_objects(
	void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	static const struct admin_producer producer = {produce_listing, release_listing};
	static const struct admin_producer single = {produce_made, release_made};
	struct listing *listing = xcalloc(1, sizeof(*listing));
	char key[ID_LEN];
	listing->server = ctx;
	buf_init(&listing->frame, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	if (!inspect_init(&listing->list, request->rest)) {
		admin_reply_text(reply, 404, "there is no such list; see proto/ADMIN.md\n");
	} else if (!read_key(request->query, key)) {
		admin_reply_stream(reply, 200, stream_type, &producer, listing);
		return;
	} else if (!inspect_find(&listing->list, listing->server->engine, str_from(key),
			   &listing->frame)) {
		admin_reply_text(reply, 404, "there is no %.*s %s\n", STR_FMT(request->rest), key);
	} else {
		struct made *made = xcalloc(1, sizeof(*made));
		made->body = listing->frame;
		buf_init(&listing->frame, 0);
		admin_reply_stream(reply, 200, stream_type, &single, made);
	}
	release_listing(listing);
}

/* ---- events ---- */

static enum admin_turn produce_events(void *state, struct buf *out)
{
	struct follower *follower = state;
	struct inspect_server *server = follower->server;
	size_t before = buf_len(out);
	uint64_t oldest = server->event_count > INSPECT_EVENTS_MAX
				  ? server->event_count - INSPECT_EVENTS_MAX
				  : 0;
	if (follower->next < oldest)
		follower->next = oldest;
	uint64_t end = follower->end < server->event_count ? follower->end : server->event_count;
	while (follower->next < end && buf_len(out) - before < PIECE_LEN) {
		const struct buf *frame = &server->events[follower->next % INSPECT_EVENTS_MAX];
		if (buf_append_str(out, buf_str(frame)) != 0)
			return ADMIN_END;
		follower->next++;
	}
	if (follower->next >= follower->end)
		return ADMIN_END;
	return follower->next < end ? ADMIN_MORE : ADMIN_WAIT;
}

static void release_events(void *state)
{
	struct follower *follower = state;
	LIST_REMOVE(follower, link);
	free(follower);
}

/* ?past=true: remembered events first; ?past=only: nothing else. */
static void answer_events(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	static const struct admin_producer producer = {produce_events, release_events};
	struct inspect_server *server = ctx;
	struct follower *follower = xcalloc(1, sizeof(*follower));
	char past[8];
	follower->server = server;
	follower->reply = reply;
	follower->end = UINT64_MAX;
	if (!admin_query(request->query, "past", past, sizeof(past)))
		follower->next = server->event_count;
	else if (strcmp(past, "only") == 0)
		follower->end = server->event_count;
	LIST_INSERT_HEAD(&server->followers, follower, link);
	admin_reply_stream(reply, 200, stream_type, &producer, follower);
}

static void add_event(struct inspect_server *server, const struct inspection_event *event)
{
	struct buf *place = &server->events[server->event_count % INSPECT_EVENTS_MAX];
	struct follower *follower;
	buf_clear(place);
	if (inspection_encode_frame(&inspection_event_schema, event, place) != 0)
		return;
	server->event_count++;
	LIST_FOREACH (follower, &server->followers, link)
		admin_reply_wake(follower->reply);
}

void inspect_server_event(struct inspect_server *server, const struct event_note *note)
{
	struct inspection_event event = {
		.at = (uint64_t)clock_wall_s(),
		.type = note->type,
		.kind = note->key.kind == RECORD_SERVICE ? STR("Service") : STR("Ingress"),
		.namespace = note->key.namespace,
		.name = note->key.name,
		.reason = note->reason,
		.message = note->message,
	};
	add_event(server, &event);
}

static void tell_peer(struct inspect_server *server, enum inspect_server_peer which, bool is_up)
{
	static const char *const words[INSPECT_PEERS][2] = {
		{"WatcherDown", "WatcherUp"}, {"ProviderDown", "ProviderUp"}};
	struct peer *peer = &server->peers[which];
	peer->is_up = is_up;
	peer->since_s = clock_wall_s();
	struct inspection_event event = {
		.at = (uint64_t)peer->since_s,
		.type = is_up ? EVENT_NORMAL : EVENT_WARNING,
		.name = str_from(peer->name),
		.reason = str_from(words[which][is_up]),
		.message = str_from(peer->software),
	};
	add_event(server, &event);
}

void inspect_server_up(
	struct inspect_server *server, enum inspect_server_peer which, const struct hello *hello)
{
	struct peer *peer = &server->peers[which];
	free(peer->name);
	free(peer->software);
	peer->name = str_dup(hello->name);
	peer->software = str_dup(hello->software);
	tell_peer(server, which, true);
}

void inspect_server_down(struct inspect_server *server, enum inspect_server_peer which)
{
	if (server->peers[which].is_up)
		tell_peer(server, which, false);
}

/* ---- lifecycle ---- */

struct inspect_server *inspect_server_new(
	struct ev_loop *loop, struct admin_server *admin, struct engine *engine)
{
	struct inspect_server *server = xcalloc(1, sizeof(*server));
	server->loop = loop;
	server->engine = engine;
	server->started_s = clock_wall_s();
	LIST_INIT(&server->followers);
	for (size_t i = 0; i < INSPECT_EVENTS_MAX; i++)
		buf_init(&server->events[i], PIECE_LEN);
	admin_add_path(admin, "/status", ADMIN_LOCAL, answer_status, server);
	admin_add_path(admin, "/explain", ADMIN_LOCAL, answer_explain, server);
	admin_add_path(admin, "/objects/", ADMIN_PREFIX, answer_objects, server);
	admin_add_path(admin, "/events", ADMIN_LOCAL, answer_events, server);
	return server;
}

void inspect_server_free(struct inspect_server *server)
{
	if (server == NULL)
		return;
	for (size_t i = 0; i < INSPECT_EVENTS_MAX; i++)
		buf_fini(&server->events[i]);
	for (size_t i = 0; i < INSPECT_PEERS; i++) {
		free(server->peers[i].name);
		free(server->peers[i].software);
	}
	free(server);
}
