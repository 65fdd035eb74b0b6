// SPDX-License-Identifier: Apache-2.0
#include "watcher/reflector_requests.h"

#include "common/backoff.h"
#include "watcher/reflector_paths.h"

#include <stdlib.h>

struct channel *reflector_open_page(struct reflector_request request, const char *next_page)
{
	const struct reflector_config *config = request.config;
	char *path =
		reflector_page_path(config->version, config->namespace, request.fsm, next_page);
	struct channel *channel = channel_list(&request.channel, path);
	free(path);
	return channel;
}

struct channel *reflector_open_check(struct reflector_request request)
{
	struct channel_config channel_config = request.channel;
	char *path = reflector_check_path(request.config->version, request.config->namespace);
	channel_config.ignores_objects = true;
	struct channel *channel = channel_list(&channel_config, path);
	free(path);
	return channel;
}

struct channel *reflector_open_watch(struct reflector_request request, bool is_stream)
{
	const struct reflector_config *config = request.config;
	const struct reflector_options *options = config->options;
	double lives_s = options->watch_timeout_s * (1.0 + backoff_random());
	char *path = reflector_watch_path(
		config->version, config->namespace, request.fsm, is_stream, lives_s);
	struct channel *channel = channel_watch(&request.channel, path, options->answer_timeout_s,
		lives_s + options->watch_margin_s);
	free(path);
	return channel;
}
