// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/migrate_manifests.h"

#include "common/files.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "sluicectl/migrate_controller.h"

#include <stdlib.h>

enum {
	FILE_LEN_MAX = 4 * 1024 * 1024,
	FOLDER_MODE = 0755,
	FILE_MODE = 0644,
};

/* Enough for nearly all clusters; those beyond are counted together. */
#define INGRESSES_COUNTED "10000"

/* Arguments of the original, and the variable that says the same here. */
static const struct {
	const char *argument;
	const char *container;
	const char *variable;
} settings[] = {
	{"default-ssl-certificate", "translator", "SLUICE_DEFAULT_CERTIFICATE"},
	{"default-backend-service", "translator", "SLUICE_DEFAULT_BACKEND"},
	{"annotations-prefix", "translator", "SLUICE_INGRESS_NGINX_PREFIX"},
	{"watch-namespace", "watcher", "SLUICE_NAMESPACE"},
};

static void put(struct buf *out, const char *text)
{
	must(buf_append(out, text, strlen(text)) == 0);
}

/* Text of others, as YAML that has no other meaning: JSON. */
static void put_value(struct buf *out, struct str text)
{
	must(json_put_text(out, text) == 0);
}

static void put_variable(struct buf *out, const char *name, struct str value)
{
	must(buf_printf(out, "            - {name: %s, value: ", name) == 0);
	put_value(out, value);
	put(out, "}\n");
}

static void put_container(struct buf *out, const struct migrate_objects *objects, const char *name)
{
	must(buf_printf(out, "        - name: %s\n          env:\n", name) == 0);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		struct str value = migrate_argument(objects, settings[i].argument);
		if (value.len != 0 && strcmp(settings[i].container, name) == 0)
			put_variable(out, settings[i].variable, value);
	}
}

/* What the original was told, for the line. It served Services of type ExternalName unless it was forbidden. */
static void make_settings(const struct migrate_objects *objects, struct str map, struct buf *out)
{
	bool has_names = !str_eq_c(migrate_argument(objects, "disable-svc-external-name"), "true");
	put(out, "# What the arguments of ingress-nginx were, for the line.\n"
		 "apiVersion: apps/v1\nkind: Deployment\n"
		 "metadata:\n  name: sluice\n  namespace: sluice-system\n"
		 "spec:\n  template:\n    spec:\n      containers:\n");
	put_container(out, objects, "translator");
	put_variable(out, "SLUICE_INGRESS_NGINX", STR("true"));
	put_variable(out, "SLUICE_ALLOW_EXTERNAL_NAME", has_names ? STR("true") : STR("false"));
	put_container(out, objects, "watcher");
	put_variable(out, "SLUICE_WATCH_INGRESS_WITHOUT_CLASS", STR("false"));
	if (map.len != 0)
		put_variable(out, "SLUICE_INGRESS_NGINX_CONFIGMAP", map);
}

/* Lines for requests, and counts of each Ingress, unless the original was told to make none: it made both by itself. */
static void make_sight(const struct migrate_objects *objects, struct str map, struct buf *out)
{
	const struct migrate_map *found = map.len != 0 ? migrate_map_find(objects, map) : NULL;
	const struct json *silent =
		found != NULL ? json_get(found->data, "disable-access-log") : NULL;
	put_container(out, objects, "provider");
	put_variable(out, "SLUICE_ACCESS_LOG",
		str_eq_c(json_text(silent), "true") ? STR("off") : STR("text"));
	put_variable(out, "SLUICE_METRICS_INGRESSES",
		str_eq_c(migrate_argument(objects, "enable-metrics"), "false")
			? STR("0")
			: STR(INGRESSES_COUNTED));
}

/* The watcher may read that one ConfigMap. */
static void make_rights(struct str map, struct buf *out)
{
	const char *slash = str_find(map, '/');
	struct str namespace = {map.p, slash != NULL ? (size_t)(slash - map.p) : 0};
	put(out, "# The watcher may read the ConfigMap with the global options; add those with "
		 "headers that are named.\n");
	if (slash == NULL)
		return;
	put(out, "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: "
		 "sluice-options\n  namespace: ");
	put_value(out, namespace);
	put(out, "\nrules:\n  - apiGroups: [\"\"]\n    resources: [configmaps]\n    "
		 "resourceNames: [");
	put_value(out, str_skip(map, namespace.len + 1));
	put(out, "]\n    verbs: [list, watch]\n---\napiVersion: rbac.authorization.k8s.io/v1\n"
		 "kind: RoleBinding\nmetadata:\n  name: sluice-options\n  namespace: ");
	put_value(out, namespace);
	put(out, "\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "
		 "sluice-options}\nsubjects:\n  - {kind: ServiceAccount, name: sluice, namespace: "
		 "sluice-system}\n");
}

static void make_class(struct buf *out, struct str name)
{
	put(out, "---\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata:\n  name: ");
	put_value(out, name);
	put(out, "\nspec:\n  controller: k8s.io/ingress-nginx\n");
}

static void make_classes(const struct migrate_objects *objects, struct buf *out)
{
	put(out, "# The classes of ingress-nginx, which its Ingresses name: apply them again after "
		 "it was removed, in case it takes them with it.\n");
	for (size_t i = 0; i < objects->class_count; i++)
		make_class(out, objects->classes[i]);
	if (objects->class_count == 0)
		make_class(out, STR("nginx"));
}

static void make_overlay(const char *provider, bool has_map, struct buf *out)
{
	must(buf_printf(out,
		     "# The line beside ingress-nginx. This folder stands in Sluice's source; "
		     "elsewhere name it, as in\n"
		     "# https://example.com/sluice//docker/kubernetes/%s. Add `images:` of your "
		     "registry.\n"
		     "# Without the component the line writes the addresses of Ingresses: leave it "
		     "out when traffic has moved.\n"
		     "apiVersion: kustomize.config.k8s.io/v1beta1\n"
		     "kind: Kustomization\n"
		     "resources: [../docker/kubernetes/%s%s]\n"
		     "components: [../docker/kubernetes/beside-ingress-nginx]\n"
		     "patches:\n  - path: settings.yaml\n",
		     provider, provider, has_map ? ", rights.yaml" : "") == 0);
}

static char *write_file(const char *folder, const char *name, const struct buf *content)
{
	char *path = xasprintf("%s/%s", folder, name);
	char *problem = NULL;
	int err = 0;
	if (files_exist(path))
		problem = xasprintf("%s: it is there already, and is not written over", path);
	else
		err = files_write_loose(path, buf_str(content), FILE_MODE);
	if (err != 0)
		problem = xasprintf("%s: %s", path, files_problem(err));
	free(path);
	return problem;
}

char *migrate_manifests_write(
	const char *folder, const char *provider, const struct migrate_objects *objects)
{
	static const char *const names[] = {
		"kustomization.yaml", "settings.yaml", "ingressclass.yaml", "rights.yaml"};
	struct buf files[sizeof(names) / sizeof(names[0])];
	char *problem = NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		buf_init(&files[i], FILE_LEN_MAX);
	struct arena arena;
	arena_init(&arena);
	struct str map = migrate_controller_map(objects, &arena);
	make_overlay(provider, map.len != 0, &files[0]);
	make_settings(objects, map, &files[1]);
	make_sight(objects, map, &files[1]);
	make_classes(objects, &files[2]);
	make_rights(map, &files[3]);
	/* Without such a ConfigMap nothing is needed for it. */
	size_t count = sizeof(names) / sizeof(names[0]) - (map.len == 0);
	arena_fini(&arena);
	int err = files_exist(folder) ? 0 : files_make_dir(folder, FOLDER_MODE);
	if (err != 0)
		problem = xasprintf("%s: %s", folder, files_problem(err));
	for (size_t i = 0; i < count && problem == NULL; i++)
		problem = write_file(folder, names[i], &files[i]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		buf_fini(&files[i]);
	return problem;
}
