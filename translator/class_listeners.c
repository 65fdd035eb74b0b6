// SPDX-License-Identifier: Apache-2.0
#include "translator/class_listeners.h"

#include "common/ip.h"

#include <stdlib.h>

#define ADDRESS_ANNOTATION "sluice.io/bind-address"
#define HTTP_ANNOTATION    "sluice.io/http-port"
#define HTTPS_ANNOTATION   "sluice.io/https-port"

struct builder {
	struct class_table *table;
	struct arena *arena;
	uint64_t http_port;
	uint64_t https_port;
};

static int compare_items(const void *left, const void *right)
{
	const struct class_item *a = left;
	const struct class_item *b = right;
	if (a->created != b->created)
		return a->created < b->created ? -1 : 1;
	return str_cmp(a->self.name, b->self.name);
}

/* ---- annotations ---- */

static void refuse(struct builder *b, const struct class_item *item, const char *annotation,
	struct str value, const char *problem)
{
	diag_add(&b->table->diags, &item->self, "InvalidAnnotation",
		arena_printf(b->arena, "metadata.annotations[%s]", annotation).p, "%s: %s",
		diag_quote(b->arena, value), problem);
}

static struct str find_annotation(const struct ingress_class_record *record, const char *key)
{
	for (size_t i = 0; i < record->annotations.count; i++) {
		if (str_eq_c(record->annotations.items[i].key, key))
			return record->annotations.items[i].value;
	}
	return STR_NONE;
}

static struct str trim(struct str text)
{
	while (text.len != 0 && text.p[0] == ' ')
		text = str_skip(text, 1);
	while (text.len != 0 && text.p[text.len - 1] == ' ')
		text.len--;
	return text;
}

static bool has_address(const struct class_item *item, struct str address)
{
	for (size_t i = 0; i < item->addresses.count; i++) {
		if (str_eq(item->addresses.items[i], address))
			return true;
	}
	return false;
}

static void add_address(struct builder *b, struct class_item *item, struct str word)
{
	char canonical[INET6_ADDRSTRLEN];
	if (!ip_canonical(word, canonical))
		refuse(b, item, ADDRESS_ANNOTATION, word, "it is no IP address");
	else if (strcmp(canonical, "0.0.0.0") == 0 || strcmp(canonical, "::") == 0)
		refuse(b, item, ADDRESS_ANNOTATION, word,
			"it stands for all addresses, which are those of the shared load balancer; "
			"name one, or leave the annotation out");
	else if (item->addresses.count == CLASS_ADDRESSES_MAX)
		refuse(b, item, ADDRESS_ANNOTATION, word, "there are too many addresses");
	else if (!has_address(item, str_from(canonical)))
		item->addresses.items[item->addresses.count++] =
			arena_str(b->arena, str_from(canonical));
}

static void read_addresses(struct builder *b, struct class_item *item, struct str value)
{
	item->addresses.items = arena_calloc(b->arena, CLASS_ADDRESSES_MAX, sizeof(struct str));
	if (value.p == NULL) {
		item->addresses.items[item->addresses.count++] = STR("");
		return;
	}
	size_t words = 0;
	do {
		const char *comma = str_find(value, ',');
		size_t len = comma != NULL ? (size_t)(comma - value.p) : value.len;
		add_address(b, item, trim((struct str){value.p, len}));
		value = comma != NULL ? str_skip(value, len + 1) : STR_NONE;
	} while (value.p != NULL && ++words <= CLASS_ADDRESSES_MAX);
}

/* 0: invalid. */
static uint64_t read_port(struct builder *b, const struct class_item *item, const char *annotation,
	struct str value, uint64_t shared)
{
	int64_t port = 0;
	if (value.p == NULL)
		return shared;
	if (str_to_int(trim(value), 1, 65535, &port))
		return (uint64_t)port;
	refuse(b, item, annotation, value, "a port from 1 to 65535 is expected");
	return 0;
}

static void read_own(
	struct builder *b, const struct ingress_class_record *record, struct class_item *item)
{
	struct str address = find_annotation(record, ADDRESS_ANNOTATION);
	struct str http = find_annotation(record, HTTP_ANNOTATION);
	struct str https = find_annotation(record, HTTPS_ANNOTATION);
	item->is_own = address.p != NULL || http.p != NULL || https.p != NULL;
	if (!item->is_own)
		return;
	read_addresses(b, item, address);
	item->http_port = read_port(b, item, HTTP_ANNOTATION, http, b->http_port);
	item->https_port = read_port(b, item, HTTPS_ANNOTATION, https, b->https_port);
	if (item->https_port == 0 || item->http_port != item->https_port)
		return;
	refuse(b, item, https.p != NULL ? HTTPS_ANNOTATION : HTTP_ANNOTATION,
		https.p != NULL ? https : http,
		"HTTP and HTTPS cannot have the same port; it is served for HTTP");
	item->https_port = 0;
}

/* ---- conflicts ---- */

/* A specific address beside the wildcard is no conflict: connections to it go to the specific one. */
static const struct class_item *find_holder(
	const struct builder *b, const struct class_item *item, struct str address, uint64_t port)
{
	const struct class_table *table = b->table;
	bool is_shared = str_is_empty(address) && (port == b->http_port || port == b->https_port);
	for (size_t i = 0; i < table->classes.count && &table->classes.items[i] != item; i++) {
		const struct class_item *older = &table->classes.items[i];
		if (!older->is_own && is_shared)
			return older;
		for (size_t k = 0; k < older->listeners.count; k++) {
			if (older->listeners.items[k].port == port &&
				str_eq(older->listeners.items[k].address, address))
				return older;
		}
	}
	return NULL;
}

static void want_listener(struct builder *b, struct class_item *item, struct str address,
	uint64_t port, enum listener_protocol protocol)
{
	if (port == 0)
		return;
	const struct class_item *holder = find_holder(b, item, address, port);
	if (holder == NULL) {
		item->listeners.items[item->listeners.count++] =
			(struct class_listener){address, port, protocol};
		return;
	}
	diag_add(&b->table->diags, &item->self, "PortConflict", NULL,
		"port %llu%s%.*s is not served for %s of this class: it is that of the older "
		"IngressClass %.*s",
		(unsigned long long)port, str_is_empty(address) ? "" : " of ", STR_FMT(address),
		protocol == LISTENER_HTTP ? "HTTP" : "HTTPS", STR_FMT(holder->self.name));
}

static void want_listeners(struct builder *b, struct class_item *item)
{
	item->listeners.items = arena_calloc(
		b->arena, 2 * item->addresses.count + 1, sizeof(struct class_listener));
	for (size_t i = 0; i < item->addresses.count; i++) {
		struct str address = item->addresses.items[i];
		want_listener(b, item, address, item->http_port, LISTENER_HTTP);
		want_listener(b, item, address, item->https_port, LISTENER_HTTPS);
	}
}

/* ---- result ---- */

void class_table_build(const struct ingress_class_record *records, size_t count, uint64_t http_port,
	uint64_t https_port, struct arena *arena, struct class_table *ret_table)
{
	struct builder b = {ret_table, arena, http_port, https_port};
	*ret_table = (struct class_table){0};
	diag_list_init(&ret_table->diags, arena);
	ret_table->classes.items = arena_calloc(arena, count + 1, sizeof(struct class_item));
	ret_table->classes.count = count;
	for (size_t i = 0; i < count; i++) {
		struct class_item *item = &ret_table->classes.items[i];
		*item = (struct class_item){.created = records[i].created,
			.self = {.name = records[i].key.name,
				.uid = records[i].key.uid,
				.is_class = true}};
		read_own(&b, &records[i], item);
	}
	if (count > 1)
		qsort(ret_table->classes.items, count, sizeof(struct class_item), compare_items);
	for (size_t i = 0; i < count; i++) {
		const struct class_item *item = &ret_table->classes.items[i];
		if (!item->is_own && ret_table->shared_created == 0)
			ret_table->shared_created = item->created;
		want_listeners(&b, &ret_table->classes.items[i]);
	}
	diag_list_finish(&ret_table->diags);
}

const struct class_item *class_table_find(const struct class_table *table, struct str name)
{
	for (size_t i = 0; i < table->classes.count; i++) {
		if (str_eq(table->classes.items[i].self.name, name))
			return &table->classes.items[i];
	}
	return NULL;
}

const struct class_item *class_table_find_own(const struct class_table *table, struct str name)
{
	const struct class_item *item = class_table_find(table, name);
	return item != NULL && item->is_own ? item : NULL;
}

bool class_item_same_place(const struct class_item *a, const struct class_item *b)
{
	bool a_own = a != NULL && a->is_own;
	bool b_own = b != NULL && b->is_own;
	return a_own == b_own &&
	       (!a_own || (a->http_port == b->http_port && a->https_port == b->https_port));
}
