// SPDX-License-Identifier: Apache-2.0
/*
 * The kinds of Kubernetes objects that are watched: the API versions of each (Kubernetes deprecated
 * API migration guide), and how its JSON becomes a record. The first version that is served is used.
 */
#pragma once

#include "watcher/project.h"

struct kind_version {
	enum record_kind kind;
	const char *group_version; /* "networking.k8s.io/v1"; core: "v1" */
	const char *resource;      /* "ingresses" */
	const char *object_kind;   /* "Ingress" */
	bool namespaced;
	const char *field_selector; /* percent-encoded; NULL: none */
	project_fn *project;
};

enum { KIND_VERSIONS_MAX = 3 };

/* The versions of a kind, best first; NULL after the last. */
const struct kind_version *kind_version_at(enum record_kind kind, size_t index);
/* The version of an object by its apiVersion and kind, and its index among those of the kind; NULL: it is not watched. */
const struct kind_version *kind_version_find(
	struct str group_version, struct str object_kind, size_t *ret_index);
/* What is meant by one that is not watched, and that no API of Kubernetes has: another spelling of the kind, or another version or group; NULL: nothing. */
const struct kind_version *kind_version_meant(struct str group_version, struct str object_kind);
/* "ingress: list ingresses.networking.k8s.io" names it as the server does: resource.group, or
 * resource alone. */
char *kind_full_resource(const struct kind_version *version);
/* "/apis/networking.k8s.io/v1" or "/api/v1"; the caller frees it. */
char *kind_group_path(const char *group_version);
/* The path of the collection, in one namespace or (NULL) all; the caller frees it. */
char *kind_collection_path(const struct kind_version *version, const char *namespace);
