// SPDX-License-Identifier: Apache-2.0
/*
 * The certificate of one object: what is wanted, its copies in ACM, and the call that is made for it. cert.c keeps what is known of it, cert_send.c
 * asks ACM, certs.c drives it. Only these know the struct.
 */
#pragma once

#include "common/backoff.h"
#include "provider-elb/cert_copies.h"
#include "provider-elb/cert_plan.h"
#include "provider-elb/certs.h"

TAILQ_HEAD(cert_copy_list, cert_copy);

struct cert {
	RB_ENTRY(cert) by_identity;
	struct certs *certs;
	const struct certs_config *config;
	struct cert_copies *copies; /* of the account */
	struct object *object;      /* NULL: there is none (any more) */
	struct acm_content wanted;  /* of the object */
	int64_t not_after;          /* likewise */
	const char *
		unusable; /* why ACM would refuse the object's certificate; static; NULL: it may take it */
	struct cert_copy *copy; /* that listeners use; NULL: there is none */
	struct cert_copy_list old;
	struct acm_content unreplaced; /* what ACM does not put in the place of `copy` */
	bool must_list;                /* an import may have succeeded without our knowing */
	uint64_t list_after;           /* number of the list that is waited for; 0: none is */
	bool is_unused;                /* nothing uses it, since: */
	double unused_since;           /* by clock_monotonic_s() */
	struct call_entry entry;
	struct client_call *call;
	enum cert_step step;     /* that is being taken */
	char *step_arn;          /* of what it concerns; NULL: of nothing that is there */
	struct acm_content sent; /* with it */
	ev_timer retry;
	ev_timer grace; /* before it is removed */
	struct backoff backoff;
	char *problem;   /* why the last step failed, for people; NULL: it did not */
	bool is_refused; /* it was refused, and nothing will change soon */
	char *told;      /* what on_change() was called for last */
	char identity[];
};

/* The object has another content than before, or is another one. */
void cert_set_object(struct cert *cert, struct object *object);
/* A copy that is nobody's becomes this certificate's. */
void cert_attach(struct cert *cert, struct cert_copy *copy);
/* It is in ACM no more: forgets it. */
void cert_lose(struct cert *cert, struct cert_copy *copy);
/* Lets the copy that has what is wanted be the one that is used. */
void cert_choose(struct cert *cert);
/* One of the old copies takes the place of the one that is used. */
void cert_prefer(struct cert *cert, struct cert_copy *copy);
/* Whether a load balancer uses the object; since when not, is noted. */
bool cert_note_use(struct cert *cert);
enum cert_step cert_next_step(struct cert *cert, bool is_known);
/* What listeners may use; absent: nothing yet. */
struct str cert_arn(const struct cert *cert);
/* All that is answered, as one text, which the caller frees. */
char *cert_answer_text(const struct cert *cert);
/* Calls on_change() if there is something new. */
void cert_tell(struct cert *cert);

/* Of the call that is under way, or just over; static. */
const char *cert_action(const struct cert *cert);
/* Makes the call of `step`. */
void cert_send(struct cert *cert, void (*on_done)(void *ctx, const struct client_answer *answer));
/* Takes over what the answer says, but for CERT_LOOK's tags; starts the retry timer if the step has to be taken again. */
void cert_take_answer(struct cert *cert, const struct client_answer *answer);
