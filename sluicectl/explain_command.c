// SPDX-License-Identifier: Apache-2.0
/* explain: of the running line, or of manifests. */
#include "common/xalloc.h"
#include "proto/inspection.h"
#include "sluicectl/commands.h"
#include "sluicectl/live.h"
#include "sluicectl/offline_commands.h"
#include "sluicectl/reasons.h"
#include "sluicectl/show.h"

#include <stdlib.h>
#include <string.h>

static const char red[] = "\033[31m";
static const char green[] = "\033[32m";
static const char plain[] = "\033[0m";

struct printing {
	const struct inspection_explanation *what;
	bool has_color;
	bool is_bad;
};

static void paint(const struct printing *p, const char *color, const char *text)
{
	printf("%s%s%s", p->has_color ? color : "", text, p->has_color ? plain : "");
}

static void print_line(const char *label, struct str text)
{
	printf("%-15s", label);
	command_print_clean(text.len != 0 ? text : STR("-"));
	fputc('\n', stdout);
}

static void print_list(const char *label, const struct str_list *list, const char *none)
{
	printf("%-15s", label);
	for (size_t i = 0; i < list->count; i++) {
		fputs(i != 0 ? ", " : "", stdout);
		command_print_clean(list->items[i]);
	}
	printf("%s\n", list->count == 0 ? none : "");
}

static void print_remedy(struct str reason, int indent)
{
	const char *remedy = reason_remedy(reason);
	if (remedy != NULL)
		printf("%*s→ %s\n", indent, "", remedy);
}

static void print_reason(struct printing *p, struct str reason, struct str message, int indent)
{
	printf("%*s", indent, "");
	paint(p, red, "✗ ");
	command_print_clean(reason);
	fputs(": ", stdout);
	command_print_clean(message);
	fputc('\n', stdout);
	print_remedy(reason, indent + 2);
	p->is_bad = true;
}

/* ---- routes ---- */

static void print_endpoints(const struct inspection_route *route)
{
	for (size_t i = 0; i < route->endpoints.count; i++) {
		fputs(i != 0 ? ", " : "      endpoints ", stdout);
		command_print_clean(route->endpoints.items[i].address);
		if (!str_eq(route->endpoints.items[i].state, STR("ready"))) {
			fputs(" (", stdout);
			command_print_clean(route->endpoints.items[i].state);
			fputc(')', stdout);
		}
	}
	fputs(route->endpoints.count != 0 ? "\n" : "", stdout);
}

static void print_excluded(const struct inspection_route *route)
{
	const struct str_list *hosts = &route->excluded_hosts;
	for (size_t i = 0; i < hosts->count; i++) {
		fputs(i != 0 ? ", " : "      not for ", stdout);
		command_print_clean(hosts->items[i]);
	}
	if (hosts->count != 0)
		printf("%s, which %s a virtual host of %s own\n",
			route->has_more_excluded ? " and more" : "",
			hosts->count == 1 ? "has" : "have", hosts->count == 1 ? "its" : "their");
}

static void print_route(struct printing *p, const struct inspection_route *route)
{
	static const char *const words[] = {"", " (prefix)", " (exact)"};
	fputs("  ", stdout);
	paint(p, route->is_served ? green : red, route->is_served ? "✓ " : "✗ ");
	if (route->listener.len != 0) {
		command_print_clean(route->listener);
	} else {
		command_print_clean(route->host.len != 0 ? route->host : STR("*"));
		if (route->path.len != 0)
			command_print_clean(route->path);
		else
			fputs(" (what no rule takes)", stdout);
		fputs(route->path.len != 0 ? words[route->match] : "", stdout);
		fputs(route->tls_only ? ", HTTPS only" : "", stdout);
	}
	if (route->service.len != 0) {
		fputs(" → Service ", stdout);
		command_print_clean(route->service);
		fputs(", port ", stdout);
		command_print_clean(route->port);
	}
	fputc('\n', stdout);
	print_excluded(route);
	print_endpoints(route);
	if (!route->is_served)
		print_reason(p, route->reason, route->message, 6);
}

/* ---- explanation ---- */

static void print_state(const struct inspection_explanation *e)
{
	printf("%-15s", "Load balancer");
	command_print_clean(e->load_balancer);
	if (e->provider.len != 0) {
		fputs(" by ", stdout);
		command_print_clean(e->provider);
	}
	if (e->state.len != 0) {
		fputs(": ", stdout);
		command_print_clean(e->state);
	}
	fputc('\n', stdout);
}

static void print_tls(const struct inspection_explanation *e)
{
	for (size_t i = 0; i < e->tls.count; i++) {
		const struct inspection_tls *tls = &e->tls.items[i];
		printf("%-15s", i == 0 ? "TLS" : "");
		if (tls->secret.len != 0)
			fputs("Secret ", stdout);
		command_print_clean(
			tls->secret.len != 0 ? tls->secret : STR("the default certificate"));
		for (size_t j = 0; j < tls->hosts.count; j++) {
			fputs(j == 0 ? " for " : ", ", stdout);
			command_print_clean(tls->hosts.items[j]);
		}
		fputc('\n', stdout);
	}
}

static void print_name(const struct inspection_explanation *e)
{
	printf("%-15s", str_eq(e->kind, STR("Service")) ? "Service" : "Ingress");
	command_print_clean(e->namespace);
	fputc('/', stdout);
	command_print_clean(e->name);
	fputc('\n', stdout);
}

static bool print_explanation(
	const struct inspection_explanation *e, const char *url, bool has_color)
{
	bool is_service = str_eq(e->kind, STR("Service"));
	struct printing p = {e, has_color, false};
	if (url != NULL)
		print_line("Request", str_from(url));
	if (e->name.len != 0)
		print_name(e);
	else if (e->load_balancer.len != 0)
		print_state(e);
	if (e->is_ours) {
		print_line("Class", e->class_name);
		print_state(e);
		print_list("Listens on", &e->listeners, "nothing");
		print_list("Addresses", &e->addresses, "none yet");
		print_tls(e);
		fputs(is_service ? "Ports\n" : url != NULL ? "Route\n" : "Routes\n", stdout);
	}
	for (size_t i = 0; i < e->routes.count; i++)
		print_route(&p, &e->routes.items[i]);
	if (e->problems.count != 0 || e->missing.len != 0)
		fputs("Problems\n", stdout);
	if (e->missing.len != 0)
		print_reason(&p, STR("NotWhole"), e->missing, 2);
	for (size_t i = 0; i < e->problems.count; i++)
		print_reason(&p, e->problems.items[i].reason, e->problems.items[i].message, 2);
	return !p.is_bad;
}

static bool is_good(const struct inspection_explanation *e)
{
	for (size_t i = 0; i < e->routes.count; i++) {
		if (!e->routes.items[i].is_served)
			return false;
	}
	return e->problems.count == 0 && e->missing.len == 0;
}

/* What is to be explained. */
struct subject {
	char *what;    /* "ingress/NAMESPACE/NAME", or a URL */
	char *target;  /* of the request to the translator */
	char *missing; /* what is to be said if there is no such object */
	bool is_url;
};

static int show(const struct args *args, const struct subject *subject,
	const struct inspection_explanation *explanation)
{
	enum output_form form = live_form(args);
	bool good = is_good(explanation);
	struct buf json;
	if (form == FORM_TABLE || form == FORM_WIDE) {
		(void)print_explanation(explanation, subject->is_url ? subject->what : NULL,
			command_has_color(args));
		return good ? CTL_EXIT_GOOD : CTL_EXIT_FINDINGS;
	}
	buf_init(&json, ASK_LEN_MAX);
	if (show_json(&inspection_explanation_schema, explanation, &json) == 0)
		show_print(stdout, buf_str(&json), form == FORM_YAML);
	buf_fini(&json);
	return good ? CTL_EXIT_GOOD : CTL_EXIT_FINDINGS;
}

/* ---- sources ---- */

static int explain_live(const struct args *args, const struct subject *subject)
{
	struct ask question;
	struct buf body;
	struct arena arena;
	struct inspection_explanation explanation;
	if (!live_open(args, &question))
		return CTL_EXIT_USAGE;
	buf_init(&body, ASK_LEN_MAX);
	arena_init(&arena);
	char *problem = NULL;
	enum ask_outcome outcome =
		live_explain(&question, subject->target, &body, &arena, &explanation, &problem);
	int code = outcome == ASK_GOOD ? show(args, subject, &explanation)
				       : live_complain(outcome, problem);
	arena_fini(&arena);
	buf_fini(&body);
	return code;
}

static int explain_offline(const struct args *args, const struct subject *subject)
{
	struct inspection_explanation explanation;
	int code = CTL_EXIT_GOOD;
	const struct line_request request = {
		.goal = LINE_EXPLANATION,
		.args = args,
		.provider = args->provider != NULL ? args->provider : OFFLINE_PROVIDER,
		.files = &args->files,
		.explained = subject->what,
	};
	struct line *line = line_run(&request, &code);
	if (line != NULL && line_explanation(line, &explanation)) {
		code = show(args, subject, &explanation);
	} else if (line != NULL) {
		command_complain(xstrdup(subject->missing));
		code = CTL_EXIT_NOT_FOUND;
	}
	line_free(line);
	return code;
}

/* ---- what is asked for ---- */

/* Takes "service/" off the front of what was asked for. */
static const char *take_kind(const char *given, enum record_kind *ret_kind)
{
	static const struct {
		struct str word;
		enum record_kind kind;
	} kinds[] = {{STR("ingress/"), RECORD_INGRESS}, {STR("service/"), RECORD_SERVICE}};
	*ret_kind = RECORD_INGRESS;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct str word = kinds[i].word;
		/* A namespace may have that name: two slashes make it a kind. */
		if (str_starts_with(str_from(given), word) &&
			strchr(given + word.len, '/') != NULL) {
			*ret_kind = kinds[i].kind;
			return given + word.len;
		}
	}
	return given;
}

/* A namespace has no dot, and a host nearly always has one. */
static bool is_url(const char *given)
{
	const char *dot = strchr(given, '.');
	return strstr(given, "://") != NULL || (dot != NULL && dot < given + strcspn(given, "/"));
}

static void take_url(const char *given, struct subject *ret_subject)
{
	char *url = xasprintf("%s%s", strstr(given, "://") != NULL ? "" : "http://", given);
	url[strcspn(url, "?#")] = '\0'; /* routes do not look at the rest */
	char *escaped = ask_escape(url);
	*ret_subject = (struct subject){
		.what = url,
		.target = xasprintf("/explain?url=%s", escaped),
		.missing = xstrdup("the translator does not explain requests"),
		.is_url = true,
	};
	free(escaped);
}

/* False: it is no NAMESPACE/NAME. */
static bool take_object(const char *given, struct subject *ret_subject)
{
	enum record_kind kind = RECORD_INGRESS;
	const char *name = take_kind(given, &kind);
	const char *slash = strchr(name, '/');
	if (slash == NULL || slash == name || slash[1] == '\0' || strchr(slash + 1, '/') != NULL)
		return false;
	char *namespace = str_dup((struct str){name, (size_t)(slash - name)});
	char *escaped_namespace = ask_escape(namespace);
	char *escaped_name = ask_escape(slash + 1);
	*ret_subject = (struct subject){
		.what = xasprintf("%s/%s", record_kind_word(kind), name),
		.target = xasprintf("/explain?kind=%s&namespace=%s&name=%s", record_kind_word(kind),
			escaped_namespace, escaped_name),
		.missing = xasprintf("there is no %s %s in these manifests",
			kind == RECORD_SERVICE ? "Service" : "Ingress", name),
	};
	free(escaped_name);
	free(escaped_namespace);
	free(namespace);
	return true;
}

int command_explain(const struct args *args)
{
	const char *given = args->rest.count == 1 ? args->rest.items[0] : "";
	struct subject subject;
	if (is_url(given)) {
		take_url(given, &subject);
	} else if (!take_object(given, &subject)) {
		fputs("sluicectl: explain needs NAMESPACE/NAME, of a Service "
		      "service/NAMESPACE/NAME, or the URL of a request\n",
			stderr);
		return CTL_EXIT_USAGE;
	}
	int code = args->files.count != 0 ? explain_offline(args, &subject)
					  : explain_live(args, &subject);
	free(subject.what);
	free(subject.target);
	free(subject.missing);
	return code;
}
