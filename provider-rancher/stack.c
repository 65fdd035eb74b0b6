// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/stack.h"

#include "common/ascii.h"
#include "common/backoff.h"
#include "common/xalloc.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/query.h"

struct stack {
	const struct client *client;
	const struct config *config;
	const char *external_id;
	void (*on_known)(void *ctx, bool is_new);
	void (*on_failed)(void *ctx);
	void *ctx;
	struct query *query;
	char *id;       /* NULL: no stack */
	char *found_id; /* from the response being read */
	bool is_foreign;
	bool is_needed;
	/* Creation. */
	struct queue_entry entry;
	struct api_request *request;
	char *error;
	struct backoff backoff;
	uint64_t listed; /* number of the last answered request */
};

/* ---- finding ---- */

static char *path(void *ctx)
{
	struct stack *stack = ctx;
	const struct config *config = stack->config;
	free(stack->found_id);
	stack->found_id = NULL;
	return xasprintf(
		"/stacks?name=%s&removed_null=1&limit=%d", config->stack, (int)config->page_size);
}

/* By name alone: with a stack of the same name but another externalId, ours could not be created. */
static void on_item(void *ctx, const struct json *item, uint64_t number)
{
	struct stack *stack = ctx;
	struct rancher_stack found;
	const char *name = stack->config->stack;
	/* A filter that the server does not know is ignored by it: the answer is looked at. */
	if (api_read_stack(item, &found) != NULL || found.state == SERVER_STATE_REMOVED ||
		!ascii_eq_nocase(found.name, str_from(name)))
		return;
	bool is_ours = str_eq_c(found.external_id, stack->external_id);
	if (stack->found_id != NULL && !is_ours)
		return;
	free(stack->found_id);
	stack->found_id = str_dup(found.id);
	stack->is_foreign = !is_ours;
}

static bool is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Returns whether the id has changed. */
static bool set_id(struct stack *stack, const char *id, bool is_made)
{
	if (is_same(stack->id, id))
		return false;
	free(stack->id);
	stack->id = id != NULL ? xstrdup(id) : NULL;
	if (id == NULL)
		return true;
	/* Somebody else has created it first. */
	if (stack->entry.is_waiting)
		request_queue_leave(stack->client->queue, &stack->entry);
	log_event(is_made ? &EV_STACK_MADE : &EV_STACK_FOUND, LOG_STR("id", id));
	if (!is_made && stack->is_foreign)
		log_event(&EV_STACK_FOREIGN, LOG_STR("id", id));
	return true;
}

static void request_creation(struct stack *stack)
{
	if (stack->id == NULL && stack->is_needed && stack_is_known(stack) &&
		!stack->entry.is_waiting && !stack->entry.is_held)
		request_queue_join(stack->client->queue, &stack->entry, true);
}

static void on_end(void *ctx, uint64_t number)
{
	struct stack *stack = ctx;
	stack->listed = number;
	bool is_new = set_id(stack, stack->found_id, false);
	request_creation(stack);
	stack->on_known(stack->ctx, is_new);
}

static void on_query_failed(void *ctx, const struct api_answer *answer)
{
	struct stack *stack = ctx;
	stack->on_failed(stack->ctx);
}

static const struct query_ops query_ops = {path, on_item, on_end, on_query_failed};

/* ---- creation ---- */

static void on_made(void *ctx, const struct api_answer *answer)
{
	struct stack *stack = ctx;
	struct rancher_stack made;
	stack->request = NULL;
	client_note_answer(stack->client, &stack->entry, answer);
	request_queue_leave(stack->client->queue, &stack->entry);
	free(stack->error);
	stack->error = NULL;
	if (answer->outcome == API_OK && api_read_stack(answer->body, &made) == NULL) {
		char *id = str_dup(made.id);
		backoff_succeeded(&stack->backoff);
		set_id(stack, id, true);
		free(id);
		stack->on_known(stack->ctx, true);
		return;
	}
	/* Somebody else may have created it, the response may have been lost, or a stack being removed still holds the name:
	 * looks for it again and goes on from there. */
	stack->error = xasprintf("the stack cannot be made: %s", answer->text);
	log_event(&EV_STACK_FAILED, LOG_STR("reason", answer->text));
	query_want_after(stack->query, backoff_next(&stack->backoff));
	stack->on_failed(stack->ctx);
}

static void on_turn(struct queue_entry *entry)
{
	struct stack *stack = (struct stack *)((char *)entry - offsetof(struct stack, entry));
	struct json *body = json_new_object();
	json_add_str(body, "name", str_from(stack->config->stack));
	json_add_str(body, "externalId", str_from(stack->external_id));
	struct api_call call = {
		.method = "POST",
		.path = "/stacks",
		.body = body,
		.on_done = on_made,
		.ctx = stack,
	};
	stack->request = api_start(stack->client->api, &call);
	json_free(body);
}

void stack_need(struct stack *stack)
{
	stack->is_needed = true;
	/* After a failed creation it is looked up first, after a while. */
	if (stack->error == NULL)
		request_creation(stack);
}

void stack_invalidate(struct stack *stack)
{
	query_invalidate(stack->query);
}

/* ---- lifecycle ---- */

bool stack_is_known(const struct stack *stack)
{
	return query_is_answered(stack->query);
}

const char *stack_id(const struct stack *stack)
{
	return stack->id;
}

uint64_t stack_listed(const struct stack *stack)
{
	return stack->listed;
}

const char *stack_error(const struct stack *stack)
{
	return stack->error != NULL ? stack->error : query_error(stack->query);
}

struct stack *stack_new(const struct client *client, const struct config *config,
	const char *external_id, void (*on_known)(void *ctx, bool is_new),
	void (*on_failed)(void *ctx), void *ctx)
{
	struct stack *stack = xcalloc(1, sizeof(*stack));
	stack->client = client;
	stack->config = config;
	stack->external_id = external_id;
	stack->on_known = on_known;
	stack->on_failed = on_failed;
	stack->ctx = ctx;
	stack->entry.on_turn = on_turn;
	backoff_init(&stack->backoff, 0.5, 30);
	struct query_config query_config = {
		.client = client,
		.name = "stack",
		.is_list = true,
		.ops = &query_ops,
		.ctx = stack,
	};
	stack->query = query_new(&query_config);
	return stack;
}

void stack_free(struct stack *stack)
{
	if (stack == NULL)
		return;
	query_free(stack->query);
	api_cancel(stack->request);
	request_queue_leave(stack->client->queue, &stack->entry);
	free(stack->id);
	free(stack->found_id);
	free(stack->error);
	free(stack);
}

void stack_start(struct stack *stack)
{
	query_want(stack->query);
}
