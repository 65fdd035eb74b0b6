// SPDX-License-Identifier: Apache-2.0
/*
 * The resources that would be sent to a Rancher without load balancers, as JSON. Rancher's ids are not known here; in their place are
 * references: "service:NAMESPACE/NAME", "certificate:NAMESPACE/NAME", "stack:NAME", "setting:lb.instance.image".
 */
#include "provider-rancher/filter.h"

#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "provider-rancher/api_json.h"
#include "provider-rancher/capabilities.h"
#include "provider-rancher/config.h"
#include "provider-rancher/desired.h"
#include "provider-common/digest.h"
#include "provider-rancher/mark.h"
#include "provider-rancher/naming.h"

#include <stdlib.h>

enum { BODY_LEN_MAX = 16 * 1024 * 1024 };

struct renderer {
	const struct filter_job *job;
	const struct config *config;
	char *prefix; /* of external ids */
	struct arena arena;
	const struct pool *last; /* the last one looked up */
	struct buf text;
};

/* ---- lookups ---- */

static const struct pool *find_pool(void *ctx, struct str id)
{
	struct renderer *renderer = ctx;
	struct object *object = state_find(renderer->job->state, LB_POOL, id);
	struct pool *pool = NULL;
	if (object != NULL) {
		pool = arena_alloc(&renderer->arena, sizeof(*pool));
		state_decode(renderer->job->state, object, &renderer->arena, pool);
	}
	renderer->last = pool;
	return pool;
}

/* Called with the uid of the pool that was looked up just before. */
static struct str find_service(void *ctx, struct str uid)
{
	struct renderer *renderer = ctx;
	if (renderer->last == NULL || !str_eq(renderer->last->service.uid, uid))
		return STR_NONE;
	return arena_printf(&renderer->arena, "service:%.*s/%.*s",
		STR_FMT(renderer->last->service.namespace), STR_FMT(renderer->last->service.name));
}

static uint64_t digest_of_pair(const struct certificate *certificate)
{
	struct digest digest;
	digest_begin(&digest);
	digest_add_str(&digest, certificate->chain);
	digest_add_str(&digest, certificate->private_key);
	return digest_end(&digest);
}

static enum certificate_answer find_certificate(
	void *ctx, struct str id, struct str *ret_id, uint64_t *ret_digest)
{
	struct renderer *renderer = ctx;
	struct certificate certificate;
	struct object *object = state_find(renderer->job->state, LB_CERTIFICATE, id);
	if (object == NULL)
		return CERTIFICATE_ABSENT;
	state_decode(renderer->job->state, object, &renderer->arena, &certificate);
	*ret_id = arena_printf(&renderer->arena, "certificate:%.*s/%.*s",
		STR_FMT(certificate.namespace), STR_FMT(certificate.name));
	*ret_digest = digest_of_pair(&certificate);
	return CERTIFICATE_READY;
}

/* ---- bodies ---- */

static void show(
	struct renderer *renderer, const char *folder, struct str name, const struct json *body)
{
	char *path = xasprintf("%s/%.*s.json", folder, STR_FMT(name));
	buf_clear(&renderer->text);
	must(json_print(body, &renderer->text) == 0);
	must(buf_append(&renderer->text, "\n", 1) == 0);
	renderer->job->on_file(renderer->job->ctx, path, buf_str(&renderer->text));
	free(path);
}

static void show_certificate(struct renderer *renderer, const struct object *object)
{
	struct certificate certificate;
	struct lb_name name;
	struct json *body = json_new_object();
	state_decode(renderer->job->state, object, &renderer->arena, &certificate);
	struct certificate_mark mark = {
		.stack = str_from(renderer->config->stack),
		.namespace = certificate.namespace,
		.secret = certificate.name,
		.digest = digest_of_pair(&certificate),
	};
	naming_certificate(mark.namespace, mark.secret, &name);
	json_add_str(body, "name", str_from(name.text));
	json_add_str(body, "description", mark_of_certificate(&mark, &renderer->arena));
	json_add_str(body, "cert", certificate.chain);
	json_add_str(body, "key", certificate.private_key);
	show(renderer, "certificates", str_from(name.text), body);
	json_free_wiped(body);
}

static void build(struct renderer *renderer, struct object *object, struct desired *ret_desired)
{
	struct desired_lookup lookup = {{renderer, find_pool, find_service}, find_certificate};
	struct desired_options options = {
		.separator = renderer->config->separator,
		.allow_custom_config = renderer->config->allow_custom_config,
	};
	desired_build_object(
		renderer->job->state, object, &lookup, &options, &renderer->arena, ret_desired);
}

static void show_balancer(struct renderer *renderer, struct object *object)
{
	struct load_balancer lb;
	struct desired desired;
	struct lb_name name;
	state_decode(renderer->job->state, object, &renderer->arena, &lb);
	/* No load balancer is made without a description or a listener. */
	if (lb.absent || lb.keep || lb.listeners.count == 0)
		return;
	build(renderer, object, &desired);
	naming_primary(&desired.identity, renderer->config->separator, &name);
	if (!naming_is_valid(str_from(name.text)))
		naming_hashed(&desired.identity, renderer->config->separator, &name);
	struct json *body = json_new_object();
	struct api_creation creation = {
		.name = str_from(name.text),
		.stack_id = arena_printf(&renderer->arena, "stack:%s", renderer->config->stack),
		.external_id_prefix = renderer->prefix,
		.image = renderer->config->image != NULL
				 ? arena_printf(&renderer->arena, "%s%s",
					   strncmp(renderer->config->image, "docker:", 7) == 0
						   ? ""
						   : "docker:",
					   renderer->config->image)
				 : STR("docker:setting:lb.instance.image"),
	};
	api_write_creation(body, &creation, &desired.spec, &renderer->arena);
	show(renderer, "loadBalancerServices", str_from(name.text), body);
	json_free(body);
	for (size_t i = 0; i < desired.notice_count; i++) {
		struct lb_notice *notice = &desired.notices[i];
		if (str_is_empty(notice->ingress) && lb.owners.count != 0 &&
			!lb.owners.items[0].is_service)
			notice->ingress = arena_printf(&renderer->arena, "%.*s/%.*s",
				STR_FMT(lb.owners.items[0].namespace),
				STR_FMT(lb.owners.items[0].name));
	}
	renderer->job->on_notices(
		renderer->job->ctx, object, desired.notices, desired.notice_count);
}

static void show_all(struct renderer *renderer)
{
	struct object *object = state_first(renderer->job->state, LB_CERTIFICATE);
	for (; object != NULL; object = state_next(renderer->job->state, object)) {
		show_certificate(renderer, object);
		arena_reset(&renderer->arena);
	}
	object = state_first(renderer->job->state, LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(renderer->job->state, object)) {
		show_balancer(renderer, object);
		arena_reset(&renderer->arena);
	}
}

static char *render(const struct filter_job *job, const void *config)
{
	struct renderer renderer = {.job = job, .config = config};
	arena_init(&renderer.arena);
	buf_init(&renderer.text, BODY_LEN_MAX);
	renderer.prefix = xasprintf("%s://", renderer.config->stack);
	show_all(&renderer);
	free(renderer.prefix);
	buf_wipe_fini(&renderer.text);
	arena_fini(&renderer.arena);
	return NULL;
}

const struct provider_filter rancher_filter = {
	.options_offset = offsetof(struct config, filter),
	.common_offset = offsetof(struct config, common),
	.name = "rancher",
	.software = "sluice-provider-rancher " SLUICE_VERSION,
	.capabilities = rancher_capabilities,
	.reduce = rancher_reduce,
	.render = render,
};
