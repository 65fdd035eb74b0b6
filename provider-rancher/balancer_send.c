// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/balancer_send.h"

#include "common/must.h"
#include "common/shared_text.h"
#include "common/xalloc.h"
#include "provider-rancher/balancer_wanted.h"
#include "provider-rancher/registry.h"

/* ---- bodies ---- */

static void write_create(struct balancer *balancer, struct json *body)
{
	const struct balancer_context *context = balancer->context;
	struct desired desired;
	struct lb_name name;
	struct arena arena;
	arena_init(&arena);
	balancer_build(balancer, &arena, &desired);
	/* The plan has checked that a name is available. */
	must(registry_find_name(context->registry, balancer, &name));
	shared_text_set(&balancer->work->tried_name, str_from(name.text));
	struct api_creation creation = {
		.name = str_from(name.text),
		.stack_id = str_from(inventory_stack_id(context->inventory)),
		.external_id_prefix = context->external_id,
		.image = inventory_image(context->inventory),
	};
	api_write_creation(body, &creation, &desired.spec, &arena);
	arena_fini(&arena);
}

static void write_update(struct balancer *balancer, struct json *body)
{
	unsigned parts = balancer->work->plan.parts;
	const struct json *fresh = json_get(balancer->work->fresh, "lb");
	struct desired desired;
	struct arena arena;
	arena_init(&arena);
	balancer_build(balancer, &arena, &desired);
	if ((parts & PART_CONFIG) != 0)
		api_write_lb_config(body, &desired.spec);
	if ((parts & (PART_PORTS | PART_LABELS)) != 0)
		api_change_launch_config(body, json_get(fresh, "launchConfig"), &desired.spec);
	/* If no scale is wanted, it goes back to one. */
	if ((parts & PART_SCALE) != 0)
		json_add_int(
			body, "scale", desired.spec.scale != 0 ? (int64_t)desired.spec.scale : 1);
	if ((parts & PART_DESCRIPTION) != 0)
		json_add_str(body, "description", desired.spec.description);
	if ((parts & PART_CONTENTS) != 0)
		api_write_metadata(body, json_get(fresh, "metadata"), &desired.spec);
	arena_fini(&arena);
}

/* ---- the request ---- */

/* By the name of a creation whose response was lost, or that was refused because of its name. */
static char *lookup_path(struct balancer *balancer)
{
	const struct balancer_context *context = balancer->context;
	struct lb_name name;
	const char *tried = balancer->work->tried_name;
	if (tried == NULL) {
		(void)registry_find_name(context->registry, balancer, &name);
		tried = name.text;
	}
	return xasprintf("/loadbalancerservices?stackId=%s&name=%s&removed_null=1&limit=%d",
		inventory_stack_id(context->inventory), tried, (int)context->options->page_size);
}

void balancer_send(
	struct balancer *balancer, void (*on_answer)(void *ctx, const struct api_answer *answer))
{
	struct json *body = NULL;
	char *path = NULL;
	struct api_call call = {.method = "GET", .on_done = on_answer, .ctx = balancer};
	balancer->was_lasting = balancer->row == NULL || server_state_lasts(balancer->row->state);
	if (balancer->row != NULL)
		path = xasprintf("/loadbalancerservices/%s%s", balancer->row->id,
			balancer->work->plan.step == PLAN_ACTIVATE ? "?action=activate" : "");
	switch (balancer->work->plan.step) {
	case PLAN_CREATE:
		call.method = "POST";
		path = xstrdup("/loadbalancerservices");
		body = json_new_object();
		write_create(balancer, body);
		break;
	case PLAN_READ:
		call.is_list = balancer->row == NULL;
		if (call.is_list)
			path = lookup_path(balancer);
		break;
	case PLAN_UPDATE:
		call.method = "PUT";
		body = json_new_object();
		write_update(balancer, body);
		break;
	case PLAN_ACTIVATE:
		call.method = "POST";
		body = json_new_object();
		break;
	case PLAN_REMOVE:
		call.method = "DELETE";
		break;
	case PLAN_NOTHING:
	case PLAN_LATER:
	case PLAN_FORGET:
		must(false);
	}
	call.path = path;
	call.body = body;
	balancer->work->request = api_start(balancer->context->client->api, &call);
	json_free(body);
	free(path);
}
