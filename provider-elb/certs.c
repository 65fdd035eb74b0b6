// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/certs.h"

#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-elb/cert.h"
#include "provider-elb/cert_list.h"
#include "provider-elb/log_events.h"
#include "provider-elb/metrics.h"

/* How long the tagging API may tell of what was before a write. */
static const double TAGS_LATE_S = 300;

RB_HEAD(cert_identities, cert);

struct certs {
	struct certs_config config;
	struct cert_identities by_identity;
	struct cert_copies copies;
	struct cert_list *list;
	uint64_t
		known_after; /* number of the list of ACM that makes everything known; 0: no rows yet */
	bool is_known;
};

static int compare_identities(const struct cert *a, const struct cert *b)
{
	return strcmp(a->identity, b->identity);
}

RB_GENERATE_LOCAL(cert_identities, cert, by_identity, compare_identities)

static void drive(struct cert *cert);
static void on_turn(struct call_entry *entry);

/* ---- certificates by identity ---- */

static struct cert *find(const struct certs *certs, struct str identity)
{
	struct cert *at = RB_ROOT(&certs->by_identity);
	while (at != NULL) {
		int order = str_cmp(identity, str_from(at->identity));
		if (order == 0)
			return at;
		at = order < 0 ? RB_LEFT(at, by_identity) : RB_RIGHT(at, by_identity);
	}
	return NULL;
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	drive(timer->data);
}

static struct cert *find_or_add(struct certs *certs, struct str identity)
{
	struct cert *cert = find(certs, identity);
	if (cert != NULL)
		return cert;
	cert = xcalloc(1, sizeof(*cert) + identity.len + 1);
	str_put(cert->identity, identity);
	cert->certs = certs;
	cert->config = &certs->config;
	cert->copies = &certs->copies;
	TAILQ_INIT(&cert->old);
	cert->entry.on_turn = on_turn;
	ev_init(&cert->retry, on_timer);
	ev_init(&cert->grace, on_timer);
	cert->retry.data = cert;
	cert->grace.data = cert;
	backoff_init(&cert->backoff, 1, 60);
	cert->told = cert_answer_text(cert);
	RB_INSERT(cert_identities, &certs->by_identity, cert);
	return cert;
}

/* Its copies are left to cert_copies_fini(), if there are any. */
static void free_cert(struct cert *cert)
{
	const struct certs_config *config = cert->config;
	if (cert->call != NULL)
		client_cancel(cert->call);
	call_queue_leave(config->queue, &cert->entry);
	ev_timer_stop(config->loop, &cert->retry);
	ev_timer_stop(config->loop, &cert->grace);
	RB_REMOVE(cert_identities, &cert->certs->by_identity, cert);
	free(cert->step_arn);
	free(cert->problem);
	free(cert->told);
	free(cert);
}

/* ---- steps ---- */

static void wait_for_list(struct cert *cert)
{
	if (cert->list_after == 0)
		cert->list_after = cert_list_want(cert->certs->list);
}

/* What is not used any more is looked at again when it may go. */
static void start_grace(struct cert *cert)
{
	const struct certs_config *config = cert->config;
	if (!cert->is_unused || cert->copy == NULL || ev_is_active(&cert->grace))
		return;
	double left_s = cert->unused_since + config->remove_delay_s - clock_monotonic_s();
	if (left_s <= 0 && !cert->certs->is_known)
		return; /* the list that makes it known goes on with it */
	ev_timer_set(&cert->grace, left_s > 0 ? left_s : 0, 0.);
	ev_timer_start(config->loop, &cert->grace);
}

static void join(struct cert *cert, enum cert_step step)
{
	cert->entry.bucket = CALL_OTHER;
	cert->entry.rank = cert->is_unused ? RANK_SWEEP : RANK_CHANGE;
	cert->entry.is_write = cert_plan_is_write(step);
	call_queue_join(cert->config->queue, &cert->entry);
}

/* Queues the next step, unless a call is under way or has just failed. May free `cert`. */
static void drive(struct cert *cert)
{
	cert_tell(cert);
	if (cert->call != NULL || cert->entry.is_held || ev_is_active(&cert->retry) ||
		cert->list_after != 0)
		return;
	cert_choose(cert);
	enum cert_step step = cert_next_step(cert, cert->certs->is_known);
	switch (step) {
	case CERT_NOTHING:
		call_queue_leave(cert->config->queue, &cert->entry);
		start_grace(cert);
		break;
	case CERT_FORGET:
		free_cert(cert);
		break;
	case CERT_LIST:
		call_queue_leave(cert->config->queue, &cert->entry);
		wait_for_list(cert);
		break;
	default:
		/* Another kind of turn than the one it waits for. */
		if (cert->entry.is_waiting && cert->entry.is_write != cert_plan_is_write(step))
			call_queue_leave(cert->config->queue, &cert->entry);
		join(cert, step);
		break;
	}
}

/* The administrator's own is never ours, whatever tags it has. */
static bool may_be_ours(const struct certs *certs, struct str arn, struct str identity)
{
	return acm_is_arn(arn) && identity.len != 0 && identity.len <= TAG_VALUE_LEN_MAX &&
	       !str_eq(arn, certs->config.settings->default_certificate);
}

/* A certificate with our tags, which nobody has yet. */
static struct cert *attach(struct certs *certs, struct cert_copy *copy, const struct acm_tags *tags)
{
	struct cert *cert = find_or_add(certs, tags->identity);
	copy->content = acm_content_parse(tags->applied);
	copy->tagged = copy->content;
	cert_attach(cert, copy);
	return cert;
}

/* The candidate may be the one whose import was not answered, or another one of ours that the tagging API does not tell of yet. */
static void take_looked(struct cert *cert, const struct json *answer)
{
	struct certs *certs = cert->certs;
	struct cert_copy *copy = cert_copies_find(&certs->copies, str_from(cert->step_arn));
	struct acm_tags tags;
	if (copy == NULL)
		return;
	acm_read_tags(answer, &tags);
	copy->has_tags = true;
	if (copy->cert != NULL || !may_be_ours(certs, str_from(copy->arn), tags.identity) ||
		!str_eq(tags.cluster, certs->config.settings->cluster))
		return;
	struct cert *owner = attach(certs, copy, &tags);
	if (owner != cert)
		drive(owner);
}

static void on_answer(void *ctx, const struct client_answer *answer)
{
	struct cert *cert = ctx;
	char *reason = str_dup(answer->message);
	cert->call = NULL;
	metrics_count_call(cert_action(cert), cert->entry.bucket, answer->outcome);
	call_queue_done(
		cert->config->queue, &cert->entry, answer->outcome, reason, answer->retry_after_s);
	free(reason);
	cert_take_answer(cert, answer);
	cert_tell(cert);
	if (cert->step == CERT_LOOK && answer->outcome == AWS_OK)
		take_looked(cert, answer->json);
	drive(cert);
}

static void on_turn(struct call_entry *entry)
{
	struct cert *cert = (struct cert *)(void *)((char *)entry - offsetof(struct cert, entry));
	cert_choose(cert);
	enum cert_step step = cert_next_step(cert, cert->certs->is_known);
	bool is_call = step != CERT_NOTHING && step != CERT_FORGET && step != CERT_LIST;
	if (is_call && cert_plan_is_write(step) == entry->is_write) {
		cert->step = step;
		cert_send(cert, on_answer);
		return;
	}
	call_queue_leave(cert->config->queue, entry);
	drive(cert);
}

/* ---- what exists ---- */

/* The tag of a copy that we know says something else than before: another replica has written. */
static void take_known(struct cert *cert, struct cert_copy *copy, struct str applied)
{
	struct acm_content content = acm_content_parse(applied);
	bool is_late = copy->written_at > 0 && clock_monotonic_s() - copy->written_at < TAGS_LATE_S;
	if (cert->call != NULL || is_late || acm_content_eq(&copy->tagged, &content))
		return;
	copy->content = content;
	copy->tagged = content;
	copy->is_compared = false;
}

void certs_take_row(struct certs *certs, struct str arn, struct str identity, struct str applied)
{
	struct acm_tags tags = {.identity = identity, .applied = applied};
	if (!may_be_ours(certs, arn, identity))
		return;
	struct cert_copy *copy = cert_copies_add(&certs->copies, arn);
	if (copy == NULL)
		return;
	struct cert *cert = copy->cert;
	if (cert != NULL)
		take_known(cert, copy, applied);
	else
		cert = attach(certs, copy, &tags);
	drive(cert);
}

void certs_listed(struct certs *certs)
{
	certs->known_after = cert_list_want(certs->list);
}

void certs_take_over(struct certs *certs)
{
	certs->is_known = false;
	certs->known_after = 0;
}

static void on_row(void *ctx, const struct acm_certificate *row, uint64_t number)
{
	struct certs *certs = ctx;
	struct cert_copy *copy = cert_copies_add(&certs->copies, row->arn);
	if (copy == NULL)
		return;
	copy->seen_in = number;
	copy->is_proven = true;
	const struct cert *cert = copy->cert;
	bool is_odd = cert != NULL && cert->object != NULL && row->not_after != -1 &&
		      copy->content.leaf == cert->wanted.leaf &&
		      row->not_after != cert->not_after && row->not_after != copy->odd_not_after;
	/* What a server makes of what we have just written must not be written for ever. */
	if (is_odd && copy->written_at > 0 && copy->not_after == -1)
		copy->odd_not_after = row->not_after;
	else if (is_odd)
		copy->must_read =
			true; /* somebody else has replaced it, or we have, and ended before its tag */
	copy->not_after = row->not_after;
}

static void on_list_end(void *ctx, uint64_t number)
{
	struct certs *certs = ctx;
	struct cert *cert;
	struct cert *next;
	cert_copies_end_list(&certs->copies, number);
	bool was_known = certs->is_known;
	if (certs->known_after != 0 && number >= certs->known_after)
		certs->is_known = true;
	RB_FOREACH_SAFE (cert, cert_identities, &certs->by_identity, next) {
		if (cert->list_after != 0 && number >= cert->list_after) {
			cert->list_after = 0;
			cert->must_list = false;
		}
		drive(cert);
	}
	if (certs->is_known && !was_known)
		certs->config.on_known(certs->config.ctx);
}

static void on_list_failed(void *ctx, const char *reason)
{
	log_event(&EV_CERTIFICATES_UNLISTED, LOG_STR("reason", reason));
}

bool certs_are_known(const struct certs *certs)
{
	return certs->is_known;
}

/* ---- what is wanted ---- */

static void set_wanted(struct certs *certs, struct object *object)
{
	struct cert *cert = object_user(object);
	if (cert == NULL) {
		struct arena arena;
		arena_init(&arena);
		cert = find_or_add(certs, naming_certificate_identity(&arena, object_id(object)));
		arena_fini(&arena);
		object_set_user(object, cert);
	}
	cert_set_object(cert, object);
	drive(cert);
}

static void drive_id(struct certs *certs, struct str id)
{
	struct object *object = state_find(certs->config.state, LB_CERTIFICATE, id);
	if (object != NULL && object_user(object) != NULL)
		drive(object_user(object));
}

/* A certificate is used from now on, or was. One that a changed load balancer has let go of is noticed after the next list. */
static void drive_used(struct certs *certs, const struct object *object)
{
	struct load_balancer lb;
	struct arena arena;
	arena_init(&arena);
	state_decode(certs->config.state, object, &arena, &lb);
	for (size_t i = 0; i < lb.listeners.count; i++) {
		const struct listener *listener = &lb.listeners.items[i];
		if (listener->default_certificate.len != 0)
			drive_id(certs, listener->default_certificate);
		for (size_t j = 0; j < listener->certificates.count; j++)
			drive_id(certs, listener->certificates.items[j]);
	}
	arena_fini(&arena);
}

static void take_change(struct certs *certs, const struct state_change *change)
{
	struct object *object = change->object;
	if (change->type != STATE_REMOVED) {
		set_wanted(certs, object);
		return;
	}
	struct cert *cert = object_user(object);
	if (cert == NULL)
		return;
	object_set_user(object, NULL);
	cert->object = NULL;
	drive(cert);
}

void certs_on_commit(struct certs *certs, const struct state_commit *commit)
{
	for (size_t i = 0; i < commit->change_count; i++) {
		if (object_kind(commit->changes[i].object) == LB_CERTIFICATE)
			take_change(certs, &commit->changes[i]);
	}
	for (size_t i = 0; i < commit->change_count; i++) {
		if (object_kind(commit->changes[i].object) == LB_LOAD_BALANCER)
			drive_used(certs, commit->changes[i].object);
	}
	if (!commit->is_snapshot)
		return;
	struct cert *cert;
	struct cert *next;
	RB_FOREACH_SAFE (cert, cert_identities, &certs->by_identity, next)
		drive(cert);
}

/* ---- answers ---- */

static const struct cert *find_id(const struct certs *certs, struct str id)
{
	const struct object *object = state_find(certs->config.state, LB_CERTIFICATE, id);
	return object != NULL ? object_user(object) : NULL;
}

struct str certs_arn(const struct certs *certs, struct str id, bool *ret_is_refused)
{
	const struct cert *cert = find_id(certs, id);
	struct str arn = cert != NULL ? cert_arn(cert) : STR_NONE;
	*ret_is_refused = cert == NULL || (arn.p == NULL && cert->is_refused);
	return arn;
}

const char *certs_problem(const struct certs *certs, struct str id)
{
	const struct cert *cert = find_id(certs, id);
	return cert != NULL ? cert->problem : "does not exist";
}

/* ---- lifecycle ---- */

struct certs *certs_new(const struct certs_config *config)
{
	struct certs *certs = xcalloc(1, sizeof(*certs));
	certs->config = *config;
	RB_INIT(&certs->by_identity);
	cert_copies_init(&certs->copies);
	struct cert_list_config list_config = {
		.loop = config->loop,
		.client = config->client,
		.queue = config->queue,
		.on_row = on_row,
		.on_end = on_list_end,
		.on_failed = on_list_failed,
		.ctx = certs,
	};
	certs->list = cert_list_new(&list_config);
	return certs;
}

void certs_free(struct certs *certs)
{
	struct cert *cert;
	if (certs == NULL)
		return;
	while ((cert = RB_ROOT(&certs->by_identity)) != NULL)
		free_cert(cert);
	cert_copies_fini(&certs->copies);
	cert_list_free(certs->list);
	free(certs);
}
