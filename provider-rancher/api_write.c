// SPDX-License-Identifier: Apache-2.0
/* Request bodies; the counterpart of api_json.c. */
#include "provider-rancher/api_json.h"

#include "provider-common/digest.h"
#include "provider-rancher/labels.h"

#include <stdio.h>

static void add_text(struct json *object, const char *name, struct str text)
{
	if (text.len != 0)
		json_add_str(object, name, text);
}

static void write_rule(struct json *list, const struct port_rule *rule)
{
	struct json *out = json_push_object(list);
	json_add_int(out, "sourcePort", (int64_t)rule->source_port);
	json_add_str(out, "protocol", rule->protocol);
	add_text(out, "hostname", rule->host);
	add_text(out, "path", rule->path);
	add_text(out, "backendName", rule->backend);
	json_add_str(out, "serviceId", rule->service_id);
	json_add_int(out, "targetPort", (int64_t)rule->target_port);
	if (rule->priority != 0)
		json_add_int(out, "priority", (int64_t)rule->priority);
}

static void write_stickiness(struct json *config, const struct stickiness *stickiness)
{
	static const char *const words[] = {"insert", "rewrite", "prefix"};
	struct json *out = json_add_object(config, "stickinessPolicy");
	add_text(out, "name", stickiness->name);
	/* Not nullable: omitted rather than sent empty. */
	add_text(out, "cookie", stickiness->cookie);
	add_text(out, "domain", stickiness->domain);
	json_add_str(out, "mode", str_from(words[stickiness->mode]));
	json_add_bool(out, "indirect", stickiness->indirect);
	json_add_bool(out, "nocache", stickiness->nocache);
	json_add_bool(out, "postonly", stickiness->postonly);
}

void api_write_lb_config(struct json *body, const struct lb_spec *spec)
{
	struct json *config = json_add_object(body, "lbConfig");
	struct json *rules = json_add_array(config, "portRules");
	for (size_t i = 0; i < spec->rules.count; i++)
		write_rule(rules, &spec->rules.items[i]);
	add_text(config, "defaultCertificateId", spec->default_certificate);
	if (spec->certificates.count != 0) {
		struct json *ids = json_add_array(config, "certificateIds");
		for (size_t i = 0; i < spec->certificates.count; i++)
			json_push_str(ids, spec->certificates.items[i]);
	}
	add_text(config, "config", spec->config);
	if (spec->stickiness != NULL)
		write_stickiness(config, spec->stickiness);
}

static bool is_same_port(const struct published_port *a, const struct published_port *b)
{
	return a->public_port == b->public_port && a->private_port == b->private_port &&
	       a->is_udp == b->is_udp;
}

/* The existing text of the port, which may include a bind address; absent if it is not published. */
static struct str find_port(const struct json *there, const struct published_port *wanted)
{
	const struct json *item = json_is_array(there) ? json_first(there) : NULL;
	for (; item != NULL; item = json_next(item)) {
		struct published_port port;
		if (api_read_published(json_text(item), &port) && is_same_port(&port, wanted))
			return json_text(item);
	}
	return STR_NONE;
}

static void write_ports(struct json *launch, const struct json *there, const struct lb_spec *spec)
{
	struct json *list = json_add_array(launch, "ports");
	for (size_t i = 0; i < spec->ports.count; i++) {
		const struct published_port *port = &spec->ports.items[i];
		char text[64];
		struct str known = find_port(there, port);
		if (known.len == 0) {
			int len = snprintf(text, sizeof(text), "%u:%u/%s",
				(unsigned)port->public_port, (unsigned)port->private_port,
				port->is_udp ? "udp" : "tcp");
			known = (struct str){text, (size_t)len};
		}
		json_push_str(list, known);
	}
}

/* A NUL-terminated copy of a member's name; false: longer than any that Rancher has. */
struct member_name {
	char text[512];
};

static bool set_member_name(struct str name, struct member_name *ret_name)
{
	if (name.len >= sizeof(ret_name->text))
		return false;
	str_put(ret_name->text, name);
	ret_name->text[name.len] = '\0';
	return true;
}

static void write_labels(struct json *labels, const struct lb_spec *spec)
{
	struct member_name name;
	for (size_t i = 0; i < spec->labels.count; i++) {
		if (set_member_name(spec->labels.items[i].key, &name))
			json_add_str(labels, name.text, spec->labels.items[i].value);
	}
}

void api_write_launch_config(struct json *body, const struct lb_spec *spec, struct str image)
{
	struct json *launch = json_add_object(body, "launchConfig");
	json_add_str(launch, "imageUuid", image);
	write_ports(launch, NULL, spec);
	write_labels(json_add_object(launch, "labels"), spec);
}

/* Labels that we do not manage stay, above all those by which the server gives the container its role. */
static void keep_labels(struct json *labels, const struct json *there)
{
	struct member_name name;
	const struct json *item = json_first(there);
	for (; item != NULL; item = json_next(item)) {
		if (!label_is_safe(json_name(item)) && set_member_name(json_name(item), &name))
			json_add_copy(labels, name.text, item);
	}
}

void api_change_launch_config(
	struct json *body, const struct json *there, const struct lb_spec *spec)
{
	struct json *launch = json_add_object(body, "launchConfig");
	struct member_name name;
	for (const struct json *item = json_first(there); item != NULL; item = json_next(item)) {
		struct str key = json_name(item);
		if (!str_eq_c(key, "ports") && !str_eq_c(key, "labels") &&
			set_member_name(key, &name))
			json_add_copy(launch, name.text, item);
	}
	write_ports(launch, json_get(there, "ports"), spec);
	struct json *labels = json_add_object(launch, "labels");
	keep_labels(labels, json_get(there, "labels"));
	write_labels(labels, spec);
}

void api_write_metadata(struct json *body, const struct json *there, const struct lb_spec *spec)
{
	struct json *metadata = json_add_object(body, "metadata");
	struct member_name name;
	for (const struct json *item = json_first(there); item != NULL; item = json_next(item)) {
		if (!str_eq_c(json_name(item), API_CONTENTS_KEY) &&
			set_member_name(json_name(item), &name))
			json_add_copy(metadata, name.text, item);
	}
	if (spec->contents != 0) {
		char digest[DIGEST_TEXT_LEN + 1];
		digest_text(spec->contents, digest);
		json_add_str(metadata, API_CONTENTS_KEY, str_from(digest));
	}
}

void api_write_creation(struct json *body, const struct api_creation *creation,
	const struct lb_spec *spec, struct arena *arena)
{
	json_add_str(body, "name", creation->name);
	json_add_str(body, "stackId", creation->stack_id);
	json_add_str(body, "externalId",
		arena_printf(
			arena, "%s%.*s", creation->external_id_prefix, STR_FMT(creation->name)));
	json_add_str(body, "description", spec->description);
	json_add_bool(body, "startOnCreate", true);
	if (spec->scale != 0)
		json_add_int(body, "scale", (int64_t)spec->scale);
	api_write_launch_config(body, spec, creation->image);
	api_write_lb_config(body, spec);
	if (spec->contents != 0)
		api_write_metadata(body, NULL, spec);
}
