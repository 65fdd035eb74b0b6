// SPDX-License-Identifier: Apache-2.0
/* The requests of one certificate and how their responses are handled; see cert.h. */
#include "provider-rancher/cert.h"

#include "common/ascii.h"
#include "common/xalloc.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/mark.h"
#include "provider-rancher/stored_text.h"

/* Rancher keeps the name of a certificate for a moment after removing it: this many waits in a row are normal. */
enum { NAME_WAITS_QUIET = 4 };

static void try_later(struct cert *cert, double at_least_s)
{
	double delay_s = backoff_next(&cert->backoff);
	ev_timer_set(&cert->timer, delay_s > at_least_s ? delay_s : at_least_s, 0.);
	ev_timer_start(cert->config->client->loop, &cert->timer);
}

static void fail_with(struct cert *cert, const char *text, double at_least_s)
{
	bool is_news = cert->error == NULL || strcmp(cert->error, text) != 0;
	if (is_news)
		log_event(&EV_CERTIFICATE_FAILED, LOG_STR("secret", cert->key),
			LOG_STR("reason", text));
	free(cert->error);
	cert->error = xstrdup(text);
	try_later(cert, at_least_s);
	if (is_news)
		cert_tell_users(cert);
}

static void fail(struct cert *cert, const struct api_answer *answer, double at_least_s)
{
	fail_with(cert, answer->text, at_least_s);
}

static void succeed(struct cert *cert)
{
	free(cert->error);
	cert->error = NULL;
	cert->name_waits = 0;
	backoff_succeeded(&cert->backoff);
	cert_tell_users(cert);
}

static void on_refused(struct cert *cert, const struct api_answer *answer)
{
	bool is_name = str_eq_c(answer->error.code, "NotUnique");
	if (cert->step != STEP_CREATE || !is_name || cert->is_name_taken)
		fail(cert, answer, 0);
	else
		cert->is_name_refused = true;
}

/* The object must exist. */
static void name_of(const struct cert *cert, struct lb_name *ret_name)
{
	const struct certs_config *config = cert->config;
	struct certificate certificate;
	struct arena arena;
	arena_init(&arena);
	provider_decode(config->provider, cert->object, &arena, &certificate);
	if (cert->is_name_taken)
		naming_certificate_hashed(str_from(config->options->stack), certificate.namespace,
			certificate.name, ret_name);
	else
		naming_certificate(certificate.namespace, certificate.name, ret_name);
	arena_fini(&arena);
}

static bool has_name(const struct rancher_certificate *there, const struct lb_name *name)
{
	return ascii_eq_nocase(there->name, str_from(name->text));
}

/* Finds out who has the name: we do if a response was lost. If another certificate keeps it, we use another
 * name; if it is being removed, the name will soon be free. */
static void on_looked(struct cert *cert, const struct api_answer *answer)
{
	struct rancher_certificate there;
	struct lb_name name;
	struct str next;
	const struct json *item = json_first(api_read_page(answer->body, &next));
	bool is_held = false;
	cert->is_name_refused = false;
	if (cert->object == NULL)
		return;
	name_of(cert, &name);
	for (; item != NULL; item = json_next(item))
		is_held = is_held || (api_read_certificate(item, &there) == NULL &&
					     !there.is_gone && has_name(&there, &name));
	if (cert->id != NULL)
		return;
	cert->is_name_taken = is_held;
	if (is_held)
		return;
	if (++cert->name_waits > NAME_WAITS_QUIET)
		fail_with(cert, "Rancher is still removing another one of its name", 0);
	else
		try_later(cert, 0);
}

/* It is created again. That explains the failed write, which must not make load balancers go on without it. */
static void on_gone(struct cert *cert)
{
	cert_lose(cert);
	free(cert->error);
	cert->error = NULL;
	cert_tell_users(cert);
}

/* Its content is known, or will come with a list: the request only checks that it exists. */
static void on_read(struct cert *cert, const struct api_answer *answer)
{
	struct rancher_certificate there;
	cert->must_read = false;
	if (api_read_certificate(answer->body, &there) == NULL && there.is_gone)
		on_gone(cert);
}

static void on_taken_step(struct cert *cert, const struct api_answer *answer)
{
	struct rancher_certificate there;
	if (cert->step == STEP_LOOK) {
		on_looked(cert, answer);
		return;
	}
	if (cert->step == STEP_READ) {
		on_read(cert, answer);
		return;
	}
	cert->asked = answer->number;
	if (cert->step == STEP_REMOVE) {
		log_event(&EV_CERTIFICATE_REMOVED, LOG_STR("secret", cert->key));
		cert_lose(cert);
		succeed(cert);
		return;
	}
	if (api_read_certificate(answer->body, &there) != NULL) {
		cert->must_list = true;
		inventory_invalidate_certificates(cert->config->inventory);
		return;
	}
	log_event(cert->step == STEP_CREATE ? &EV_CERTIFICATE_MADE : &EV_CERTIFICATE_RENEWED,
		LOG_STR("secret", cert->key), LOG_TEXT("name", there.name));
	cert_lose(cert);
	cert->id = str_dup(there.id);
	struct certificate_mark mark;
	cert->there = mark_read_certificate(there.description, &mark) ? mark.digest : 0;
	cert->there_chain = cert_chain_digest(there.chain);
	/* A server that reformats the text must not be asked for ever to store ours. */
	cert->odd_chain = cert->there == cert->wanted ? cert->there_chain : 0;
	succeed(cert);
}

void cert_take_answer(struct cert *cert, const struct api_answer *answer)
{
	switch (answer->outcome) {
	case API_OK:
		on_taken_step(cert, answer);
		break;
	case API_NOT_FOUND:
		if (cert->step == STEP_LOOK) {
			fail(cert, answer, 0);
			break;
		}
		on_gone(cert);
		break;
	case API_REFUSED:
		on_refused(cert, answer);
		break;
	case API_NOT_ALLOWED: /* in use, or still being updated */
	case API_DENIED:
		fail(cert, answer, 10);
		break;
	case API_CONFLICT:
		cert->must_read = cert->id != NULL;
		fail(cert, answer, 0);
		break;
	case API_FAILED:
		cert->must_read = cert->id != NULL;
		if (answer->is_unknown && cert->step == STEP_CREATE) {
			cert->must_list = true;
			inventory_invalidate_certificates(cert->config->inventory);
		}
		fail(cert, answer, 0);
		break;
	case API_OUTAGE:
		break; /* waits in the queue */
	}
}

/* ---- the request ---- */

static char *path_of(const struct cert *cert)
{
	struct lb_name name;
	if (cert->step == STEP_CREATE)
		return xstrdup("/certificates");
	if (cert->step != STEP_LOOK)
		return xasprintf("/certificates/%s", cert->id);
	name_of(cert, &name);
	return xasprintf("/certificates?name=%s&removed_null=1&limit=%d", name.text,
		(int)cert->config->options->page_size);
}

static struct json *make_body(struct cert *cert)
{
	const struct certs_config *config = cert->config;
	struct certificate certificate;
	struct lb_name name;
	struct arena arena;
	if (cert->step != STEP_CREATE && cert->step != STEP_UPDATE)
		return NULL;
	arena_init(&arena);
	provider_decode(config->provider, cert->object, &arena, &certificate);
	struct certificate_mark mark = {
		.stack = str_from(config->options->stack),
		.namespace = certificate.namespace,
		.secret = certificate.name,
		.digest = cert->wanted,
	};
	struct json *body = json_new_object();
	if (cert->step == STEP_CREATE) {
		name_of(cert, &name);
		json_add_str(body, "name", str_from(name.text));
	}
	json_add_str(body, "description",
		stored_text_description(mark_of_certificate(&mark, &arena), &arena));
	/* Always both: the server refuses a change without `cert`, and does not check that the key matches. */
	json_add_str(body, "cert", certificate.chain);
	json_add_str(body, "key", certificate.private_key);
	arena_fini(&arena);
	return body;
}

void cert_send(struct cert *cert, void (*on_done)(void *ctx, const struct api_answer *answer))
{
	static const char *const methods[] = {"", "POST", "PUT", "DELETE", "GET", "GET"};
	struct json *body = make_body(cert);
	char *path = path_of(cert);
	struct api_call call = {
		.method = methods[cert->step],
		.path = path,
		.body = body,
		.is_list = cert->step == STEP_LOOK,
		.is_secret = true,
		.on_done = on_done,
		.ctx = cert,
	};
	cert->request = api_start(cert->config->client->api, &call);
	json_free_wiped(body);
	free(path);
}
