// SPDX-License-Identifier: Apache-2.0
/* What a writer of statuses and finalizers needs to know about an Ingress or Service (Kubernetes API reference,
 * LoadBalancerStatus and ObjectMeta; for managed fields "Server-Side Apply"). */
#include "watcher/digest_cache.h"
#include "watcher/project.h"
#include "watcher/revision.h"
#include "watcher/status_text.h"

#include <inttypes.h>
#include <stdio.h>

enum { FINALIZERS_LEN_MAX = 64 * 1024 };

/* ---- managed fields ---- */

void project_ours_init(
	struct project_ours *ours, struct str load_balancer_class, bool without_class)
{
	*ours = (struct project_ours){load_balancer_class, without_class, ""};
	snprintf(ours->manager, sizeof(ours->manager), PROJECT_MANAGER "-%016" PRIx64,
		digest_of(&load_balancer_class, 1));
}

static bool is_by(const struct json *entry, const char *manager)
{
	return str_eq_c(json_text(json_get(entry, "manager")), manager);
}

static bool wrote_addresses(const struct json *entry)
{
	return str_eq_c(json_text(json_get(entry, "subresource")), "status") &&
	       json_path(entry, "fieldsV1", "f:status", "f:loadBalancer", "f:ingress", NULL) !=
		       NULL;
}

static bool wrote_finalizer(const struct json *entry, const char *manager)
{
	return is_by(entry, manager) && json_path(entry, "fieldsV1", "f:metadata", "f:finalizers",
						"v:\"" PROJECT_FINALIZER "\"", NULL) != NULL;
}

static const struct json *first_entry(const struct json *object)
{
	return json_first(json_path(object, "metadata", "managedFields", NULL));
}

/* The list of addresses is atomic, so it has one owner, except with server-side apply. */
static void read_owner(const struct json *object, struct project_facts *facts)
{
	const struct json *entry = first_entry(object);
	for (; entry != NULL; entry = json_next(entry)) {
		if (!wrote_addresses(entry))
			continue;
		if (is_by(entry, PROJECT_MANAGER))
			facts->status_is_ours = true;
		else
			facts->status_manager = json_text(json_get(entry, "manager"));
	}
}

static bool finalizer_is_ours(const struct projection *p, const struct json *object)
{
	const struct json *entry = p->ours != NULL ? first_entry(object) : NULL;
	while (entry != NULL && !wrote_finalizer(entry, p->ours->manager))
		entry = json_next(entry);
	return entry != NULL;
}

/* ---- addresses ---- */

static void read_address(
	struct projection *p, const struct json *json, struct project_addresses *list)
{
	struct address address = {0};
	struct project_error ignored;
	struct projection quiet = {.arena = p->arena, .error = &ignored};
	const struct json *ports = NULL;
	void *items = NULL;
	if (!project_get_text(&quiet, json, NULL, "ip", &address.ip) ||
		!project_get_text(&quiet, json, NULL, "hostname", &address.hostname) ||
		!project_get_list(
			&quiet, json, NULL, "ports", sizeof(struct address_port), &ports, &items))
		return;
	address.ports.items = items;
	for (const struct json *port = json_first(ports); port != NULL; port = json_next(port)) {
		struct address_port *to = &address.ports.items[address.ports.count];
		if (project_get_port(&quiet, port, NULL, "port", &to->port) &&
			project_get_protocol(&quiet, port, NULL, &to->protocol))
			address.ports.count++;
	}
	list->items[list->count++] = address;
}

void project_addresses(
	struct projection *p, const struct json *object, struct project_addresses *ret_list)
{
	const struct json *list = json_path(object, "status", "loadBalancer", "ingress", NULL);
	size_t count = json_is_array(list) ? json_count(list) : 0;
	*ret_list = (struct project_addresses){0};
	if (count == 0)
		return;
	ret_list->items = arena_calloc(p->arena, count, sizeof(struct address));
	for (const struct json *json = json_first(list); json != NULL; json = json_next(json))
		read_address(p, json, ret_list);
}

/* ---- finalizers ---- */

bool project_is_ours(const struct projection *p, const struct service_record *service)
{
	if (service->type != SERVICE_LOAD_BALANCER || p->ours == NULL)
		return false;
	return service->load_balancer_class.len != 0
		       ? str_eq(service->load_balancer_class, p->ours->load_balancer_class)
		       : p->ours->without_class;
}

static bool is_finalizer(const struct json *text)
{
	return str_eq_c(json_text(text), PROJECT_FINALIZER);
}

bool project_has_finalizer(const struct projection *p, const struct json *object, bool is_ours)
{
	const struct json *text = json_first(json_path(object, "metadata", "finalizers", NULL));
	while (text != NULL && !is_finalizer(text))
		text = json_next(text);
	return text != NULL && (is_ours || finalizer_is_ours(p, object));
}

/* All finalizers but ours, as the elements of a JSON list. False: the list cannot be written. */
static bool read_finalizers(struct projection *p, const struct json *object, struct str *ret_others)
{
	const struct json *list = json_path(object, "metadata", "finalizers", NULL);
	struct json *others = json_new_array();
	struct buf text;
	bool ok = json_is_absent(list) || json_is_array(list);
	for (const struct json *json = json_first(list); ok && json != NULL;
		json = json_next(json)) {
		ok = json_is_string(json);
		if (ok && !is_finalizer(json))
			json_push_str(others, json_text(json));
	}
	buf_init(&text, FINALIZERS_LEN_MAX);
	ok = ok && json_print(others, &text) == 0;
	/* Without the brackets. */
	if (ok && buf_len(&text) > 2)
		*ret_others =
			arena_str(p->arena, (struct str){buf_str(&text).p + 1, buf_len(&text) - 2});
	buf_fini(&text);
	json_free(others);
	return ok;
}

void project_facts(struct projection *p, const struct json *object, const struct project_meta *meta,
	const struct record_key *record, struct project_facts *ret_facts)
{
	struct project_facts facts = {0};
	struct project_addresses list;
	struct revision revision;
	read_owner(object, &facts);
	project_addresses(p, object, &list);
	facts.status = status_text(list.items, list.count, p->arena, NULL);
	if (revision_set(&revision, meta->revision))
		facts.revision = meta->revision;
	if (record != NULL && record->kind == RECORD_SERVICE &&
		read_finalizers(p, object, &facts.finalizers)) {
		const struct service_record *service = (const void *)record;
		facts.hold_is_known = true;
		facts.wants_finalizer = project_is_ours(p, service) && !service->deleting;
		facts.has_finalizer = service->finalizer;
	}
	*ret_facts = facts;
}
