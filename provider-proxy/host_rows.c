// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/host_rows.h"

#include "common/cipher_names.h"
#include "common/must.h"
#include "proto/message.h"
#include "provider-common/plain_rule.h"
#include "provider-proxy/asking_checks.h"
#include "provider-proxy/checks.h"
#include "provider-proxy/paths.h"
#include "provider-proxy/policy_checks.h"

void host_rows_refuse(struct host_job *job, size_t index, const char *reason, struct str message)
{
	const struct virtual_host *value = job->value;
	struct notice_owner owner =
		notice_of_ingress(value->load_balancer, value->rules.items[index].ingress);
	struct str key = arena_printf(job->arena, "%s/%zu", job->notice_key.text, index);
	notices_set(job->notices, "route", key, &owner, reason, message);
	job->has_notices = true;
}

/* ---- rules ---- */

static void refuse_path(struct host_job *job, size_t index)
{
	struct str path = job->value->rules.items[index].path;
	host_rows_refuse(job, index, "PathRefused",
		arena_printf(job->arena,
			"the path \"%.*s\" of host \"%.*s\" cannot be served: it must begin "
			"with / and have at most %d printable ASCII characters but "
			"# and ?, and at most %d elements",
			(int)(path.len < 200 ? path.len : 200), path.p, STR_FMT(job->value->host),
			CHECK_PATH_LEN_MAX, CHECK_PATH_ELEMENTS_MAX));
}

static size_t read_rules(struct host_job *job, struct path_entry **ret)
{
	const struct virtual_host *value = job->value;
	struct arena *arena = job->arena;
	struct path_entry *entries = arena_calloc(arena, value->rules.count + 1, sizeof(*entries));
	size_t count = 0;
	for (size_t i = 0; i < value->rules.count; i++) {
		const struct path_rule *rule = &value->rules.items[i];
		/* In place of a path there may be a regular expression. */
		struct str path = str_is_empty(rule->regex) ? rule->path : STR("/");
		if (value->decoded)
			path = paths_encode(path, arena);
		if (value->decoded ? !check_encoded_path(path) : !check_path(path)) {
			refuse_path(job, i);
			continue;
		}
		bool is_exact = rule->match == PATH_EXACT && str_is_empty(rule->regex);
		if (!is_exact && path.p[path.len - 1] == '/')
			path.len--;
		entries[count++] = (struct path_entry){
			.path = path,
			.lookup = arena_printf(arena, "%.*s/", STR_FMT(path)),
			.index = i,
			.is_exact = is_exact,
			.tls_only = rule->tls_only,
			.has_conditions = rule->conditions.count != 0,
		};
	}
	*ret = entries;
	return count;
}

/* ---- rows of a host ---- */

/* What rules of a host become rows of. */
struct making {
	struct host_job *job;
	struct name name; /* of the host on listeners of its kind */
	bool has_regex;
	bool is_direct;             /* the row of the host may lead there */
	bool is_only;               /* there is one row, for all requests of the host */
	struct str client;          /* the key of what it wants of its clients' certificates */
	const char *client_problem; /* why that cannot be had */
};

static const struct path_rule *rule_of(const struct making *making, const struct path_entry *entry)
{
	return &making->job->value->rules.items[entry->index];
}

static struct str owner_of(const struct making *making, const struct path_rule *rule)
{
	if (!making->job->names_owners)
		return STR_NONE;
	if (!check_owner(rule->ingress))
		return STR("");
	return rule->unlogged ? arena_printf(making->job->arena, "-%.*s", STR_FMT(rule->ingress))
			      : rule->ingress;
}

static void close_rule(struct making *making, size_t index, const char *problem)
{
	host_rows_refuse(making->job, index, "RuleRefused",
		arena_printf(making->job->arena, "a rule of host \"%.*s\" is answered with 503: %s",
			STR_FMT(making->job->value->host), problem));
}

static void fill_rule(
	struct making *making, const struct path_entry *entry, struct route_rule *ret_rule)
{
	const struct path_rule *rule = rule_of(making, entry);
	const char *problem = rule_problem(rule);
	if (problem == NULL)
		problem = making->client_problem;
	*ret_rule = (struct route_rule){
		.rule = rule,
		.path = entry->path,
		.is_exact = entry->is_exact,
		.has_to_match = making->has_regex,
		.is_closed = problem != NULL,
		.owner = owner_of(making, rule),
		.client = making->client,
	};
	if (!str_is_empty(rule->pool))
		ret_rule->pool = name_of(NAME_POOL, rule->pool);
	if (!str_is_empty(rule->policy))
		ret_rule->policy = name_of(NAME_POLICY, rule->policy);
	if (problem != NULL)
		close_rule(making, entry->index, problem);
}

/* Of the host and of all that the rules say, so that equal rules of two paths are one route. */
static struct name name_route(struct making *making, const struct path_row *row)
{
	struct arena *arena = making->job->arena;
	struct virtual_host value = {.match = HOST_ANY, .decoded = making->job->value->decoded};
	struct schema_error error;
	struct buf *text = making->job->text;
	static struct client_tls any_client;
	value.key = (struct lb_key){.kind = LB_VIRTUAL_HOST, .id = making->job->value->key.id};
	value.load_balancer = name_str(&making->name);
	value.passthrough = row->cut != NULL;
	if (making->client.len != 0)
		value.client_tls = &any_client;
	value.rules.count = row->count;
	value.rules.items = arena_calloc(arena, row->count + 1, sizeof(struct path_rule));
	for (size_t i = 0; i < row->count; i++) {
		value.rules.items[i] = *rule_of(making, row->rules[i]);
		value.rules.items[i].ingress = owner_of(making, rule_of(making, row->rules[i]));
		value.rules.items[i].tls_only = false;
	}
	buf_clear(text);
	must(schema_encode(message_schema(MESSAGE_UPSERT, RECORD_NONE, LB_VIRTUAL_HOST), &value,
		     text, &error) == 0);
	return name_of(NAME_ROUTE, buf_str(text));
}

/* A pool that nobody has, so that the answer is 503. */
static struct str nowhere(struct making *making)
{
	struct name name = name_of(
		NAME_POOL, arena_printf(making->job->arena, "\nclosed\n%s", making->name.text));
	return arena_str(making->job->arena, name_str(&name));
}

static struct str write_route(struct making *making, const struct path_row *row)
{
	const struct route_writer *writer = making->job->writer;
	struct arena *arena = making->job->arena;
	struct route_rule *rules = arena_calloc(arena, row->count + 1, sizeof(*rules));
	struct route route = {.rules = rules, .is_decoded = making->job->value->decoded};
	for (size_t i = 0; i < row->count; i++)
		fill_rule(making, row->rules[i], &rules[route.count++]);
	if (row->cut != NULL) {
		static const struct path_rule nothing = {0};
		rules[route.count++] = (struct route_rule){.rule = &nothing, .is_closed = true};
		close_rule(making, row->cut->index,
			"there are too many conditional rules for its path");
	}
	route.name = name_route(making, row);
	const char *problem =
		writer != NULL ? writer->write_route(writer->ctx, &route, &making->job->draft)
			       : "it says more than this proxy can do";
	if (problem == NULL)
		return arena_str(arena, name_str(&route.name));
	close_rule(making, row->entry->index, problem);
	return nowhere(making);
}

/* The pool or route of the row. */
static struct str lead(struct making *making, const struct path_row *row)
{
	const struct path_rule *first = rule_of(making, row->rules[0]);
	if (!rule_is_plain(first) || making->has_regex || making->client.len != 0)
		return write_route(making, row);
	struct name pool = name_of(NAME_POOL, first->pool);
	return making->job->names_owners ? arena_printf(making->job->arena, "%s|%.*s", pool.text,
						   STR_FMT(owner_of(making, first)))
					 : arena_str(making->job->arena, name_str(&pool));
}

static void add_path(struct making *making, const struct path_row *row)
{
	struct arena *arena = making->job->arena;
	const struct path_entry *entry = row->entry;
	struct str rest = entry->is_exact ? entry->path : entry->lookup;
	struct str value = lead(making, row);
	if (making->is_only && !entry->is_exact && str_eq_c(entry->lookup, "/")) {
		making->job->target = value;
		/* Somebody may look it up by the host's name still. */
		if (!making->job->has_paths)
			return;
	}
	making->job->has_paths = true;
	row_draft_add(&making->job->draft, entry->is_exact ? ROW_WHOLE : ROW_PREFIX,
		arena_printf(arena, "%s%.*s", making->name.text, STR_FMT(rest)), value);
}

/* With regular expressions all rules are compared, in order, until one takes all requests. */
static void add_one_route(struct making *making, struct path_entry *entries, size_t count)
{
	static const struct path_entry root = {.lookup = {"/", 1}};
	struct arena *arena = making->job->arena;
	struct path_row row = {.entry = &root};
	row.rules = arena_calloc(arena, count + 1, sizeof(*row.rules));
	for (size_t i = 0; i < count; i++)
		row.rules[row.count++] = &entries[i];
	making->is_only = making->is_direct;
	if (row.count != 0)
		add_path(making, &row);
}

static void add_rules(
	struct making *making, const struct path_entry *entries, size_t count, bool is_plain)
{
	struct arena *arena = making->job->arena;
	struct path_entry *mine = arena_calloc(arena, count + 1, sizeof(*mine));
	struct path_row *rows;
	size_t mine_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (!is_plain || !entries[i].tls_only)
			mine[mine_count++] = entries[i];
	}
	if (making->has_regex) {
		add_one_route(making, mine, mine_count);
		return;
	}
	size_t row_count = paths_to_rows(mine, mine_count, arena, &rows);
	making->is_only = making->is_direct && row_count == 1;
	for (size_t i = 0; i < row_count; i++)
		add_path(making, &rows[i]);
}

static bool any_tls_only(const struct path_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (entries[i].tls_only)
			return true;
	}
	return false;
}

static bool any_regex(const struct virtual_host *value)
{
	for (size_t i = 0; i < value->rules.count; i++) {
		if (!str_is_empty(value->rules.items[i].regex))
			return true;
	}
	return false;
}

/* So that whoever looks up a path as it was sent finds none. */
static struct name name_in_keys(const struct host_job *job, struct name name)
{
	if (job->value->decoded && job->form == ROUTES_DIRECT)
		name.text[0] = NAME_DECODED_PATHS;
	return name;
}

/* The name of the load balancer, a colon and the host. */
static struct str host_key(const struct host_job *job)
{
	struct name balancer = name_of(NAME_LOAD_BALANCER, job->value->load_balancer);
	return arena_printf(job->arena, "%s:%.*s", balancer.text,
		STR_FMT(str_is_empty(job->value->host) ? STR("*") : job->value->host));
}

static void add_handshake(struct host_job *job)
{
	const struct host_handshake *handshake = job->value->handshake;
	const struct route_writer *writer = job->writer;
	if (handshake == NULL)
		return;
	const struct cipher_names names = {handshake->ciphers.items, handshake->ciphers.count};
	if (writer != NULL && writer->write_handshake != NULL && cipher_names_are_good(&names))
		writer->write_handshake(host_key(job), handshake, &job->draft);
	else if (job->value->rules.count != 0)
		host_rows_refuse(job, 0, "TrafficPolicyRefused",
			arena_printf(job->arena,
				"ciphers of its own for host \"%.*s\" are left out: this proxy "
				"does not know them",
				STR_FMT(job->value->host)));
}

/* Whoever looks up a path then finds a route, which says that certificates are wanted. */
static void add_client(struct making *making)
{
	struct host_job *job = making->job;
	const struct client_tls *client = job->value->client_tls;
	const struct route_writer *writer = job->writer;
	if (client == NULL)
		return;
	making->client = host_key(job);
	making->client_problem = client_tls_problem(client);
	if (making->client_problem == NULL)
		making->client_problem =
			writer != NULL && writer->write_client != NULL
				? writer->write_client(
					  writer->ctx, making->client, client, &job->draft)
				: "this proxy cannot check certificates of clients";
}

void host_rows_collect(struct host_job *job)
{
	struct arena *arena = job->arena;
	struct path_entry *entries;
	size_t count = read_rules(job, &entries);
	bool has_plain = any_tls_only(entries, count);
	bool is_direct = !has_plain && job->form == ROUTES_DIRECT && !job->value->decoded;
	struct making making = {.job = job,
		.name = name_in_keys(job, job->name),
		.has_regex = any_regex(job->value),
		.is_direct = is_direct};
	job->target = name_str(&job->name);
	add_handshake(job);
	add_client(&making);
	add_rules(&making, entries, count, false);
	if (!has_plain)
		return;
	struct name plain = name_of(
		job->name.text[0], arena_printf(arena, "%.*s\nplain", STR_FMT(job->value->key.id)));
	making.name = name_in_keys(job, plain);
	add_rules(&making, entries, count, true);
	row_draft_add(&job->draft, ROW_WHOLE, arena_printf(arena, "plain:%s", job->name.text),
		arena_str(arena, name_str(&plain)));
}
