// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/certs.h"

#include "common/xalloc.h"
#include "provider-rancher/cert.h"
#include "provider-rancher/cert_uses.h"
#include "provider-common/digest.h"
#include "provider-rancher/inventory.h"
#include "provider-rancher/mark.h"

RB_HEAD(cert_keys, cert);

struct certs {
	struct certs_config config;
	struct cert_keys by_key;
	struct cert_uses *uses;
};

static int compare_keys(const struct cert *a, const struct cert *b)
{
	return strcmp(a->key, b->key);
}

RB_GENERATE_LOCAL(cert_keys, cert, by_key, compare_keys)

/* ---- certificates by key ---- */

static struct cert *find(const struct certs *certs, const char *key)
{
	struct cert *at = RB_ROOT(&certs->by_key);
	while (at != NULL) {
		int order = strcmp(key, at->key);
		if (order == 0)
			return at;
		at = order < 0 ? RB_LEFT(at, by_key) : RB_RIGHT(at, by_key);
	}
	return NULL;
}

static void free_cert(struct cert *cert)
{
	const struct certs_config *config = cert->config;
	api_cancel(cert->request);
	request_queue_leave(config->client->queue, &cert->entry);
	ev_timer_stop(config->client->loop, &cert->timer);
	RB_REMOVE(cert_keys, &cert->certs->by_key, cert);
	free(cert->id);
	free(cert->error);
	free(cert);
}

/* ---- steps ---- */

static bool is_used(const struct cert *cert)
{
	return cert->id != NULL && cert_uses_count(cert->certs->uses, str_from(cert->id)) != 0;
}

static bool is_as_wanted(const struct cert *cert)
{
	return cert->there == cert->wanted &&
	       (cert->there_chain == cert->wanted_chain || cert->there_chain == cert->odd_chain);
}

static enum cert_step next_step(const struct cert *cert)
{
	const struct certs_config *config = cert->config;
	if (cert->must_list || !inventory_is_known(config->inventory))
		return STEP_NONE;
	if (cert->must_read && cert->id != NULL)
		return STEP_READ;
	if (cert->object != NULL && cert->id == NULL)
		return cert->is_name_refused ? STEP_LOOK : STEP_CREATE;
	if (cert->object != NULL)
		return is_as_wanted(cert) ? STEP_NONE : STEP_UPDATE;
	bool may_remove = cert->id != NULL && !is_used(cert) &&
			  state_is_complete(provider_state(config->provider));
	return may_remove ? STEP_REMOVE : STEP_NONE;
}

/* Queues the next step, unless a request is running or has just failed. May free `cert`. */
static void drive(struct cert *cert)
{
	const struct certs_config *config = cert->config;
	if (cert->request != NULL || cert->entry.is_waiting || cert->entry.is_held ||
		ev_is_active(&cert->timer))
		return;
	if (next_step(cert) != STEP_NONE) {
		/* Ahead of the load balancers, which wait for it. */
		request_queue_join(config->client->queue, &cert->entry, true);
		return;
	}
	if (cert->object == NULL && cert->id == NULL && !cert->must_list)
		free_cert(cert);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	drive(timer->data);
}

/* After a lost response, the name that we were refused may belong to our own certificate. */
static void take_looked(struct cert *cert, const struct api_answer *answer)
{
	struct str next;
	const struct json *item = json_first(api_read_page(answer->body, &next));
	for (; item != NULL && cert->object != NULL; item = json_next(item))
		certs_take(cert->certs, item, answer->number);
}

static void on_answer(void *ctx, const struct api_answer *answer)
{
	struct cert *cert = ctx;
	const struct client *client = cert->config->client;
	cert->request = NULL;
	client_note_answer(client, &cert->entry, answer);
	request_queue_leave(client->queue, &cert->entry);
	if (cert->step == STEP_LOOK && answer->outcome == API_OK)
		take_looked(cert, answer);
	cert_take_answer(cert, answer);
	drive(cert);
}

static void on_turn(struct queue_entry *entry)
{
	struct cert *cert = (struct cert *)((char *)entry - offsetof(struct cert, entry));
	cert->step = next_step(cert);
	if (cert->step != STEP_NONE) {
		cert_send(cert, on_answer);
		return;
	}
	request_queue_leave(cert->config->client->queue, entry);
	drive(cert);
}

/* ---- observed certificates ---- */

static struct cert *find_or_add(struct certs *certs, const char *key)
{
	struct cert *cert = find(certs, key);
	if (cert != NULL)
		return cert;
	cert = xcalloc(1, sizeof(*cert) + strlen(key) + 1);
	cert->certs = certs;
	cert->config = &certs->config;
	cert->entry.on_turn = on_turn;
	ev_init(&cert->timer, on_timer);
	cert->timer.data = cert;
	backoff_init(&cert->backoff, 1, 60);
	memcpy(cert->key, key, strlen(key) + 1);
	RB_INSERT(cert_keys, &certs->by_key, cert);
	return cert;
}

/* Once its last user has released it, a certificate may be removed. */
void certs_on_use(struct certs *certs, struct str id, int change)
{
	struct cert *cert;
	struct cert *next;
	if (cert_uses_add(certs->uses, id, change) != 0)
		return;
	RB_FOREACH_SAFE (cert, cert_keys, &certs->by_key, next) {
		if (cert->object == NULL && cert->id != NULL && str_eq_c(id, cert->id))
			drive(cert);
	}
}

void certs_take(struct certs *certs, const struct json *item, uint64_t number)
{
	struct rancher_certificate there;
	struct certificate_mark mark;
	if (api_read_certificate(item, &there) != NULL ||
		!mark_read_certificate(there.description, &mark) ||
		!str_eq_c(mark.stack, certs->config.options->stack))
		return;
	char *key = xasprintf("%.*s/%.*s", STR_FMT(mark.namespace), STR_FMT(mark.secret));
	struct cert *cert = there.is_gone ? find(certs, key) : find_or_add(certs, key);
	free(key);
	if (cert == NULL || cert->request != NULL || number < cert->asked)
		return;
	/* Two certificates with the same mark: the known one stays. */
	bool is_known = cert->id != NULL && str_eq_c(there.id, cert->id);
	if ((cert->id != NULL && !is_known) || (there.is_gone && !is_known))
		return;
	cert->asked = number;
	uint64_t chain = cert_chain_digest(there.chain);
	bool is_same = is_known && !there.is_gone && cert->there == mark.digest &&
		       cert->there_chain == chain;
	if (is_same)
		return;
	cert_lose(cert);
	if (!there.is_gone) {
		cert->id = str_dup(there.id);
		cert->there = mark.digest;
		cert->there_chain = chain;
	}
	cert_tell_users(cert);
	drive(cert);
}

void certs_end_list(struct certs *certs, uint64_t number)
{
	struct cert *cert;
	struct cert *next;
	RB_FOREACH_SAFE (cert, cert_keys, &certs->by_key, next) {
		cert->must_list = false;
		if (cert->id != NULL && cert->asked < number && cert->request == NULL) {
			cert_lose(cert);
			cert_tell_users(cert);
		}
		drive(cert);
	}
}

/* ---- wanted certificates ---- */

static void set_wanted(struct certs *certs, struct object *object)
{
	struct certificate certificate;
	struct arena arena;
	arena_init(&arena);
	provider_decode(certs->config.provider, object, &arena, &certificate);
	char *key =
		xasprintf("%.*s/%.*s", STR_FMT(certificate.namespace), STR_FMT(certificate.name));
	struct cert *cert = find_or_add(certs, key);
	struct digest digest;
	digest_begin(&digest);
	digest_add_str(&digest, certificate.chain);
	digest_add_str(&digest, certificate.private_key);
	cert->wanted = digest_end(&digest);
	cert->wanted_chain = cert_chain_digest(certificate.chain);
	struct cert *before = object_user(object);
	if (before != NULL && before != cert)
		before->object = NULL;
	/* Two objects for one Secret: the newer one counts. */
	if (cert->object != NULL && cert->object != object)
		object_set_user(cert->object, NULL);
	cert->object = object;
	object_set_user(object, cert);
	/* A changed certificate is tried at once. */
	cert->name_waits = 0;
	ev_timer_stop(certs->config.client->loop, &cert->timer);
	free(key);
	arena_fini(&arena);
	if (before != NULL && before != cert)
		drive(before);
	drive(cert);
}

static void take_change(struct certs *certs, const struct state_change *change)
{
	if (change->type != STATE_REMOVED) {
		set_wanted(certs, change->object);
		return;
	}
	struct cert *cert = object_user(change->object);
	if (cert == NULL)
		return;
	object_set_user(change->object, NULL);
	cert->object = NULL;
	drive(cert);
}

void certs_on_commit(struct certs *certs, const struct state_commit *commit)
{
	for (size_t i = 0; i < commit->change_count; i++) {
		if (object_kind(commit->changes[i].object) == LB_CERTIFICATE)
			take_change(certs, &commit->changes[i]);
	}
}

void certs_on_listed(struct certs *certs)
{
	struct cert *cert;
	struct cert *next;
	RB_FOREACH_SAFE (cert, cert_keys, &certs->by_key, next)
		drive(cert);
}

enum certificate_answer certs_find(
	struct certs *certs, struct str id, struct str *ret_id, uint64_t *ret_digest)
{
	struct object *object =
		state_find(provider_state(certs->config.provider), LB_CERTIFICATE, id);
	const struct cert *cert = object != NULL ? object_user(object) : NULL;
	if (cert == NULL)
		return CERTIFICATE_ABSENT;
	if (cert->id == NULL)
		return cert->error != NULL ? CERTIFICATE_FAILED : CERTIFICATE_PENDING;
	*ret_id = str_from(cert->id);
	*ret_digest = cert->there;
	return cert->error != NULL && cert->there != cert->wanted ? CERTIFICATE_STALE
								  : CERTIFICATE_READY;
}

/* ---- lifecycle ---- */

struct certs *certs_new(const struct certs_config *config)
{
	struct certs *certs = xcalloc(1, sizeof(*certs));
	certs->config = *config;
	RB_INIT(&certs->by_key);
	certs->uses = cert_uses_new();
	return certs;
}

void certs_free(struct certs *certs)
{
	struct cert *cert;
	if (certs == NULL)
		return;
	while ((cert = RB_ROOT(&certs->by_key)) != NULL)
		free_cert(cert);
	cert_uses_free(certs->uses);
	free(certs);
}
