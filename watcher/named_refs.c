// SPDX-License-Identifier: Apache-2.0
#include "watcher/named_refs.h"

#include "common/ascii.h"
#include "proto/frame.h"
#include "proto/message.h"

/* What the names of these annotations have in common, so that other Ingresses need not be read. */
static const char *const marks[] = {"auth", "client-tls", "custom-headers"};
static const char *const own_keys[] = {
	"sluice.io/basic-auth.secret", "sluice.io/client-tls.secret"};
static const char *const nginx_keys[] = {"auth-secret", "auth-tls-secret"};
static const char *const nginx_map_keys[] = {"custom-headers", "auth-proxy-set-headers"};
static const char *const option_keys[] = {"add-headers", "proxy-set-headers"};
static const char nginx_usual_prefix[] = "nginx.ingress.kubernetes.io";

#define COUNT_OF(array_) (sizeof(array_) / sizeof((array_)[0]))

struct collection {
	struct named_ref *refs;
	size_t count;
};

static bool has_mark(const struct store_object *ingress)
{
	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		if (memmem(ingress->frame, ingress->frame_len, marks[i], strlen(marks[i])) != NULL)
			return true;
	}
	return false;
}

static bool is_one_of(struct str text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_eq_c(text, words[i]))
			return true;
	}
	return false;
}

/* What follows the prefix and its slash; empty: it does not begin so. */
static struct str nginx_name(struct str key, const struct named_refs_config *config)
{
	struct str prefix =
		str_from(config->nginx_prefix != NULL ? config->nginx_prefix : nginx_usual_prefix);
	bool fits =
		str_starts_with(key, prefix) && key.len > prefix.len && key.p[prefix.len] == '/';
	return fits ? str_skip(key, prefix.len + 1) : STR("");
}

/* A name goes into a query, so it has to be one. */
static bool is_name(struct str name)
{
	bool good = name.len != 0 && name.len <= 253;
	for (size_t i = 0; i < name.len && good; i++) {
		char c = name.p[i];
		good = ascii_is_lower(c) || ascii_is_digit(c) || c == '-' || c == '.';
	}
	return good;
}

bool named_refs_split(struct str text, struct str *ret_namespace, struct str *ret_name)
{
	const char *slash = str_find(text, '/');
	size_t len = slash != NULL ? (size_t)(slash - text.p) : 0;
	struct str namespace = {text.p, len};
	struct str name = str_skip(text, len + 1);
	if (!is_name(namespace) || len > 63 || str_find(namespace, '.') != NULL || !is_name(name))
		return false;
	*ret_namespace = namespace;
	*ret_name = name;
	return true;
}

static bool is_map(const struct store_object *object, struct str namespace, struct str name)
{
	return object->kind == RECORD_CONFIG_MAP && name.len != 0 &&
	       str_eq(store_name(object), name) && str_eq(store_namespace(object), namespace);
}

bool named_refs_is_ports(const struct named_refs_config *config, const struct store_object *object)
{
	return is_map(object, config->tcp_namespace, config->tcp_name) ||
	       is_map(object, config->udp_namespace, config->udp_name);
}

bool named_refs_is_options(
	const struct named_refs_config *config, const struct store_object *object)
{
	return is_map(object, config->options_namespace, config->options_name);
}

static void add(
	struct collection *collection, enum record_kind kind, struct str namespace, struct str name)
{
	for (size_t i = 0; i < collection->count; i++) {
		const struct named_ref *ref = &collection->refs[i];
		if (ref->kind == kind && str_eq(ref->namespace, namespace) &&
			str_eq(ref->name, name))
			return;
	}
	if (collection->count < NAMED_REFS_MAX)
		collection->refs[collection->count++] = (struct named_ref){kind, namespace, name};
}

/* NAME, or NAMESPACE/NAME with its own namespace. */
static void add_secret(struct collection *collection, struct str value, struct str namespace)
{
	struct str other = namespace;
	struct str name = value;
	if (str_find(value, '/') != NULL && !named_refs_split(value, &other, &name))
		return;
	if (is_name(name) && str_eq(other, namespace))
		add(collection, RECORD_SECRET, namespace, name);
}

/* NAMESPACE/NAME; an Ingress can name those of its own namespace only. */
static void add_map(struct collection *collection, struct str value, const struct str *only)
{
	struct str namespace = STR("");
	struct str name = STR("");
	if (named_refs_split(value, &namespace, &name) &&
		(only == NULL || str_eq(namespace, *only)))
		add(collection, RECORD_CONFIG_MAP, namespace, name);
}

static void *read_record(const struct store_object *object, struct arena *arena, void *ret_record)
{
	message_read_kept(message_schema(MESSAGE_UPSERT, object->kind, LB_NONE),
		(struct str){object->frame + FRAME_HEAD_LEN, object->frame_len - FRAME_HEAD_LEN},
		arena, ret_record);
	return ret_record;
}

static void collect_of_ingress(const struct store_object *ingress,
	const struct named_refs_config *config, struct arena *arena, struct collection *collection)
{
	struct ingress_record record;
	struct str namespace = store_namespace(ingress);
	read_record(ingress, arena, &record);
	for (size_t i = 0; i < record.annotations.count; i++) {
		const struct annotation *a = &record.annotations.items[i];
		struct str name = nginx_name(a->key, config);
		if (is_one_of(a->key, own_keys, COUNT_OF(own_keys)) ||
			is_one_of(name, nginx_keys, COUNT_OF(nginx_keys)))
			add_secret(collection, a->value, namespace);
		else if (is_one_of(name, nginx_map_keys, COUNT_OF(nginx_map_keys)))
			add_map(collection, str_trim(a->value), &namespace);
	}
}

static void collect_of_options(
	const struct store_object *object, struct arena *arena, struct collection *collection)
{
	struct config_map_record record;
	read_record(object, arena, &record);
	for (size_t i = 0; i < record.entries.count; i++) {
		const struct config_entry *entry = &record.entries.items[i];
		if (is_one_of(entry->key, option_keys, COUNT_OF(option_keys)))
			add_map(collection, str_trim(entry->value), NULL);
	}
}

size_t named_refs_of(const struct store_object *object, const struct named_refs_config *config,
	struct arena *arena, struct named_ref ret_refs[static NAMED_REFS_MAX])
{
	struct collection collection = {ret_refs, 0};
	if (object->frame == NULL)
		return 0;
	if (object->kind == RECORD_INGRESS && has_mark(object))
		collect_of_ingress(object, config, arena, &collection);
	else if (named_refs_is_options(config, object))
		collect_of_options(object, arena, &collection);
	return collection.count;
}
