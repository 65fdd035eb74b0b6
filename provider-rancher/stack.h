// SPDX-License-Identifier: Apache-2.0
/*
 * The stack that holds the load balancers: found by its name, made when it is needed for the first time, and
 * found anew when somebody has removed it. The same name and externalId as the original's, because
 * Rancher removes such stacks together with Kubernetes.
 */
#pragma once

#include "provider-rancher/client.h"

struct stack;

/* on_known() tells that it was looked for, and whether another one was found than before; on_failed() that it cannot
 * be found or made now. Keeps the pointers; `external_id` is that of ours. */
struct stack *stack_new(const struct client *client, const struct config *config,
	const char *external_id, void (*on_known)(void *ctx, bool is_new),
	void (*on_failed)(void *ctx), void *ctx);
void stack_free(struct stack *stack);
void stack_start(struct stack *stack);

/* Has been looked for. */
bool stack_is_known(const struct stack *stack);
/* NULL: there is none. */
const char *stack_id(const struct stack *stack);
/* The number of the last question for it that was answered. */
uint64_t stack_listed(const struct stack *stack);
/* Why it cannot be found or made; NULL: it can. */
const char *stack_error(const struct stack *stack);
/* It has to be there: makes it if it is not. */
void stack_need(struct stack *stack);
/* It may not be there any more. */
void stack_invalidate(struct stack *stack);
