// SPDX-License-Identifier: Apache-2.0
/* Steps in which others than the backend are asked: who says what may pass, who gets copies, who answers in place of errors. */
#pragma once

#include "proto/decision_making.h"

/* What a guard answers to who is not let in. */
struct refusal {
	struct decision_step *step;
	unsigned status;
	struct str challenge; /* empty: none */
	struct str location;  /* likewise */
};

/* Step 12. False: the request does not pass, `ret_refusal` says what its answer is. */
bool others_check(struct making *m, struct refusal *ret_refusal);
/* Of step 14: headers that the backend gets from that server, and never from the client. */
void others_copy_headers(struct making *m);
/* Step 15. */
void others_mirror(struct making *m);
/* Step 17, when the backend was asked, or an answer was made. */
void others_answer_error(struct making *m);
/* Of step 18: cookies of the server of step 12. `backend`: what the backend has answered, if it answers the client. */
void others_add_cookies(struct making *m, const struct decision_reply *backend);
/* What the backend answers, of several pools the first that gets requests; false: nobody can tell. */
bool others_ask_backend(struct making *m, struct decision_reply *ret_reply);
