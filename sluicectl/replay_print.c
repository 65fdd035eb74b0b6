// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/replay_print.h"

#include "common/json.h"
#include "sluicectl/command_output.h"

#include <stdio.h>

/* What a query of a log says is nobody's to read. */
static struct str target_of(const struct replay_request *request, bool *ret_is_cut)
{
	const char *mark = request->is_of_log ? str_find(request->target, '?') : NULL;
	*ret_is_cut = mark != NULL;
	return mark != NULL ? (struct str){request->target.p, (size_t)(mark - request->target.p)}
			    : request->target;
}

/* ---- for people ---- */

static void print_request(const struct replay_request *request)
{
	bool is_cut = false;
	struct str target = target_of(request, &is_cut);
	fputs("    ", stdout);
	command_print_clean(request->method);
	putchar(' ');
	command_print_clean(request->host);
	command_print_clean(target);
	puts(is_cut ? "?..." : "");
}

static void print_value(struct str value)
{
	if (value.p == NULL)
		fputs("none", stdout);
	else
		command_print_clean(value);
}

static void print_group(const struct replay_group *group)
{
	const struct replay_difference *what = &group->what;
	printf("%s ", replay_kind_word(what->kind));
	if (what->name.len != 0 && what->kind != REPLAY_LOCATION) {
		command_print_clean(what->name);
		fputs(": ", stdout);
	}
	print_value(what->old);
	fputs(" -> ", stdout);
	print_value(what->new);
	printf(" (%zu %s)\n", group->count, group->count == 1 ? "request" : "requests");
	for (size_t i = 0; i < REPLAY_EXAMPLES_MAX && i < group->count; i++)
		print_request(group->examples[i]);
}

static void print_groups(const struct replay_tally *tally, bool are_grave, const char *title)
{
	bool is_first = true;
	for (size_t i = 0; i < tally->group_count; i++) {
		const struct replay_group *group = &tally->groups[i];
		if (replay_kind_is_grave(group->what.kind) != are_grave)
			continue;
		if (is_first)
			printf("\n== %s ==\n\n", title);
		is_first = false;
		print_group(group);
	}
}

static void print_ignored(const struct replay_criteria *criteria)
{
	fputs("not compared:", stdout);
	for (size_t i = 0; replay_ignored_name(i) != NULL; i++)
		printf("%s %s", i != 0 ? "," : "", replay_ignored_name(i));
	for (size_t i = 0; i < criteria->ignored->count; i++) {
		fputs(", ", stdout);
		command_print_clean(str_from(criteria->ignored->items[i]));
	}
	printf(", values of cookies, Content-Type of errors and redirects%s\n",
		criteria->bodies ? "" : ", bodies");
}

static void print_left_out(const struct replay_requests *requests)
{
	const struct {
		size_t count;
		const char *what;
	} all[] = {
		{requests->left_out, "requests beyond --requests were not sent"},
		{requests->unsafe, "lines of the log have a method that may change something"},
		{requests->homeless, "lines of the log say no host: give --host, or manifests"},
		{requests->unusable, "paths or lines are no request that can be sent"},
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].count != 0)
			printf("left out: %zu %s\n", all[i].count, all[i].what);
	}
}

void replay_print_people(const struct replay_result *result)
{
	const struct replay_tally *tally = result->tally;
	printf("old: %s\nnew: %s\n", result->old_url, result->new_url);
	print_groups(tally, true, "Other answers");
	print_groups(tally, false, "Other headers");
	printf("\n== In short ==\n\n");
	printf("%zu requests to each: %zu answered the same, %zu otherwise (%zu of them not at "
	       "all), %zu with other headers only, %zu now so and now so\n",
		tally->asked + tally->unsteady, tally->same, tally->grave, tally->unanswered,
		tally->light, tally->unsteady);
	if (tally->ungrouped != 0)
		printf("%zu more differences are not told one by one\n", tally->ungrouped);
	print_left_out(result->requests);
	print_ignored(result->criteria);
	if (tally->grave != 0)
		puts("do not move yet: find out why these answers differ");
	else if (tally->light != 0)
		puts("clients get the same answers with other headers: move if these do not "
		     "matter");
	else
		puts("clients get the same answers");
}

/* ---- JSON ---- */

static struct json *add_request(struct json *array, const struct replay_request *request)
{
	bool is_cut = false;
	struct json *object = json_push_object(array);
	json_add_str(object, "method", request->method);
	json_add_str(object, "host", request->host);
	json_add_str(object, "target", target_of(request, &is_cut));
	json_add_bool(object, "shortened", is_cut);
	return object;
}

static void add_group(struct json *array, const struct replay_group *group)
{
	struct json *object = json_push_object(array);
	json_add_str(object, "kind", str_from(replay_kind_word(group->what.kind)));
	json_add_str(object, "name", group->what.name);
	if (group->what.old.p != NULL)
		json_add_str(object, "old", group->what.old);
	if (group->what.new.p != NULL)
		json_add_str(object, "new", group->what.new);
	json_add_bool(object, "grave", replay_kind_is_grave(group->what.kind));
	json_add_int(object, "requests", (int64_t)group->count);
	struct json *examples = json_add_array(object, "examples");
	for (size_t i = 0; i < REPLAY_EXAMPLES_MAX && i < group->count; i++)
		(void)add_request(examples, group->examples[i]);
}

static void add_summary(struct json *document, const struct replay_result *result)
{
	const struct {
		const char *name;
		size_t count;
	} all[] = {
		{"requests", result->tally->asked + result->tally->unsteady},
		{"same", result->tally->same},
		{"other", result->tally->grave},
		{"unanswered", result->tally->unanswered},
		{"headers", result->tally->light},
		{"unsteady", result->tally->unsteady},
		{"ungrouped", result->tally->ungrouped},
		{"left-out", result->requests->left_out},
		{"unsafe", result->requests->unsafe},
		{"without-host", result->requests->homeless},
		{"unusable", result->requests->unusable},
	};
	struct json *summary = json_add_object(document, "summary");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		json_add_int(summary, all[i].name, (int64_t)all[i].count);
}

int replay_print_json(const struct replay_result *result, struct buf *out)
{
	struct json *document = json_new_object();
	json_add_str(document, "old", str_from(result->old_url));
	json_add_str(document, "new", str_from(result->new_url));
	struct json *groups = json_add_array(document, "differences");
	for (size_t i = 0; i < result->tally->group_count; i++)
		add_group(groups, &result->tally->groups[i]);
	struct json *ignored = json_add_array(document, "ignored");
	for (size_t i = 0; replay_ignored_name(i) != NULL; i++)
		json_push_str(ignored, str_from(replay_ignored_name(i)));
	for (size_t i = 0; i < result->criteria->ignored->count; i++)
		json_push_str(ignored, str_from(result->criteria->ignored->items[i]));
	add_summary(document, result);
	int err = json_print(document, out);
	json_free(document);
	return err;
}
