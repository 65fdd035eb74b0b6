// SPDX-License-Identifier: Apache-2.0
/* The calls for one certificate, and how their answers are handled; see cert.h. */
#include "provider-elb/cert.h"

#include "common/cert.h"
#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "provider-elb/log_events.h"

/* How long an answer may still tell of what was before a write. (LBC waits for 30 s after a create.) */
static const double CONSISTENT_S = 60;
/* What only a person can change. */
static const double REFUSED_RETRY_S = 300;
/* After an import without an answer, before ACM is listed. */
static const double LOST_RETRY_S = 5;

/* ---- the call ---- */

static const char *const actions[] = {
	[CERT_LOOK] = "ListTagsForCertificate",
	[CERT_READ] = "DescribeCertificate",
	[CERT_IMPORT] = "ImportCertificate",
	[CERT_REPLACE] = "ImportCertificate",
	[CERT_TAG] = "AddTagsToCertificate",
	[CERT_REMOVE] = "DeleteCertificate",
	[CERT_REMOVE_OLD] = "DeleteCertificate",
};

/* What the step concerns; NULL: an import makes it. */
static const struct cert_copy *find_target(const struct cert *cert)
{
	switch (cert->step) {
	case CERT_LOOK:
		return cert_copies_candidate(cert->copies, cert->not_after);
	case CERT_REMOVE_OLD:
		return TAILQ_FIRST(&cert->old);
	case CERT_IMPORT:
		return NULL;
	default:
		return cert->copy;
	}
}

/* Of imports and tags, for which the object is there. */
static void put_content(struct cert *cert, struct buf *body)
{
	struct certificate certificate;
	struct acm_parts parts;
	struct arena arena;
	char applied[ACM_CONTENT_LEN + 1];
	arena_init(&arena);
	state_decode(cert->config->state, cert->object, &arena, &certificate);
	must(acm_split(certificate.chain, certificate.private_key, &parts) == NULL);
	cert->sent = acm_content_of(&parts);
	acm_content_text(&cert->sent, applied);
	struct acm_tags tags = {
		.cluster = cert->config->settings->cluster,
		.identity = str_from(cert->identity),
		.owner = naming_tag_value(
			&arena, arena_printf(&arena, "%.*s/%.*s", STR_FMT(certificate.namespace),
					STR_FMT(certificate.name))),
		.applied = str_from(applied),
	};
	if (cert->step == CERT_TAG)
		acm_put_tags(body, str_from(cert->step_arn), &tags);
	else
		acm_put_import(body, &parts, str_from(cert->step_arn), &tags);
	arena_fini(&arena);
}

const char *cert_action(const struct cert *cert)
{
	return actions[cert->step];
}

void cert_send(struct cert *cert, void (*on_done)(void *ctx, const struct client_answer *answer))
{
	const struct cert_copy *target = find_target(cert);
	struct buf body;
	buf_init(&body, ACM_BODY_LEN_MAX);
	str_set(&cert->step_arn, str_from(target != NULL ? target->arn : NULL));
	bool has_content =
		cert->step == CERT_IMPORT || cert->step == CERT_REPLACE || cert->step == CERT_TAG;
	if (has_content)
		put_content(cert, &body);
	else
		acm_put_arn(&body, str_from(cert->step_arn));
	struct client_request request = {
		.service = AWS_ACM,
		.action = cert_action(cert),
		.body = buf_str(&body),
		.is_write = cert_plan_is_write(cert->step),
		.is_secret = cert->step == CERT_IMPORT || cert->step == CERT_REPLACE,
		.on_done = on_done,
		.ctx = cert,
	};
	cert->call = client_start(cert->config->client, &request);
	buf_wipe_fini(&body);
}

/* ---- failures ---- */

static void try_later(struct cert *cert, double at_least_s)
{
	double delay_s = backoff_next(&cert->backoff);
	ev_timer_set(&cert->retry, delay_s > at_least_s ? delay_s : at_least_s, 0.);
	ev_timer_start(cert->config->loop, &cert->retry);
}

static void fail(struct cert *cert, struct str text, double at_least_s)
{
	if (cert->problem == NULL || !str_eq_c(text, cert->problem))
		log_event(&EV_CERTIFICATE_FAILED, LOG_STR("certificate", cert->identity),
			LOG_TEXT("reason", text));
	str_set(&cert->problem, text);
	try_later(cert, at_least_s);
}

static void refuse(struct cert *cert, const struct client_answer *answer)
{
	cert->is_refused = cert->is_refused || cert->step == CERT_IMPORT ||
			   cert->step == CERT_REPLACE || cert->step == CERT_LOOK;
	fail(cert, answer->message, REFUSED_RETRY_S * (1 + backoff_random()));
}

static void succeed(struct cert *cert)
{
	str_set(&cert->problem, str_from(cert->unusable));
	cert->is_refused = cert->unusable != NULL;
	backoff_succeeded(&cert->backoff);
}

static struct cert_copy *find_copy(const struct cert *cert)
{
	return cert->step_arn != NULL ? cert_copies_find(cert->copies, str_from(cert->step_arn))
				      : NULL;
}

static bool is_removal(const struct cert *cert)
{
	return cert->step == CERT_REMOVE || cert->step == CERT_REMOVE_OLD;
}

static void on_gone(struct cert *cert, const struct client_answer *answer)
{
	struct cert_copy *copy = find_copy(cert);
	double now = clock_monotonic_s();
	if (copy == NULL || cert->step == CERT_IMPORT) {
		fail(cert, answer->message, 0);
		return;
	}
	/* What we have just made is not seen everywhere yet. */
	if (!is_removal(cert) && copy->written_at > 0 && now - copy->written_at < CONSISTENT_S) {
		fail(cert, answer->message, 2);
		return;
	}
	if (copy->cert == cert)
		cert_lose(cert, copy);
	else if (copy->cert == NULL)
		cert_copies_remove(cert->copies, copy);
	succeed(cert);
}

/* A write whose answer was lost may have been carried out. */
static void on_lost(struct cert *cert, const struct client_answer *answer)
{
	struct cert_copy *copy = find_copy(cert);
	double delay_s = answer->retry_after_s;
	if (answer->is_unknown && cert->step == CERT_IMPORT) {
		cert->must_list = true;
		delay_s = delay_s > LOST_RETRY_S ? delay_s : LOST_RETRY_S;
	}
	/* Where only the chain differs, comparing would not tell. */
	if (answer->is_unknown && cert->step == CERT_REPLACE && copy != NULL)
		copy->is_compared = false;
	fail(cert, answer->message, delay_s);
}

static void on_refused(struct cert *cert, const struct client_answer *answer)
{
	if (cert->step == CERT_REPLACE)
		cert->unreplaced = cert->sent;
	else
		refuse(cert, answer);
}

/* ---- successes ---- */

/* Whether ACM's certificate is the object's. */
static bool is_same(
	const struct cert *cert, const struct cert_copy *copy, const struct acm_certificate *there)
{
	struct certificate certificate;
	struct cert_info info;
	struct arena arena;
	arena_init(&arena);
	state_decode(cert->config->state, cert->object, &arena, &certificate);
	bool same = cert_check(certificate.chain, STR_NONE, &arena, &info) == NULL &&
		    acm_serial_eq(there->serial, info.serial) &&
		    (there->not_after == -1 || there->not_after == info.not_after ||
			    there->not_after == copy->odd_not_after);
	arena_fini(&arena);
	return same;
}

static void on_read(struct cert *cert, const struct client_answer *answer)
{
	struct cert_copy *copy = find_copy(cert);
	struct acm_certificate there;
	if (!acm_read_certificate(answer->json, &there)) {
		fail(cert, STR("DescribeCertificate: the answer has no certificate"), 0);
		return;
	}
	if (copy == NULL || copy->cert != cert)
		return;
	copy->is_proven = true;
	copy->must_read = false;
	copy->not_after = there.not_after;
	if (cert->object == NULL || cert->unusable != NULL)
		return;
	copy->is_compared = true;
	if (!is_same(cert, copy, &there))
		copy->content = (struct acm_content){0};
	else if (copy->content.leaf != cert->wanted.leaf)
		copy->content =
			cert->wanted; /* its tag is late: the process ended between the two */
}

static void on_imported(struct cert *cert, const struct client_answer *answer)
{
	struct str arn = acm_read_arn(answer->json);
	struct cert_copy *copy = arn.p != NULL ? cert_copies_add(cert->copies, arn) : NULL;
	if (copy == NULL || (copy->cert != NULL && copy->cert != cert)) {
		cert->must_list = true;
		fail(cert, STR("ImportCertificate: the answer has no usable ARN"), LOST_RETRY_S);
		return;
	}
	bool is_new = cert->step == CERT_IMPORT;
	if (copy->cert == NULL)
		cert_attach(cert, copy);
	if (is_new) {
		cert_prefer(cert, copy);
		copy->tagged = cert->sent;
	}
	copy->content = cert->sent;
	copy->is_compared = true;
	copy->is_proven = true;
	copy->must_read = false;
	copy->not_after = -1;
	copy->odd_not_after = -1;
	copy->written_at = clock_monotonic_s();
	log_event(is_new ? &EV_CERTIFICATE_IMPORTED : &EV_CERTIFICATE_RENEWED,
		LOG_STR("certificate", cert->identity), LOG_STR("arn", copy->arn));
}

static void on_success(struct cert *cert, const struct client_answer *answer)
{
	struct cert_copy *copy = find_copy(cert);
	succeed(cert);
	switch (cert->step) {
	case CERT_READ:
		on_read(cert, answer);
		break;
	case CERT_IMPORT:
	case CERT_REPLACE:
		on_imported(cert, answer);
		break;
	case CERT_TAG:
		if (copy != NULL) {
			copy->tagged = cert->sent;
			copy->written_at = clock_monotonic_s();
		}
		break;
	case CERT_REMOVE:
	case CERT_REMOVE_OLD:
		log_event(&EV_CERTIFICATE_REMOVED, LOG_STR("certificate", cert->identity),
			LOG_STR("arn", cert->step_arn));
		if (copy != NULL && copy->cert == cert)
			cert_lose(cert, copy);
		break;
	case CERT_LOOK:
	case CERT_LIST:
	case CERT_NOTHING:
	case CERT_FORGET:
		break;
	}
}

void cert_take_answer(struct cert *cert, const struct client_answer *answer)
{
	switch (answer->outcome) {
	case AWS_OK:
		on_success(cert, answer);
		break;
	case AWS_NOT_FOUND:
		on_gone(cert, answer);
		break;
	case AWS_IN_USE:
		if (is_removal(cert))
			try_later(cert, 0); /* a listener still has to let go of it */
		else
			on_lost(cert, answer);
		break;
	case AWS_QUOTA:
	case AWS_DENIED:
		refuse(cert, answer);
		break;
	case AWS_REFUSED:
	case AWS_EXISTS:
		on_refused(cert, answer);
		break;
	case AWS_OUTAGE:
		if (answer->is_unknown)
			on_lost(cert, answer);
		break; /* otherwise it waits in the queue */
	case AWS_THROTTLED:
	case AWS_FAILED:
	case AWS_OUTCOME_COUNT:
		on_lost(cert, answer);
		break;
	}
}
