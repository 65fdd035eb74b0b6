// SPDX-License-Identifier: Apache-2.0
/*
 * The I/O of statuses of one kind, Ingresses or Services, and of the finalizers of Services: keeps the translator's wishes beside the
 * objects of the store, and writes those that are not yet fulfilled, a few requests at a time. status_plan.h decides what to do.
 *
 * A write is a merge patch of the status subresource (for a finalizer, of the object) with the resourceVersion known here: if somebody
 * else was faster, it fails instead of overwriting (Kubernetes API concepts, "Resource versions").
 */
#pragma once

#include "watcher/api.h"
#include "watcher/kinds.h"
#include "watcher/store.h"

enum { STATUS_WRITES_MAX = 4 };

struct status_writer;

struct status_config {
	struct ev_loop *loop;
	struct api *api;
	struct store *store;
	enum record_kind kind;
	const char *finalizer_manager; /* see project.h; kept */
	/* Another controller keeps replacing what we write, and we yield to it for a while; NULL: its name is not known. */
	void (*on_fight)(void *ctx, const struct store_object *object, const char *manager);
	/* For readiness: why no statuses can be written; NULL: they can again. */
	void (*on_problem)(void *ctx, const char *problem);
	void *ctx;
};

/* Observes the store. */
struct status_writer *status_new(const struct status_config *config);
void status_free(struct status_writer *writer);
/* The API version in which objects are written; nothing is written before it is known. */
void status_set_version(struct status_writer *writer, const struct kind_version *version);
/* The API server is too old to keep the ports of addresses; false: the answers to writes will show. False at first. */
void status_set_ports_dropped(struct status_writer *writer, bool are_dropped);
/* False: another replica writes. Wishes are kept, and written when it becomes true. True at first. */
void status_set_active(struct status_writer *writer, bool is_active);
/* A wish of the translator for an object of the writer's kind; ignored when there is none of that uid. */
void status_wish(struct status_writer *writer, const struct status_update *update);
