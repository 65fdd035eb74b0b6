// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/request_print.h"

#include "sluicectl/command_output.h"

static const char label_format[] = "%-15s";

static void print_line(const char *label, struct str text)
{
	printf(label_format, label);
	command_print_clean(text.len != 0 ? text : STR("-"));
	fputc('\n', stdout);
}

bool request_is_unserved(const struct decision *decision)
{
	for (size_t i = 0; i < decision->steps.count; i++) {
		const struct decision_step *step = &decision->steps.items[i];
		if (step->is_end)
			return step->kind == STEP_ROUTE || step->kind == STEP_POLICY ||
			       step->kind == STEP_POOL;
	}
	return false;
}

static void print_request(const struct decision_request *request)
{
	printf(label_format, "Request");
	command_print_clean(request->method);
	fputs(request->is_tls ? " https://" : " http://", stdout);
	command_print_clean(request->host);
	command_print_clean(request->target);
	fputs(" from ", stdout);
	command_print_clean(request->client);
	fputc('\n', stdout);
}

static void print_rule(const struct decision *decision)
{
	static const char *const matches[] = {" (prefix)", " (prefix)", " (exact)"};
	const struct path_rule *rule = decision->rule;
	print_line("Host", decision->host == NULL          ? STR_NONE
			   : decision->host->host.len != 0 ? decision->host->host
							   : STR("* (any)"));
	if (rule == NULL)
		return;
	printf(label_format, "Rule");
	command_print_clean(rule->regex.len != 0 ? rule->regex : rule->path);
	printf("%s%s\n", rule->regex.len != 0 ? " (regular expression)" : matches[rule->match],
		rule->conditions.count != 0 ? ", with conditions" : "");
	print_line("Ingress", rule->ingress);
}

static void print_steps(const struct decision *decision, bool has_color)
{
	puts("Steps");
	for (size_t i = 0; i < decision->steps.count; i++) {
		const struct decision_step *step = &decision->steps.items[i];
		const char *color = !has_color || !step->is_end ? ""
				    : decision->status >= 400   ? "\033[31m"
								: "\033[32m";
		printf("  %s%2zu %-17s", color, i + 1, decision_step_word(step->kind));
		command_print_clean(step->what);
		if (step->is_end)
			printf(" → %u", decision->status);
		fputs(color[0] != '\0' ? "\033[0m" : "", stdout);
		if (step->policy.len != 0) {
			fputs("  [Ingress ", stdout);
			command_print_clean(step->ingress);
			fputc(']', stdout);
		}
		fputc('\n', stdout);
	}
}

static void print_answer(const struct decision *decision)
{
	printf(label_format, "Answer");
	printf("%u, by the proxy\n", decision->status);
	for (size_t i = 0; i < decision->headers.count; i++) {
		fputs("  ", stdout);
		command_print_clean(decision->headers.items[i].name);
		fputs(": ", stdout);
		command_print_clean(decision->headers.items[i].value);
		fputc('\n', stdout);
	}
}

static void print_endpoints(const struct pool *pool)
{
	for (size_t i = 0; i < pool->endpoints.count; i++) {
		const struct pool_endpoint *endpoint = &pool->endpoints.items[i];
		bool is_v6 = str_find(endpoint->ip, ':') != NULL;
		fputs(i != 0 ? ", " : "    endpoints ", stdout);
		fputs(is_v6 ? "[" : "", stdout);
		command_print_clean(endpoint->ip);
		printf("%s:%llu%s", is_v6 ? "]" : "", (unsigned long long)endpoint->port,
			endpoint->active ? "" : " (gets no new requests)");
	}
	fputs(pool->endpoints.count != 0 ? "\n" : "", stdout);
}

static void print_pool(const struct decision_pool *pool, uint64_t sum)
{
	fputs("  ", stdout);
	command_print_clean(pool->id);
	if (pool->pool == NULL) {
		puts(": there is no such pool");
		return;
	}
	fputs(": Service ", stdout);
	command_print_clean(pool->pool->service.namespace);
	fputc('/', stdout);
	command_print_clean(pool->pool->service.name);
	printf(", port %llu", (unsigned long long)pool->pool->port);
	if (sum != pool->weight)
		printf(", %llu of %llu requests", (unsigned long long)pool->weight,
			(unsigned long long)sum);
	if (pool->active == 0)
		fputs(": no endpoint gets requests, 503", stdout);
	fputc('\n', stdout);
	print_endpoints(pool->pool);
}

static void print_page(const struct decision *decision)
{
	const struct decision_question *page =
		&decision->questions.items[decision->questions.count - 1];
	printf(label_format, "Answer");
	command_print_clean(page->pool);
	printf(" in place of the %u\n", decision->page_of);
	print_line("  is asked for", page->target);
	print_line("  as host", page->host);
}

static void print_backend(const struct decision *decision)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < decision->pools.count; i++)
		sum += decision->pools.items[i].weight;
	puts(decision->pools.count > 1 ? "Backends, one of" : "Backend");
	for (size_t i = 0; i < decision->pools.count; i++)
		print_pool(&decision->pools.items[i], sum);
	if (decision->is_passed_through)
		return;
	print_line("  is asked for", decision->target);
	print_line("  as host", decision->host_header);
}

void request_print(const struct load_balancer *balancer, const struct decision_request *request,
	const struct decision *decision, bool has_color)
{
	print_request(request);
	print_line("Load balancer", balancer->key.id);
	print_rule(decision);
	print_steps(decision, has_color);
	if (decision->status != 0)
		print_answer(decision);
	else if (decision->page_of != 0)
		print_page(decision);
	else
		print_backend(decision);
}
