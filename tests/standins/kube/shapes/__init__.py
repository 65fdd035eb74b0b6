# SPDX-License-Identifier: Apache-2.0
"""The shapes of the API objects that the stand-in knows, one module a group of types.

Member order is that of the Go structs (kubernetes/api), since that is the order on the wire.
"""
