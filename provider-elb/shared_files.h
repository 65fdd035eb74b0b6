// SPDX-License-Identifier: Apache-2.0
/*
 * Reads AWS's shared files: AWS_CONFIG_FILE, else ~/.aws/config; AWS_SHARED_CREDENTIALS_FILE, else ~/.aws/credentials; profile AWS_PROFILE, else
 * AWS_DEFAULT_PROFILE, else "default". They hold secrets, and are wiped when they are no longer needed.
 */
#pragma once

#include "common/buf.h"
#include "provider-elb/aws_profile.h"

/* Where variables come from. */
struct aws_environment {
	const char *(*get)(const char *name); /* NULL: getenv() */
};

/* A variable that is set and not empty; NULL: none. */
const char *aws_environment_get(const struct aws_environment *environment, const char *name);
/* Of the process: for `get`. */
const char *aws_environment_getenv(const char *name);
/* It is "true", in any case of letters. */
bool aws_environment_is_true(const struct aws_environment *environment, const char *name);

struct shared_files {
	char *config_path; /* NULL: there is no home */
	char *credentials_path;
	const char *name; /* of the profile; of the environment */
	struct buf config;
	struct buf credentials;
	struct aws_profile profile;
};

/* NULL, or what is wrong (allocated): a file that cannot be read, or a profile that was named and is in none of them. Files that are not there are no problem. To be
 * followed by shared_files_fini() in both cases. */
char *shared_files_read(struct shared_files *files, const struct aws_environment *environment);
void shared_files_fini(struct shared_files *files);
