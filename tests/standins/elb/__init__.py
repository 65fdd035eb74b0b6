# SPDX-License-Identifier: Apache-2.0
"""A stand-in of the parts of AWS that provider-elb calls, with the traffic of the balancers. See README.md."""
