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
#include "provider-rancher/digest.h"
#include "provider-rancher/mark.h"
#include "provider-rancher/naming.h"

#include <stdlib.h>

enum { BODY_LEN_MAX = 16 * 1024 * 1024 };

struct room {
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
	struct room *room = ctx;
	struct object *object = state_find(room->job->state, LB_POOL, id);
	struct pool *pool = NULL;
	if (object != NULL) {
		pool = arena_alloc(&room->arena, sizeof(*pool));
		state_decode(room->job->state, object, &room->arena, pool);
	}
	room->last = pool;
	return pool;
}

/* Called with the uid of the pool that was looked up just before. */
static struct str find_service(void *ctx, struct str uid)
{
	struct room *room = ctx;
	if (room->last == NULL || !str_eq(room->last->service.uid, uid))
		return STR_NONE;
	return arena_printf(&room->arena, "service:%.*s/%.*s",
		STR_FMT(room->last->service.namespace), STR_FMT(room->last->service.name));
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
	struct room *room = ctx;
	struct certificate certificate;
	struct object *object = state_find(room->job->state, LB_CERTIFICATE, id);
	if (object == NULL)
		return CERTIFICATE_ABSENT;
	state_decode(room->job->state, object, &room->arena, &certificate);
	*ret_id = arena_printf(&room->arena, "certificate:%.*s/%.*s",
		STR_FMT(certificate.namespace), STR_FMT(certificate.name));
	*ret_digest = digest_of_pair(&certificate);
	return CERTIFICATE_READY;
}

/* ---- bodies ---- */

static void show(struct room *room, const char *folder, struct str name, const struct json *body)
{
	char *path = xasprintf("%s/%.*s.json", folder, STR_FMT(name));
	buf_clear(&room->text);
	must(json_print(body, &room->text) == 0);
	must(buf_append(&room->text, "\n", 1) == 0);
	room->job->on_file(room->job->ctx, path, buf_str(&room->text));
	free(path);
}

static void show_certificate(struct room *room, const struct object *object)
{
	struct certificate certificate;
	struct lb_name name;
	struct json *body = json_new_object();
	state_decode(room->job->state, object, &room->arena, &certificate);
	struct certificate_mark mark = {
		.stack = str_from(room->config->stack),
		.namespace = certificate.namespace,
		.secret = certificate.name,
		.digest = digest_of_pair(&certificate),
	};
	naming_certificate(mark.namespace, mark.secret, &name);
	json_add_str(body, "name", str_from(name.text));
	json_add_str(body, "description", mark_of_certificate(&mark, &room->arena));
	json_add_str(body, "cert", certificate.chain);
	json_add_str(body, "key", certificate.private_key);
	show(room, "certificates", str_from(name.text), body);
	json_free_wiped(body);
}

static void build(struct room *room, struct object *object, struct desired *ret_desired)
{
	struct desired_lookup lookup = {{room, find_pool, find_service}, find_certificate};
	struct desired_options options = {
		.separator = room->config->separator,
		.allow_custom_config = room->config->allow_custom_config,
	};
	desired_build_object(
		room->job->state, object, &lookup, &options, &room->arena, ret_desired);
}

static void show_balancer(struct room *room, struct object *object)
{
	struct load_balancer lb;
	struct desired desired;
	struct lb_name name;
	state_decode(room->job->state, object, &room->arena, &lb);
	/* No load balancer is made without a description or a listener. */
	if (lb.absent || lb.keep || lb.listeners.count == 0)
		return;
	build(room, object, &desired);
	naming_primary(&desired.identity, room->config->separator, &name);
	if (!naming_is_valid(str_from(name.text)))
		naming_hashed(&desired.identity, room->config->separator, &name);
	struct json *body = json_new_object();
	struct api_creation creation = {
		.name = str_from(name.text),
		.stack_id = arena_printf(&room->arena, "stack:%s", room->config->stack),
		.external_id_prefix = room->prefix,
		.image = room->config->image != NULL
				 ? arena_printf(&room->arena, "%s%s",
					   strncmp(room->config->image, "docker:", 7) == 0
						   ? ""
						   : "docker:",
					   room->config->image)
				 : STR("docker:setting:lb.instance.image"),
	};
	api_write_creation(body, &creation, &desired.spec, &room->arena);
	show(room, "loadBalancerServices", str_from(name.text), body);
	json_free(body);
	for (size_t i = 0; i < desired.notice_count; i++) {
		struct lb_notice *notice = &desired.notices[i];
		if (str_is_empty(notice->ingress) && lb.owners.count != 0 &&
			!lb.owners.items[0].is_service)
			notice->ingress = arena_printf(&room->arena, "%.*s/%.*s",
				STR_FMT(lb.owners.items[0].namespace),
				STR_FMT(lb.owners.items[0].name));
	}
	room->job->on_notices(room->job->ctx, object, desired.notices, desired.notice_count);
}

static void show_all(struct room *room)
{
	struct object *object = state_first(room->job->state, LB_CERTIFICATE);
	for (; object != NULL; object = state_next(room->job->state, object)) {
		show_certificate(room, object);
		arena_reset(&room->arena);
	}
	object = state_first(room->job->state, LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(room->job->state, object)) {
		show_balancer(room, object);
		arena_reset(&room->arena);
	}
}

static char *render(const struct filter_job *job, const void *config)
{
	struct room room = {.job = job, .config = config};
	arena_init(&room.arena);
	buf_init(&room.text, BODY_LEN_MAX);
	room.prefix = xasprintf("%s://", room.config->stack);
	show_all(&room);
	free(room.prefix);
	buf_wipe_fini(&room.text);
	arena_fini(&room.arena);
	return NULL;
}

const struct provider_filter rancher_filter = {
	.name = "rancher",
	.software = "sluice-provider-rancher " SLUICE_VERSION,
	.capabilities = rancher_capabilities,
	.reduce = rancher_reduce,
	.render = render,
};
