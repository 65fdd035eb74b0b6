// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/conf_values.h"

#include "common/must.h"
#include "proto/proxy_folder.h"

#include <inttypes.h>

static struct str form_word(enum access_log_form form)
{
	return form == ACCESS_LOG_JSON   ? STR("json")
	       : form == ACCESS_LOG_TEXT ? STR("text")
					 : STR("off");
}

struct str conf_option_value(
	const struct conf_options *options, enum nginx_conf_value name, struct template_text *text)
{
	switch (name) {
	case NGINX_CONF_VALUE_ACCESS_LOG_FILE:
		return STR(ACCESS_LOG_NGINX_FILE);
	case NGINX_CONF_VALUE_ACCESS_LOG_FORM:
		return form_word(options->access_log);
	case NGINX_CONF_VALUE_ACCESS_LOG_SERVER:
		return options->access_log_server;
	case NGINX_CONF_VALUE_CONTROL:
		return template_printf(text, "%c", options->control);
	case NGINX_CONF_VALUE_DICTIONARY_MB:
		return template_printf(text, "%" PRId64, options->dictionary_mb);
	case NGINX_CONF_VALUE_IDLE_HTTP:
		return template_printf(text, "%" PRId64, conf_idle(options, 2));
	case NGINX_CONF_VALUE_IDLE_OTHER:
		return template_printf(text, "%" PRId64, conf_idle(options, 16));
	case NGINX_CONF_VALUE_LUA_DIR:
		return options->lua_dir;
	case NGINX_CONF_VALUE_METRICS_INGRESSES:
		return template_printf(text, "%" PRId64, options->metrics_ingresses);
	case NGINX_CONF_VALUE_TRACE_CONTEXT:
		return options->trace_context == TRACE_CONTEXT_OFF      ? STR("off")
		       : options->trace_context == TRACE_CONTEXT_SAMPLE ? STR("sample")
									: STR("begin");
	case NGINX_CONF_VALUE_TRAFFIC_FILE:
		return STR(TRAFFIC_NGINX_FILE);
	case NGINX_CONF_VALUE_TRAFFIC_MB:
		return template_printf(text, "%" PRId64, 1 + options->metrics_ingresses / 1000);
	case NGINX_CONF_VALUE_MODULES_DIR:
		return options->modules_dir;
	case NGINX_CONF_VALUE_OPEN_FILES:
		return template_printf(text, "%" PRId64, options->open_files);
	case NGINX_CONF_VALUE_PROXY_DIR:
		return options->proxy_dir;
	case NGINX_CONF_VALUE_RELOAD_COUNT:
		return template_printf(text, "%u", options->reloads);
	case NGINX_CONF_VALUE_SHUTDOWN_S:
		return template_printf(text, "%" PRId64, options->shutdown_s);
	case NGINX_CONF_VALUE_STATE_DIR:
		return options->state_dir;
	case NGINX_CONF_VALUE_SYSTEM_CA:
		return options->system_ca;
	case NGINX_CONF_VALUE_SYSTEM_CA_DIGEST:
		return template_printf(text, "%016" PRIx64, options->system_ca_digest);
	case NGINX_CONF_VALUE_USER:
		return options->user;
	case NGINX_CONF_VALUE_WORKER_CONNECTIONS:
		return template_printf(text, "%" PRId64, conf_connections(options));
	case NGINX_CONF_VALUE_WORKERS:
		return options->workers > 0 ? template_printf(text, "%" PRId64, options->workers)
					    : STR("auto");
	default:
		must(false);
	}
}

bool conf_option_block(const struct conf_options *options, enum nginx_conf_block block)
{
	switch (block) {
	case NGINX_CONF_BLOCK_ACCESS_LOG:
		return options->access_log != ACCESS_LOG_OFF;
	case NGINX_CONF_BLOCK_ACCESS_LOG_COPIED:
		return str_is_empty(options->access_log_server);
	case NGINX_CONF_BLOCK_ACCESS_LOG_SYSLOG:
		return !str_is_empty(options->access_log_server);
	case NGINX_CONF_BLOCK_TRACE:
		return options->trace_context != TRACE_CONTEXT_OFF;
	case NGINX_CONF_BLOCK_UNTRACED:
		return options->trace_context == TRACE_CONTEXT_OFF;
	case NGINX_CONF_BLOCK_COUNTS:
		return options->metrics_ingresses != 0;
	case NGINX_CONF_BLOCK_CHOSEN_USER:
		return !str_is_empty(options->user);
	case NGINX_CONF_BLOCK_KNOWN_SYSTEM_CA:
		return options->system_ca_digest != 0;
	case NGINX_CONF_BLOCK_LUA_MODULE:
		return options->has_lua_module;
	case NGINX_CONF_BLOCK_NDK_MODULE:
		return options->has_ndk_module;
	case NGINX_CONF_BLOCK_RELOADED:
		return options->reloads != 0;
	case NGINX_CONF_BLOCK_STREAM_MODULE:
		return options->has_stream_module;
	default:
		must(false);
	}
}

struct str conf_shard_name(struct template_text *text, size_t shard)
{
	return template_printf(text, "%zx%.*s", shard % CONF_SHARD_DIGITS,
		(int)(shard / CONF_SHARD_DIGITS), "xxxxxxxx");
}
