// SPDX-License-Identifier: Apache-2.0
/*
 * The resources that an empty account would get, as JSON and as text: two files for each load-balancer object, in folders by what it is for. ARNs are not
 * known here; in place of a certificate's is "certificate:NAMESPACE/NAME", and target groups are named.
 */
#include "provider-elb/filter.h"

#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "provider-elb/capabilities.h"
#include "provider-elb/config.h"
#include "provider-common/digest.h"
#include "provider-elb/priorities.h"
#include "provider-elb/view.h"

#include <stdlib.h>

enum {
	VIEW_LEN_MAX = 64 * 1024 * 1024,
	FILE_NAME_LEN_MAX = 200, /* without folder, hash and ending */
};

struct renderer {
	const struct filter_job *job;
	struct settings settings;
	struct arena arena;
	struct buf text;
	struct wanted_lookup lookup;
};

/* ---- lookups ---- */

static const struct pool *find_pool(void *ctx, struct str id)
{
	struct renderer *renderer = ctx;
	struct object *object = state_find(renderer->job->state, LB_POOL, id);
	if (object == NULL)
		return NULL;
	struct pool *pool = arena_alloc(&renderer->arena, sizeof(*pool));
	state_decode(renderer->job->state, object, &renderer->arena, pool);
	return pool;
}

static struct str find_certificate(void *ctx, struct str id, bool *ret_is_refused)
{
	struct renderer *renderer = ctx;
	struct certificate certificate;
	struct object *object = state_find(renderer->job->state, LB_CERTIFICATE, id);
	if (object == NULL) {
		*ret_is_refused = true;
		return STR_NONE;
	}
	state_decode(renderer->job->state, object, &renderer->arena, &certificate);
	return arena_printf(&renderer->arena, "certificate:%.*s/%.*s",
		STR_FMT(certificate.namespace), STR_FMT(certificate.name));
}

/* ---- what an account would hold ---- */

static void number_rules(struct renderer *renderer, struct elb_listener *listener)
{
	size_t count = listener->rules.count;
	struct priority_rule *rules = arena_calloc(&renderer->arena, count + 1, sizeof(*rules));
	for (size_t i = 0; i < count; i++)
		rules[i].band = listener->rules.items[i].band;
	/* A band has room for more rules than any quota allows. */
	if (!priorities_assign(rules, count, NULL, 0))
		return;
	for (size_t i = 0; i < count; i++)
		listener->rules.items[i].priority = rules[i].wanted;
}

static const struct elb_target_list *targets_of(
	struct renderer *renderer, const struct wanted_balancer *balancer)
{
	struct elb_target_list *lists =
		arena_calloc(&renderer->arena, balancer->groups.count + 1, sizeof(*lists));
	for (size_t i = 0; i < balancer->groups.count; i++) {
		const struct elb_group *group = &balancer->groups.items[i];
		size_t left_out;
		wanted_targets(find_pool(renderer, group->pool), group, &renderer->settings, NULL,
			renderer->settings.targets_max, &renderer->arena, &lists[i], &left_out);
	}
	return lists;
}

static void make_wanted(struct renderer *renderer, struct object *object,
	const struct load_balancer *lb, struct wanted *ret_wanted)
{
	struct object **hosts;
	size_t count = state_hosts_of(object, &renderer->arena, &hosts);
	struct virtual_host *values = arena_calloc(&renderer->arena, count + 1, sizeof(*values));
	for (size_t i = 0; i < count; i++)
		state_decode(renderer->job->state, hosts[i], &renderer->arena, &values[i]);
	wanted_make(lb, values, count, &renderer->settings, &renderer->lookup, &renderer->arena,
		ret_wanted);
	for (size_t i = 0; i < ret_wanted->count; i++) {
		struct wanted_balancer *balancer = &ret_wanted->balancers[i];
		for (size_t k = 0; k < balancer->listeners.count; k++)
			number_rules(renderer, &balancer->listeners.items[k]);
	}
}

/* ---- files ---- */

static const char *folder_of(const struct load_balancer *lb)
{
	if (lb->is_group)
		return "groups";
	return lb->owners.count != 0 && lb->owners.items[0].is_service ? "services" : "ingresses";
}

static bool is_file_name(struct str name)
{
	if (name.len == 0 || name.len > FILE_NAME_LEN_MAX || name.p[0] == '.')
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];
		if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.')
			return false;
	}
	return true;
}

/* "ingresses/default.web": a namespace has no dot. What can be no name of an Ingress, and what is too long for a file, is replaced by a hash. */
static struct str path_of(const struct load_balancer *lb, struct arena *arena)
{
	struct digest digest;
	struct str name =
		arena_printf(arena, "%.*s.%.*s", STR_FMT(lb->namespace), STR_FMT(lb->name));
	if (!is_file_name(name)) {
		digest_begin(&digest);
		digest_add_str(&digest, lb->key.id);
		name = digest_end_text(&digest, DIGEST_LEN_MAX, arena);
	}
	return arena_printf(arena, "%s/%.*s", folder_of(lb), STR_FMT(name));
}

static void show_file(struct renderer *renderer, struct str path, const char *ending)
{
	struct str name = arena_printf(&renderer->arena, "%.*s.%s", STR_FMT(path), ending);
	renderer->job->on_file(renderer->job->ctx, name.p, buf_str(&renderer->text));
	buf_clear(&renderer->text);
}

static void show_files(struct renderer *renderer, const struct view *view)
{
	struct str path = path_of(view->lb, &renderer->arena);
	struct json *document = view_json(view);
	must(json_print(document, &renderer->text) == 0);
	must(buf_append(&renderer->text, "\n", 1) == 0);
	json_free(document);
	show_file(renderer, path, "json");
	must(view_text(view, &renderer->text) == 0);
	show_file(renderer, path, "txt");
}

/* What concerns all owners is told to the oldest, as long as there is no status that would say it to all. */
static void show_notices(struct renderer *renderer, const struct object *object,
	const struct load_balancer *lb, const struct wanted *wanted)
{
	for (size_t i = 0; i < wanted->notices.count; i++) {
		struct lb_notice *notice = &wanted->notices.items[i];
		if (str_is_empty(notice->ingress) && str_is_empty(notice->service) &&
			str_is_empty(notice->certificate) && lb->owners.count != 0 &&
			!lb->owners.items[0].is_service)
			notice->ingress = arena_printf(&renderer->arena, "%.*s/%.*s",
				STR_FMT(lb->owners.items[0].namespace),
				STR_FMT(lb->owners.items[0].name));
	}
	renderer->job->on_notices(
		renderer->job->ctx, object, wanted->notices.items, wanted->notices.count);
}

static void show_balancer(struct renderer *renderer, struct object *object)
{
	struct load_balancer lb;
	struct wanted wanted;
	state_decode(renderer->job->state, object, &renderer->arena, &lb);
	/* Nothing is made without a description or a listener. */
	if (lb.absent || lb.keep || lb.listeners.count == 0)
		return;
	make_wanted(renderer, object, &lb, &wanted);
	struct view view = {.lb = &lb, .settings = &renderer->settings, .wanted = &wanted};
	for (size_t i = 0; i < wanted.count; i++)
		view.targets[i] = targets_of(renderer, &wanted.balancers[i]);
	show_files(renderer, &view);
	show_notices(renderer, object, &lb, &wanted);
}

static char *render(const struct filter_job *job, const void *config)
{
	struct renderer renderer = {.job = job};
	renderer.lookup = (struct wanted_lookup){find_pool, find_certificate, &renderer};
	config_settings(config, &renderer.settings);
	arena_init(&renderer.arena);
	buf_init(&renderer.text, VIEW_LEN_MAX);
	struct object *object = state_first(job->state, LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(job->state, object)) {
		show_balancer(&renderer, object);
		arena_reset(&renderer.arena);
	}
	buf_fini(&renderer.text);
	arena_fini(&renderer.arena);
	return NULL;
}

const struct provider_filter elb_filter = {
	.options_offset = offsetof(struct config, filter),
	.common_offset = offsetof(struct config, common),
	.name = "elb",
	.software = "sluice-provider-elb " SLUICE_VERSION,
	.capabilities = elb_capabilities,
	.render = render,
};
