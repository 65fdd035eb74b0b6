# SPDX-License-Identifier: Apache-2.0
"""Requests and answers by the shapes of botocore's service models: form and JSON into parameters, whose types and limits are checked, and results into XML and
JSON. models/ adds what the model of Debian's botocore is too old for."""

from __future__ import annotations

import base64
import datetime
import json
import re
import urllib.parse
import xml.etree.ElementTree
from pathlib import Path
from typing import Any, Iterator
from xml.sax.saxutils import escape

import botocore.loaders
import botocore.model
import botocore.parsers

from .errors import ApiError

MODELS = Path(__file__).parent / "models"
_NAMES = {"elasticloadbalancing": "elbv2", "ec2": "ec2", "acm": "acm", "sts": "sts", "tagging": "resourcegroupstaggingapi",
          "route53": "route53"}
NAMES = tuple(_NAMES)
_LOADER = botocore.loaders.Loader(extra_search_paths=[str(MODELS)])


class Refused(Exception):
    """The request does not fit the model."""


class Service:
    """One service: what its requests and answers look like."""

    def __init__(self, signing_name: str):
        self.name = signing_name
        self.model = botocore.model.ServiceModel(_LOADER.load_service_model(_NAMES[signing_name], "service-2"))
        self.protocol: str = self.model.metadata["protocol"]
        default = "http://ec2" if signing_name == "ec2" else "https://route53"
        self.namespace: str = self.model.metadata.get("xmlNamespace") or f"{default}.amazonaws.com/doc/{self.model.api_version}/"
        self._parser = botocore.parsers.create_parser(self.protocol)

    @property
    def is_json(self) -> bool:
        return self.protocol == "json"

    @property
    def is_rest(self) -> bool:
        return self.protocol == "rest-xml"

    def operation(self, action: str) -> botocore.model.OperationModel:
        if action not in self.model.operation_names:
            raise ApiError("InvalidAction" if not self.is_json else "UnknownOperationException", f"Could not find operation {action}")
        return self.model.operation_model(action)

    # Requests

    def addressed(self, method: str, target: str) -> str:
        """Of a REST service: the action. Raises ApiError."""
        path = target.partition("?")[0]
        for action in self.model.operation_names:
            http = self.model.operation_model(action).http
            if http["method"] == method and _template(http["requestUri"]).fullmatch(path):
                return action
        raise ApiError("UnknownOperationException", f"There is no {method} {path}", 404)

    def parameters(self, action: str, text: bytes, target: str = "/") -> dict[str, Any]:
        """The parameters of a call; `target` is of a REST service. Raises ApiError."""
        shape = self.operation(action).input_shape
        try:
            given = self._json(shape, text) if self.is_json else self._rest(action, shape, text, target) if self.is_rest else self._form(shape, text)
            problems = list(_problems(shape, given, "")) if shape else []
        except Refused as problem:
            raise ApiError("SerializationException" if self.is_json else "MalformedQueryString", str(problem)) from None
        if problems:
            missing = all(p.endswith("Member must not be null") for p in problems)
            code = {"ec2": "MissingParameter" if missing else "InvalidParameterValue", "json": "ValidationException"}.get(self.protocol, "ValidationError")
            raise ApiError(code, f"{len(problems)} validation error{'s' if len(problems) > 1 else ''} detected: " + "; ".join(problems))
        return given

    def _rest(self, action: str, shape: Any, text: bytes, target: str) -> dict[str, Any]:
        path, _, query = target.partition("?")
        match = _template(self.operation(action).http["requestUri"]).fullmatch(path)
        assert match is not None
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
        where = {"uri": match.groupdict(), "querystring": dict(pairs)}
        given, known = {}, {"uri": set(), "querystring": set()}  # type: ignore[var-annotated]
        for key, member in shape.members.items():
            place = member.serialization.get("location")
            if place is None:
                continue
            name = member.serialization.get("name", key)
            known[place].add(name)
            if name in where[place]:
                given[key] = _scalar(member, where[place][name], key)
        unknown = where["querystring"].keys() - known["querystring"]
        if unknown or len(pairs) != len(where["querystring"]):
            raise Refused(f"unknown or repeated parameters {sorted(unknown)}")
        if all("location" in member.serialization for member in shape.members.values()):
            return given
        try:
            root = xml.etree.ElementTree.fromstring(text)
        except xml.etree.ElementTree.ParseError:
            raise Refused("the body is no XML") from None
        if root.tag != f"{{{self.namespace}}}{shape.serialization['name']}":
            raise Refused(f"the root is {root.tag}")
        return given | self._from_xml(shape, root, "")

    def _from_xml(self, shape: Any, node: Any, path: str) -> Any:
        below = [(child.tag.removeprefix(f"{{{self.namespace}}}"), child) for child in node]
        if shape.type_name == "structure":
            names = {m.serialization.get("name", k): k for k, m in shape.members.items() if "location" not in m.serialization}
            unknown = {name for name, _ in below} - names.keys()
            if unknown or len({name for name, _ in below}) != len(below):
                raise Refused(f"{path or 'the request'} has unknown or repeated members {sorted(unknown)}")
            return {names[name]: self._from_xml(shape.members[names[name]], child, f"{path}.{name}".strip(".")) for name, child in below}
        if shape.type_name == "list":
            inner = shape.member.serialization.get("name", "member")
            if any(name != inner for name, _ in below):
                raise Refused(f"{path} is a list, its elements are {inner}")
            return [self._from_xml(shape.member, child, f"{path}.{n + 1}") for n, (_, child) in enumerate(below)]
        if below:
            raise Refused(f"{path} has members instead of a value")
        return _scalar(shape, node.text or "", path)

    def _json(self, shape: Any, text: bytes) -> dict[str, Any]:
        try:
            value = json.loads(text or b"{}")
        except ValueError:
            raise Refused("the body is no JSON") from None
        return _from_json(shape, value, "")

    def _form(self, shape: Any, text: bytes) -> dict[str, Any]:
        try:
            pairs = urllib.parse.parse_qsl(text.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict")
        except ValueError:
            raise Refused("the body is no form") from None
        tree: dict[str, Any] = {}
        seen = set()
        for name, value in pairs:
            if name in seen:
                raise Refused(f"{name} is given twice")
            seen.add(name)
            if name == "Version" and value != self.model.api_version:
                raise ApiError("InvalidAction", f"Could not find operation in version {value}")
            if name not in ("Action", "Version"):
                _plant(tree, name, value)
        if "Version" not in seen:
            raise ApiError("MissingParameter", "The request must contain the parameter Version")
        if not shape:
            if tree:
                raise Refused(f"unknown parameters {sorted(tree)}")
            return {}
        return self._from_tree(shape, tree, "")

    def _from_tree(self, shape: Any, node: Any, path: str) -> Any:
        if shape.type_name == "structure":
            if not isinstance(node, dict):
                raise Refused(f"{path or 'the request'} has a value instead of members")
            names = {self._input_name(member, key): key for key, member in shape.members.items()}
            unknown = node.keys() - names.keys()
            if unknown:
                raise Refused(f"unknown parameters {sorted(f'{path}.{name}'.strip('.') for name in unknown)}")
            made = {names[n]: self._from_tree(shape.members[names[n]], below, f"{path}.{n}".strip(".")) for n, below in node.items()}
            return {key: value for key, value in made.items() if value is not None}
        if shape.type_name == "list":
            return self._list_from_tree(shape, node, path)
        if isinstance(node, dict):
            raise Refused(f"{path} has members instead of a value")
        return _scalar(shape, node, path)

    def _list_from_tree(self, shape: Any, node: Any, path: str) -> list[Any] | None:
        if self.protocol == "query" and not shape.serialization.get("flattened"):
            if node == "":
                return None  # what SDKs send for an empty list: it counts as not given
            name = shape.member.serialization.get("name", "member")
            if not isinstance(node, dict) or node.keys() != {name}:
                raise Refused(f"{path} is a list, its elements are {path}.{name}.N")
            node, path = node[name], f"{path}.{name}"
        if not isinstance(node, dict) or node.keys() != {str(n + 1) for n in range(len(node))}:
            raise Refused(f"{path} is a list, its elements are {path}.1, {path}.2 and so on")
        return [self._from_tree(shape.member, node[str(n + 1)], f"{path}.{n + 1}") for n in range(len(node))]

    def _input_name(self, shape: Any, key: str) -> str:
        if self.protocol != "ec2":
            return shape.serialization.get("name", key)
        name = shape.serialization.get("queryName") or shape.serialization.get("name") or key
        return name if "queryName" in shape.serialization else name[0].upper() + name[1:]

    # Answers

    def answer(self, action: str, result: dict[str, Any], request_id: str) -> tuple[str, bytes]:
        """Content type and body."""
        shape = self.operation(action).output_shape
        if self.is_json:
            return "application/x-amz-json-1.1", json.dumps(_to_json(shape, result, action)).encode() if shape else b""
        inner = self._xml_members(shape, result, action) if shape else ""
        if self.is_rest:
            text = f'<{action}Response xmlns="{self.namespace}">{inner}</{action}Response>'
        elif self.protocol == "ec2":
            text = f'<{action}Response xmlns="{self.namespace}"><requestId>{request_id}</requestId>{inner}</{action}Response>'
        else:
            text = (f'<{action}Response xmlns="{self.namespace}"><{action}Result>{inner}</{action}Result>'
                    f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{action}Response>")
        return "text/xml", b'<?xml version="1.0" encoding="UTF-8"?>\n' + text.encode()

    def error(self, problem: ApiError, request_id: str) -> tuple[str, bytes]:
        code, message = escape(problem.code), escape(problem.message)
        if self.is_json:
            body = {"__type": f"com.amazon.coral.service#{problem.code}", "message": problem.message}
            return "application/x-amz-json-1.1", json.dumps(body).encode()
        if self.protocol == "ec2":
            text = f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors><RequestID>{request_id}</RequestID></Response>"
        else:
            kind = "Sender" if problem.status < 500 else "Receiver"
            text = (f'<ErrorResponse xmlns="{self.namespace}"><Error><Type>{kind}</Type><Code>{code}</Code><Message>{message}</Message></Error>'
                    f"<RequestId>{request_id}</RequestId></ErrorResponse>")
        return "text/xml", b'<?xml version="1.0" encoding="UTF-8"?>\n' + text.encode()

    def check(self, action: str, result: dict[str, Any], body: bytes) -> None:
        """botocore reads out of the answer what was put into it."""
        shape = self.operation(action).output_shape
        read = self._parser.parse({"status_code": 200, "headers": {}, "body": body}, shape)
        read.pop("ResponseMetadata", None)
        if shape and plain(read) != plain(result):
            raise AssertionError(f"{action}: answered {result}, which is read as {read}")

    def _xml_members(self, shape: Any, value: dict[str, Any], where: str) -> str:
        unknown = value.keys() - shape.members.keys()
        assert not unknown, f"{where} has no members {unknown}"
        return "".join(self._xml(shape.members[key], item, shape.members[key].serialization.get("name", key), f"{where}.{key}")
                       for key, item in value.items() if item is not None)

    def _xml(self, shape: Any, value: Any, name: str, where: str) -> str:
        if shape.type_name == "structure":
            return f"<{name}>{self._xml_members(shape, value, where)}</{name}>"
        if shape.type_name == "list":
            inner_name = shape.member.serialization.get("name", "member")
            items = (self._xml(shape.member, item, inner_name, where) for item in value)
            return f"<{name}>{''.join(items)}</{name}>" if value else f"<{name}/>"
        return f"<{name}>{escape(_text(shape, value, where))}</{name}>"


def _template(uri: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[A-Za-z0-9-]+)", re.escape(uri)))


def _plant(tree: dict[str, Any], name: str, value: str) -> None:
    *folders, last = name.split(".")
    for folder in folders:
        tree = tree.setdefault(folder, {})
        if not isinstance(tree, dict):
            raise Refused(f"{name}: a value has members")
    if last in tree:
        raise Refused(f"{name}: a value has members")
    tree[last] = value


def _scalar(shape: Any, text: str, path: str) -> Any:
    kind = shape.type_name
    if kind in ("integer", "long"):
        if not re.fullmatch(r"-?[0-9]{1,18}", text):
            raise Refused(f"{path}: {text!r} is no integer")
        return int(text)
    if kind == "boolean":
        if text not in ("true", "false"):
            raise Refused(f"{path}: {text!r} is no boolean")
        return text == "true"
    if kind != "string":
        raise Refused(f"{path}: {kind} is not read here")
    return text


_JSON_TYPES = {"string": str, "integer": int, "long": int, "boolean": bool, "structure": dict, "list": list, "blob": str, "timestamp": (int, float)}


def _from_json(shape: Any, value: Any, path: str) -> Any:
    if not isinstance(value, _JSON_TYPES[shape.type_name]) or (isinstance(value, bool) and shape.type_name != "boolean"):
        raise Refused(f"{path or 'the request'} is no {shape.type_name}")
    if shape.type_name == "structure":
        unknown = value.keys() - shape.members.keys()
        if unknown:
            raise Refused(f"unknown parameters {sorted(f'{path}.{name}'.strip('.') for name in unknown)}")
        return {k: _from_json(shape.members[k], v, f"{path}.{k}".strip(".")) for k, v in value.items() if v is not None}
    if shape.type_name == "list":
        return [_from_json(shape.member, item, f"{path}.{n + 1}") for n, item in enumerate(value)]
    if shape.type_name == "blob":
        try:
            return base64.b64decode(value, validate=True)
        except ValueError:
            raise Refused(f"{path} is not base64") from None
    return value


def _to_json(shape: Any, value: Any, where: str) -> Any:
    if shape.type_name == "structure":
        unknown = value.keys() - shape.members.keys()
        assert not unknown, f"{where} has no members {unknown}"
        return {k: _to_json(shape.members[k], v, f"{where}.{k}") for k, v in value.items() if v is not None}
    if shape.type_name == "list":
        return [_to_json(shape.member, item, where) for item in value]
    if shape.type_name == "timestamp":
        return value.timestamp()
    assert isinstance(value, _JSON_TYPES[shape.type_name]), f"{where} is {value!r}"
    return value


def _text(shape: Any, value: Any, where: str) -> str:
    kind = shape.type_name
    if kind == "timestamp":
        return value.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"
    assert isinstance(value, _JSON_TYPES[kind]), f"{where} is {value!r}"
    return ("true" if value else "false") if kind == "boolean" else str(value)


def _problems(shape: Any, value: Any, path: str) -> Iterator[str]:
    """What breaks a limit of the model, in AWS's words."""
    if shape.type_name == "structure":
        for key in shape.required_members:
            if key not in value:
                yield f"Value null at '{_camel(path, key)}' failed to satisfy constraint: Member must not be null"
        for key, item in value.items():
            yield from _problems(shape.members[key], item, _camel(path, key))
        return
    limits = shape.metadata
    size, noun = (value, "value") if isinstance(value, int) else (len(value), "length") if hasattr(value, "__len__") else (None, "")
    shown = "'<hidden>'" if isinstance(value, bytes) else f"'{value}'"
    begin = f"Value {shown} at '{path}' failed to satisfy constraint: Member must "
    if size is not None and not isinstance(value, bool):
        if size < limits.get("min", size):
            yield f"{begin}have {noun} greater than or equal to {limits['min']}"
        if size > limits.get("max", size):
            yield f"{begin}have {noun} less than or equal to {limits['max']}"
    if isinstance(value, str):
        if shape.enum and value not in shape.enum:
            yield f"{begin}satisfy enum value set: [{', '.join(shape.enum)}]"
        if "pattern" in limits and not re.fullmatch(_pattern(limits["pattern"]), value):
            yield f"{begin}satisfy regular expression pattern: {limits['pattern']}"
    if shape.type_name == "list":
        for number, item in enumerate(value):
            yield from _problems(shape.member, item, f"{path}.{number + 1}.member")


def _pattern(text: str) -> str:
    """Java's classes of letters, spaces and digits; no other ones are in the models."""
    return text.replace(r"\p{L}\p{Z}\p{N}_", r"\w ")


def _camel(path: str, key: str) -> str:
    name = key[0].lower() + key[1:]
    return f"{path}.{name}" if path else name


def plain(value: Any) -> Any:
    """Without what an answer need not tell apart: empty lists and what is not there, digits of a time."""
    if isinstance(value, dict):
        kept = {k: plain(v) for k, v in value.items()}
        return {k: v for k, v in kept.items() if v is not None and v != [] and v != {}}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, datetime.datetime):
        return int(value.timestamp())
    return value


class _Services(dict[str, Service]):
    """Models are large, and read when they are needed first."""

    def __missing__(self, name: str) -> Service:
        if name not in _NAMES:
            raise KeyError(name)
        self[name] = Service(name)
        return self[name]


SERVICES = _Services()
