// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to Rancher's API: one JSON request, one answer, and every way it can end as one outcome.
 * request_queue.h says who may make how many requests; nothing is repeated here.
 *
 * Requests are numbered as they are made, so that whoever keeps answers can tell an old one from a newer one.
 */
#pragma once

#include "common/http.h"
#include "provider-rancher/api_json.h"
#include "provider-rancher/config.h"

struct api;
struct api_request;

enum api_outcome {
	API_OK,
	API_CONFLICT,    /* 409: try again later */
	API_REFUSED,     /* 400, 422: the request is wrong; the error says why */
	API_NOT_FOUND,   /* 404 */
	API_NOT_ALLOWED, /* 405 */
	API_DENIED,      /* 403: not for these keys, perhaps not for this resource */
	API_FAILED, /* 5xx, an answer that never ended or makes no sense: server or request may be the cause */
	API_OUTAGE, /* no connection, or the keys are refused: no request can succeed now */
};

struct api_answer {
	enum api_outcome outcome;
	const struct json *body; /* of API_OK; NULL when there is none. Good during the call */
	struct rancher_error error;
	const char *text;     /* what went wrong, in words; "" when nothing did */
	uint64_t number;      /* of the request; for writes it is taken when the answer comes */
	double retry_after_s; /* < 0: none */
	bool is_unauthorized; /* 401: the keys are wrong */
	bool is_unknown;      /* it is a write, which may have been carried out */
};

struct api_call {
	const char *method;
	const char *path; /* below the base, beginning with '/', or a whole address of ours */
	const struct json *body; /* NULL: none. Printed at once */
	bool is_secret;          /* body or answer holds a private key */
	bool is_list;            /* may take as long as something arrives */
	void (*on_done)(void *ctx, const struct api_answer *answer);
	void *ctx;
};

/* `base` is that of rancher_url_base(). Keeps both pointers: *peer may be replaced, and the credentials may change. */
struct api *api_new(struct ev_loop *loop, const char *base, struct http_peer *const *peer,
	const struct credentials *keys, double timeout_s, unsigned connections_max);
void api_free(struct api *api);
/* *peer was replaced: idle connections are not used again. */
void api_peer_changed(struct api *api);

/* on_done() comes from the loop. */
struct api_request *api_start(struct api *api, const struct api_call *call);
void api_cancel(struct api_request *request);
/* The number of the next request. */
uint64_t api_number(struct api *api);
const char *api_base(const struct api *api);
