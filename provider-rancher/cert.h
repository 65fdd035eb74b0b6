// SPDX-License-Identifier: Apache-2.0
/*
 * One Secret's certificate in Rancher: wanted, there, or both; and the request that is made for it. cert.c keeps what is known of it,
 * cert_send.c asks Rancher, certs.c drives it. Only these know the struct.
 */
#pragma once

#include "common/backoff.h"
#include "common/tree.h"
#include "provider-rancher/certs.h"

#include <ev.h>

enum cert_step {
	STEP_NONE,
	STEP_CREATE,
	STEP_UPDATE,
	STEP_REMOVE,
	STEP_LOOK, /* who has the name that we were refused */
	STEP_READ, /* whether it is still there */
};

struct cert {
	RB_ENTRY(cert) by_key;
	struct certs *certs;
	const struct certs_config *config;
	struct object *object; /* NULL: not wanted (any more) */
	uint64_t wanted;       /* digest of chain and key */
	uint64_t wanted_chain;
	char *id; /* in Rancher; NULL: it is not there */
	uint64_t there;
	uint64_t there_chain;
	uint64_t odd_chain; /* what the server has made of wanted_chain; 0: the same */
	uint64_t asked;     /* newest question whose answer told of it */
	struct queue_entry entry;
	struct api_request *request;
	enum cert_step step; /* that is being taken */
	ev_timer timer;
	struct backoff backoff;
	char *error;          /* why the last step failed; NULL: it did not */
	unsigned name_waits;  /* how often in a row the name was about to become free */
	bool is_name_refused; /* the plain name is somebody's: find out whose */
	bool is_name_taken;   /* it is another one's, who stays */
	bool must_read;       /* a write failed as one does of what is gone */
	bool must_list;       /* it may be there although we do not know: wait for the next list */
	char key[];           /* "namespace/secret" */
};

/* It is not in Rancher (any more). */
void cert_lose(struct cert *cert);
/* Load balancers that use it hear that something has changed. */
void cert_tell_users(struct cert *cert);
/* Digest of a chain of PEM texts. */
uint64_t cert_chain_digest(struct str chain);

/* Makes the request of its step. */
void cert_send(struct cert *cert, void (*on_done)(void *ctx, const struct api_answer *answer));
/* What the answer has changed; the timer runs when it failed. */
void cert_take_answer(struct cert *cert, const struct api_answer *answer);
