// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/region.h"

#include "common/xalloc.h"
#include "provider-elb/log_events.h"

static const double RETRY_S = 10;

struct region {
	struct region_config config;
	struct metadata *metadata;
	struct metadata_query *query;
	ev_timer retry;
	char *reason;  /* why the last question was in vain; NULL: it was not */
	char *missing; /* for people; NULL: the region is known */
};

static char *read_endpoints(const struct region_config *config, const char *region)
{
	const struct config *options = config->options;
	bool is_changed;
	char *problem = endpoints_init(config->endpoints, config->environment, region,
		options->use_fips, options->use_dualstack);
	if (problem != NULL || options->ca_file == NULL)
		return problem;
	return endpoints_read_authorities(config->endpoints, options->ca_file, &is_changed);
}

static void set_missing(struct region *region)
{
	free(region->missing);
	region->missing =
		region->reason == NULL
			? xstrdup("the region: instance metadata is asked for it")
			: xasprintf("the region: give --region or AWS_REGION; instance metadata "
				    "does not tell it: %s",
				  region->reason);
}

/* It is said once, and again when the reason is another one. */
static void note_failure(struct region *region, const char *reason)
{
	if (region->reason == NULL || strcmp(region->reason, reason) != 0)
		log_event(&EV_REGION_UNKNOWN, LOG_STR("reason", reason));
	char *kept = xstrdup(reason);
	free(region->reason);
	region->reason = kept;
	set_missing(region);
	ev_timer_set(&region->retry, RETRY_S, 0.);
	ev_timer_start(region->config.loop, &region->retry);
}

static void note_success(struct region *region)
{
	log_event(&EV_REGION_FOUND, LOG_STR("region", region->config.endpoints->region));
	free(region->reason);
	free(region->missing);
	region->reason = region->missing = NULL;
	region->config.on_found(region->config.ctx);
}

static void on_answer(void *ctx, struct str text, const char *problem)
{
	struct region *region = ctx;
	char *name = problem == NULL ? str_dup(text) : NULL;
	char *wrong = NULL;
	region->query = NULL;
	if (name != NULL) {
		endpoints_fini(region->config.endpoints);
		wrong = read_endpoints(&region->config, name);
		problem = wrong;
	}
	if (problem != NULL)
		note_failure(region, problem);
	else
		note_success(region);
	free(wrong);
	free(name);
	region->config.on_change(region->config.ctx);
}

static void ask(struct region *region)
{
	region->query = metadata_start(region->metadata, METADATA_REGION, on_answer, region);
}

static void on_retry(struct ev_loop *loop, ev_timer *timer, int events)
{
	ask(timer->data);
}

void region_start(struct region *region, struct metadata *metadata)
{
	region->metadata = metadata;
	if (region->config.endpoints->region != NULL) {
		region->config.on_found(region->config.ctx);
		return;
	}
	set_missing(region);
	ask(region);
}

const char *region_missing_text(const struct region *region)
{
	return region->missing;
}

bool region_read_authorities(struct region *region)
{
	const char *path = region->config.options->ca_file;
	bool is_changed = false;
	if (path == NULL)
		return false;
	char *problem = endpoints_read_authorities(region->config.endpoints, path, &is_changed);
	if (problem != NULL)
		log_event(&EV_AUTHORITIES_UNREADABLE, LOG_STR("reason", problem));
	else if (is_changed)
		log_event(&EV_AUTHORITIES_CHANGED);
	free(problem);
	return is_changed;
}

struct region *region_new(const struct region_config *config, char **ret_problem)
{
	struct region *region = xcalloc(1, sizeof(*region));
	region->config = *config;
	ev_init(&region->retry, on_retry);
	region->retry.data = region;
	*ret_problem = read_endpoints(config, config->options->region);
	if (*ret_problem == NULL && config->endpoints->region == NULL &&
		metadata_is_disabled(config->environment))
		*ret_problem = xstrdup("the region is not known: give --region or AWS_REGION");
	if (*ret_problem == NULL)
		return region;
	region_free(region);
	return NULL;
}

void region_free(struct region *region)
{
	if (region == NULL)
		return;
	if (region->query != NULL)
		metadata_cancel(region->query);
	ev_timer_stop(region->config.loop, &region->retry);
	free(region->reason);
	free(region->missing);
	free(region);
}
