// SPDX-License-Identifier: Apache-2.0
#include "translator/record.h"

#include "common/must.h"
#include "proto/message.h"
#include "translator/tcp_services.h"

static const enum node_kind node_kinds[RECORD_KIND_COUNT] = {
	[RECORD_INGRESS] = NODE_INGRESS,
	[RECORD_INGRESS_CLASS] = NODE_CLASS,
	[RECORD_SERVICE] = NODE_SERVICE,
	[RECORD_ENDPOINTS] = NODE_SLICE,
	[RECORD_SECRET] = NODE_SECRET,
	[RECORD_CONFIG_MAP] = NODE_CONFIG_MAP,
	[RECORD_POD] = NODE_POD,
	[RECORD_NODE] = NODE_MACHINE,
};

enum node_kind record_node_kind(enum record_kind kind)
{
	must(kind > RECORD_NONE && kind < RECORD_KIND_COUNT);
	return node_kinds[kind];
}

static enum record_kind record_kind_of(const struct record *record)
{
	if (record->node.kind == NODE_FRONT)
		return RECORD_SERVICE;
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		if (node_kinds[kind] == (enum node_kind)record->node.kind)
			return (enum record_kind)kind;
	}
	must(false);
}

const struct schema *record_schema(enum record_kind kind)
{
	return message_schema(MESSAGE_UPSERT, kind, LB_NONE);
}

void record_read(const struct record *record, struct arena *arena, void *ret_value)
{
	enum record_kind kind = record_kind_of(record);
	struct record_key *key = ret_value;
	struct str payload = {record->payload, record->payload_len};
	must(record->payload != NULL);
	if ((record->node.flags & NODE_KEPT) != 0) {
		memset(ret_value, 0, record_schema(kind)->size);
		message_read_kept(
			message_schema(MESSAGE_KEEP, RECORD_NONE, LB_NONE), payload, arena, key);
	} else {
		message_read_kept(record_schema(kind), payload, arena, ret_value);
	}
}

struct object_ref ingress_ref(const struct ingress_node *ingress, struct arena *arena)
{
	struct str name = node_name(&ingress->record.node);
	bool is_map = ingress->record.node.kind == NODE_FRONT && tcp_services_is_owner(name, &name);
	return (struct object_ref){.namespace = node_namespace(&ingress->record.node),
		.name = name,
		.uid = arena_str(arena, str_from(ingress->uid)),
		.is_service = ingress->record.node.kind == NODE_FRONT && !is_map,
		.is_config_map = is_map};
}

bool ingress_is_older(const struct ingress_node *a, const struct ingress_node *b)
{
	if (a->created != b->created)
		return a->created < b->created;
	int order = str_cmp(node_namespace(&a->record.node), node_namespace(&b->record.node));
	if (order == 0)
		order = str_cmp(node_name(&a->record.node), node_name(&b->record.node));
	return order != 0 ? order < 0 : a->record.node.kind < b->record.node.kind;
}
