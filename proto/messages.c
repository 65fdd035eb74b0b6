// SPDX-License-Identifier: Apache-2.0
/*
 * One row per member of every message: here those that both links have, and the structs that both use. The third column of each
 * row is the limit (bytes of text, items of a list, greatest number); the help texts are printed into PROTOCOL.md.
 */
#include "proto/message_rows.h"

const char *const peer_role_words[] = {"", "watcher", "translator", "provider", NULL};
static const char *const grouping_words[] = {"per-ingress", "merged", NULL};
const char *const path_words[] = {"implementation-specific", "prefix", "exact", NULL};
const char *const ip_protocol_words[] = {"tcp", "udp", "sctp", NULL};
const char *const event_type_words[] = {"normal", "warning", NULL};

static const struct schema_field capabilities_fields[] = {
	WORDS(true, capabilities, grouping, "grouping", grouping_words,
		"`per-ingress`: one load balancer for each Ingress or group; `merged`: one for all "
		"classes, and one for each class with listeners of its own"),
	ROW(LIST_STR, capabilities, protocols, "protocols", ITEMS_MAX,
		"listener protocols it can serve, words of `listeners[].protocol`"),
	ROW(LIST_STR, capabilities, policies, "policies", ITEMS_MAX,
		"what it can do of what annotations ask for: words of the table below"),
	ROW(LIST_STR, capabilities, features, "features", ITEMS_MAX,
		"anything else, by name: `source-ranges`, `lead`, `own-endpoints`; unknown ones "
		"are ignored"),
};
static const struct schema capabilities_schema =
	SCHEMA("capabilities", capabilities, capabilities_fields);

static const struct schema_field hello_fields[] = {
	NEED(UINT, hello, version_min, "version_min", COUNT_MAX,
		"oldest protocol version the sender speaks"),
	NEED(UINT, hello, version_max, "version_max", COUNT_MAX,
		"newest protocol version the sender speaks; the link uses the greatest both speak"),
	WORDS(true, hello, role, "role", peer_role_words, "what the sender is"),
	NEED(STR, hello, name, "name", NAME_MAX_LEN,
		"short name for logs and Events, such as `rancher`"),
	NEED(STR, hello, software, "software", NAME_MAX_LEN, "program and version"),
	NESTED(POINTER, hello, capabilities, "capabilities", 0, capabilities_schema,
		"what a provider can do; required of providers"),
};
const struct schema hello_schema = SCHEMA("hello", hello, hello_fields);

static const struct schema_field lead_fields[] = {
	ROW(UINT, lead, until_ms, "until_ms", UINT64_MAX,
		"milliseconds of the clock `CLOCK_BOOTTIME` up to which this line may act; absent: "
		"another one does"),
};
const struct schema lead_schema = SCHEMA("lead", lead, lead_fields);

static const struct schema_field ping_fields[] = {
	NEED(UINT, ping, seq, "seq", UINT64_MAX, "any number; the pong repeats it"),
};
const struct schema ping_schema = SCHEMA("ping", ping, ping_fields);
const struct schema pong_schema = SCHEMA("pong", ping, ping_fields);

static const struct schema_field bye_fields[] = {
	NEED(STR, bye, reason, "reason", TEXT_MAX_LEN,
		"why the sender closes the link, for the log"),
};
const struct schema bye_schema = SCHEMA("bye", bye, bye_fields);

static const struct schema_field address_port_fields[] = {
	NEED(UINT, address_port, port, "port", PORT_MAX, ""),
	WORDS(false, address_port, protocol, "protocol", ip_protocol_words, ""),
};
static const struct schema address_port_schema =
	SCHEMA("address port", address_port, address_port_fields);

static const struct schema_field address_fields[] = {
	ROW(STR, address, ip, "ip", 64, "either this or"),
	ROW(STR, address, hostname, "hostname", HOST_MAX_LEN, "this"),
	NESTED(LIST, address, ports, "ports", ITEMS_MAX, address_port_schema, "sorted"),
};
const struct schema address_schema = SCHEMA("address", address, address_fields);
