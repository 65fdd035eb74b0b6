# SPDX-License-Identifier: Apache-2.0
"""The controller whose users come to us, compiled from its source, and asked the same as we are."""
