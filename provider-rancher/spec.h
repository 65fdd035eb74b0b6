// SPDX-License-Identifier: Apache-2.0
/*
 * What a load balancer in Rancher is made of: the same struct for what is wanted and for what is there,
 * so that both are compared in one way. And its facets: one digest for each part that is written
 * on its own, which is all that is kept of ten thousand of them. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

/* A portRule. Absent and null are the same. */
struct port_rule {
	uint64_t source_port;
	struct str protocol; /* "http", "https", "tcp", "sni" */
	struct str host;
	struct str path;
	struct str backend; /* absent: Rancher's default name */
	struct str service_id;
	struct str service_name; /* the Service's, for ourselves; not read back */
	uint64_t target_port;
	uint64_t priority; /* 1 is first; 0: none */
	uint64_t
		foreign; /* digest of members that we never send, such as selector; 0: there are none */
};

struct published_port {
	uint64_t public_port;
	uint64_t private_port;
	bool is_udp;
};

struct lb_spec {
	LIST_OF(struct port_rule) rules;
	LIST_OF(struct published_port) ports;
	LIST_OF(struct label) labels; /* those of labels.h only */
	bool is_global;               /* one instance on every host; one of the labels says so */
	struct str default_certificate;
	struct str_list certificates;
	struct stickiness *stickiness;
	struct str config;
	uint64_t scale; /* 0: not known, or not our business */
	struct str description;
	uint64_t
		contents; /* digest of the contents of all certificates, kept in metadata; 0: none */
};

/* Parts that are written on their own. */
enum lb_part {
	PART_CONFIG = 1 << 0, /* lbConfig: rules, certificates, stickiness, custom config */
	PART_PORTS = 1 << 1,  /* launchConfig.ports */
	PART_LABELS = 1 << 2, /* launchConfig.labels */
	PART_SCALE = 1 << 3,
	PART_DESCRIPTION = 1 << 4,
	PART_CONTENTS = 1 << 5, /* metadata: has the load balancer read its certificates again */
};

struct lb_facets {
	uint64_t config;
	uint64_t ports;
	uint64_t labels;
	uint64_t description;
	uint64_t contents;
	uint32_t scale;
	bool is_global;
};

/* Order of rules, ports, labels and certificates does not matter. */
void spec_facets(const struct lb_spec *spec, struct arena *arena, struct lb_facets *ret_facets);
/* Digest of the hosts and paths that are served, for telling whose load balancer it is. */
uint64_t spec_routes(const struct lb_spec *spec, struct arena *arena);
uint64_t facets_digest(const struct lb_facets *facets);
bool facets_eq(const struct lb_facets *a, const struct lb_facets *b);
/* Which parts of `there` are not as in `wanted`. */
unsigned facets_differ(const struct lb_facets *wanted, const struct lb_facets *there);
