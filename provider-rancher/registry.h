// SPDX-License-Identifier: Apache-2.0
/*
 * All load balancers that are wanted or have to go, by identity, and which row and which name in Rancher each of them owns. claims.h
 * decides, this carries it out. Load balancers are only borrowed: each has to be removed before it is freed.
 */
#pragma once

#include "provider-rancher/balancer.h"
#include "provider-rancher/claims.h"

struct registry;

/* Keeps both pointers. */
struct registry *registry_new(struct observed *observed, const struct config *options);
/* It must be empty. NULL is nothing. */
void registry_free(struct registry *registry);

/* ---- by identity ---- */

/* If another one has its identity already, it is not listed, and can be found by its row only. */
void registry_add(struct registry *registry, struct balancer *balancer);
void registry_remove(struct registry *registry, struct balancer *balancer);
/* `identity` as of naming_text(). NULL: there is none. */
struct balancer *registry_find(const struct registry *registry, const char *identity);
/* In the order of identities. `balancer` may have been removed meanwhile, but not freed. */
struct balancer *registry_first(const struct registry *registry);
struct balancer *registry_next(const struct registry *registry, const struct balancer *balancer);

/* ---- ownership ---- */

/* Claims its row, which is found by the mark, the primary name, or any name that the Go original may have given. Returns whether there is
 * one. */
bool registry_claim_row(struct registry *registry, struct balancer *balancer);
/* Likewise, if it is wanted, has no row, and has not looked before. Where many look, all do so by mark and primary name first: see
 * claims_find(). */
void registry_look_for_row(struct registry *registry, struct balancer *balancer, bool by_any_name);
/* For one that must not exist and has no row: claims what exists nevertheless. Returns whether something is left that is being removed
 * already. */
bool registry_find_leftover(struct registry *registry, struct balancer *balancer);
/* Whether its name is free; false: a load balancer that is being removed still has it. */
bool registry_find_name(
	const struct registry *registry, const struct balancer *balancer, struct lb_name *ret_name);
/* Another load balancer in Rancher with its name or mark; NULL: there is none. */
const struct lb_row *registry_find_duplicate(
	const struct registry *registry, const struct balancer *balancer);
/* Of an unclaimed row, once everything that is wanted is known. */
enum claims_verdict registry_judge(const struct registry *registry, const struct lb_row *row);
