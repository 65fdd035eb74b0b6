// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/endpoints.h"

#include "common/ascii.h"
#include "common/pem_files.h"
#include "common/xalloc.h"

enum { REGION_LEN_MAX = 40 };

struct partition {
	const char *prefix; /* of its regions */
	const char *suffix;
	const char *dualstack_suffix;
	bool is_always_fips; /* most of its endpoints are, and their names do not say so */
	/* Of services that are one for all its regions: */
	const char *global_region; /* in signatures */
	const char *global_part;   /* in host names */
	const char *global_dualstack_part;
};

/* The first whose prefix fits. */
static const struct partition partitions[] = {
	{"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn", false, "cn-northwest-1", "",
		"global."},
	{"us-gov-", "amazonaws.com", "api.aws", true, "us-gov-west-1", "us-gov.", "us-gov."},
	{"eusc-", "amazonaws.eu", "api.amazonwebservices.eu", false, "eusc-de-east-1", "",
		"global."},
	{"us-iso-", "c2s.ic.gov", "api.aws.ic.gov", false, "us-iso-east-1", "", ""},
	{"us-isob-", "sc2s.sgov.gov", "api.aws.scloud", false, "us-isob-east-1", "", ""},
	{"eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk", false, "eu-isoe-west-1", "", ""},
	{"us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov", false, "us-isof-south-1", "", ""},
	{"", "amazonaws.com", "api.aws", false, "us-east-1", "", "global."},
};

static const struct partition *partition_of(const char *region)
{
	size_t i = 0;
	while (!str_starts_with(str_from(region), str_from(partitions[i].prefix)))
		i++;
	return &partitions[i];
}

static char *global_url(enum aws_service service, const struct partition *partition, bool use_fips,
	bool use_dualstack)
{
	return xasprintf("https://%s%s.%s%s/", service_of(service)->host_prefix,
		use_fips && !partition->is_always_fips ? "-fips" : "",
		use_dualstack ? partition->global_dualstack_part : partition->global_part,
		use_dualstack ? partition->dualstack_suffix : partition->suffix);
}

static char *default_url(
	enum aws_service service, const char *region, bool use_fips, bool use_dualstack)
{
	const struct partition *partition = partition_of(region);
	if (service == AWS_ROUTE53)
		return global_url(service, partition, use_fips, use_dualstack);
	if (partition->is_always_fips && !use_dualstack && service != AWS_TAGGING)
		use_fips = false;
	return xasprintf("https://%s%s.%s.%s/", service_of(service)->host_prefix,
		use_fips ? "-fips" : "", region,
		use_dualstack ? partition->dualstack_suffix : partition->suffix);
}

/* It becomes part of host names and of signatures. */
static bool is_region(struct str region)
{
	if (region.len == 0 || region.len > REGION_LEN_MAX)
		return false;
	for (size_t i = 0; i < region.len; i++) {
		char c = region.p[i];
		if (!ascii_is_lower(c) && !ascii_is_digit(c) && c != '-')
			return false;
	}
	return true;
}

/* With a host and perhaps a path, in characters that need no escapes: others would not be signed right. */
static bool is_url(struct str url)
{
	struct str rest = STR_NONE;
	if (str_starts_with(url, STR("https://")))
		rest = str_skip(url, sizeof("https://") - 1);
	else if (str_starts_with(url, STR("http://")))
		rest = str_skip(url, sizeof("http://") - 1);
	if (rest.len == 0 || rest.p[0] == '/' || rest.p[0] == ':')
		return false;
	return ascii_is_made_of(rest, "-._~:/[]");
}

/* Where an override was found, for messages. */
struct override {
	struct str url;
	const char *where;
};

static struct override find_override(enum aws_service service,
	const struct aws_environment *environment, const struct aws_profile *profile)
{
	const char *variable = service_of(service)->endpoint_env;
	const char *own = aws_environment_get(environment, variable);
	const char *general = aws_environment_get(environment, "AWS_ENDPOINT_URL");
	if (aws_environment_is_true(environment, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"))
		return (struct override){STR_NONE, NULL};
	if (own != NULL)
		return (struct override){str_from(own), variable};
	if (general != NULL)
		return (struct override){str_from(general), "AWS_ENDPOINT_URL"};
	if (profile->service_urls[service].p != NULL)
		return (struct override){
			profile->service_urls[service], "endpoint_url of the profile's services"};
	return (struct override){profile->endpoint_url, "endpoint_url of the profile"};
}

static char *choose_url(struct endpoints *endpoints, enum aws_service service,
	const struct override *override, bool use_fips, bool use_dualstack)
{
	if (override->url.p == NULL) {
		endpoints->url[service] =
			default_url(service, endpoints->region, use_fips, use_dualstack);
		return NULL;
	}
	/* Not shown: there may be a password in it. */
	if (!is_url(override->url))
		return xasprintf(
			"%s is no http or https URL without a user and a query", override->where);
	endpoints->url[service] = xasprintf("%.*s%s", STR_FMT(override->url),
		str_ends_with(override->url, STR("/")) ? "" : "/");
	return NULL;
}

static struct str choose_region(const char *region, const struct aws_environment *environment,
	const struct aws_profile *profile)
{
	if (region == NULL || region[0] == '\0')
		region = aws_environment_get(environment, "AWS_REGION");
	if (region == NULL)
		region = aws_environment_get(environment, "AWS_DEFAULT_REGION");
	return region != NULL ? str_from(region) : profile->region;
}

static char *choose_all(struct endpoints *endpoints, const struct aws_environment *environment,
	const struct aws_profile *profile, bool use_fips, bool use_dualstack)
{
	char *problem = NULL;
	use_fips = use_fips || aws_environment_is_true(environment, "AWS_USE_FIPS_ENDPOINT");
	use_dualstack =
		use_dualstack || aws_environment_is_true(environment, "AWS_USE_DUALSTACK_ENDPOINT");
	for (enum aws_service i = 0; problem == NULL && i < AWS_SERVICE_COUNT; i++) {
		struct override override = find_override(i, environment, profile);
		problem = choose_url(endpoints, i, &override, use_fips, use_dualstack);
	}
	return problem;
}

char *endpoints_init(struct endpoints *endpoints, const struct aws_environment *environment,
	const char *region, bool use_fips, bool use_dualstack)
{
	struct shared_files files;
	const char *authorities = aws_environment_get(environment, "AWS_CA_BUNDLE");
	*endpoints = (struct endpoints){0};
	if (authorities != NULL) {
		endpoints->peer = http_peer_new();
		endpoints->peer->ca_file = xstrdup(authorities);
	}
	char *problem = shared_files_read(&files, environment);
	struct str chosen = choose_region(region, environment, &files.profile);
	if (problem == NULL && chosen.p != NULL && !is_region(chosen))
		problem = xasprintf("\"%.*s\" is no name of a region", STR_FMT(chosen));
	if (problem == NULL && chosen.p != NULL) {
		endpoints->region = str_dup(chosen);
		problem =
			choose_all(endpoints, environment, &files.profile, use_fips, use_dualstack);
	}
	shared_files_fini(&files);
	return problem;
}

char *endpoints_read_authorities(struct endpoints *endpoints, const char *path, bool *ret_changed)
{
	struct http_peer *fresh = http_peer_new();
	char *problem = pem_read_authorities(path, &fresh->ca_data);
	*ret_changed = problem == NULL &&
		       (endpoints->peer == NULL || !http_peer_is_same(fresh, endpoints->peer));
	http_peer_release(*ret_changed ? endpoints->peer : fresh);
	if (*ret_changed)
		endpoints->peer = fresh;
	return problem;
}

struct http_peer *endpoints_hold_peer(const struct endpoints *endpoints)
{
	return endpoints->peer != NULL ? http_peer_hold(endpoints->peer) : NULL;
}

const char *endpoints_signing_region(const struct endpoints *endpoints, enum aws_service service)
{
	return service == AWS_ROUTE53 ? partition_of(endpoints->region)->global_region
				      : endpoints->region;
}

void endpoints_fini(struct endpoints *endpoints)
{
	free(endpoints->region);
	for (size_t i = 0; i < AWS_SERVICE_COUNT; i++)
		free(endpoints->url[i]);
	http_peer_release(endpoints->peer);
	*endpoints = (struct endpoints){0};
}
