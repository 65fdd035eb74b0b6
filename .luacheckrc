-- SPDX-License-Identifier: Apache-2.0
std = "luajit"
max_line_length = 180
files["provider-nginx/lua"] = { std = "ngx_lua" }
files["provider-nginx/lua/sluice/start.lua"] = { globals = { "sluice_request", "sluice_response", "sluice_trace", "sluice_claims" } }
files["tests"] = { globals = { "ngx" } }
files["provider-haproxy/*.lua"] = { std = "lua53", globals = { "core", "Regex", "sluice" } }
