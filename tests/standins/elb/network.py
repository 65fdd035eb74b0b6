# SPDX-License-Identifier: Apache-2.0
"""EC2: VPC, subnets, zones, route tables, and security groups with their rules."""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from typing import Any, Callable, Iterable, Iterator

from .account import Account, SecurityGroup, Subnet
from .errors import ApiError
from .paging import page

_TAGGED = ("sg", "subnet", "vpc")
_SOURCES = (("IpRanges", "CidrIp"), ("Ipv6Ranges", "CidrIpv6"), ("UserIdGroupPairs", "GroupId"), ("PrefixListIds", "PrefixListId"))


def _wrong(message: str) -> ApiError:
    return ApiError("InvalidParameterValue", message)


def _tag_list(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


class Network:
    def __init__(self, account: Account):
        self.account = account

    def _list(self, p: dict[str, Any], key: str, items: Iterable[Any], show: Callable[[Any], dict[str, Any]],
              facts: Callable[[Any], dict[str, str]], tags: Callable[[Any], dict[str, str]]) -> dict[str, Any]:
        """An answer of a Describe call: filtered, in pages."""
        kept = [item for item in items if all(self._passes(f, facts(item), tags(item)) for f in p.get("Filters", []))]
        size = min(p.get("MaxResults", 1000), self.account.settings.page_max)
        shown, following = page(kept, p.get("NextToken"), size, _wrong)
        return {key: [show(item) for item in shown], "NextToken": following}

    @staticmethod
    def _passes(given: dict[str, Any], facts: dict[str, str], tags: dict[str, str]) -> bool:
        name, values = given.get("Name", ""), given.get("Values", [])
        if name.startswith("tag:"):
            present = [tags[name[4:]]] if name[4:] in tags else []
        elif name == "tag-key":
            present = list(tags)
        elif name in facts:
            present = [facts[name]]
        else:
            raise _wrong(f"The filter '{name}' is invalid")
        return any(fnmatch.fnmatchcase(text, re.sub(r"[\[\]]", "?", value)) for text in present for value in values)

    @staticmethod
    def _chosen(p: dict[str, Any], key: str, things: dict[str, Any], code: str) -> list[Any]:
        if key not in p:
            return list(things.values())
        if "MaxResults" in p or "NextToken" in p:
            raise ApiError("InvalidParameterCombination", f"The parameter {key} cannot be used with the parameter MaxResults")
        missing = [ident for ident in p[key] if ident not in things]
        if missing:
            raise ApiError(code, f"The ID '{missing[0]}' does not exist")
        return [things[ident] for ident in p[key]]

    # Subnets, zones, routes

    def describe_subnets(self, p: dict[str, Any]) -> dict[str, Any]:
        chosen = self._chosen(p, "SubnetIds", self.account.subnets, "InvalidSubnetID.NotFound")
        return self._list(p, "Subnets", chosen, self._subnet, lambda s: {
            "vpc-id": s.vpc, "subnet-id": s.id, "availability-zone": s.zone, "state": "available"}, lambda s: self.account.tags(s.arn))

    def _subnet(self, s: Subnet) -> dict[str, Any]:
        ipv6 = [{"AssociationId": f"subnet-cidr-assoc-{s.id[7:]}", "Ipv6CidrBlock": s.ipv6_cidr, "Ipv6CidrBlockState": {"State": "associated"}}]
        return {"SubnetId": s.id, "State": "available", "VpcId": s.vpc, "CidrBlock": s.cidr, "AvailableIpAddressCount": s.free,
                "AvailabilityZone": s.zone, "AvailabilityZoneId": s.zone_id, "MapPublicIpOnLaunch": s.public, "OwnerId": self.account.id,
                "SubnetArn": s.arn, "Ipv6CidrBlockAssociationSet": ipv6 if s.ipv6_cidr else [], "Tags": _tag_list(self.account.tags(s.arn))}

    def describe_availability_zones(self, p: dict[str, Any]) -> dict[str, Any]:
        zones = {s.zone: s.zone_id for s in self.account.subnets.values()}
        missing = [name for name in p.get("ZoneNames", []) if name not in zones]
        if missing:
            raise _wrong(f"Invalid availability zone: [{missing[0]}]")
        shown = [{"ZoneName": name, "ZoneId": ident, "ZoneType": "availability-zone", "State": "available", "RegionName": self.account.region}
                 for name, ident in sorted(zones.items()) if name in p.get("ZoneNames", [name])]
        answer = self._list({"Filters": p.get("Filters", [])}, "AvailabilityZones", shown, lambda z: z, lambda z: {
            "zone-name": z["ZoneName"], "zone-id": z["ZoneId"], "zone-type": z["ZoneType"], "region-name": z["RegionName"]}, lambda z: {})
        return {"AvailabilityZones": answer["AvailabilityZones"]}

    def describe_vpcs(self, p: dict[str, Any]) -> dict[str, Any]:
        account = self.account
        ipv6 = [{"AssociationId": "vpc-cidr-assoc-6", "Ipv6CidrBlock": "2600:1f18::/56", "Ipv6CidrBlockState": {"State": "associated"}}]
        cidrs = [{"AssociationId": f"vpc-cidr-assoc-{n}", "CidrBlock": cidr, "CidrBlockState": {"State": "associated"}}
                 for n, cidr in enumerate(account.vpc_cidrs)]
        vpc = {"VpcId": account.vpc, "CidrBlock": account.vpc_cidrs[0], "CidrBlockAssociationSet": cidrs, "Ipv6CidrBlockAssociationSet": ipv6,
               "State": "available", "IsDefault": True, "OwnerId": account.id, "Tags": _tag_list(account.tags(account.ec2_arn(account.vpc)))}
        chosen = self._chosen(p, "VpcIds", {account.vpc: vpc}, "InvalidVpcID.NotFound")
        return self._list(p, "Vpcs", chosen, lambda v: v, lambda v: {
            "vpc-id": v["VpcId"], "state": "available", "isDefault": "true", "is-default": "true", "cidr": v["CidrBlock"]},
            lambda v: account.tags(account.ec2_arn(account.vpc)))

    def describe_route_tables(self, p: dict[str, Any]) -> dict[str, Any]:
        """The main one has no way to the internet; the subnets that are public share another."""
        account = self.account
        public = [{"RouteTableAssociationId": f"rtbassoc-{s.id[7:]}", "RouteTableId": "rtb-public", "SubnetId": s.id, "Main": False}
                  for s in account.subnets.values() if s.public]
        local = [{"DestinationCidrBlock": cidr, "GatewayId": "local", "State": "active"} for cidr in account.vpc_cidrs]
        gateway = {"DestinationCidrBlock": "0.0.0.0/0", "GatewayId": "igw-0c11", "State": "active"}
        tables = [{"RouteTableId": "rtb-main", "VpcId": account.vpc, "Routes": local,
                   "Associations": [{"RouteTableAssociationId": "rtbassoc-main", "RouteTableId": "rtb-main", "Main": True}]},
                  {"RouteTableId": "rtb-public", "VpcId": account.vpc, "Routes": [*local, gateway], "Associations": public}]
        return self._list(p, "RouteTables", tables, lambda t: t, lambda t: {"vpc-id": t["VpcId"], "route-table-id": t["RouteTableId"]}, lambda t: {})

    # Security groups

    def describe_security_groups(self, p: dict[str, Any]) -> dict[str, Any]:
        seen = {group.id: group for group in self.account.seen("security-group")}
        chosen = self._chosen(p, "GroupIds", seen, "InvalidGroup.NotFound")
        return self._list(p, "SecurityGroups", chosen, self._group, lambda g: {
            "vpc-id": g.vpc, "group-id": g.id, "group-name": g.name, "description": g.description}, lambda g: self.account.tags(g.arn))

    def _group(self, g: SecurityGroup) -> dict[str, Any]:
        permissions: dict[tuple[Any, ...], dict[str, Any]] = {}
        for (protocol, low, high, kind, _), source in g.rules.items():
            entry = permissions.setdefault((protocol, low, high), {
                "IpProtocol": protocol, "FromPort": low, "ToPort": high, **{key: [] for key, _ in _SOURCES}})
            entry[kind].append(source)
        everything = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
        return {"GroupId": g.id, "GroupName": g.name, "Description": g.description, "VpcId": g.vpc, "OwnerId": self.account.id,
                "IpPermissions": list(permissions.values()), "IpPermissionsEgress": [everything], "Tags": _tag_list(self.account.tags(g.arn))}

    def _find(self, p: dict[str, Any]) -> SecurityGroup:
        if "GroupId" not in p:
            raise ApiError("MissingParameter", "The request must contain the parameter GroupId")
        group = self.account.find("security-group", p["GroupId"])
        if group is None:
            raise ApiError("InvalidGroup.NotFound", f"The security group '{p['GroupId']}' does not exist")
        return group

    def create_security_group(self, p: dict[str, Any]) -> dict[str, Any]:
        name, description = p["GroupName"], p["Description"]
        for text in (name, description):
            if not re.fullmatch(r"[a-zA-Z0-9. _:/()#,@\[\]+=&;{}!$*-]{1,255}", text):
                raise _wrong(f"Value ({text}) is invalid. Character sets beyond ASCII are not supported")
        if name.startswith("sg-"):
            raise _wrong("Group names may not be in the format sg-*")
        if p.get("VpcId", self.account.vpc) != self.account.vpc:
            raise ApiError("InvalidVpcID.NotFound", f"The vpc ID '{p['VpcId']}' does not exist")
        tags: dict[str, str] = {}
        for item in p.get("TagSpecifications", []):
            if item.get("ResourceType") != "security-group":
                raise _wrong(f"'{item.get('ResourceType')}' is not a valid taggable resource type for this operation.")
            tags |= self._tags(item.get("Tags", []), {})
        if any(group.name == name for group in self.account.security_groups.values()):
            raise ApiError("InvalidGroup.Duplicate", f"The security group '{name}' already exists for VPC '{self.account.vpc}'")
        if len(self.account.security_groups) >= self.account.settings.quotas["security-groups"]:
            raise ApiError("SecurityGroupLimitExceeded", "The maximum number of security groups has been reached")
        group = self.account.add_security_group(name, description)
        self.account.created("security-group", group)
        self.account.tag(group.arn, tags)
        return {"GroupId": group.id, "Tags": _tag_list(tags)}

    def delete_security_group(self, p: dict[str, Any]) -> dict[str, Any]:
        group = self._find(p)
        if group.id == self.account.default_security_group:
            raise ApiError("CannotDelete", f"the specified group: \"{group.id}\" name: \"default\" cannot be deleted by a user")
        if self.account.users_of_security_group(group.id) or self.account.lingers(group.id, self.account.settings.security_group_release_s):
            raise ApiError("DependencyViolation", f"resource {group.id} has a dependent object")
        del self.account.security_groups[group.id]
        self.account.untag(group.arn)
        return {}

    def _permissions(self, p: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Each rule of a call, with what makes it different from others."""
        if not p.get("IpPermissions"):
            raise ApiError("MissingParameter", "The request must contain the parameter IpPermissions")
        for item in p["IpPermissions"]:
            protocol, low, high = item.get("IpProtocol"), item.get("FromPort"), item.get("ToPort")
            if protocol not in ("tcp", "udp", "icmp", "icmpv6", "-1"):
                raise _wrong(f"Invalid value '{protocol}' for IP protocol.")
            if protocol in ("tcp", "udp") and not (low is not None and high is not None and 0 <= low <= high <= 65535):
                raise _wrong(f"Invalid port range {low}-{high}")
            sources = [(kind, key, source) for kind, key in _SOURCES for source in item.get(kind, [])]
            if not sources:
                raise ApiError("MissingParameter", "Either 'cidrIp' or 'groupId' must be specified")
            for kind, key, source in sources:
                yield (protocol, low, high, kind, self._source(kind, source.get(key))), source

    def _source(self, kind: str, value: str | None) -> str:
        if value is None:
            raise ApiError("MissingParameter", "A source must be specified")
        if kind in ("IpRanges", "Ipv6Ranges"):
            try:
                network = ipaddress.ip_network(value)
            except ValueError:
                raise _wrong(f"CIDR block {value} is malformed") from None
            if network.version != (4 if kind == "IpRanges" else 6):
                raise _wrong(f"CIDR block {value} is malformed")
        if kind == "UserIdGroupPairs" and value not in self.account.security_groups:
            raise ApiError("InvalidGroup.NotFound", f"The security group '{value}' does not exist")
        return value

    @staticmethod
    def _peer(key: tuple[Any, ...]) -> str:
        return f"\"peer: {key[4]}, {key[0].upper()}, from port: {key[1]}, to port: {key[2]}, ALLOW\""

    def authorize_security_group_ingress(self, p: dict[str, Any]) -> dict[str, Any]:
        group, wanted = self._find(p), list(self._permissions(p))
        after = dict(group.rules)
        for key, source in wanted:
            if key in after:
                raise ApiError("InvalidPermission.Duplicate", f"the specified rule {self._peer(key)} already exists")
            after[key] = source
        if len(after) > self.account.settings.quotas["rules-per-security-group"]:
            raise ApiError("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has been reached.")
        group.rules = after
        names = {"IpRanges": "CidrIpv4", "Ipv6Ranges": "CidrIpv6", "PrefixListIds": "PrefixListId"}
        made = [{"SecurityGroupRuleId": f"sgr-{self.account.new_id(8)}", "GroupId": group.id, "IsEgress": False, "IpProtocol": key[0],
                 "FromPort": key[1], "ToPort": key[2], "Description": source.get("Description"),
                 **({names[key[3]]: key[4]} if key[3] in names else {"ReferencedGroupInfo": {"GroupId": key[4]}})} for key, source in wanted]
        return {"Return": True, "SecurityGroupRules": made}

    def revoke_security_group_ingress(self, p: dict[str, Any]) -> dict[str, Any]:
        group, after = self._find(p), {}
        after.update(group.rules)
        for key, _ in self._permissions(p):
            if after.pop(key, None) is None:
                raise ApiError("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
        group.rules = after
        return {"Return": True}

    # Tags

    @staticmethod
    def _tags(given: list[dict[str, Any]], present: dict[str, str]) -> dict[str, str]:
        tags = {item.get("Key", ""): item.get("Value", "") for item in given}
        if len(tags) != len(given) or any(not 1 <= len(key) <= 128 or len(value) > 256 for key, value in tags.items()):
            raise _wrong("Tag keys must be different, of up to 128 characters, with values of up to 256")
        if any(key.lower().startswith("aws:") for key in tags):
            raise _wrong("Tag keys starting with 'aws:' are reserved for internal use")
        if len({**present, **tags}) > 50:
            raise ApiError("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
        return tags

    def _arns(self, idents: list[str]) -> list[str]:
        for ident in idents:
            known = {*self.account.security_groups, *self.account.subnets, self.account.vpc}
            if ident.split("-")[0] not in _TAGGED or ident not in known:
                raise ApiError("InvalidID", f"The ID '{ident}' is not valid")
        return [self.account.ec2_arn(ident) for ident in idents]

    def create_tags(self, p: dict[str, Any]) -> dict[str, Any]:
        arns = self._arns(p["Resources"])
        for arn in arns:
            self._tags(p["Tags"], self.account.tags(arn))
        for arn in arns:
            self.account.tag(arn, self._tags(p["Tags"], {}))
        return {}

    def delete_tags(self, p: dict[str, Any]) -> dict[str, Any]:
        for arn in self._arns(p["Resources"]):
            present = self.account.tags(arn)
            gone = [t["Key"] for t in p.get("Tags", []) if "Value" not in t or present.get(t["Key"]) == t["Value"]] if "Tags" in p else list(present)
            self.account.tag(arn, {}, gone)
        return {}
