// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/migrate_objects.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <stdlib.h>

#define ORIGINAL_CONTROLLER "k8s.io/ingress-nginx"
#define ORIGINAL_WORD       "nginx"
#define CLASS_ANNOTATION    "kubernetes.io/ingress.class"

static struct str text_of(const struct json *object, const char *name)
{
	struct str text = STR("");
	return json_get_str(object, name, &text) && text.p != NULL ? text : STR("");
}

static bool is_kind(const struct migrate_meta *meta, const char *kind)
{
	return str_eq_c(meta->kind, kind);
}

static struct migrate_meta meta_of(const struct json *line, const struct json *object)
{
	const struct json *metadata = json_get(object, "metadata");
	int64_t number = 0;
	(void)json_get_int(line, "line", 0, UINT32_MAX, 0, &number);
	struct migrate_meta meta = {
		.kind = text_of(object, "kind"),
		.namespace = text_of(metadata, "namespace"),
		.name = text_of(metadata, "name"),
		.created = text_of(metadata, "creationTimestamp"),
		.file = text_of(line, "file"),
		.line = (unsigned)number,
	};
	if (is_kind(&meta, "IngressClass"))
		meta.namespace = STR("");
	return meta;
}

/* ---- Ingresses ---- */

static struct str port_of(struct arena *arena, const struct json *backend)
{
	const struct json *port = json_path(backend, "service", "port", NULL);
	const struct json *old = json_get(backend, "servicePort");
	int64_t number = 0;
	if (json_get_int(port, "number", 1, UINT16_MAX, 0, &number) && number == 0 && old != NULL)
		(void)json_whole_number(old, 1, UINT16_MAX, &number);
	if (number != 0)
		return arena_printf(arena, "%lld", (long long)number);
	return json_is_string(old) ? json_text(old) : text_of(port, "name");
}

static void add_path(struct arena *arena, struct migrate_ingress *ingress, struct str host,
	const struct json *given)
{
	void *items = ingress->paths;
	if (ingress->path_count >= MIGRATE_PARTS_MAX)
		return;
	const struct json *backend = json_get(given, "backend");
	struct str service = text_of(json_get(backend, "service"), "name");
	struct str path = text_of(given, "path");
	struct migrate_path *place =
		arena_push(arena, &items, &ingress->path_count, sizeof(*place));
	ingress->paths = items;
	*place = (struct migrate_path){
		.host = host,
		.path = path.len != 0 ? path : STR("/"),
		.type = text_of(given, "pathType"),
		.service = service.len != 0 ? service : text_of(backend, "serviceName"),
		.port = port_of(arena, backend),
	};
}

static void add_ingress(
	struct migrate_objects *objects, const struct migrate_meta *meta, const struct json *object)
{
	const struct json *spec = json_get(object, "spec");
	void *items = objects->ingresses;
	struct migrate_ingress *ingress =
		arena_push(&objects->arena, &items, &objects->ingress_count, sizeof(*ingress));
	objects->ingresses = items;
	*ingress = (struct migrate_ingress){
		.meta = *meta,
		.class = text_of(spec, "ingressClassName"),
		.number = objects->document_count,
		.has_tls = json_count(json_get(spec, "tls")) != 0,
		.annotations = json_path(object, "metadata", "annotations", NULL),
	};
	const struct json *rule = json_first(json_get(spec, "rules"));
	for (; rule != NULL; rule = json_next(rule)) {
		struct str host = text_of(rule, "host");
		const struct json *path = json_first(json_path(rule, "http", "paths", NULL));
		for (; path != NULL; path = json_next(path))
			add_path(&objects->arena, ingress, host, path);
	}
}

static bool names_class(const struct migrate_objects *objects, struct str name)
{
	for (size_t i = 0; i < objects->class_count; i++) {
		if (str_eq(objects->classes[i], name))
			return true;
	}
	/* Manifests rarely contain IngressClasses; without any, one counts by its name. */
	return objects->class_count + objects->other_class_count == 0 &&
	       str_eq_c(name, ORIGINAL_WORD);
}

/* In the order of their names; of several with the same the last one counts, as when they are applied. */
static int compare_ingresses(const void *left, const void *right)
{
	const struct migrate_ingress *a = left;
	const struct migrate_ingress *b = right;
	int order = str_cmp(a->meta.namespace, b->meta.namespace);
	if (order == 0)
		order = str_cmp(a->meta.name, b->meta.name);
	return order != 0 ? order : (a->number < b->number) - (a->number > b->number);
}

/* Which are the original's is known when all classes were read. */
static void settle_ingresses(struct migrate_objects *objects)
{
	struct migrate_ingress *all = objects->ingresses;
	size_t count = 0;
	if (objects->ingress_count != 0)
		qsort(all, objects->ingress_count, sizeof(*all), compare_ingresses);
	for (size_t i = 0; i < objects->ingress_count; i++) {
		bool is_again = count != 0 && str_eq(all[count - 1].meta.name, all[i].meta.name) &&
				str_eq(all[count - 1].meta.namespace, all[i].meta.namespace);
		if (is_again)
			continue;
		all[count] = all[i];
		struct str class = all[count].class;
		all[count].is_original =
			class.len != 0 ? names_class(objects, class)
				       : str_eq_c(text_of(all[count].annotations, CLASS_ANNOTATION),
						 ORIGINAL_WORD);
		count++;
	}
	objects->ingress_count = count;
}

/* ---- its own objects ---- */

static void add_class(
	struct migrate_objects *objects, const struct migrate_meta *meta, const struct json *object)
{
	void *items = objects->classes;
	if (!str_eq_c(text_of(json_get(object, "spec"), "controller"), ORIGINAL_CONTROLLER)) {
		objects->other_class_count++;
		return;
	}
	struct str *place =
		arena_push(&objects->arena, &items, &objects->class_count, sizeof(*place));
	objects->classes = items;
	*place = meta->name;
}

static void add_map(
	struct migrate_objects *objects, const struct migrate_meta *meta, const struct json *object)
{
	void *items = objects->maps;
	struct migrate_map *map =
		arena_push(&objects->arena, &items, &objects->map_count, sizeof(*map));
	objects->maps = items;
	*map = (struct migrate_map){*meta, json_get(object, "data")};
}

static void add_arguments(
	struct arena *arena, struct migrate_workload *workload, const struct json *words)
{
	for (const struct json *word = json_first(words); word != NULL; word = json_next(word)) {
		void *items = workload->arguments;
		if (workload->argument_count >= MIGRATE_PARTS_MAX)
			return;
		struct str *place =
			arena_push(arena, &items, &workload->argument_count, sizeof(*place));
		workload->arguments = items;
		*place = str_trim(json_text(word));
	}
}

/* The container of the original's program: by its image, its command, or its only argument that says so. */
static bool runs_original(const struct json *container)
{
	struct str image = text_of(container, "image");
	if (image.len != 0 && memmem(image.p, image.len, "ingress-nginx", 13) != NULL)
		return true;
	const char *const members[] = {"command", "args"};
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct json *word = json_first(json_get(container, members[i]));
		for (; word != NULL; word = json_next(word)) {
			if (str_ends_with(json_text(word), STR("/nginx-ingress-controller")))
				return true;
		}
	}
	return false;
}

static void add_workload(
	struct migrate_objects *objects, const struct migrate_meta *meta, const struct json *object)
{
	const struct json *container =
		json_first(json_path(object, "spec", "template", "spec", "containers", NULL));
	while (container != NULL && !runs_original(container))
		container = json_next(container);
	if (container == NULL)
		return;
	void *items = objects->workloads;
	struct migrate_workload *workload =
		arena_push(&objects->arena, &items, &objects->workload_count, sizeof(*workload));
	objects->workloads = items;
	*workload = (struct migrate_workload){.meta = *meta};
	add_arguments(&objects->arena, workload, json_get(container, "command"));
	add_arguments(&objects->arena, workload, json_get(container, "args"));
}

/* ---- all ---- */

static void take(struct migrate_objects *objects, const struct json *line)
{
	const struct json *object = json_get(line, "object");
	const struct migrate_meta meta = meta_of(line, object);
	if (is_kind(&meta, "Ingress"))
		add_ingress(objects, &meta, object);
	else if (is_kind(&meta, "IngressClass"))
		add_class(objects, &meta, object);
	else if (is_kind(&meta, "ConfigMap"))
		add_map(objects, &meta, object);
	else
		add_workload(objects, &meta, object);
}

static char *read_line(struct migrate_objects *objects, struct str text)
{
	const char *problem = NULL;
	if (objects->document_count >= MIGRATE_OBJECTS_MAX)
		return xasprintf("more than %d objects in the manifests", MIGRATE_OBJECTS_MAX);
	struct json *line = json_parse(text, &problem, NULL);
	if (line == NULL)
		return xasprintf("sluice-watcher writes what cannot be read: %s", problem);
	void *items = objects->documents;
	struct json **place =
		arena_push(&objects->arena, &items, &objects->document_count, sizeof(*place));
	objects->documents = items;
	*place = line;
	take(objects, line);
	return NULL;
}

char *migrate_objects_read(struct str lines, struct migrate_objects *ret_objects)
{
	struct migrate_objects objects = {.documents = NULL};
	char *problem = NULL;
	arena_init(&objects.arena);
	while (lines.len != 0 && problem == NULL)
		problem = read_line(&objects, str_cut(&lines, '\n'));
	settle_ingresses(&objects);
	*ret_objects = objects;
	if (problem != NULL)
		migrate_objects_free(ret_objects);
	return problem;
}

void migrate_objects_free(struct migrate_objects *objects)
{
	for (size_t i = 0; i < objects->document_count; i++)
		json_free(objects->documents[i]);
	arena_fini(&objects->arena);
	*objects = (struct migrate_objects){.documents = NULL};
}

/* ---- looking things up ---- */

bool migrate_argument_split(struct str argument, struct str *ret_name, struct str *ret_value)
{
	size_t dashes = str_starts_with(argument, STR("--"))  ? 2
			: str_starts_with(argument, STR("-")) ? 1
							      : 0;
	struct str name = str_skip(argument, dashes);
	const char *equals = str_find(name, '=');
	*ret_value = equals != NULL ? str_skip(name, (size_t)(equals - name.p) + 1) : STR("true");
	name.len = equals != NULL ? (size_t)(equals - name.p) : name.len;
	*ret_name = name;
	return dashes != 0 && name.len != 0;
}

struct str migrate_argument(const struct migrate_objects *objects, const char *wanted)
{
	for (size_t i = 0; i < objects->workload_count; i++) {
		const struct migrate_workload *workload = &objects->workloads[i];
		for (size_t k = 0; k < workload->argument_count; k++) {
			struct str name;
			struct str value;
			if (migrate_argument_split(workload->arguments[k], &name, &value) &&
				str_eq_c(name, wanted))
				return value;
		}
	}
	return STR_NONE;
}

bool migrate_annotation_name(struct str key, struct str prefix, struct str *ret_name)
{
	if (!str_starts_with(key, prefix) || key.len <= prefix.len || key.p[prefix.len] != '/')
		return false;
	*ret_name = str_skip(key, prefix.len + 1);
	return true;
}

struct str migrate_annotation(
	const struct migrate_ingress *ingress, struct str prefix, const char *wanted)
{
	const struct json *note = json_first(ingress->annotations);
	for (; note != NULL; note = json_next(note)) {
		struct str name;
		if (migrate_annotation_name(json_name(note), prefix, &name) &&
			str_eq_c(name, wanted))
			return str_trim(json_text(note));
	}
	return STR_NONE;
}

const struct migrate_map *migrate_map_find(const struct migrate_objects *objects, struct str name)
{
	const char *slash = str_find(name, '/');
	size_t len = slash != NULL ? (size_t)(slash - name.p) : 0;
	for (size_t i = 0; slash != NULL && i < objects->map_count; i++) {
		const struct migrate_meta *meta = &objects->maps[i].meta;
		if (str_eq(meta->namespace, (struct str){name.p, len}) &&
			str_eq(meta->name, str_skip(name, len + 1)))
			return &objects->maps[i];
	}
	return NULL;
}
