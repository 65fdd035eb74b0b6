// SPDX-License-Identifier: Apache-2.0
/*
 * Calls to AWS: signs, sends, reads the answer, and tells every way it can end as one outcome. Nothing is repeated here, but for one thing: when the
 * credentials have expired, they are renewed and the call is made once more. call_queue.h says who may call when.
 */
#pragma once

#include "common/json.h"
#include "provider-elb/credentials.h"
#include "provider-elb/service.h"
#include "provider-elb/xml.h"

struct client;
struct client_call;

struct client_answer {
	enum aws_outcome outcome;
	const struct xml *xml; /* of a service in XML with AWS_OK, the root; good during the call */
	const struct json *json; /* likewise of a JSON service; NULL when the body is empty */
	struct str code;         /* of an error: "TooManyRules" */
	/* For people: what AWS or the network says, with the action and the request id; never a secret. Absent with AWS_OK; NUL-terminated. */
	struct str message;
	bool is_unknown;      /* it is a write, which may have been carried out */
	double retry_after_s; /* < 0: none */
};

struct client_request {
	enum aws_service service;
	const char *action; /* static */
	/* Of a REST service: what follows the endpoint's URL, without a slash at its beginning; a GET when there is no body. The parameters of a query stand in the order of their names, and
	 * escapes have capital digits: libcurl 7.88 signs them as they stand. Copied; absent: a POST to the URL itself. */
	struct str path;
	struct str body; /* form (params.h) or JSON; copied, and wiped afterwards if is_secret */
	bool is_write;
	bool is_secret;
	void (*on_done)(void *ctx, const struct client_answer *answer);
	void *ctx;
};

/* `credentials` and `endpoints`, which has its URLs, are kept and outlive the client. */
struct client *client_new(struct ev_loop *loop, struct credentials *credentials,
	const struct endpoints *endpoints, double timeout_s);
void client_free(struct client *client);
/* The authorities in `endpoints` are others: no later call uses a connection from before. */
void client_peer_changed(struct client *client);

/* on_done() comes from the loop, exactly once unless cancelled; the call is gone afterwards, and the client may be freed then. While the keys are being fetched, the call
 * waits for them. */
struct client_call *client_start(struct client *client, const struct client_request *request);
void client_cancel(struct client_call *call);
