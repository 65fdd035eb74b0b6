// SPDX-License-Identifier: Apache-2.0
#include "translator/diagnostics.h"

#include "translator/record.h"
#include "common/tree.h"
#include "common/xalloc.h"
#include "translator/digest.h"

#include <stdlib.h>

enum { DIAGNOSTICS_KEPT_MAX = 64 };

/* What was reported about a node. */
struct told {
	RB_ENTRY(told) entry;
	struct node *node;
	enum diagnostics_part part;
	size_t count;
	uint64_t digests[]; /* sorted */
};
RB_HEAD(told_tree, told);

struct diagnostics {
	struct source_peer *source;
	struct pending *pending;
	struct arena *scratch;
	bool standing; /* conditions found now may have existed before */
	struct told_tree told;
};

static int compare_told(const struct told *a, const struct told *b)
{
	if (a->node != b->node)
		return (uintptr_t)a->node < (uintptr_t)b->node ? -1 : 1;
	return (int)a->part - (int)b->part;
}

RB_GENERATE_LOCAL(told_tree, told, entry, compare_told)

static uint16_t told_flag(enum diagnostics_part part)
{
	return part == DIAGNOSTICS_CONTENT ? NODE_TOLD : NODE_TOLD_STATUS;
}

static struct told *find_told(
	struct diagnostics *diagnostics, struct node *node, enum diagnostics_part part)
{
	struct told wanted = {.node = node, .part = part};
	if ((node->flags & told_flag(part)) == 0)
		return NULL;
	return RB_FIND(told_tree, &diagnostics->told, &wanted);
}

static void free_told(struct diagnostics *diagnostics, struct told *sent)
{
	sent->node->flags &= (uint16_t)~told_flag(sent->part);
	RB_REMOVE(told_tree, &diagnostics->told, sent);
	free(sent);
}

/* Replaces `old`. */
static void store_told(struct diagnostics *diagnostics, struct told *old, struct node *node,
	enum diagnostics_part part, const uint64_t *digests, size_t count)
{
	if (old != NULL)
		free_told(diagnostics, old);
	if (count == 0)
		return;
	struct told *sent = xcalloc(1, sizeof(*sent) + count * sizeof(uint64_t));
	sent->node = node;
	sent->part = part;
	sent->count = count;
	memcpy(sent->digests, digests, count * sizeof(uint64_t));
	node->flags |= told_flag(part);
	RB_INSERT(told_tree, &diagnostics->told, sent);
}

struct diagnostics *diagnostics_new(
	struct source_peer *source, struct pending *pending, struct arena *scratch)
{
	struct diagnostics *diagnostics = xcalloc(1, sizeof(*diagnostics));
	diagnostics->source = source;
	diagnostics->pending = pending;
	diagnostics->scratch = scratch;
	RB_INIT(&diagnostics->told);
	return diagnostics;
}

void diagnostics_free(struct diagnostics *diagnostics)
{
	struct told *sent;
	struct told *next;
	if (diagnostics == NULL)
		return;
	RB_FOREACH_SAFE (sent, told_tree, &diagnostics->told, next)
		free_told(diagnostics, sent);
	free(diagnostics);
}

void diagnostics_set_standing(struct diagnostics *diagnostics, bool on)
{
	diagnostics->standing = on;
}

void diagnostics_drop(struct diagnostics *diagnostics, struct node *node)
{
	for (int part = DIAGNOSTICS_CONTENT; part <= DIAGNOSTICS_STATUS; part++) {
		struct told *sent = find_told(diagnostics, node, (enum diagnostics_part)part);
		if (sent != NULL)
			free_told(diagnostics, sent);
	}
}

/* ---- Events ---- */

static enum record_kind kind_of(const struct object_ref *owner)
{
	if (owner->is_class)
		return RECORD_INGRESS_CLASS;
	if (owner->is_config_map)
		return RECORD_CONFIG_MAP;
	return owner->is_service ? RECORD_SERVICE : RECORD_INGRESS;
}

bool diagnostics_event(struct diagnostics *diagnostics, const struct object_ref *ingress,
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
	bool ready =
		source_peer_is_up(diagnostics->source) && source_peer_is_whole(diagnostics->source);
	struct buf *out = ready ? source_peer_out(diagnostics->source) : NULL;
	if (out == NULL)
		return false;
	/* An Event over a limit can never be sent, so it counts as sent. */
	if (message_encode(MESSAGE_EVENT, &note, out, &error) == 0)
		source_peer_flush(diagnostics->source);
	source_peer_noted(diagnostics->source, &note);
	return true;
}

static uint64_t mix(uint64_t digest, struct str text)
{
	/* Whoever makes two texts collide only suppresses an Event about his own Ingress. */
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

static bool was_sent(const struct told *sent, uint64_t digest)
{
	return sent != NULL && bsearch(&digest, sent->digests, sent->count, sizeof(digest),
				       compare_digests) != NULL;
}

/* Who was told why requests are answered with 503 is told when they are served again. False: there was no room for all. */
static bool tell_recovery(struct diagnostics *diagnostics, struct pool_node *pool)
{
	struct use *use;
	struct str service = node_name(&pool->service->record.node);
	RB_FOREACH (use, use_tree, &pool->node.users) {
		struct object_ref self = ingress_ref(use->user, diagnostics->scratch);
		struct str text = arena_printf(diagnostics->scratch,
			"Service %.*s: what was amiss is over, requests reach it",
			STR_FMT(service));
		if (!diagnostics_event(
			    diagnostics, &self, EVENT_NORMAL, STR("BackendRecovered"), text, false))
			return false;
	}
	return true;
}

static bool has_recovered(const struct node *node, enum diagnostics_part part,
	const struct told *old, const struct diag_list *diags)
{
	return node->kind == NODE_POOL && part == DIAGNOSTICS_CONTENT && old != NULL &&
	       diags->count == 0;
}

static bool is_standing(
	const struct diagnostics *diagnostics, const struct node *node, enum diagnostics_part part)
{
	return diagnostics->standing ||
	       (part == DIAGNOSTICS_STATUS && (node->flags & NODE_NEW_STATUS) != 0);
}

void diagnostics_update(struct diagnostics *diagnostics, struct node *node,
	enum diagnostics_part part, const struct diag_list *diags, bool keep)
{
	struct told *old = find_told(diagnostics, node, part);
	size_t most = diags->count + (old != NULL ? old->count : 0);
	if (most == 0)
		return;
	if (has_recovered(node, part, old, diags) &&
		!tell_recovery(diagnostics, (struct pool_node *)(void *)node)) {
		pending_diagnose(diagnostics->pending, node, part);
		return;
	}
	uint64_t *digests = xcalloc(most, sizeof(*digests));
	size_t count = 0;
	for (size_t i = 0; i < diags->count; i++) {
		const struct diag *diag = &diags->items[i];
		uint64_t digest = digest_of(diag);
		if (!was_sent(old, digest) &&
			!diagnostics_event(diagnostics, &diag->ingress, EVENT_WARNING, diag->reason,
				diag->message, is_standing(diagnostics, node, part)))
			pending_diagnose(diagnostics->pending, node, part);
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
	store_told(diagnostics, old, node, part, digests, count);
	free(digests);
}

/* ---- turns ---- */

void diagnostics_source_up(struct diagnostics *diagnostics)
{
	struct told *sent;
	struct told *next;
	diagnostics->standing = true;
	RB_FOREACH_SAFE (sent, told_tree, &diagnostics->told, next) {
		struct node *node = sent->node;
		enum diagnostics_part part = sent->part;
		free_told(diagnostics, sent);
		pending_diagnose(diagnostics->pending, node, part);
	}
}
