// SPDX-License-Identifier: Apache-2.0
/*
 * One profile of AWS's shared files, ~/.aws/config and ~/.aws/credentials: INI, as "Configuration and credential file settings" in AWS's reference guide of
 * its SDKs describes it. No I/O; everything points into the texts that were read.
 */
#pragma once

#include "provider-elb/service.h"

enum { AWS_PROFILE_LEN_MAX = 1024 * 1024 }; /* of one file */

enum aws_profile_file { AWS_PROFILE_CONFIG, AWS_PROFILE_CREDENTIALS };

/* Absent: not set. */
struct aws_profile {
	bool is_found; /* one of the files has it */
	struct str access_key;
	struct str secret_key;
	struct str session_token;
	struct str region;
	struct str role;       /* role_arn */
	struct str token_file; /* web_identity_token_file */
	struct str session;    /* role_session_name */
	struct str endpoint_url;
	struct str services; /* name of a [services ...] section */
	struct str service_urls[AWS_SERVICE_COUNT];
	struct str
		unsupported; /* a setting that names a source of credentials which only AWS's own tools have */
};

/* Adds what a file says of the profile, over what is there: the file with the credentials is read last. A later setting counts. */
void aws_profile_read(
	struct aws_profile *profile, struct str name, struct str text, enum aws_profile_file file);
/* Then service_urls, from the text of ~/.aws/config. */
void aws_profile_read_services(struct aws_profile *profile, struct str text);
