// SPDX-License-Identifier: Apache-2.0
/*
 * ACM in the place of provider-elb's client: keeps what is imported, answers when it is told to, and writes down what was asked. It takes nothing of what a
 * real one would refuse unless a fault says so.
 */
#pragma once

#include "common/cert.h"
#include "common/json.h"
#include "common/xalloc.h"
#include "provider-elb/client.h"

#include <openssl/evp.h>
#include <stdio.h>

enum { FAKE_CERTIFICATES_MAX = 16, FAKE_LOG_MAX = 4096 };

struct fake_certificate {
	char arn[80];
	char *chain; /* PEM: of the chain without the leaf, base64 */
	char *cluster;
	char *identity;
	char *applied;
	char serial[80];
	int64_t not_after;
	bool is_used; /* by a listener */
};

/* How the next call of `action` ends. */
struct fake_fault {
	const char *action; /* NULL: none */
	enum aws_outcome outcome;
	bool is_unknown;
	bool is_done; /* it is carried out before its answer is lost */
};

struct client_call {
	struct client_request request;
	char *body;
	struct client_call *next;
};

static struct {
	struct fake_certificate all[FAKE_CERTIFICATES_MAX];
	size_t count;
	unsigned made;
	struct fake_fault fault;
	struct client_call *calls; /* under way, newest first */
	char log[FAKE_LOG_MAX]; /* "ImportCertificate 1\n" with the number of what it concerns; 0: nothing */
} acm;

static inline void fake_clear(struct fake_certificate *certificate)
{
	free(certificate->chain);
	free(certificate->cluster);
	free(certificate->identity);
	free(certificate->applied);
	*certificate = (struct fake_certificate){0};
}

static inline void fake_reset(void)
{
	for (size_t i = 0; i < acm.count; i++)
		fake_clear(&acm.all[i]);
	memset(&acm, 0, sizeof(acm));
}

static inline struct fake_certificate *fake_find(struct str arn)
{
	for (size_t i = 0; i < acm.count; i++) {
		if (acm.all[i].arn[0] != '\0' && str_eq_c(arn, acm.all[i].arn))
			return &acm.all[i];
	}
	return NULL;
}

static inline void fake_set_content(struct fake_certificate *certificate, struct str pem)
{
	struct cert_info info;
	struct arena arena;
	arena_init(&arena);
	must(cert_check(pem, STR_NONE, &arena, &info) == NULL);
	snprintf(certificate->serial, sizeof(certificate->serial), "00:%.*s", STR_FMT(info.serial));
	certificate->not_after = info.not_after;
	arena_fini(&arena);
}

static inline struct fake_certificate *fake_add(void)
{
	must(acm.count < FAKE_CERTIFICATES_MAX);
	struct fake_certificate *certificate = &acm.all[acm.count++];
	snprintf(certificate->arn, sizeof(certificate->arn),
		"arn:aws:acm:us-east-1:123456789012:certificate/%u", ++acm.made);
	return certificate;
}

static inline void fake_set_tags(struct fake_certificate *certificate, const struct json *body)
{
	const struct json *tag = json_first(json_get(body, "Tags"));
	for (; tag != NULL; tag = json_next(tag)) {
		struct str key = json_text(json_get(tag, "Key"));
		struct str value = json_text(json_get(tag, "Value"));
		if (str_eq(key, STR("sluice.io/cluster")))
			str_set(&certificate->cluster, value);
		else if (str_eq(key, STR("sluice.io/resource")))
			str_set(&certificate->identity, value);
		else if (str_eq(key, STR("sluice.io/applied")))
			str_set(&certificate->applied, value);
	}
}

static inline struct fake_certificate *fake_import(const struct json *body)
{
	struct str arn = json_text(json_get(body, "CertificateArn"));
	struct str encoded = json_text(json_get(body, "Certificate"));
	struct fake_certificate *certificate = arn.p != NULL ? fake_find(arn) : fake_add();
	if (certificate == NULL)
		return NULL;
	unsigned char *pem = xmalloc(encoded.len + 1);
	int len = EVP_DecodeBlock(pem, (const unsigned char *)encoded.p, (int)encoded.len);
	must(len > 0);
	while (pem[len - 1] == '\0')
		len--;
	fake_set_content(certificate, (struct str){(const char *)pem, (size_t)len});
	str_set(&certificate->chain, json_text(json_get(body, "CertificateChain")));
	free(pem);
	must(arn.p == NULL || json_get(body, "Tags") == NULL);
	fake_set_tags(certificate, body);
	return certificate;
}

static inline char *fake_list(void)
{
	struct buf out;
	buf_init(&out, 1024 * 1024);
	must(buf_printf(&out, "{\"CertificateSummaryList\":[") == 0);
	bool is_first = true;
	for (size_t i = 0; i < acm.count; i++) {
		if (acm.all[i].arn[0] == '\0')
			continue;
		must(buf_printf(&out, "%s{\"CertificateArn\":\"%s\",\"NotAfter\":%lld.0}",
			     is_first ? "" : ",", acm.all[i].arn,
			     (long long)acm.all[i].not_after) == 0);
		is_first = false;
	}
	must(buf_printf(&out, "]}") == 0);
	char *text = str_dup(buf_str(&out));
	buf_fini(&out);
	return text;
}

static inline char *fake_tags(const struct fake_certificate *certificate)
{
	if (certificate->cluster == NULL)
		return xstrdup("{\"Tags\":[]}");
	return xasprintf("{\"Tags\":[{\"Key\":\"sluice.io/cluster\",\"Value\":\"%s\"},"
			 "{\"Key\":\"sluice.io/resource\",\"Value\":\"%s\"},"
			 "{\"Key\":\"sluice.io/applied\",\"Value\":\"%s\"}]}",
		certificate->cluster, certificate->identity, certificate->applied);
}

/* Carries the call out: the text of the answer, and the outcome. */
static inline char *fake_do(
	const char *action, const struct json *body, enum aws_outcome *ret_outcome)
{
	struct fake_certificate *certificate =
		fake_find(json_text(json_get(body, "CertificateArn")));
	*ret_outcome = AWS_OK;
	if (strcmp(action, "ListCertificates") == 0)
		return fake_list();
	if (strcmp(action, "ImportCertificate") == 0)
		certificate = fake_import(body);
	if (certificate == NULL) {
		*ret_outcome = AWS_NOT_FOUND;
		return NULL;
	}
	if (strcmp(action, "ImportCertificate") == 0)
		return xasprintf("{\"CertificateArn\":\"%s\"}", certificate->arn);
	if (strcmp(action, "DescribeCertificate") == 0)
		return xasprintf("{\"Certificate\":{\"CertificateArn\":\"%s\",\"Serial\":\"%s\","
				 "\"NotAfter\":%lld}}",
			certificate->arn, certificate->serial, (long long)certificate->not_after);
	if (strcmp(action, "ListTagsForCertificate") == 0)
		return fake_tags(certificate);
	if (strcmp(action, "AddTagsToCertificate") == 0) {
		fake_set_tags(certificate, body);
		return NULL;
	}
	must(strcmp(action, "DeleteCertificate") == 0);
	if (certificate->is_used)
		*ret_outcome = AWS_IN_USE;
	else
		fake_clear(certificate);
	return NULL;
}

static inline void fake_note(const char *action, const struct json *body)
{
	struct str arn = json_text(json_get(body, "CertificateArn"));
	size_t len = strlen(acm.log);
	snprintf(acm.log + len, sizeof(acm.log) - len, "%s %.*s\n", action, 1,
		arn.len != 0 ? arn.p + arn.len - 1 : "0");
}

/* Answers the oldest call. */
static inline bool fake_answer(void)
{
	struct client_call **at = &acm.calls;
	if (*at == NULL)
		return false;
	while ((*at)->next != NULL)
		at = &(*at)->next;
	struct client_call *call = *at;
	*at = NULL;
	const char *action = call->request.action;
	struct json *body = json_parse(str_from(call->body), NULL, NULL);
	struct client_answer answer = {.message = STR(""), .retry_after_s = -1};
	bool is_faulty = acm.fault.action != NULL && strcmp(acm.fault.action, action) == 0;
	struct fake_fault fault = is_faulty ? acm.fault : (struct fake_fault){0};
	char *text = NULL;
	must(body != NULL && call->request.service == AWS_ACM);
	fake_note(action, body);
	if (!is_faulty || fault.is_done)
		text = fake_do(action, body, &answer.outcome);
	if (is_faulty) {
		free(text);
		text = NULL;
		acm.fault.action = NULL;
		answer.outcome = fault.outcome;
		answer.is_unknown = fault.is_unknown;
	}
	struct json *json = text != NULL ? json_parse(str_from(text), NULL, NULL) : NULL;
	answer.json = json;
	if (answer.outcome != AWS_OK)
		answer.message = STR("ACM says no");
	call->request.on_done(call->request.ctx, &answer);
	json_free(json);
	json_free(body);
	free(text);
	free(call->body);
	free(call);
	return true;
}

struct client_call *client_start(struct client *client, const struct client_request *request)
{
	struct client_call *call = xcalloc(1, sizeof(*call));
	call->request = *request;
	call->body = str_dup(request->body);
	call->next = acm.calls;
	acm.calls = call;
	bool is_import = strcmp(request->action, "ImportCertificate") == 0;
	must(request->is_secret == is_import);
	return call;
}

void client_cancel(struct client_call *call)
{
	struct client_call **at = &acm.calls;
	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	free(call->body);
	free(call);
}
