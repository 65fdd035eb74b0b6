# SPDX-License-Identifier: Apache-2.0
"""Route 53: hosted zones, lists of their records, and batches of changes, each of which is carried out as a whole or not at all."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from typing import Any, Iterable

from .account import Account
from .balancers import HOSTED_ZONES
from .errors import ApiError

_PAGE_MAX = 300
_RECORDS_MAX, _CHARACTERS_MAX = 1000, 32000  # of one batch
_NAME = re.compile(r"(\\052|[a-z0-9_-])+(\.(\\052|[a-z0-9_-])+)*\.")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"(?: "(?:[^"\\]|\\.)*")*')
_SETTINGS = ("Weight", "Region", "GeoLocation", "Failover", "MultiValueAnswer")

Record = dict[str, Any]
Key = tuple[str, str, str]


@dataclass
class Zone:
    id: str
    name: str
    records: dict[Key, Record] = field(default_factory=dict)


def as_stored(name: str) -> str:
    """As Route 53 writes names: lower case, with a dot at the end and escapes."""
    return name.lower().replace("*", r"\052").rstrip(".") + "."


def _order(key: Key) -> tuple[list[str], str, str]:
    name, kind, ident = key
    return list(reversed(name.rstrip(".").split("."))), kind, ident


def _key(record: Record) -> Key:
    return record["Name"], record["Type"], record.get("SetIdentifier", "")


def _told(record: Record) -> str:
    return f"[name='{record['Name']}', type='{record['Type']}']"


class Route53:
    def __init__(self, account: Account):
        self.account = account
        self.zones: dict[str, Zone] = {}

    def add_zone(self, name: str) -> str:
        ident = f"Z{uuid.uuid4().hex[:20].upper()}"
        zone = self.zones[ident] = Zone(ident, as_stored(name))
        soa = "ns-1.awsdns-00.org. awsdns-hostmaster.amazon.com. 1 7200 900 1209600 86400"
        for kind, ttl, value in (("NS", 172800, "ns-1.awsdns-00.org."), ("SOA", 900, soa)):
            record = {"Name": zone.name, "Type": kind, "TTL": ttl, "ResourceRecords": [{"Value": value}]}
            zone.records[_key(record)] = record
        return ident

    def listed(self, ident: str) -> list[Record]:
        """In their order."""
        records = self._zone(ident).records
        return [records[key] for key in sorted(records, key=_order)]

    def _zone(self, ident: str) -> Zone:
        if ident not in self.zones:
            raise ApiError("NoSuchHostedZone", f"No hosted zone found with ID: {ident}", 404)
        return self.zones[ident]

    # Calls

    def list_resource_record_sets(self, params: dict[str, Any]) -> dict[str, Any]:
        zone = self._zone(params["HostedZoneId"])
        most = min(int(params.get("MaxItems", _PAGE_MAX)), _PAGE_MAX, self.account.settings.page_max)
        if "StartRecordType" in params and "StartRecordName" not in params:
            raise ApiError("InvalidInput", "The input is not valid: a type without a name")
        start = _order((as_stored(params.get("StartRecordName", "")), params.get("StartRecordType", ""), params.get("StartRecordIdentifier", "")))
        keys = [key for key in sorted(zone.records, key=_order) if "StartRecordName" not in params or _order(key) >= start]
        answer = {"ResourceRecordSets": [zone.records[key] for key in keys[:most]], "IsTruncated": len(keys) > most, "MaxItems": str(most)}
        if len(keys) > most:
            name, kind, ident = keys[most]
            answer |= {"NextRecordName": name, "NextRecordType": kind, **({"NextRecordIdentifier": ident} if ident else {})}
        return answer

    def change_resource_record_sets(self, params: dict[str, Any]) -> dict[str, Any]:
        zone = self._zone(params["HostedZoneId"])
        changes = [(change["Action"], self._checked(zone, change["ResourceRecordSet"])) for change in params["ChangeBatch"]["Changes"]]
        self._check_size(changes)
        after, problems = dict(zone.records), []
        for action, record in changes:
            problem = self._apply(after, action, record)
            problems += [problem] if problem else []
        problems += self._conflicts(zone, after)
        if problems:
            raise ApiError("InvalidChangeBatch", f"[{', '.join(problems)}]")
        zone.records = after
        return {"ChangeInfo": {"Id": f"/change/C{uuid.uuid4().hex[:13].upper()}", "Status": "PENDING", "SubmittedAt": self.account.clock.date()}}

    # Rules

    @staticmethod
    def _check_size(changes: Iterable[tuple[str, Record]]) -> None:
        records = characters = 0
        for action, record in changes:
            times = 2 if action == "UPSERT" else 1
            values = [entry["Value"] for entry in record.get("ResourceRecords", [])]
            records += times * max(1, len(values))
            characters += times * sum(len(value) for value in values)
        if records > _RECORDS_MAX or characters > _CHARACTERS_MAX:
            raise ApiError("InvalidChangeBatch", f"[Number of records limit of {_RECORDS_MAX} or of characters {_CHARACTERS_MAX} exceeded.]")

    def _checked(self, zone: Zone, given: Record) -> Record:
        record = {**given, "Name": as_stored(given["Name"])}
        if not _NAME.fullmatch(record["Name"]) or any(len(label.replace(r"\052", "*")) > 63 for label in record["Name"].split(".")):
            raise ApiError("InvalidChangeBatch", f"[FATAL problem: DomainLabel in {_told(record)} is not valid]")
        if not ("." + record["Name"]).endswith("." + zone.name):
            raise ApiError("InvalidChangeBatch", f"[RRSet with DNS name {record['Name']} is not permitted in zone {zone.name}]")
        if ("AliasTarget" in record) == ("ResourceRecords" in record) or ("TTL" in record) != ("ResourceRecords" in record):
            raise ApiError("InvalidInput", "Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and ResourceRecords]]")
        if ("SetIdentifier" in record) != any(name in record for name in _SETTINGS):
            raise ApiError("InvalidInput", "Invalid request: Missing field 'SetIdentifier' or one that goes with it")
        if record["Type"] == "TXT":
            self._check_strings(record)
        if "AliasTarget" in record:
            record["AliasTarget"] = {**record["AliasTarget"], "DNSName": as_stored(record["AliasTarget"]["DNSName"])}
            self._check_target(zone, record)
        return record

    @staticmethod
    def _check_strings(record: Record) -> None:
        for entry in record.get("ResourceRecords", []):
            strings = re.findall(r'"((?:[^"\\]|\\.)*)"', entry["Value"])
            if not _STRINGS.fullmatch(entry["Value"]) or any(len(string) > 255 for string in strings):
                raise ApiError("InvalidChangeBatch", f"[Invalid Resource Record: 'FATAL problem: TXTRDATAInvalid encountered with {entry['Value']}']")

    @staticmethod
    def _check_target(zone: Zone, record: Record) -> None:
        target, ident = record["AliasTarget"]["DNSName"], record["AliasTarget"]["HostedZoneId"]
        lies = ident == zone.id if target.endswith(zone.name) else ident in HOSTED_ZONES.values() and re.search(r"\.elb\.([a-z0-9-]+\.)?amazonaws\.com\.$", target)
        if not lies:
            raise ApiError("InvalidChangeBatch", f"[Tried to create an alias that targets {target}, type {record['Type']} in zone {ident}, but the alias "
                                                 "target name does not lie within the target zone]")

    @staticmethod
    def _apply(records: dict[Key, Record], action: str, record: Record) -> str | None:
        key = _key(record)
        found = records.get(key)
        if action == "CREATE" and found is not None:
            return f"Tried to create resource record set {_told(record)} but it already exists"
        if action == "DELETE" and found is None:
            return f"Tried to delete resource record set {_told(record)} but it was not found"
        if action == "DELETE" and found != record:
            return f"Tried to delete resource record set {_told(record)} but the values provided do not match the current values"
        if action == "DELETE":
            del records[key]
        else:
            records[key] = record
        return None

    @staticmethod
    def _conflicts(zone: Zone, records: dict[Key, Record]) -> list[str]:
        kinds: dict[str, set[str]] = {}
        plain: dict[tuple[str, str], set[bool]] = {}
        for name, kind, ident in records:
            kinds.setdefault(name, set()).add(kind)
            plain.setdefault((name, kind), set()).add(bool(ident))
        problems = [f"RRSet of type CNAME with DNS name {name} is not permitted as it conflicts with other records with the same DNS name in zone {zone.name}"
                    for name, found in kinds.items() if "CNAME" in found and (len(found) > 1 or name == zone.name)]
        problems += [f"RRSet with DNS name {name}, type {kind} cannot be created as other RRSets exist with the same name and type"
                     for (name, kind), found in plain.items() if len(found) > 1]
        if not {"NS", "SOA"} <= kinds.get(zone.name, set()):
            problems.append(f"A HostedZone must contain exactly one SOA record and at least one NS record: {zone.name}")
        return problems
