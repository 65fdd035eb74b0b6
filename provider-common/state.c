// SPDX-License-Identifier: Apache-2.0
#include "provider-common/state.h"

#include "common/must.h"
#include "common/tree.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "proto/messages.h"
#include "provider-common/decoded_pool.h"
#include "provider-common/graph.h"

#include <errno.h>
#include <stdio.h>

enum { SCRATCH_KEPT_LEN = 16 * 1024 };

struct staged {
	RB_ENTRY(staged) node;
	struct payload *payload; /* NULL: removed */
	uint64_t rev;
	enum lb_kind kind;
	size_t id_len;
	char id[];
};

RB_HEAD(staged_tree, staged);

struct state {
	struct state_config config;
	struct graph graph;
	size_t present[LB_KIND_COUNT];
	struct staged_tree staged;
	size_t staged_count;
	bool in_snapshot;
	bool is_complete;
	bool is_committing;
	struct buf scratch; /* for objects that are encoded again */
	struct message_reader *reader;
	struct decoded_pool decoded;
	struct arena decoding;
	/* Of the current commit: */
	struct arena arena;
	struct state_change *changes;
	size_t change_count;
	struct object_list touched;
	struct object_list loose; /* may be unused now */
};

static int compare_staged(const struct staged *a, const struct staged *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return str_cmp((struct str){a->id, a->id_len}, (struct str){b->id, b->id_len});
}

RB_GENERATE_LOCAL(staged_tree, staged, node, compare_staged)

static struct staged *find_staged(struct state *state, enum lb_kind kind, struct str id)
{
	struct staged *at = RB_ROOT(&state->staged);
	while (at != NULL) {
		int order = (int)kind - (int)at->kind;
		if (order == 0)
			order = str_cmp(id, (struct str){at->id, at->id_len});
		if (order == 0)
			return at;
		at = order < 0 ? RB_LEFT(at, node) : RB_RIGHT(at, node);
	}
	return NULL;
}

static const struct schema *schema_of(enum lb_kind kind)
{
	return message_schema(MESSAGE_UPSERT, RECORD_NONE, kind);
}

static void decode(const struct state *state, const struct object *object, struct arena *arena,
	void *ret_value)
{
	const struct payload *payload = object->payload;
	struct lb_key *key = ret_value;
	message_reader_read_kept(
		state->reader, schema_of(object->kind), payload_message(payload), arena, ret_value);
	*key = (struct lb_key){
		.rev = object->rev, .kind = object->kind, .id = {object->id, object->id_len}};
}

/* ---- staging ---- */

static void free_staged(struct state *state, struct staged *staged)
{
	if (staged->payload != NULL)
		decoded_pool_forget(&state->decoded);
	RB_REMOVE(staged_tree, &state->staged, staged);
	payload_free(staged->kind, staged->payload);
	free(staged);
	state->staged_count--;
}

void state_drop_staged(struct state *state)
{
	struct staged *staged;
	while ((staged = RB_ROOT(&state->staged)) != NULL)
		free_staged(state, staged);
	state->in_snapshot = false;
}

void state_begin_snapshot(struct state *state)
{
	state_drop_staged(state);
	for (int kind = 0; kind < LB_KIND_COUNT; kind++) {
		struct object *object = graph_first(&state->graph, (enum lb_kind)kind);
		for (; object != NULL; object = graph_next(&state->graph, object))
			object->is_seen = false;
	}
	state->in_snapshot = true;
}

static int stage(struct state *state, enum lb_kind kind, struct str id, struct staged **ret_staged,
	struct schema_error *ret_error)
{
	struct staged *staged = find_staged(state, kind, id);
	size_t total = state->staged_count;
	for (int i = 0; i < LB_KIND_COUNT; i++)
		total += state->present[i];
	if (staged == NULL && total >= STATE_OBJECTS_MAX) {
		snprintf(ret_error->text, sizeof(ret_error->text), "more than %d objects",
			STATE_OBJECTS_MAX);
		return -EMSGSIZE;
	}
	if (staged == NULL) {
		staged = xcalloc(1, sizeof(*staged) + id.len);
		staged->kind = kind;
		staged->id_len = id.len;
		str_put(staged->id, id);
		RB_INSERT(staged_tree, &state->staged, staged);
		state->staged_count++;
	}
	decoded_pool_forget(&state->decoded);
	payload_free(staged->kind, staged->payload);
	staged->payload = NULL;
	*ret_staged = staged;
	return 0;
}

static bool may_reduce(const struct state *state, enum lb_kind kind)
{
	return state->config.reduce != NULL && kind != LB_LOAD_BALANCER;
}

/* A message with only what is kept of the object, if that differs from what was received. The revision is left out of it: two objects that
 * differ only there are the same. */
static struct payload *keep_altered(struct state *state, union any_object *value)
{
	struct lb_key key = value->key;
	struct schema_error error;
	size_t body = 0;
	value->key.rev = 0;
	buf_clear(&state->scratch);
	must(message_encode_upsert(schema_of(key.kind), value, &state->scratch, &body, &error) ==
		0);
	value->key = key;
	struct payload *payload =
		payload_new(key.kind, value, str_skip(buf_str(&state->scratch), FRAME_HEAD_LEN));
	bool is_secret = key.kind == LB_CERTIFICATE || key.kind == LB_USERS ||
			 (key.kind == LB_POOL && value->pool.tls != NULL &&
				 value->pool.tls->client_key.len != 0);
	if (is_secret)
		buf_wipe_fini(&state->scratch);
	else
		buf_shrink(&state->scratch, SCRATCH_KEPT_LEN);
	return payload;
}

static bool amend(
	struct state *state, const struct object *old, union any_object *value, struct arena *arena)
{
	return state->config.amend != NULL &&
	       state->config.amend(state->config.amend_ctx, old, value->key.kind, value, arena);
}

/* A rule leads to exactly one thing. */
static int check_rules(const struct virtual_host *host, struct schema_error *ret_error)
{
	for (size_t i = 0; i < host->rules.count; i++) {
		const struct path_rule *rule = &host->rules.items[i];
		int count = !str_is_empty(rule->pool) + (rule->pools.count != 0) +
			    (rule->redirect != NULL) + (rule->answer != NULL);
		if (count == 1)
			continue;
		snprintf(ret_error->text, sizeof(ret_error->text),
			"rules[%zu]: %s pool, pools, redirect and answer", i,
			count == 0 ? "none of" : "more than one of");
		return -EBADMSG;
	}
	return 0;
}

int state_stage_upsert(struct state *state, const struct message *message, struct arena *arena,
	struct schema_error *ret_error)
{
	union any_object value;
	must(!state->is_committing && message->type == MESSAGE_UPSERT &&
		message->lb_kind != LB_NONE);
	bool is_alone = message->lb_kind == LB_POOL && state->staged_count == 0;
	if (is_alone)
		arena = decoded_pool_begin(&state->decoded);
	int err = message_decode(message, arena, &value, ret_error);
	if (err == 0 && value.key.kind == LB_VIRTUAL_HOST)
		err = check_rules(&value.virtual_host, ret_error);
	if (err != 0)
		return err;
	struct object *object = graph_find(&state->graph, value.key.kind, value.key.id);
	if (object != NULL)
		object->is_seen = true;
	if (object != NULL && object->payload != NULL && object->rev == value.key.rev) {
		struct staged *staged = find_staged(state, value.key.kind, value.key.id);
		if (staged != NULL)
			free_staged(state, staged);
		return 0;
	}
	struct staged *staged;
	err = stage(state, value.key.kind, value.key.id, &staged, ret_error);
	if (err != 0)
		return err;
	staged->rev = value.key.rev;
	bool is_altered = amend(
		state, object != NULL && object->payload != NULL ? object : NULL, &value, arena);
	if (may_reduce(state, value.key.kind)) {
		(void)state->config.reduce(value.key.kind, &value);
		is_altered = true;
	}
	staged->payload = is_altered ? keep_altered(state, &value)
				     : payload_new(value.key.kind, &value, message->payload);
	if (is_alone && !is_altered)
		decoded_pool_keep(&state->decoded, staged->payload, &value.pool, message->payload);
	return 0;
}

int state_stage_remove(
	struct state *state, const struct lb_remove *remove, struct schema_error *ret_error)
{
	must(!state->is_committing);
	struct staged *staged = find_staged(state, remove->kind, remove->id);
	if (state_find(state, remove->kind, remove->id) == NULL) {
		if (staged != NULL)
			free_staged(state, staged);
		return 0;
	}
	return stage(state, remove->kind, remove->id, &staged, ret_error);
}

/* ---- commit ---- */

static void note_change(struct state *state, enum state_change_type type, struct object *object)
{
	struct state_change *change = arena_push(
		&state->arena, (void **)&state->changes, &state->change_count, sizeof(*change));
	*change = (struct state_change){type, object};
}

static void touch_if_wanted(struct state *state, struct object *object)
{
	if (state->config.want_touched)
		graph_touch_users(object, &state->touched);
}

/* The payload stays until the commit is done, for those notified of the removal. */
static void remove_object(struct state *state, struct object *object)
{
	touch_if_wanted(state, object);
	graph_unlink(object, &state->loose);
	object->is_removed = true;
	state->present[object->kind]--;
	note_change(state, STATE_REMOVED, object);
}

/* Another revision may not change anything that is kept. */
static bool says_the_same(
	const struct state *state, const struct object *object, const struct payload *payload)
{
	return object->payload != NULL && may_reduce(state, (enum lb_kind)object->kind) &&
	       str_eq(payload_message(object->payload), payload_message(payload));
}

static void link_object(struct state *state, struct object *object)
{
	union any_object value;
	/* As a pool, and most objects are pools. */
	if (object->payload->ref_count == 0) {
		graph_link(&state->graph, object, NULL);
		return;
	}
	decode(state, object, &state->decoding, &value);
	graph_link(&state->graph, object, &value);
	arena_reset(&state->decoding);
}

static void replace_object(struct state *state, struct object *object, struct staged *staged)
{
	bool is_new = object->payload == NULL;
	object->rev = staged->rev;
	object->is_seen = true;
	if (says_the_same(state, object, staged->payload))
		return;
	if (!is_new)
		touch_if_wanted(state, object);
	else
		state->present[object->kind]++;
	graph_unlink(object, &state->loose);
	payload_free(staged->kind, object->payload);
	object->payload = staged->payload;
	staged->payload = NULL;
	link_object(state, object);
	touch_if_wanted(state, object);
	note_change(state, is_new ? STATE_ADDED : STATE_CHANGED, object);
}

static void remove_if_there(struct state *state, struct object *object)
{
	if (object != NULL && object->payload != NULL)
		remove_object(state, object);
}

static void apply_staged(struct state *state)
{
	struct staged *staged;
	struct staged *next;
	RB_FOREACH_SAFE (staged, staged_tree, &state->staged, next) {
		struct str id = {staged->id, staged->id_len};
		if (staged->payload != NULL)
			replace_object(
				state, graph_find_or_add(&state->graph, staged->kind, id), staged);
		else
			remove_if_there(state, graph_find(&state->graph, staged->kind, id));
		free_staged(state, staged);
	}
}

static void remove_unseen(struct state *state)
{
	struct object *object;
	for (int kind = LB_NONE + 1; kind < LB_KIND_COUNT; kind++) {
		object = graph_first(&state->graph, (enum lb_kind)kind);
		for (; object != NULL; object = graph_next(&state->graph, object)) {
			if (object_is_present(object) && !object->is_seen)
				remove_object(state, object);
		}
	}
}

void state_commit(struct state *state, struct state_commit *ret_commit)
{
	must(!state->is_committing);
	state->is_committing = true;
	bool is_snapshot = state->in_snapshot;
	apply_staged(state);
	if (is_snapshot)
		remove_unseen(state);
	state->in_snapshot = false;
	state->is_complete = state->is_complete || is_snapshot;
	graph_end_touching(&state->touched);
	*ret_commit = (struct state_commit){
		.is_snapshot = is_snapshot,
		.changes = state->changes,
		.change_count = state->change_count,
		.touched = state->touched.items,
		.touched_count = state->touched.count,
	};
}

void state_commit_done(struct state *state)
{
	must(state->is_committing);
	for (size_t i = 0; i < state->change_count; i++) {
		struct object *object = state->changes[i].object;
		if (state->changes[i].type != STATE_REMOVED)
			continue;
		must(object->user == NULL);
		must(object->kind != LB_LOAD_BALANCER || !object_report(object)->is_marked);
		payload_free((enum lb_kind)object->kind, object->payload);
		object->payload = NULL;
		object->is_removed = false;
		graph_note_loose(object, &state->loose);
	}
	graph_free_loose(&state->graph, &state->loose);
	decoded_pool_forget(&state->decoded);
	state->changes = NULL;
	state->change_count = 0;
	state->touched = state->loose = (struct object_list){.arena = &state->arena};
	arena_reset(&state->arena);
	state->is_committing = false;
}

bool state_is_complete(const struct state *state)
{
	return state->is_complete;
}

/* ---- reading ---- */

struct object *state_find(const struct state *state, enum lb_kind kind, struct str id)
{
	struct object *object = graph_find(&state->graph, kind, id);
	return object != NULL && object_is_present(object) ? object : NULL;
}

static struct object *skip_absent(const struct state *state, struct object *object)
{
	while (object != NULL && !object_is_present(object))
		object = graph_next(&state->graph, object);
	return object;
}

struct object *state_first(const struct state *state, enum lb_kind kind)
{
	return skip_absent(state, graph_first(&state->graph, kind));
}

struct object *state_next(const struct state *state, struct object *object)
{
	return skip_absent(state, graph_next(&state->graph, object));
}

struct object *state_after(const struct state *state, enum lb_kind kind, struct str id)
{
	return skip_absent(state, graph_after(&state->graph, kind, id));
}

size_t state_count(const struct state *state, enum lb_kind kind)
{
	return state->present[kind];
}

void state_decode(
	struct state *state, const struct object *object, struct arena *arena, void *ret_value)
{
	must(object->payload != NULL);
	decode(state, object, arena, ret_value);
}

void state_take_decoded(
	struct state *state, const struct object *object, struct arena *arena, void *ret_value)
{
	struct lb_key *key = ret_value;
	if (!decoded_pool_take(&state->decoded, object->payload, ret_value)) {
		state_decode(state, object, arena, ret_value);
		return;
	}
	must(state->is_committing);
	key->id = (struct str){object->id, object->id_len};
}

/* ---- lifecycle ---- */

struct state *state_new(const struct state_config *config)
{
	struct state *state = xcalloc(1, sizeof(*state));
	state->config = *config;
	graph_init(&state->graph);
	RB_INIT(&state->staged);
	buf_init(&state->scratch, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	state->reader = message_reader_new();
	decoded_pool_init(&state->decoded);
	arena_init(&state->decoding);
	arena_init(&state->arena);
	state->touched = state->loose = (struct object_list){.arena = &state->arena};
	return state;
}

void state_free(struct state *state)
{
	if (state == NULL)
		return;
	must(!state->is_committing);
	state_drop_staged(state);
	graph_fini(&state->graph);
	buf_wipe_fini(&state->scratch);
	message_reader_free(state->reader);
	decoded_pool_fini(&state->decoded);
	arena_fini(&state->decoding);
	arena_fini(&state->arena);
	free(state);
}
