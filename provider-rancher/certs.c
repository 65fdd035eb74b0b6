// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/certs.h"

#include "common/backoff.h"
#include "common/must.h"
#include "common/tree.h"
#include "common/xalloc.h"
#include "provider-rancher/ask.h"
#include "provider-rancher/balancers.h"
#include "provider-rancher/cert_uses.h"
#include "provider-rancher/digest.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/mark.h"
#include "provider-rancher/world.h"

enum cert_step { STEP_NONE, STEP_CREATE, STEP_UPDATE, STEP_REMOVE };

/* One Secret's certificate: wanted, there, or both. */
struct cert {
	RB_ENTRY(cert) by_key;
	struct certs *certs;
	struct object *object; /* NULL: not wanted (any more) */
	uint64_t wanted;       /* digest of chain and key */
	uint64_t wanted_chain;
	char *id; /* in Rancher; NULL: it is not there */
	uint64_t there;
	uint64_t there_chain;
	uint64_t odd_chain; /* what the server has made of wanted_chain; 0: the same */
	uint64_t asked;     /* newest question whose answer told of it */
	struct turn turn;
	struct api_request *request;
	enum cert_step step; /* that is being taken */
	ev_timer timer;
	struct backoff backoff;
	char *trouble;      /* why the last step failed; NULL: it did not */
	bool is_name_taken; /* the plain name is another one's */
	bool must_list;     /* it may be there although we do not know: wait for the next list */
	char key[];         /* "namespace/secret" */
};

RB_HEAD(cert_keys, cert);

struct certs {
	struct controller *controller;
	struct cert_keys by_key;
	struct cert_uses *uses;
};

static int compare_keys(const struct cert *a, const struct cert *b)
{
	return strcmp(a->key, b->key);
}

RB_GENERATE_LOCAL(cert_keys, cert, by_key, compare_keys)

static void drive(struct cert *cert);
static void on_turn(struct turn *turn);

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

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	drive(timer->data);
}

static struct cert *find_or_add(struct certs *certs, const char *key)
{
	struct cert *cert = find(certs, key);
	if (cert != NULL)
		return cert;
	cert = xcalloc(1, sizeof(*cert) + strlen(key) + 1);
	cert->certs = certs;
	cert->turn.on_turn = on_turn;
	ev_init(&cert->timer, on_timer);
	cert->timer.data = cert;
	backoff_init(&cert->backoff, 1, 60);
	memcpy(cert->key, key, strlen(key) + 1);
	RB_INSERT(cert_keys, &certs->by_key, cert);
	return cert;
}

static void free_cert(struct cert *cert)
{
	struct controller *controller = cert->certs->controller;
	api_cancel(cert->request);
	turns_leave(controller->turns, &cert->turn);
	ev_timer_stop(controller->loop, &cert->timer);
	RB_REMOVE(cert_keys, &cert->certs->by_key, cert);
	free(cert->id);
	free(cert->trouble);
	free(cert);
}

/* ---- uses ---- */

static bool is_used(const struct cert *cert)
{
	return cert->id != NULL && cert_uses_count(cert->certs->uses, str_from(cert->id)) != 0;
}

/* When the last load balancer that used it has let go, it may be one that is not wanted any more. */
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

/* ---- what Rancher has ---- */

/* White space around the PEM text says nothing. */
static uint64_t chain_digest(struct str chain)
{
	while (chain.len != 0 && strchr(" \t\r\n", chain.p[chain.len - 1]) != NULL)
		chain.len--;
	while (chain.len != 0 && strchr(" \t\r\n", chain.p[0]) != NULL)
		chain = str_skip(chain, 1);
	return digest_of(chain);
}

static void tell_users(struct cert *cert)
{
	struct arena arena;
	struct object **users;
	if (cert->object == NULL)
		return;
	arena_init(&arena);
	size_t count = state_users_of(cert->object, &arena, &users);
	for (size_t i = 0; i < count; i++)
		balancers_touch_object(cert->certs->controller->balancers, users[i]);
	arena_fini(&arena);
}

static void lose(struct cert *cert)
{
	free(cert->id);
	cert->id = NULL;
}

void certs_take(struct certs *certs, const struct json *item, uint64_t number)
{
	struct rancher_certificate there;
	struct certificate_mark mark;
	if (api_read_certificate(item, &there) != NULL ||
		!mark_read_certificate(there.description, &mark) ||
		!str_eq_c(mark.stack, certs->controller->config->stack))
		return;
	char *key = xasprintf("%.*s/%.*s", STR_FMT(mark.namespace), STR_FMT(mark.secret));
	struct cert *cert = there.is_gone ? find(certs, key) : find_or_add(certs, key);
	free(key);
	if (cert == NULL || cert->request != NULL || number < cert->asked)
		return;
	/* Two with one mark: the one that we know stays. */
	bool is_known = cert->id != NULL && str_eq_c(there.id, cert->id);
	if ((cert->id != NULL && !is_known) || (there.is_gone && !is_known))
		return;
	cert->asked = number;
	uint64_t chain = chain_digest(there.chain);
	bool is_same = is_known && !there.is_gone && cert->there == mark.digest &&
		       cert->there_chain == chain;
	if (is_same)
		return;
	lose(cert);
	if (!there.is_gone) {
		cert->id = str_dup(there.id);
		cert->there = mark.digest;
		cert->there_chain = chain;
	}
	tell_users(cert);
	drive(cert);
}

void certs_end_list(struct certs *certs, uint64_t number)
{
	struct cert *cert;
	struct cert *next;
	RB_FOREACH_SAFE (cert, cert_keys, &certs->by_key, next) {
		cert->must_list = false;
		if (cert->id != NULL && cert->asked < number && cert->request == NULL) {
			lose(cert);
			tell_users(cert);
		}
		drive(cert);
	}
}

/* ---- steps ---- */

static bool is_as_wanted(const struct cert *cert)
{
	return cert->there == cert->wanted &&
	       (cert->there_chain == cert->wanted_chain || cert->there_chain == cert->odd_chain);
}

static enum cert_step next_step(const struct cert *cert)
{
	const struct controller *controller = cert->certs->controller;
	if (cert->must_list || !world_is_known(controller->world))
		return STEP_NONE;
	if (cert->object != NULL && cert->id == NULL)
		return STEP_CREATE;
	if (cert->object != NULL)
		return is_as_wanted(cert) ? STEP_NONE : STEP_UPDATE;
	bool may_remove = cert->id != NULL && !is_used(cert) &&
			  state_is_complete(provider_state(controller->provider));
	return may_remove ? STEP_REMOVE : STEP_NONE;
}

/* Gets in line when something is to be done, unless it is under way, or has just failed. */
static void drive(struct cert *cert)
{
	struct controller *controller = cert->certs->controller;
	if (cert->request != NULL || cert->turn.is_waiting || cert->turn.is_held ||
		ev_is_active(&cert->timer))
		return;
	if (next_step(cert) != STEP_NONE) {
		/* Before the load balancers, which wait for it. */
		turns_wait(controller->turns, &cert->turn, true);
		return;
	}
	if (cert->object == NULL && cert->id == NULL && !cert->must_list)
		free_cert(cert);
}

static void fail(struct cert *cert, const struct api_answer *answer, double at_least_s)
{
	struct controller *controller = cert->certs->controller;
	bool is_news = cert->trouble == NULL || strcmp(cert->trouble, answer->text) != 0;
	if (is_news)
		log_event(&EV_CERTIFICATE_FAILED, LOG_STR("secret", cert->key),
			LOG_STR("reason", answer->text));
	free(cert->trouble);
	cert->trouble = xstrdup(answer->text);
	double delay_s = backoff_next(&cert->backoff);
	ev_timer_set(&cert->timer, delay_s > at_least_s ? delay_s : at_least_s, 0.);
	ev_timer_start(controller->loop, &cert->timer);
	if (is_news)
		tell_users(cert);
}

static void succeed(struct cert *cert)
{
	free(cert->trouble);
	cert->trouble = NULL;
	backoff_succeeded(&cert->backoff);
	tell_users(cert);
}

/* The name is taken: perhaps by ours, whose answer was lost; else another name is used. */
static void on_refused(struct cert *cert, const struct api_answer *answer)
{
	bool is_name = str_eq_c(answer->error.code, "NotUnique");
	if (cert->step != STEP_CREATE || !is_name || cert->is_name_taken) {
		fail(cert, answer, 0);
		return;
	}
	cert->is_name_taken = true;
	cert->must_list = true;
	world_doubt_certificates(cert->certs->controller->world);
}

static void on_taken_step(struct cert *cert, const struct api_answer *answer)
{
	struct rancher_certificate there;
	cert->asked = answer->number;
	if (cert->step == STEP_REMOVE) {
		log_event(&EV_CERTIFICATE_REMOVED, LOG_STR("secret", cert->key));
		lose(cert);
		succeed(cert);
		return;
	}
	if (api_read_certificate(answer->body, &there) != NULL) {
		cert->must_list = true;
		world_doubt_certificates(cert->certs->controller->world);
		return;
	}
	log_event(cert->step == STEP_CREATE ? &EV_CERTIFICATE_MADE : &EV_CERTIFICATE_RENEWED,
		LOG_STR("secret", cert->key), LOG_TEXT("name", there.name));
	lose(cert);
	cert->id = str_dup(there.id);
	struct certificate_mark mark;
	cert->there = mark_read_certificate(there.description, &mark) ? mark.digest : 0;
	cert->there_chain = chain_digest(there.chain);
	/* A server that writes the text in its own way is not asked for ever to write it in ours. */
	cert->odd_chain = cert->there == cert->wanted ? cert->there_chain : 0;
	succeed(cert);
}

static void on_answer(void *ctx, const struct api_answer *answer)
{
	struct cert *cert = ctx;
	struct controller *controller = cert->certs->controller;
	cert->request = NULL;
	ask_judge(controller->turns, &cert->turn, answer);
	turns_leave(controller->turns, &cert->turn);
	switch (answer->outcome) {
	case API_OK:
		on_taken_step(cert, answer);
		break;
	case API_NOT_FOUND:
		lose(cert);
		tell_users(cert);
		break;
	case API_REFUSED:
		on_refused(cert, answer);
		break;
	case API_NOT_ALLOWED: /* in use, or still being updated */
	case API_DENIED:
		fail(cert, answer, 10);
		break;
	case API_CONFLICT:
		fail(cert, answer, 0);
		break;
	case API_FAILED:
		if (answer->is_unknown && cert->step == STEP_CREATE) {
			cert->must_list = true;
			world_doubt_certificates(controller->world);
		}
		fail(cert, answer, 0);
		break;
	case API_OUTAGE:
		break; /* waits in line */
	}
	drive(cert);
}

static struct json *make_body(struct cert *cert)
{
	struct controller *controller = cert->certs->controller;
	struct certificate certificate;
	struct lb_name name;
	struct arena arena;
	arena_init(&arena);
	provider_decode(controller->provider, cert->object, &arena, &certificate);
	struct certificate_mark mark = {
		.stack = str_from(controller->config->stack),
		.namespace = certificate.namespace,
		.secret = certificate.name,
		.digest = cert->wanted,
	};
	struct json *body = json_new_object();
	if (cert->step == STEP_CREATE) {
		if (cert->is_name_taken)
			naming_certificate_hashed(mark.stack, mark.namespace, mark.secret, &name);
		else
			naming_certificate(mark.namespace, mark.secret, &name);
		json_add_str(body, "name", str_from(name.text));
	}
	json_add_str(body, "description", mark_of_certificate(&mark, &arena));
	/* Always both: the server refuses a change without `cert`, and does not check the key against it. */
	json_add_str(body, "cert", certificate.chain);
	json_add_str(body, "key", certificate.private_key);
	arena_fini(&arena);
	return body;
}

static void on_turn(struct turn *turn)
{
	static const char *const methods[] = {"", "POST", "PUT", "DELETE"};
	struct cert *cert = (struct cert *)((char *)turn - offsetof(struct cert, turn));
	struct controller *controller = cert->certs->controller;
	cert->step = next_step(cert);
	if (cert->step == STEP_NONE) {
		turns_leave(controller->turns, turn);
		drive(cert);
		return;
	}
	struct json *body = cert->step == STEP_REMOVE ? NULL : make_body(cert);
	char *path = cert->step == STEP_CREATE ? xstrdup("/certificates")
					       : xasprintf("/certificates/%s", cert->id);
	struct api_call call = {
		.method = methods[cert->step],
		.path = path,
		.body = body,
		.is_secret = true,
		.on_done = on_answer,
		.ctx = cert,
	};
	cert->request = api_start(controller->api, &call);
	json_free_wiped(body);
	free(path);
}

/* ---- what is wanted ---- */

static void set_wanted(struct certs *certs, struct object *object)
{
	struct certificate certificate;
	struct arena arena;
	arena_init(&arena);
	provider_decode(certs->controller->provider, object, &arena, &certificate);
	char *key =
		xasprintf("%.*s/%.*s", STR_FMT(certificate.namespace), STR_FMT(certificate.name));
	struct cert *cert = find_or_add(certs, key);
	struct digest digest;
	digest_begin(&digest);
	digest_add_str(&digest, certificate.chain);
	digest_add_str(&digest, certificate.private_key);
	cert->wanted = digest_end(&digest);
	cert->wanted_chain = chain_digest(certificate.chain);
	struct cert *before = object_user(object);
	if (before != NULL && before != cert)
		before->object = NULL;
	/* Two objects of one Secret: the newer one counts. */
	if (cert->object != NULL && cert->object != object)
		object_set_user(cert->object, NULL);
	cert->object = object;
	object_set_user(object, cert);
	/* A new wish is worth a try at once. */
	ev_timer_stop(certs->controller->loop, &cert->timer);
	free(key);
	arena_fini(&arena);
	if (before != NULL && before != cert)
		drive(before);
	drive(cert);
}

void certs_on_change(struct certs *certs, const struct state_change *change)
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

void certs_on_world(struct certs *certs)
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
		state_find(provider_state(certs->controller->provider), LB_CERTIFICATE, id);
	const struct cert *cert = object != NULL ? object_user(object) : NULL;
	if (cert == NULL)
		return CERTIFICATE_ABSENT;
	if (cert->id == NULL)
		return cert->trouble != NULL ? CERTIFICATE_FAILED : CERTIFICATE_PENDING;
	*ret_id = str_from(cert->id);
	*ret_digest = cert->there;
	return cert->trouble != NULL && cert->there != cert->wanted ? CERTIFICATE_STALE
								    : CERTIFICATE_READY;
}

/* ---- life ---- */

struct certs *certs_new(struct controller *controller)
{
	struct certs *certs = xcalloc(1, sizeof(*certs));
	certs->controller = controller;
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
