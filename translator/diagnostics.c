// SPDX-License-Identifier: Apache-2.0
/*
 * Diagnostics to the watcher, each told once while it stands. Of what was told only digests are
 * kept, by the node that has it to say; a diagnostic that comes back after it was gone is told
 * again. Nothing waits as text: while there is no room, or no watcher, the node waits, and what it
 * has to say is found out again.
 */
#include "translator/state.h"

#include "translator/record.h"
#include "common/tree.h"
#include "common/xalloc.h"
#include "translator/digest.h"

#include <stdlib.h>

enum { DIAGNOSTICS_KEPT_MAX = 64 };

struct diagnostics {
	RB_ENTRY(diagnostics) entry;
	struct node *node;
	enum diagnostics_part part;
	size_t count;
	uint64_t digests[]; /* sorted */
};
RB_HEAD(diagnostics_tree, diagnostics);

static int compare_diagnostics(const struct diagnostics *a, const struct diagnostics *b)
{
	if (a->node != b->node)
		return (uintptr_t)a->node < (uintptr_t)b->node ? -1 : 1;
	return (int)a->part - (int)b->part;
}

RB_GENERATE_LOCAL(diagnostics_tree, diagnostics, entry, compare_diagnostics)

static uint16_t diagnostics_flag(enum diagnostics_part part)
{
	return part == DIAGNOSTICS_CONTENT ? NODE_TOLD : NODE_TOLD_STATUS;
}

static struct diagnostics *diagnostics_find(
	struct engine *engine, struct node *node, enum diagnostics_part part)
{
	struct diagnostics wanted = {.node = node, .part = part};
	if ((node->flags & diagnostics_flag(part)) == 0)
		return NULL;
	return RB_FIND(diagnostics_tree, engine->diagnostics, &wanted);
}

static void diagnostics_free(struct engine *engine, struct diagnostics *sent)
{
	sent->node->flags &= (uint16_t)~diagnostics_flag(sent->part);
	RB_REMOVE(diagnostics_tree, engine->diagnostics, sent);
	free(sent);
}

/* Takes the place of `old`. */
static void diagnostics_store(struct engine *engine, struct diagnostics *old, struct node *node,
	enum diagnostics_part part, const uint64_t *digests, size_t count)
{
	if (old != NULL)
		diagnostics_free(engine, old);
	if (count == 0)
		return;
	struct diagnostics *sent = xcalloc(1, sizeof(*sent) + count * sizeof(uint64_t));
	sent->node = node;
	sent->part = part;
	sent->count = count;
	memcpy(sent->digests, digests, count * sizeof(uint64_t));
	node->flags |= diagnostics_flag(part);
	RB_INSERT(diagnostics_tree, engine->diagnostics, sent);
}

void diagnostics_init(struct engine *engine)
{
	engine->diagnostics = xcalloc(1, sizeof(*engine->diagnostics));
	RB_INIT(engine->diagnostics);
}

void diagnostics_fini(struct engine *engine)
{
	struct diagnostics *sent;
	struct diagnostics *next;
	RB_FOREACH_SAFE (sent, diagnostics_tree, engine->diagnostics, next)
		diagnostics_free(engine, sent);
	free(engine->diagnostics);
}

void diagnostics_drop(struct engine *engine, struct node *node)
{
	for (int part = DIAGNOSTICS_CONTENT; part <= DIAGNOSTICS_STATUS; part++) {
		struct diagnostics *sent =
			diagnostics_find(engine, node, (enum diagnostics_part)part);
		if (sent != NULL)
			diagnostics_free(engine, sent);
	}
}

/* ---- telling ---- */

static enum record_kind kind_of(const struct object_ref *owner)
{
	if (owner->is_class)
		return RECORD_INGRESS_CLASS;
	return owner->is_service ? RECORD_SERVICE : RECORD_INGRESS;
}

bool diagnostics_event(struct engine *engine, const struct object_ref *ingress,
	enum event_type type, struct str reason, struct str message, bool standing)
{
	struct schema_error error = {""};
	struct event_note note = {
		.key = {kind_of(ingress), ingress->namespace, ingress->name, ingress->uid},
		.type = type,
		.reason = reason,
		.message = diag_cut(message, DIAG_MESSAGE_MAX_LEN),
		.standing = standing,
	};
	bool ready = source_peer_is_up(engine->source) && source_peer_is_whole(engine->source);
	struct buf *out = ready ? source_peer_out(engine->source) : NULL;
	if (out == NULL)
		return false;
	/* What breaks a limit cannot be told, and is as good as told. */
	if (message_encode(MESSAGE_EVENT, &note, out, &error) == 0)
		source_peer_flush(engine->source);
	source_peer_noted(engine->source, &note);
	return true;
}

static uint64_t mix(uint64_t digest, struct str text)
{
	/* Whoever makes two texts alike only keeps an Event about his own Ingress from himself. */
	return digest_mix(digest, text.p, text.len);
}

static uint64_t digest_of(const struct diag *diag)
{
	uint64_t digest = DIGEST_START;
	digest = mix(digest, diag->ingress.namespace);
	digest = mix(digest, diag->ingress.name);
	digest = mix(digest, diag->ingress.uid);
	digest = mix(digest, str_from(record_kind_word(kind_of(&diag->ingress))));
	digest = mix(digest, diag->reason);
	return mix(digest, diag->message);
}

static int compare_digests(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

static bool was_sent(const struct diagnostics *sent, uint64_t digest)
{
	return sent != NULL && bsearch(&digest, sent->digests, sent->count, sizeof(digest),
				       compare_digests) != NULL;
}

/* Who was told why requests are answered with 503 is told when they are served again. False: there was no room for all. */
static bool tell_recovery(struct engine *engine, const struct pool_node *pool)
{
	const struct ingress_node *user;
	struct str service = node_name(&pool->service->record.node);
	SET_FOREACH (user, &pool->users, node_by_name) {
		struct object_ref self = ingress_ref(user, &engine->scratch);
		struct str text = arena_printf(&engine->scratch,
			"Service %.*s: what was amiss is over, requests reach it",
			STR_FMT(service));
		if (!diagnostics_event(
			    engine, &self, EVENT_NORMAL, STR("BackendRecovered"), text, false))
			return false;
	}
	return true;
}

static bool has_recovered(const struct node *node, enum diagnostics_part part,
	const struct diagnostics *old, const struct diag_list *diags)
{
	return node->kind == NODE_POOL && part == DIAGNOSTICS_CONTENT && old != NULL &&
	       diags->count == 0;
}

static bool is_standing(
	const struct engine *engine, const struct node *node, enum diagnostics_part part)
{
	return engine->standing ||
	       (part == DIAGNOSTICS_STATUS && (node->flags & NODE_NEW_STATUS) != 0);
}

void diagnostics_update(struct engine *engine, struct node *node, enum diagnostics_part part,
	const struct diag_list *diags, bool keep)
{
	struct diagnostics *old = diagnostics_find(engine, node, part);
	size_t most = diags->count + (old != NULL ? old->count : 0);
	if (most == 0)
		return;
	if (has_recovered(node, part, old, diags) &&
		!tell_recovery(engine, (struct pool_node *)(void *)node)) {
		pending_diagnose(engine->pending, node, part);
		return;
	}
	uint64_t *digests = xcalloc(most, sizeof(*digests));
	size_t count = 0;
	for (size_t i = 0; i < diags->count; i++) {
		const struct diag *diag = &diags->items[i];
		uint64_t digest = digest_of(diag);
		if (!was_sent(old, digest) &&
			!diagnostics_event(engine, &diag->ingress, EVENT_WARNING, diag->reason,
				diag->message, is_standing(engine, node, part)))
			pending_diagnose(engine->pending, node, part);
		else
			digests[count++] = digest;
	}
	qsort(digests, count, sizeof(*digests), compare_digests);
	size_t present = count;
	for (size_t i = 0; keep && old != NULL && i < old->count && count < DIAGNOSTICS_KEPT_MAX;
		i++) {
		if (bsearch(&old->digests[i], digests, present, sizeof(*digests),
			    compare_digests) == NULL)
			digests[count++] = old->digests[i];
	}
	qsort(digests, count, sizeof(*digests), compare_digests);
	diagnostics_store(engine, old, node, part, digests, count);
	free(digests);
}

/* ---- turns ---- */

void diagnostics_source_up(struct engine *engine)
{
	struct diagnostics *sent;
	struct diagnostics *next;
	engine->standing = true;
	RB_FOREACH_SAFE (sent, diagnostics_tree, engine->diagnostics, next) {
		struct node *node = sent->node;
		enum diagnostics_part part = sent->part;
		diagnostics_free(engine, sent);
		pending_diagnose(engine->pending, node, part);
	}
}
