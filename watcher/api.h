// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to the API server: common/http with credentials. A request waits while credentials are being obtained, and is retried once
 * after a 401 if fresher ones exist; its owner sees a single result.
 */
#pragma once

#include "watcher/api_status.h"
#include "watcher/credentials.h"

struct api;
struct api_request;

struct api_options {
	double connect_timeout_s;
	double request_timeout_s;
	double exec_timeout_s;
	unsigned connections_max;
};

enum { API_BODY_MAX = 4 * 1024 * 1024, API_ERROR_BODY_MAX = 256 * 1024 };

enum api_outcome {
	API_ANSWERED,
	API_E_NETWORK,     /* result.http says how */
	API_E_CREDENTIALS, /* none are available */
};

struct api_result {
	enum api_outcome outcome;
	enum http_outcome http;
	long code;                /* of the answer; 0: none */
	double retry_after_s;     /* < 0: not given */
	struct api_status status; /* of answers other than 2xx */
	struct str body;          /* valid during the call */
	const char *error;        /* in words, when not answered */
};

struct api_call {
	const char *method;
	const char *path; /* with its query */
	struct str body;
	const char *content_type; /* of the body */
	bool is_stream;           /* no time limit, never compressed: for watches */
	bool is_list;             /* may be compressed */
	bool is_secret;           /* the answer is wiped */
	/* For 200 answers only, as in http.h; a negative result ends the request with HTTP_E_REFUSED_DATA. */
	int (*on_data)(void *ctx, struct str piece);
	void (*on_head)(void *ctx); /* the answer is 200; may be NULL */
	void (*on_done)(void *ctx, const struct api_result *result);
	void *ctx;
};

/* `target` is kept. NULL and *ret_problem (the caller frees it) when a file with credentials cannot be read. */
struct api *api_new(struct ev_loop *loop, const struct target *target,
	const struct api_options *options, char **ret_problem);
/* Cancels requests in flight. */
void api_free(struct api *api);
/* on_done() is called from the loop. */
struct api_request *api_start(struct api *api, const struct api_call *call);
/* on_done() is no longer called. NULL does nothing. */
void api_cancel(struct api_request *request);
/* See credentials_retarget(). */
bool api_retarget(struct api *api);
/* Reads credentials again. */
void api_reload(struct api *api);

/* A 2xx answer. */
bool api_is_good(const struct api_result *result);
/* "403 Forbidden: ..." or "cannot connect: ...", for logs and readiness; cut to fit. */
void api_result_text(const struct api_result *result, char *text, size_t room);
