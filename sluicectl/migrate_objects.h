// SPDX-License-Identifier: Apache-2.0
/*
 * What ingress-nginx was told, as it stands in manifests: its Ingresses with their annotations, the classes, its ConfigMap, and the arguments of its containers. Read from
 * the watcher's lines of JSON; no I/O. Texts are views of the documents, and live as long as the objects.
 */
#pragma once

#include "common/arena.h"
#include "common/json.h"

enum {
	MIGRATE_OBJECTS_MAX = 1000 * 1000,
	MIGRATE_PARTS_MAX = 10 * 1000, /* annotations, paths or arguments of one object */
};

struct migrate_meta {
	struct str kind;
	struct str namespace; /* empty: it has none */
	struct str name;
	struct str created; /* as it stands there; empty: not known */
	struct str file;
	unsigned line;
};

struct migrate_path {
	struct str host; /* empty: any */
	struct str path;
	struct str type;
	struct str service;
	struct str port; /* number or name */
};

struct migrate_ingress {
	struct migrate_meta meta;
	struct str class; /* spec.ingressClassName; empty: none */
	size_t number;    /* in the order of the manifests */
	bool is_original; /* it is one of ingress-nginx */
	bool has_tls;
	const struct json *annotations;
	struct migrate_path *paths;
	size_t path_count;
};

/* A ConfigMap. */
struct migrate_map {
	struct migrate_meta meta;
	const struct json *data;
};

/* A Deployment or DaemonSet of the original. */
struct migrate_workload {
	struct migrate_meta meta;
	struct str *arguments; /* of the container, each "--NAME=VALUE" or a word of its own */
	size_t argument_count;
};

struct migrate_objects {
	struct arena arena;
	struct json **documents;
	size_t document_count;
	struct migrate_ingress *ingresses;
	size_t ingress_count;
	struct migrate_map *maps;
	size_t map_count;
	struct migrate_workload *workloads;
	size_t workload_count;
	struct str *classes; /* names of the IngressClasses of ingress-nginx */
	size_t class_count;
	size_t other_class_count;
};

/* NULL, or what is wrong (allocated); then nothing is kept. Lines as of `sluice-watcher --documents`. */
char *migrate_objects_read(struct str lines, struct migrate_objects *ret_objects);
void migrate_objects_free(struct migrate_objects *objects);

/* "--NAME=VALUE" or "--NAME", which is "true"; false: it is no option. */
bool migrate_argument_split(struct str argument, struct str *ret_name, struct str *ret_value);
/* The value of an argument "--NAME=VALUE" of the first workload that has it; absent: none has. */
struct str migrate_argument(const struct migrate_objects *objects, const char *wanted);
/* The annotation's value; absent: there is none. `prefix` without the slash. */
struct str migrate_annotation(
	const struct migrate_ingress *ingress, struct str prefix, const char *wanted);
/* The name of an annotation without `prefix` and its slash; false: it is another one's. */
bool migrate_annotation_name(struct str key, struct str prefix, struct str *ret_name);
/* The ConfigMap of that name, "NAMESPACE/NAME"; NULL: it is not among the objects. */
const struct migrate_map *migrate_map_find(const struct migrate_objects *objects, struct str name);
