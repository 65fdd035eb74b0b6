// SPDX-License-Identifier: Apache-2.0
/* A certificate that has signed itself, valid until 2120, and its key: public, and for tests alone. */
#pragma once

#define AUTHORITY_PEM                                                        \
	"-----BEGIN CERTIFICATE-----\n"                                      \
	"MIIBTzCB9qADAgECAhR+9jIaBM/XoCmNaq76QKi0DBXnTTAKBggqhkjOPQQDAjAY\n" \
	"MRYwFAYDVQQDDA1hLmV4YW1wbGUuY29tMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAw\n" \
	"MTAxMDAwMDAwWjAYMRYwFAYDVQQDDA1hLmV4YW1wbGUuY29tMFkwEwYHKoZIzj0C\n" \
	"AQYIKoZIzj0DAQcDQgAERWAMcCp7/fR2NbmFghzGOQW5Y/5LMfyN1n3Xc4a7hrJX\n" \
	"l651idWzSoW5UUUmTqjueRh+7pUdR8U+iVDByvTQa6McMBowGAYDVR0RBBEwD4IN\n" \
	"YS5leGFtcGxlLmNvbTAKBggqhkjOPQQDAgNIADBFAiA9/UMUleju7K1JJxqQUsSs\n" \
	"xUTnC/NfoDnR6XkFrKsjUQIhAJGmN43nWkvWl1OyHNy4cs2ToeI1chhdBv0vsC1b\n" \
	"exWQ\n"                                                             \
	"-----END CERTIFICATE-----\n"

#define AUTHORITY_KEY_PEM                                                    \
	"-----BEGIN PRIVATE KEY-----\n"                                      \
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGtx0Z1IuaDMxzU3C\n" \
	"h8g54qRxfoB+wkRhhhurPgzQOs6hRANCAARFYAxwKnv99HY1uYWCHMY5Bblj/ksx\n" \
	"/I3WfddzhruGsleXrnWJ1bNKhblRRSZOqO55GH7ulR1HxT6JUMHK9NBr\n"         \
	"-----END PRIVATE KEY-----\n"
