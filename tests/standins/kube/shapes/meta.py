# SPDX-License-Identifier: Apache-2.0
"""Metadata that all objects share, and the frame of an object."""

from __future__ import annotations

from typing import Any

from ..schema import (
    ANY,
    BOOL,
    INT,
    STRING,
    STRING_MAP,
    TIME,
    Field,
    ListOf,
    Struct,
    always,
    keyed,
    ptr,
    string_set,
    struct,
)

OWNER_REFERENCE = struct(
    "OwnerReference",
    atomic=True,
    numbers_=(5, 1, 3, 4, 6, 7),
    apiVersion=always(STRING),
    kind=always(STRING),
    name=always(STRING),
    uid=always(STRING),
    controller=ptr(BOOL),
    blockOwnerDeletion=ptr(BOOL),
)

MANAGED_FIELDS_ENTRY = struct(
    "ManagedFieldsEntry",
    numbers_=(1, 2, 3, 4, 6, 7, 8),
    manager=STRING,
    operation=STRING,
    apiVersion=STRING,
    time=TIME,
    fieldsType=STRING,
    fieldsV1=ptr(ANY),
    subresource=STRING,
)

OBJECT_META = struct(
    "ObjectMeta",
    numbers_=(*range(1, 15), 17),
    name=STRING,
    generateName=STRING,
    namespace=STRING,
    selfLink=STRING,
    uid=STRING,
    resourceVersion=STRING,
    generation=INT,
    creationTimestamp=TIME,
    deletionTimestamp=ptr(TIME),
    deletionGracePeriodSeconds=ptr(INT),
    labels=STRING_MAP,
    annotations=STRING_MAP,
    ownerReferences=keyed(OWNER_REFERENCE, "uid"),
    finalizers=string_set(),
    managedFields=ListOf(MANAGED_FIELDS_ENTRY),
)

CONDITION = struct(
    "Condition",
    type=always(STRING),
    status=always(STRING),
    observedGeneration=INT,
    lastTransitionTime=always(TIME),
    reason=always(STRING),
    message=always(STRING),
)

LABEL_SELECTOR = struct("LabelSelector", matchLabels=STRING_MAP, matchExpressions=ListOf(ANY))


def top(name: str, /, **members: Any) -> Struct:
    """A whole object: kind and apiVersion, metadata, then its own members."""
    return struct(name, kind=STRING, apiVersion=STRING, metadata=always(OBJECT_META), **members)


def open_top(name: str, /, **members: Any) -> Struct:
    """A whole object whose inner members are kept as they come."""
    shape = top(name, **members)
    shape.open = True
    return shape


def open_part(name: str) -> Field:
    """A spec or status that is kept as it comes."""
    return always(struct(name, open_=True))
