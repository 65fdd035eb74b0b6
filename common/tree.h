// SPDX-License-Identifier: Apache-2.0
/*
 * Red-black trees of libbsd. RB_GENERATE_STATIC of its header wants a macro `__unused` that glibc's headers use as a name, hence this
 * one: RB_GENERATE_LOCAL(name, type, field, compare) makes the functions of a tree for one source file.
 *
 * Trees rather than hashes: they iterate in key order, so output is the same every time, and nobody can flood them.
 */
#pragma once

#include <bsd/sys/tree.h>

#define RB_GENERATE_LOCAL(name, type, field, compare) \
	RB_GENERATE_INTERNAL(name, type, field, compare, [[gnu::unused]] static)
