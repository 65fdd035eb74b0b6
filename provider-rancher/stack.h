// SPDX-License-Identifier: Apache-2.0
/*
 * The stack that holds the load balancers: found by its name, created when it is needed for the first time, and looked for again when
 * somebody has removed it. It has the name and the externalId that the Go original gave it, because Rancher removes such stacks together
 * with Kubernetes.
 */
#pragma once

#include "provider-rancher/client.h"

struct stack;

/* on_known(): it was looked for; `is_new` when the result is another than before. on_failed(): it could not be looked for, or created.
 * Keeps the pointers; `external_id` is that of our stack. */
struct stack *stack_new(const struct client *client, const struct config *config,
	const char *external_id, void (*on_known)(void *ctx, bool is_new),
	void (*on_failed)(void *ctx), void *ctx);
void stack_free(struct stack *stack);
void stack_start(struct stack *stack);

/* Has been looked for. */
bool stack_is_known(const struct stack *stack);
/* NULL: there is none. */
const char *stack_id(const struct stack *stack);
/* The number of the last request for it that was answered. */
uint64_t stack_listed(const struct stack *stack);
/* Why it could not be found or created; NULL: nothing has failed. */
const char *stack_error(const struct stack *stack);
/* It has to exist: creates it if it does not. */
void stack_need(struct stack *stack);
/* It may not exist any more: looks for it again. */
void stack_invalidate(struct stack *stack);
