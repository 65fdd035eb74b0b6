// SPDX-License-Identifier: Apache-2.0
/* The fields are those of the Kubernetes API reference, Ingress and ObjectMeta. */
#include "watcher/manifest_fields.h"

#include <stddef.h>

enum { NAME_SHOWN_MAX = 64 };

struct shape;

/* A name alone is a field whose value is not looked into. */
struct known_field {
	const char *name;
	const struct shape *shape; /* of its value, or of each element */
};

struct shape {
	const struct known_field *fields; /* to the one without a name */
};

#define SHAPE(name_, ...) \
	static const struct shape name_ = {(const struct known_field[]){__VA_ARGS__, {NULL, NULL}}}

SHAPE(metadata, {"name", NULL}, {"generateName", NULL}, {"namespace", NULL}, {"selfLink", NULL},
	{"uid", NULL}, {"resourceVersion", NULL}, {"generation", NULL}, {"creationTimestamp", NULL},
	{"deletionTimestamp", NULL}, {"deletionGracePeriodSeconds", NULL}, {"labels", NULL},
	{"annotations", NULL}, {"ownerReferences", NULL}, {"finalizers", NULL},
	{"managedFields", NULL}, {"clusterName", NULL});
SHAPE(resource, {"apiGroup", NULL}, {"kind", NULL}, {"name", NULL});
SHAPE(port, {"name", NULL}, {"number", NULL});
SHAPE(service, {"name", NULL}, {"port", &port});
SHAPE(backend, {"service", &service}, {"resource", &resource});
SHAPE(old_backend, {"serviceName", NULL}, {"servicePort", NULL}, {"resource", &resource});
SHAPE(path, {"path", NULL}, {"pathType", NULL}, {"backend", &backend});
SHAPE(old_path, {"path", NULL}, {"pathType", NULL}, {"backend", &old_backend});
SHAPE(http, {"paths", &path});
SHAPE(old_http, {"paths", &old_path});
SHAPE(rule, {"host", NULL}, {"http", &http});
SHAPE(old_rule, {"host", NULL}, {"http", &old_http});
SHAPE(tls, {"hosts", NULL}, {"secretName", NULL});
SHAPE(spec, {"ingressClassName", NULL}, {"defaultBackend", &backend}, {"rules", &rule},
	{"tls", &tls});
SHAPE(old_spec, {"ingressClassName", NULL}, {"backend", &old_backend}, {"rules", &old_rule},
	{"tls", &tls});
SHAPE(ingress_v1, {"apiVersion", NULL}, {"kind", NULL}, {"metadata", &metadata}, {"spec", &spec},
	{"status", NULL});
SHAPE(ingress_v1beta1, {"apiVersion", NULL}, {"kind", NULL}, {"metadata", &metadata},
	{"spec", &old_spec}, {"status", NULL});

static const struct known_field *find(const struct shape *shape, struct str name)
{
	for (const struct known_field *field = shape->fields; field->name != NULL; field++) {
		if (str_eq_c(name, field->name))
			return field;
	}
	return NULL;
}

static struct str join(struct str outer, struct str name, struct arena *arena)
{
	bool is_long = name.len > NAME_SHOWN_MAX;
	while (is_long && name.len > 0 &&
		(name.len > NAME_SHOWN_MAX || (name.p[name.len] & 0xc0) == 0x80))
		name.len--; /* at the beginning of a character */
	return arena_printf(arena, "%.*s%s%.*s%s", STR_FMT(outer), outer.len != 0 ? "." : "",
		STR_FMT(name), is_long ? "..." : "");
}

/* Empty: there is none. */
static struct str first_unknown(
	const struct json *value, const struct shape *shape, struct str outer, struct arena *arena)
{
	struct str found = STR("");
	size_t index = 0;
	for (const struct json *child = json_first(value); child != NULL && found.len == 0;
		child = json_next(child)) {
		if (json_is_array(value)) {
			found = first_unknown(child, shape,
				arena_printf(arena, "%.*s[%zu]", STR_FMT(outer), index++), arena);
			continue;
		}
		if (!json_is_object(value))
			break;
		struct str name = json_name(child);
		const struct known_field *field = find(shape, name);
		struct str place = join(outer, name, arena);
		if (field == NULL)
			found = place;
		else if (field->shape != NULL)
			found = first_unknown(child, field->shape, place, arena);
	}
	return found;
}

const char *manifest_unknown_field(
	const struct json *ingress, bool has_old_backends, struct arena *arena)
{
	struct str found = first_unknown(
		ingress, has_old_backends ? &ingress_v1beta1 : &ingress_v1, STR(""), arena);
	return found.len != 0 ? found.p : NULL;
}
