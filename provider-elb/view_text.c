// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/view.h"

#include <stdarg.h>

static const char *const protocols[] = {
	[ELB_HTTP] = "HTTP", [ELB_HTTPS] = "HTTPS", [ELB_TCP] = "TCP", [ELB_OTHER] = ""};

struct page {
	const struct view *view;
	struct buf *out;
	int err;
};

/* The first error stays; nothing is written after it. */
[[gnu::format(printf, 2, 3)]] static void print(struct page *page, const char *format, ...)
{
	va_list args;
	if (page->err != 0)
		return;
	va_start(args, format);
	page->err = buf_vprintf(page->out, format, args);
	va_end(args);
}

static struct str pool_of(const struct wanted_balancer *balancer, struct str group)
{
	for (size_t i = 0; i < balancer->groups.count; i++) {
		if (str_eq(balancer->groups.items[i].name, group))
			return balancer->groups.items[i].pool;
	}
	return STR_NONE;
}

static void print_action(
	struct page *page, const struct wanted_balancer *balancer, const struct elb_action *action)
{
	if (action->type == ELB_FIXED_RESPONSE) {
		print(page, "answer %llu \"%.*s\"\n", (unsigned long long)action->status,
			STR_FMT(action->body));
		return;
	}
	for (size_t i = 0; i < action->groups.count; i++) {
		struct str group = action->groups.items[i].group;
		struct str pool = pool_of(balancer, group);
		print(page, "%s%.*s (%.*s)\n", i == 0 ? "" : ", ", STR_FMT(pool), STR_FMT(group));
	}
}

static void print_condition(struct page *page, const struct elb_condition *condition)
{
	print(page, "%s %s", condition->field == ELB_FIELD_HOST ? "host" : "path",
		condition->is_regex ? "matches " : "");
	for (size_t i = 0; i < condition->values.count; i++)
		print(page, "%s%.*s", i == 0 ? "" : " or ", STR_FMT(condition->values.items[i]));
}

static void print_rules(struct page *page, const struct wanted_balancer *balancer,
	const struct elb_listener *listener)
{
	for (size_t i = 0; i < listener->rules.count; i++) {
		const struct elb_rule *rule = &listener->rules.items[i];
		print(page, "    %5llu ", (unsigned long long)rule->priority);
		for (size_t k = 0; k < rule->conditions.count; k++) {
			print(page, "%s", k == 0 ? "" : ", ");
			print_condition(page, &rule->conditions.items[k]);
		}
		print(page, " -> ");
		print_action(page, balancer, &rule->action);
	}
	print(page, "    otherwise -> ");
	print_action(page, balancer, &listener->default_action);
}

static void print_listener(struct page *page, const struct wanted_balancer *balancer,
	const struct elb_listener *listener)
{
	print(page, "  port %llu %s", (unsigned long long)listener->port,
		protocols[listener->protocol]);
	if (listener->protocol == ELB_HTTPS) {
		print(page, ", %.*s, default %.*s", STR_FMT(listener->ssl_policy),
			STR_FMT(listener->default_certificate));
		for (size_t i = 0; i < listener->certificates.count; i++)
			print(page, "%s%.*s", i == 0 ? ", more " : ", ",
				STR_FMT(listener->certificates.items[i]));
	}
	print(page, "\n");
	print_rules(page, balancer, listener);
}

static void print_group(
	struct page *page, const struct elb_group *group, const struct elb_target_list *targets)
{
	const struct elb_health_check *check = &group->health_check;
	print(page, "  targets of %.*s (%.*s), %.*s%s%.*s%s\n", STR_FMT(group->pool),
		STR_FMT(group->name), STR_FMT(group->protocol), group->version.len != 0 ? " " : "",
		STR_FMT(group->version), group->is_ipv6 ? ", IPv6" : "");
	print(page, "    health check %.*s%s%.*s%s%.*s at %.*s, every %llu s\n",
		STR_FMT(check->protocol), check->path.len != 0 ? " " : "", STR_FMT(check->path),
		check->matcher.len != 0 ? " " : "", STR_FMT(check->matcher), STR_FMT(check->port),
		(unsigned long long)check->interval_s);
	for (size_t i = 0; i < group->attributes.count; i++)
		print(page, "    %.*s = %.*s\n", STR_FMT(group->attributes.items[i].key),
			STR_FMT(group->attributes.items[i].value));
	for (size_t i = 0; i < targets->count; i++)
		print(page, "    %.*s port %llu%s\n", STR_FMT(targets->items[i].ip),
			(unsigned long long)targets->items[i].port,
			targets->items[i].is_elsewhere ? " (outside the VPC)" : "");
	if (targets->count == 0)
		print(page, "    no targets\n");
}

static void print_balancer(struct page *page, size_t index)
{
	const struct view *view = page->view;
	const struct wanted_balancer *balancer = &view->wanted->balancers[index];
	print(page, "%s %.*s, %.*s, %.*s\n",
		balancer->type == ELB_APPLICATION ? "application load balancer"
						  : "network load balancer",
		STR_FMT(balancer->name), STR_FMT(view->settings->scheme),
		STR_FMT(view->settings->ip_address_type));
	for (size_t i = 0; i < balancer->listeners.count; i++)
		print_listener(page, balancer, &balancer->listeners.items[i]);
	for (size_t i = 0; i < balancer->groups.count; i++)
		print_group(page, &balancer->groups.items[i], &view->targets[index][i]);
}

int view_text(const struct view *view, struct buf *out)
{
	struct page page = {.view = view, .out = out};
	print(&page, "%.*s/%.*s (%.*s)\n", STR_FMT(view->lb->namespace), STR_FMT(view->lb->name),
		STR_FMT(view->lb->key.id));
	for (size_t i = 0; i < view->wanted->count; i++)
		print_balancer(&page, i);
	for (size_t i = 0; i < view->wanted->notices.count; i++) {
		const struct lb_notice *notice = &view->wanted->notices.items[i];
		print(&page, "notice%s%.*s: %.*s: %.*s\n", notice->ingress.len != 0 ? " to " : "",
			STR_FMT(notice->ingress), STR_FMT(notice->reason),
			STR_FMT(notice->message));
	}
	return page.err;
}
