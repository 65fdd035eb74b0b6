// SPDX-License-Identifier: Apache-2.0
#include "watcher/kinds.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <string.h>

static const struct kind_version versions[RECORD_KIND_COUNT][KIND_VERSIONS_MAX] = {
	[RECORD_INGRESS] =
		{
			{RECORD_INGRESS, "networking.k8s.io/v1", "ingresses", "Ingress", true, NULL,
				project_ingress_v1},
			{RECORD_INGRESS, "networking.k8s.io/v1beta1", "ingresses", "Ingress", true,
				NULL, project_ingress_v1beta1},
			{RECORD_INGRESS, "extensions/v1beta1", "ingresses", "Ingress", true, NULL,
				project_ingress_v1beta1},
		},
	[RECORD_INGRESS_CLASS] =
		{
			{RECORD_INGRESS_CLASS, "networking.k8s.io/v1", "ingressclasses",
				"IngressClass", false, NULL, project_ingress_class},
			{RECORD_INGRESS_CLASS, "networking.k8s.io/v1beta1", "ingressclasses",
				"IngressClass", false, NULL, project_ingress_class},
		},
	[RECORD_SERVICE] =
		{
			{RECORD_SERVICE, "v1", "services", "Service", true, NULL, project_service},
		},
	[RECORD_ENDPOINTS] =
		{
			{RECORD_ENDPOINTS, "discovery.k8s.io/v1", "endpointslices", "EndpointSlice",
				true, NULL, project_endpoint_slice_v1},
			{RECORD_ENDPOINTS, "discovery.k8s.io/v1beta1", "endpointslices",
				"EndpointSlice", true, NULL, project_endpoint_slice_v1beta1},
			{RECORD_ENDPOINTS, "v1", "endpoints", "Endpoints", true, NULL,
				project_endpoints},
		},
	[RECORD_SECRET] =
		{
			/* Only TLS Secrets: of the others only those are needed that are named, see
			 * named_objects.h. */
			{RECORD_SECRET, "v1", "secrets", "Secret", true,
				"type%3Dkubernetes.io%2Ftls", project_secret},
		},
	[RECORD_CONFIG_MAP] =
		{
			/* Only by name, see named_objects.h. */
			{RECORD_CONFIG_MAP, "v1", "configmaps", "ConfigMap", true, NULL,
				project_config_map},
		},
	[RECORD_POD] =
		{
			/* Only of one selector, see cluster.h. */
			{RECORD_POD, "v1", "pods", "Pod", true, NULL, project_pod},
		},
	[RECORD_NODE] =
		{
			{RECORD_NODE, "v1", "nodes", "Node", false, NULL, project_node},
		},
};

const struct kind_version *kind_version_at(enum record_kind kind, size_t index)
{
	must(kind > RECORD_NONE && kind < RECORD_KIND_COUNT);
	if (index >= KIND_VERSIONS_MAX || versions[kind][index].resource == NULL)
		return NULL;
	return &versions[kind][index];
}

const struct kind_version *kind_version_find(
	struct str group_version, struct str object_kind, size_t *ret_index)
{
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		const struct kind_version *version;
		for (size_t i = 0; (version = kind_version_at((enum record_kind)kind, i)) != NULL;
			i++) {
			if (!str_eq_c(group_version, version->group_version) ||
				!str_eq_c(object_kind, version->object_kind))
				continue;
			*ret_index = i;
			return version;
		}
	}
	return NULL;
}

/* Others may have kinds of these names, such as the Service of Knative. */
static bool is_of_kubernetes(struct str group_version)
{
	const char *slash = str_find(group_version, '/');
	struct str group = {group_version.p, slash != NULL ? (size_t)(slash - group_version.p) : 0};
	return str_find(group, '.') == NULL || str_ends_with(group, STR(".k8s.io"));
}

static bool sounds_like(struct str kind, const char *known)
{
	return kind.len == strlen(known) && strncasecmp(kind.p, known, kind.len) == 0;
}

const struct kind_version *kind_version_meant(struct str group_version, struct str object_kind)
{
	size_t index;
	if (kind_version_find(group_version, object_kind, &index) != NULL ||
		!is_of_kubernetes(group_version))
		return NULL;
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		for (size_t i = 0; i < KIND_VERSIONS_MAX; i++) {
			const struct kind_version *version =
				kind_version_at((enum record_kind)kind, i);
			if (version != NULL && sounds_like(object_kind, version->object_kind))
				return version;
		}
	}
	return NULL;
}

char *kind_full_resource(const struct kind_version *version)
{
	const char *slash = strchr(version->group_version, '/');
	if (slash == NULL)
		return xstrdup(version->resource);
	return xasprintf("%s.%.*s", version->resource, (int)(slash - version->group_version),
		version->group_version);
}

char *kind_group_path(const char *group_version)
{
	const char *root = strchr(group_version, '/') != NULL ? "/apis" : "/api";
	return xasprintf("%s/%s", root, group_version);
}

char *kind_collection_path(const struct kind_version *version, const char *namespace)
{
	char *group = kind_group_path(version->group_version);
	char *path = namespace != NULL && version->namespaced
			     ? xasprintf("%s/namespaces/%s/%s", group, namespace, version->resource)
			     : xasprintf("%s/%s", group, version->resource);
	free(group);
	return path;
}
