// SPDX-License-Identifier: Apache-2.0
/*
 * One Secret's certificate: wanted, in Rancher, or both; and the request that is made for it. cert.c keeps what is known of it,
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
	STEP_LOOK, /* find out who has the name that we were refused */
	STEP_READ, /* find out whether it still exists */
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
	uint64_t asked;     /* number of the newest request whose answer showed it */
	struct queue_entry entry;
	struct api_request *request;
	enum cert_step step; /* that is being taken */
	ev_timer timer;
	struct backoff backoff;
	char *error;          /* why the last step failed; NULL: it did not */
	unsigned name_waits;  /* how often in a row the name was about to be free */
	bool is_name_refused; /* the plain name is taken: find out by whom */
	bool is_name_taken;   /* by another certificate, which stays */
	bool must_read;       /* a write failed as if it were gone */
	bool must_list;       /* it may exist without our knowing: wait for the next list */
	char key[];           /* "namespace/secret" */
};

/* It is not in Rancher (any more). */
void cert_lose(struct cert *cert);
/* Reports a change to the load balancers that use it. */
void cert_tell_users(struct cert *cert);
/* Digest of a chain of PEM texts. */
uint64_t cert_chain_digest(struct str chain);

/* Makes the request of `step`. */
void cert_send(struct cert *cert, void (*on_done)(void *ctx, const struct api_answer *answer));
/* Takes over what the answer says; starts the timer if the request failed. */
void cert_take_answer(struct cert *cert, const struct api_answer *answer);
