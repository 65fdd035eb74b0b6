// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/metadata.h"

#include "common/clock.h"
#include "common/http.h"
#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"

#include <bsd/sys/queue.h>
#include <strings.h>

static const double TIMEOUT_S = 1; /* it is on the same machine */
static const double TOKEN_LIFE_S = 21600;
static const double TOKEN_SPARE_S = 300; /* a token is not used in the last part of its life */
enum { ANSWER_LEN_MAX = 256 * 1024, CONNECTIONS_MAX = 4 };
static const char TOKEN_PATH[] = "latest/api/token";
static const char TOKEN_LIFE[] = "X-aws-ec2-metadata-token-ttl-seconds: 21600";

struct metadata_query {
	LIST_ENTRY(metadata_query) entry;
	struct metadata *metadata;
	char *path;
	struct http_request *request;
	bool is_token_asked; /* the request under way asks for a token */
	bool is_token_new;   /* a token that is refused was fetched for this query */
	void (*on_done)(void *ctx, struct str text, const char *problem);
	void *ctx;
};

LIST_HEAD(query_list, metadata_query);

struct metadata {
	char *base; /* ends in '/' */
	struct http *http;
	struct http_peer peer;
	struct query_list queries;
	struct secret token;
	double token_ends_at;
};

bool metadata_is_disabled(const struct aws_environment *environment)
{
	return aws_environment_is_true(environment, "AWS_EC2_METADATA_DISABLED");
}

static char *base_of(const struct aws_environment *environment)
{
	const char *base = aws_environment_get(environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *mode =
		aws_environment_get(environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
	if (base == NULL)
		base = mode != NULL && strcasecmp(mode, "ipv6") == 0 ? "http://[fd00:ec2::254]"
								     : "http://169.254.169.254";
	return xasprintf("%s%s", base, str_ends_with(str_from(base), STR("/")) ? "" : "/");
}

struct metadata *metadata_new(struct ev_loop *loop, const struct aws_environment *environment)
{
	struct metadata *metadata = xcalloc(1, sizeof(*metadata));
	metadata->base = base_of(environment);
	metadata->http = http_new(loop, "sluice-provider-elb/" SLUICE_VERSION, CONNECTIONS_MAX);
	/* No proxy could reach a link-local address of ours, and none may see the keys. */
	metadata->peer.proxy_url = xstrdup("");
	LIST_INIT(&metadata->queries);
	return metadata;
}

static void free_query(struct metadata_query *query)
{
	LIST_REMOVE(query, entry);
	free(query->path);
	free(query);
}

void metadata_cancel(struct metadata_query *query)
{
	http_cancel(query->request);
	free_query(query);
}

void metadata_free(struct metadata *metadata)
{
	if (metadata == NULL)
		return;
	while (!LIST_EMPTY(&metadata->queries))
		metadata_cancel(LIST_FIRST(&metadata->queries));
	http_free(metadata->http);
	http_peer_fini(&metadata->peer);
	secret_fini(&metadata->token);
	free(metadata->base);
	free(metadata);
}

/* ---- answers ---- */

static void send(struct metadata_query *query);

/* The query is out of the list when its owner hears of it, so that the owner may free everything then. */
static void finish(struct metadata_query *query, struct str text, const char *problem)
{
	void (*on_done)(void *ctx, struct str text, const char *problem) = query->on_done;
	void *ctx = query->ctx;
	free_query(query);
	on_done(ctx, text, problem);
}

static char *problem_of(const struct metadata_query *query, const struct http_result *result)
{
	const char *base = query->metadata->base;
	if (result->outcome == HTTP_E_TIMEOUT || result->outcome == HTTP_E_CONNECT)
		return xasprintf("instance metadata at %s does not answer (%s): outside of EC2 set "
				 "AWS_REGION and other "
				 "credentials; in a pod without the host's network use EKS Pod "
				 "Identity or IRSA, or "
				 "raise the hop limit in the instance's metadata options to 2",
			base, result->error);
	if (result->outcome != HTTP_ANSWERED)
		return xasprintf("instance metadata at %s: %s", base, result->error);
	if (query->is_token_asked && result->head.status == 403)
		return xasprintf("instance metadata at %s is switched off for this instance", base);
	if (result->head.status == 404 &&
		strncmp(query->path, METADATA_ROLE, sizeof(METADATA_ROLE) - 1) == 0)
		return xstrdup("instance metadata: no role is attached to this instance; attach an "
			       "instance profile");
	return xasprintf("instance metadata at %s answers %ld to %s", base, result->head.status,
		query->is_token_asked ? TOKEN_PATH : query->path);
}

static bool take_token(struct metadata *metadata, struct str text)
{
	text = str_trim(text);
	if (text.len == 0 || secret_set(&metadata->token, text) != 0)
		return false;
	metadata->token_ends_at = clock_monotonic_s() + TOKEN_LIFE_S - TOKEN_SPARE_S;
	return true;
}

static void on_answer(void *ctx, const struct http_result *result)
{
	struct metadata_query *query = ctx;
	bool is_good = result->outcome == HTTP_ANSWERED && result->head.status == 200;
	if (is_good && query->is_token_asked && take_token(query->metadata, result->body)) {
		query->is_token_new = true;
		send(query);
	} else if (is_good && !query->is_token_asked) {
		finish(query, result->body, NULL);
	} else if (result->head.status == 401 && !query->is_token_asked && !query->is_token_new) {
		secret_fini(&query->metadata->token);
		send(query);
	} else {
		char *problem = problem_of(query, result);
		finish(query, STR_NONE, problem);
		free(problem);
	}
}

/* ---- questions ---- */

static void send(struct metadata_query *query)
{
	struct metadata *metadata = query->metadata;
	query->is_token_asked =
		!secret_is_set(&metadata->token) || clock_monotonic_s() >= metadata->token_ends_at;
	char *url =
		xasprintf("%s%s", metadata->base, query->is_token_asked ? TOKEN_PATH : query->path);
	char *header = query->is_token_asked
			       ? xstrdup(TOKEN_LIFE)
			       : xasprintf("X-aws-ec2-metadata-token: %s", metadata->token.text);
	const char *headers[] = {header, NULL};
	struct http_call call = {
		.method = query->is_token_asked ? "PUT" : "GET",
		.url = url,
		.headers = headers,
		.body_is_secret = true,
		.peer = &metadata->peer,
		.body_max = ANSWER_LEN_MAX,
		.connect_timeout_s = TIMEOUT_S,
		.timeout_s = TIMEOUT_S,
		.on_done = on_answer,
		.ctx = query,
	};
	query->request = http_start(metadata->http, &call);
	explicit_bzero(header, strlen(header));
	free(header);
	free(url);
}

struct metadata_query *metadata_start(struct metadata *metadata, const char *path,
	void (*on_done)(void *ctx, struct str text, const char *problem), void *ctx)
{
	struct metadata_query *query = xcalloc(1, sizeof(*query));
	query->metadata = metadata;
	query->path = xstrdup(path);
	query->on_done = on_done;
	query->ctx = ctx;
	LIST_INSERT_HEAD(&metadata->queries, query, entry);
	send(query);
	return query;
}
