// SPDX-License-Identifier: Apache-2.0
#include "translator/records.h"

#include "translator/record.h"
#include "common/ascii.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "translator/keys.h"
#include "translator/layer4.h"
#include "translator/log_events.h"
#include "translator/tcp_services.h"

#include <errno.h>
#include <stdlib.h>

struct records {
	struct graph *graph;
	struct plans *plans;
	const struct changes *changes;
	struct arena *scratch;
	size_t counts[NODE_RECORD_KINDS];
	uint8_t marks[RECORD_KIND_COUNT]; /* of the current sync, for each kind */
	struct record *made;              /* here, see records_put_made(); NULL: nothing */
	const struct source_peer *source;
	/* Likewise, of the ConfigMaps with ports for TCP and UDP. */
	struct record *ports[PROTOCOL_UDP + 1];
};

struct records *records_new(struct graph *graph, struct plans *plans, const struct changes *changes,
	const struct source_peer *source, struct arena *scratch)
{
	struct records *records = xcalloc(1, sizeof(*records));
	records->graph = graph;
	records->plans = plans;
	records->changes = changes;
	records->source = source;
	records->scratch = scratch;
	return records;
}

void records_free(struct records *records)
{
	free(records);
}

size_t records_count(const struct records *records, enum record_kind kind)
{
	return records->counts[record_node_kind(kind)];
}

static struct str key_text(const struct record_key *key, struct arena *arena)
{
	if (key->kind == RECORD_INGRESS_CLASS || key->kind == RECORD_NODE)
		return key->name;
	return key_join(arena, key->namespace, '/', key->name);
}

/* ---- one record ---- */

static void change(struct records *records, struct record *record, const struct plan *old)
{
	switch ((enum node_kind)record->node.kind) {
	case NODE_INGRESS:
	case NODE_FRONT:
		change_ingress(records->changes, (struct ingress_node *)(void *)record, old);
		return;
	case NODE_CLASS:
		change_class(records->changes, (struct class_node *)(void *)record);
		return;
	case NODE_SERVICE:
		change_service(records->changes, (struct service_node *)(void *)record);
		return;
	case NODE_SLICE:
		change_slice(records->changes, (struct slice_node *)(void *)record);
		return;
	case NODE_SECRET:
		change_secret(records->changes, (struct secret_node *)(void *)record);
		return;
	case NODE_CONFIG_MAP:
		change_config_map(records->changes, (struct config_map_node *)(void *)record);
		return;
	case NODE_POD:
	case NODE_MACHINE:
		change_place(records->changes, (struct place_node *)(void *)record);
		return;
	case NODE_BALANCER:
	case NODE_HOST:
	case NODE_POOL:
	case NODE_CLAIM:
	case NODE_POLICY:
	case NODE_USERS:
	case NODE_KIND_COUNT:
		break;
	}
	must(false);
}

static void note_uid(struct ingress_node *ingress, struct str uid)
{
	free(ingress->uid);
	ingress->uid = uid.len != 0 ? str_dup(uid) : NULL;
}

/* An absent payload deletes the record. `flag`: NODE_KEPT for the message of a record that cannot be read. */
static void replace(struct records *records, struct record *record, struct str payload,
	uint16_t flag, struct str uid)
{
	const struct plan *old = NULL;
	enum node_kind kind = (enum node_kind)record->node.kind;
	if (kind == NODE_INGRESS || kind == NODE_FRONT) {
		struct ingress_node *ingress = (struct ingress_node *)(void *)record;
		old = plans_save_old(records->plans, ingress);
		plans_forget(records->plans, ingress);
		record->node.flags = (uint16_t)((record->node.flags & ~NODE_KEPT) | flag);
		if (payload.p != NULL)
			note_uid(ingress, uid);
	}
	char *old_payload = record->payload;
	size_t old_len = record->payload_len;
	record->payload = payload.p != NULL ? xmemdup(payload.p, payload.len) : NULL;
	record->payload_len = payload.len;
	records->counts[kind] += record->payload != NULL;
	records->counts[kind] -= old_payload != NULL;
	change(records, record, old); /* may free the node */
	record_free_payload(kind, old_payload, old_len);
}

static bool is_same(const struct record *record, struct str payload, uint16_t flag)
{
	return record->payload != NULL && (record->node.flags & NODE_KEPT) == flag &&
	       str_eq((struct str){record->payload, record->payload_len}, payload);
}

static void store(struct records *records, struct record *record, struct str payload, uint16_t flag,
	struct str uid)
{
	if (!is_same(record, payload, flag))
		replace(records, record, payload, flag, uid);
}

static void forget(struct records *records, struct record *record)
{
	replace(records, record, STR_NONE, 0, STR_NONE);
}

/* A Service that may want a load balancer has a second record, as its owner. */
static void put_front(
	struct records *records, struct str key, bool is_front, struct str payload, struct str uid)
{
	struct record *front = graph_find(records->graph, NODE_FRONT, key);
	if (is_front) {
		front = graph_get(records->graph, NODE_FRONT, key);
		front->node.mark = records->marks[RECORD_SERVICE];
		store(records, front, payload, 0, uid);
	} else if (front != NULL && front->payload != NULL) {
		forget(records, front);
	}
}

/* ---- ports for TCP and UDP ---- */

static struct str map_of(const struct records *records, enum ip_protocol protocol)
{
	const struct source_settings *settings = source_peer_settings(records->source);
	return protocol == PROTOCOL_UDP ? settings->udp_services : settings->tcp_services;
}

static void forget_ports(struct records *records, enum ip_protocol protocol)
{
	struct record *front = records->ports[protocol];
	records->ports[protocol] = NULL;
	if (front != NULL && front->payload != NULL)
		forget(records, front);
}

/* Changes may reset the arena, so nothing of it is used behind the first of them. */
static void put_ports(
	struct records *records, enum ip_protocol protocol, const struct config_map_record *map)
{
	struct schema_error error = {""};
	struct service_record service;
	struct buf frame;
	const struct source_settings *settings = source_peer_settings(records->source);
	tcp_services_read(
		map, protocol, settings->load_balancer_class, records->scratch, NULL, &service);
	buf_init(&frame, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	/* With the suffix its name may be too long. */
	int err = message_encode_record(&service, &frame, &error);
	struct record *front = err == 0 ? graph_get(records->graph, NODE_FRONT,
						  key_text(&service.key, records->scratch))
					: NULL;
	char *uid = str_dup(service.key.uid);
	if (front != records->ports[protocol])
		forget_ports(records, protocol);
	records->ports[protocol] = front;
	if (front != NULL)
		store(records, front, str_skip(buf_str(&frame), FRAME_HEAD_LEN), 0, str_from(uid));
	free(uid);
	buf_fini(&frame);
}

static void settle_ports(struct records *records, enum ip_protocol protocol)
{
	struct str key = map_of(records, protocol);
	struct record *record = graph_find(records->graph, NODE_CONFIG_MAP, key);
	struct config_map_record map;
	if (str_is_empty(key) || record == NULL || record->payload == NULL) {
		forget_ports(records, protocol);
		return;
	}
	record_read(record, records->scratch, &map);
	put_ports(records, protocol, &map);
}

void records_settle_ports(struct records *records)
{
	settle_ports(records, PROTOCOL_TCP);
	settle_ports(records, PROTOCOL_UDP);
}

/* Whether it is a ConfigMap with such ports. */
static bool has_ports(const struct records *records, enum record_kind kind, struct str key)
{
	return kind == RECORD_CONFIG_MAP && (str_eq(key, map_of(records, PROTOCOL_TCP)) ||
						    str_eq(key, map_of(records, PROTOCOL_UDP)));
}

static void drop(struct records *records, struct record *record)
{
	if (record == records->made || record == records->ports[PROTOCOL_TCP] ||
		record == records->ports[PROTOCOL_UDP])
		return;
	bool is_ports = record->node.kind == NODE_CONFIG_MAP &&
			has_ports(records, RECORD_CONFIG_MAP, node_key(&record->node));
	if (record->node.kind == NODE_SERVICE)
		put_front(records, node_key(&record->node), false, STR_NONE, STR_NONE);
	forget(records, record);
	if (is_ports)
		records_settle_ports(records);
}

static void put(struct records *records, struct str key, struct str payload, const void *value)
{
	const struct record_key *record_key = value;
	enum record_kind kind = record_key->kind;
	struct record *record = graph_get(records->graph, record_node_kind(kind), key);
	bool is_ports = has_ports(records, kind, key);
	record->node.mark = records->marks[kind];
	store(records, record, payload, 0, record_key->uid);
	if (kind == RECORD_SERVICE)
		put_front(records, key, layer4_is_front(value), payload, record_key->uid);
	if (is_ports)
		records_settle_ports(records);
}

/* Names of all these kinds are DNS names (Kubernetes API conventions). Keys and ids contain them: a slash
 * could turn one into another, and ids are written into configurations. */
static bool is_plain(struct str name)
{
	return ascii_is_made_of(name, "-._");
}

static bool is_usable(const struct record_key *key)
{
	if (!str_is_empty(key->name) && is_plain(key->name) && is_plain(key->namespace))
		return true;
	log_event(&EV_RECORD_IGNORED, LOG_TEXT("namespace", key->namespace),
		LOG_TEXT("name", key->name));
	return false;
}

int records_take(
	struct records *records, const struct message *message, struct schema_error *ret_error)
{
	void *value = arena_alloc(records->scratch, record_schema(message->record_kind)->size);
	int err = message_decode(message, records->scratch, value, ret_error);
	if (err != 0)
		return err;
	const struct record_key *key = value;
	if (is_usable(key))
		put(records, key_text(key, records->scratch), message->payload, value);
	return 0;
}

/* NULL: unknown. A Service that cannot be read has only a front. */
static struct record *find(struct records *records, const struct record_key *key)
{
	struct str text = key_text(key, records->scratch);
	struct record *record = graph_find(records->graph, record_node_kind(key->kind), text);
	if (key->kind == RECORD_SERVICE && (record == NULL || record->payload == NULL))
		record = graph_find(records->graph, NODE_FRONT, text);
	return record != NULL && record->payload != NULL ? record : NULL;
}

int records_delete(struct records *records, const struct record_key *key)
{
	if (key->kind == RECORD_NONE)
		return -EPROTO;
	struct record *record = is_usable(key) ? find(records, key) : NULL;
	if (record == NULL)
		return 0;
	if (!str_is_empty(key->uid)) {
		void *value = arena_alloc(records->scratch, record_schema(key->kind)->size);
		record_read(record, records->scratch, value);
		/* This deletes an earlier object; another one of the same name exists by now. */
		struct str uid = ((const struct record_key *)value)->uid;
		if (!str_is_empty(uid) && !str_eq(uid, key->uid))
			return 0;
	}
	drop(records, record);
	return 0;
}

/* Only its existence is known, which keeps a load balancer of its own from being removed as unwanted. Other
 * kinds do not matter. */
static void keep_unknown(struct records *records, const struct record_key *key, struct str payload)
{
	enum node_kind kind = key->kind == RECORD_INGRESS ? NODE_INGRESS : NODE_FRONT;
	if (key->kind != RECORD_INGRESS && key->kind != RECORD_SERVICE)
		return;
	struct record *record = graph_get(records->graph, kind, key_text(key, records->scratch));
	record->node.mark = records->marks[key->kind];
	store(records, record, payload, NODE_KEPT, key->uid);
}

int records_keep(struct records *records, const struct record_key *key, struct str payload)
{
	if (key->kind == RECORD_NONE)
		return -EPROTO;
	if (!is_usable(key))
		return 0;
	struct record *record = find(records, key);
	if (record == NULL) {
		keep_unknown(records, key, payload);
		return 0;
	}
	record->node.mark = records->marks[key->kind];
	if (record->node.kind == NODE_SERVICE)
		record = graph_find(records->graph, NODE_FRONT, node_key(&record->node));
	if (record != NULL)
		record->node.mark = records->marks[key->kind];
	return 0;
}

/* ---- what is made here ---- */

void records_put_made(struct records *records, const struct secret_record *secret)
{
	struct schema_error error = {""};
	struct buf frame;
	buf_init(&frame, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	must(message_encode_record(secret, &frame, &error) == 0);
	records->made =
		graph_get(records->graph, NODE_SECRET, key_text(&secret->key, records->scratch));
	replace(records, records->made, str_skip(buf_str(&frame), FRAME_HEAD_LEN), 0, STR_NONE);
	records->counts[NODE_SECRET] = 0; /* nobody has sent it */
	buf_wipe_fini(&frame);
}

/* ---- snapshots ---- */

void records_begin(struct records *records, enum record_kind kind)
{
	records->marks[kind]++;
}

static void sweep(struct records *records, enum node_kind node_kind, uint8_t mark)
{
	struct node *node;
	struct node *next;
	/* Dropping a record may free others, but none of its own kind. */
	RB_FOREACH_SAFE (node, node_tree, &records->graph->records[node_kind], next) {
		struct record *record = (struct record *)(void *)node;
		if (record->payload != NULL && record->node.mark != mark)
			drop(records, record);
	}
}

void records_end(struct records *records, enum record_kind kind)
{
	sweep(records, record_node_kind(kind), records->marks[kind]);
	if (kind == RECORD_SERVICE)
		sweep(records, NODE_FRONT, records->marks[kind]);
}
