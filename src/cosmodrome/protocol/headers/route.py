"""Headers of GET_ROUTEINFO_BY_TOPIC."""

from dataclasses import dataclass, field

from cosmodrome.protocol.ext_fields import wire_name


@dataclass(frozen=True, slots=True, kw_only=True)
class GetRouteInfoRequestHeader:
    """105. The zone fields are added by clients that want routes of one zone only."""

    topic: str | None = None
    accept_standard_json_only: bool | None = None
    zone_mode: bool | None = field(default=None, metadata=wire_name("__ZONE_MODE"))
    zone_name: str | None = field(default=None, metadata=wire_name("__ZONE_NAME"))
