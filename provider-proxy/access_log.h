// SPDX-License-Identifier: Apache-2.0
/*
 * Where the access log of a proxy goes: the options --access-log and --access-log-to. Lines for standard output or a file are appended by the proxy to a
 * file in its folder, from where sluice-proxy takes them (provider-supervisor/access_log.h); a syslog server gets them from the proxy itself. No I/O.
 */
#pragma once

/* The order of the choices of --access-log. */
enum access_log_form { ACCESS_LOG_OFF, ACCESS_LOG_TEXT, ACCESS_LOG_JSON };
/* Of requests: whether traceparent is ours to look after, and whether traces that are begun are to be recorded. */
enum trace_context { TRACE_CONTEXT_OFF, TRACE_CONTEXT_BEGIN, TRACE_CONTEXT_SAMPLE };

/* NULL, or what is wrong with --access-log-to (allocated). */
char *access_log_problem(const char *to);
/* The address of the syslog server, IP:PORT or an absolute path; NULL: none. The caller frees it. */
char *access_log_server(int form, const char *to);
/* The file; NULL: none. */
const char *access_log_file(int form, const char *to);
/* The label by which exemplars of metrics say which request they are: as the line of the log does, too. */
const char *access_log_exemplar(int trace_context);
