// SPDX-License-Identifier: Apache-2.0
/* The service manager's notification protocol (sd_notify(3)): one datagram to $NOTIFY_SOCKET.
 * Without that variable these do nothing. */
#pragma once

void notify_ready(void);
void notify_stopping(void);
[[gnu::format(printf, 1, 2)]] void notify_status(const char *format, ...);
void notify_watchdog(void);
/* Seconds between calls of notify_watchdog(): half of WATCHDOG_USEC; 0 when no watchdog is wanted.
 */
double notify_watchdog_period(void);
