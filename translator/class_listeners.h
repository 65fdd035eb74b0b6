// SPDX-License-Identifier: Apache-2.0
/*
 * The listeners on which a provider with merged grouping serves our classes. They share one load balancer, except that a class whose
 * IngressClass has one of these annotations gets its own load balancer, with its own listeners:
 *
 *   sluice.io/bind-address   IP addresses, separated by commas; where the provider binds by default when not given
 *   sluice.io/http-port      port for HTTP; that of the shared load balancer when not given
 *   sluice.io/https-port     port for HTTPS; likewise
 *
 * If two classes want the same port of the same address, the older one gets it. Addresses that only the provider knows are left to it
 * (provider-proxy/ports.h). A wrong value opens no port: what is meant for an internal network is never served on an external one
 * instead. Pure.
 */
#pragma once

#include "translator/diag.h"

enum { CLASS_ADDRESSES_MAX = 8 };

struct class_listener {
	struct str address; /* canonical; empty: where the provider binds by default */
	uint64_t port;
	enum listener_protocol protocol; /* http or https */
};

struct class_item {
	struct object_ref self;
	uint64_t created;
	bool is_own; /* it has its own load balancer; otherwise the rest is empty */
	uint64_t http_port;
	uint64_t https_port;
	struct str_list
		addresses; /* one empty one: where the provider binds by default; none: nowhere */
	LIST_OF(struct class_listener) listeners; /* those that no older class holds */
};

struct class_table {
	LIST_OF(struct class_item) classes; /* of ours, oldest first */
	uint64_t shared_created;            /* of the oldest that shares; 0: none */
	struct diag_list diags;
};

/* `records` are those of our controller; texts stay views of them, or live in the arena. The ports are those of the shared load balancer. */
void class_table_build(const struct ingress_class_record *records, size_t count, uint64_t http_port,
	uint64_t https_port, struct arena *arena, struct class_table *ret_table);
/* NULL: not one of our classes, or unknown. */
const struct class_item *class_table_find(const struct class_table *table, struct str name);
/* NULL: it shares the common load balancer. */
const struct class_item *class_table_find_own(const struct class_table *table, struct str name);
/* Whether its Ingresses are on the same load balancer with the same ports. */
bool class_item_same_place(const struct class_item *a, const struct class_item *b);
