// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/spec.h"

#include "common/hash.h"

#include <stdlib.h>

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_rules(const void *left, const void *right)
{
	const struct port_rule *a = left;
	const struct port_rule *b = right;
	int order = compare_numbers(a->source_port, b->source_port);
	if (order == 0)
		order = compare_numbers(a->priority, b->priority);
	if (order == 0)
		order = str_cmp(a->host, b->host);
	if (order == 0)
		order = str_cmp(a->path, b->path);
	if (order == 0)
		order = str_cmp(a->service_id, b->service_id);
	if (order == 0)
		order = compare_numbers(a->target_port, b->target_port);
	if (order == 0)
		order = str_cmp(a->backend, b->backend);
	return order != 0 ? order : str_cmp(a->protocol, b->protocol);
}

static int compare_ports(const void *left, const void *right)
{
	const struct published_port *a = left;
	const struct published_port *b = right;
	int order = compare_numbers(a->public_port, b->public_port);
	if (order == 0)
		order = compare_numbers(a->private_port, b->private_port);
	return order != 0 ? order : (int)a->is_udp - (int)b->is_udp;
}

static int compare_labels(const void *left, const void *right)
{
	return str_cmp(((const struct label *)left)->key, ((const struct label *)right)->key);
}

static int compare_texts(const void *left, const void *right)
{
	return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

static void *sorted_copy(const void *items, size_t count, size_t size,
	int (*compare)(const void *, const void *), struct arena *arena)
{
	void *copy = arena_calloc(arena, count + 1, size);
	if (count != 0) {
		memcpy(copy, items, count * size);
		qsort(copy, count, size, compare);
	}
	return copy;
}

static void add_rules(struct hash *hash, const struct lb_spec *spec, struct arena *arena)
{
	const struct port_rule *rules = sorted_copy(
		spec->rules.items, spec->rules.count, sizeof(*rules), compare_rules, arena);
	hash_add_int(hash, spec->rules.count);
	for (size_t i = 0; i < spec->rules.count; i++) {
		hash_add_int(hash, rules[i].source_port);
		hash_add_str(hash, rules[i].protocol);
		hash_add_str(hash, rules[i].host);
		hash_add_str(hash, rules[i].path);
		hash_add_str(hash, rules[i].backend);
		hash_add_str(hash, rules[i].service_id);
		hash_add_int(hash, rules[i].target_port);
		hash_add_int(hash, rules[i].priority);
		hash_add_int(hash, rules[i].foreign);
	}
}

static void add_certificates(struct hash *hash, const struct lb_spec *spec, struct arena *arena)
{
	const struct str *ids = sorted_copy(spec->certificates.items, spec->certificates.count,
		sizeof(*ids), compare_texts, arena);
	struct str last = spec->default_certificate;
	hash_add_str(hash, spec->default_certificate);
	for (size_t i = 0; i < spec->certificates.count; i++) {
		/* The default certificate and duplicates add nothing. */
		if (!str_eq(ids[i], last) && !str_eq(ids[i], spec->default_certificate))
			hash_add_str(hash, ids[i]);
		last = ids[i];
	}
}

static void add_stickiness(struct hash *hash, const struct stickiness *stickiness)
{
	hash_add_int(hash, stickiness != NULL);
	if (stickiness == NULL)
		return;
	hash_add_str(hash, stickiness->name);
	hash_add_str(hash, stickiness->cookie);
	hash_add_str(hash, stickiness->domain);
	hash_add_int(hash, stickiness->mode);
	hash_add_int(hash, (uint64_t)stickiness->indirect | (uint64_t)stickiness->nocache << 1 |
				   (uint64_t)stickiness->postonly << 2);
}

/* Trailing white space has no effect, and may be lost when somebody edits the text. */
static struct str trim_end(struct str text)
{
	while (text.len != 0 && strchr(" \t\r\n", text.p[text.len - 1]) != NULL)
		text.len--;
	return text;
}

static uint64_t config_facet(const struct lb_spec *spec, struct arena *arena)
{
	struct hash hash;
	hash_begin(&hash);
	add_rules(&hash, spec, arena);
	add_certificates(&hash, spec, arena);
	add_stickiness(&hash, spec->stickiness);
	hash_add_str(&hash, trim_end(spec->config));
	return hash_end(&hash);
}

static uint64_t ports_facet(const struct lb_spec *spec, struct arena *arena)
{
	const struct published_port *ports = sorted_copy(
		spec->ports.items, spec->ports.count, sizeof(*ports), compare_ports, arena);
	struct hash hash;
	hash_begin(&hash);
	for (size_t i = 0; i < spec->ports.count; i++) {
		if (i != 0 && compare_ports(&ports[i - 1], &ports[i]) == 0)
			continue;
		hash_add_int(&hash, ports[i].public_port);
		hash_add_int(&hash, ports[i].private_port);
		hash_add_int(&hash, ports[i].is_udp);
	}
	return hash_end(&hash);
}

static uint64_t labels_facet(const struct lb_spec *spec, struct arena *arena)
{
	const struct label *labels = sorted_copy(
		spec->labels.items, spec->labels.count, sizeof(*labels), compare_labels, arena);
	struct hash hash;
	hash_begin(&hash);
	for (size_t i = 0; i < spec->labels.count; i++) {
		hash_add_str(&hash, labels[i].key);
		hash_add_str(&hash, labels[i].value);
	}
	return hash_end(&hash);
}

void spec_facets(const struct lb_spec *spec, struct arena *arena, struct lb_facets *ret_facets)
{
	*ret_facets = (struct lb_facets){
		.config = config_facet(spec, arena),
		.ports = ports_facet(spec, arena),
		.labels = labels_facet(spec, arena),
		.description = hash_of(spec->description),
		.contents = spec->contents,
		.scale = spec->scale < UINT32_MAX ? (uint32_t)spec->scale : UINT32_MAX,
		.is_global = spec->is_global,
	};
}

static int compare_routes(const void *left, const void *right)
{
	const struct port_rule *a = left;
	const struct port_rule *b = right;
	int order = str_cmp(a->host, b->host);
	return order != 0 ? order : str_cmp(a->path, b->path);
}

uint64_t spec_routes(const struct lb_spec *spec, struct arena *arena)
{
	const struct port_rule *rules = sorted_copy(
		spec->rules.items, spec->rules.count, sizeof(*rules), compare_routes, arena);
	struct hash hash;
	hash_begin(&hash);
	for (size_t i = 0; i < spec->rules.count; i++) {
		if (i != 0 && compare_routes(&rules[i - 1], &rules[i]) == 0)
			continue;
		hash_add_str(&hash, rules[i].host);
		hash_add_str(&hash, rules[i].path);
	}
	return hash_end(&hash);
}

uint64_t facets_digest(const struct lb_facets *facets)
{
	struct hash hash;
	hash_begin(&hash);
	hash_add_int(&hash, facets->config);
	hash_add_int(&hash, facets->ports);
	hash_add_int(&hash, facets->labels);
	hash_add_int(&hash, facets->description);
	hash_add_int(&hash, facets->contents);
	hash_add_int(&hash, facets->scale);
	hash_add_int(&hash, facets->is_global);
	return hash_end(&hash);
}

bool facets_eq(const struct lb_facets *a, const struct lb_facets *b)
{
	return a->config == b->config && a->ports == b->ports && a->labels == b->labels &&
	       a->description == b->description && a->contents == b->contents &&
	       a->scale == b->scale && a->is_global == b->is_global;
}

unsigned facets_differ(const struct lb_facets *wanted, const struct lb_facets *there)
{
	unsigned parts = 0;
	if (wanted->config != there->config)
		parts |= PART_CONFIG;
	if (wanted->ports != there->ports)
		parts |= PART_PORTS;
	if (wanted->labels != there->labels)
		parts |= PART_LABELS;
	if (wanted->description != there->description)
		parts |= PART_DESCRIPTION;
	if (wanted->contents != there->contents)
		parts |= PART_CONTENTS;
	/* The server ignores the scale of a load balancer that runs on every host. */
	if (wanted->scale != 0 && wanted->scale != there->scale && !wanted->is_global)
		parts |= PART_SCALE;
	return parts;
}
