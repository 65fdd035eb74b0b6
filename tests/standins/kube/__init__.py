# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API server for tests: faithful on the wire, and faulty on demand.

Start it with `python3 -m standins.kube --help`, or from a test with `standins.kube.client.KubeStandin`.
"""
