// SPDX-License-Identifier: Apache-2.0
/*
 * DNS records: what the hosts of load balancers want, against what a hosted zone has, as changes. No I/O.
 *
 * A record is ours when a TXT record beside it says so, in the form of external-dns (its registry "txt"), so that both can work in one zone and each leaves
 * alone what the other has made:
 *
 *   shop.example.com          A, AAAA   alias of the load balancer
 *   a-shop.example.com        TXT       "heritage=external-dns,external-dns/owner=sluice-demo,external-dns/resource=ingress/default/web"
 *   aaaa-shop.example.com     TXT       likewise, with the AAAA record
 *   shop.example.com          TXT       likewise, in the old form: only where no other TXT record stands there
 *
 * The mark with the type in front decides. Only where it has no place, since the name is that of the zone itself or its first label is too long, the old
 * form does. (external-dns, docs/registry/txt.md)
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

enum {
	RECORDS_MAX = 100 * 1000, /* of one zone: the quota is 10 000 */
	RECORD_NAME_LEN_MAX = 255,
	RECORD_VALUES_MAX = 400,           /* of one record: the quota */
	RECORDS_BATCH_CHANGES_MAX = 300,   /* Route 53 takes 1000 records in one call, */
	RECORDS_BATCH_LEN_MAX = 24 * 1000, /* and values of 32 000 characters */
	RECORDS_TROUBLES_MAX = 1000,       /* that are told; of one zone */
};

enum record_type {
	RECORD_A,
	RECORD_AAAA,
	RECORD_TXT,
	RECORD_CNAME,
	RECORD_NS,
	RECORD_SOA,
	RECORD_OTHER, /* concerns nobody here */
};

/* Names are in lower case, without the dot at the end; a wildcard begins with "*". Texts live in the arena of whoever made the record. */
struct record {
	struct str name;
	enum record_type type;
	bool is_odd; /* one of several with its name and type, or with settings that we never make */
	/* Of an alias: */
	struct str alias; /* absent: it is none */
	struct str alias_zone;
	bool evaluates_health;
	/* Of others: */
	uint64_t ttl_s;
	struct str_list values; /* as Route 53 has them: TXT with its quotes */
	bool is_used;           /* of records_plan(): it stays, or what becomes of it is decided */
};

struct records_zone {
	struct str id;
	struct str name; /* absent: not known */
	LIST_OF(struct record) records;
};

/* A host of a load balancer. */
struct records_wish {
	struct str host;    /* lower case, "*.example.com" for a wildcard */
	struct str lb;      /* value of TAG_LB */
	struct str ingress; /* "namespace/name" */
	/* Of the balancer that serves it; absent: none does now. Then what is there stays, and nothing is made. */
	struct str dns_name;
	struct str zone_id;
	bool is_dualstack;
};

struct records_wishes {
	LIST_OF(struct records_wish) hosts;
	/* "namespace/name" of Ingresses of whose hosts nothing is known: what they have stays. */
	struct str_list kept;
};

enum records_trouble_kind {
	RECORDS_NOT_OURS,  /* somebody else's records, or no place to mark our own */
	RECORDS_ELSEWHERE, /* another load balancer has the host, too, and gets the records */
	RECORDS_FAILED,    /* they could not be written */
};

struct records_trouble {
	enum records_trouble_kind kind;
	struct str lb;
	struct str ingress;
	struct str host;
};

struct records_change {
	bool is_delete; /* else create: neither overwrites what somebody else has made meanwhile */
	const struct record *record;
};

/* Changes that have to be made together. */
struct records_group {
	struct str name;
	const struct records_wish *wish; /* NULL: they are removed */
	LIST_OF(struct records_change) changes;
	size_t len; /* of values, as Route 53 counts them */
};

struct records_plan {
	LIST_OF(struct records_group) groups;
	LIST_OF(struct records_trouble) troubles;
};

/* As in the marks: "sluice-<cluster>". */
struct str records_owner(struct str cluster, struct arena *arena);
/* Whether the records of a host stand in zones[at]: of all that it lies in that with the longest name, or several with the same name. */
bool records_belong(
	struct str host, const struct records_zone *zones, size_t zone_count, size_t at);
/* What is to be changed in zones[at], whose name is known. Sorts the records and the wishes; the plan points to both. n log n. */
void records_plan(struct records_zone *zones, size_t zone_count, size_t at,
	struct records_wishes *wishes, struct str owner, struct arena *arena,
	struct records_plan *ret_plan);
/* How many groups, from that one on and at most `max`, one call takes: at least one. */
size_t records_batch(const struct records_plan *plan, size_t from, size_t max);
/* Another text for other wishes. Depends on their order. */
struct str records_digest(const struct records_wishes *wishes, struct arena *arena);
