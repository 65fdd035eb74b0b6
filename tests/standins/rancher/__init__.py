# SPDX-License-Identifier: Apache-2.0
"""A stand-in of the Rancher 1.x (cattle) server for tests. See README.md; tests begin with
`client.RancherStandin`."""
