"""Who may talk to the API of a listener, before anybody asks what is wanted.

Owns: which Host is expected, which Origin is ours, when a bearer token is needed.
Must not know: what an operation does; who may do it by policy.

A page of another site can make a browser send requests here. It cannot choose their Host (unless it points its own name at
this address, so only addresses and names that are ours are expected), nor hide its Origin, nor call a form JSON.
"""

import hmac
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.requests import Request

from cosmodrome.http.problems import Problem

_PORT: Final = re.compile(r":[0-9]*\Z")
_FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
"""What proxies add. Behind one on this host everybody looks like this host."""
_BEARER: Final = "bearer "


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSettings:
    """Names by which this server is asked for, beside addresses and localhost; and the token, empty for none."""

    hosts: frozenset[str] = frozenset()
    token: str = ""


def settings(hosts: Iterable[str], token: str) -> GuardSettings:
    """Give the settings for names in any case."""
    return GuardSettings(hosts=frozenset(each.strip().lower() for each in hosts if each.strip()), token=token)


class Guard:
    """Refuses, by raising Problem, what a stranger could make somebody's browser send, and strangers themselves."""

    def __init__(self, settings: GuardSettings) -> None:
        self._settings = settings

    def check_host(self, request: Request) -> None:
        """Refuse a Host that is no address and no name of ours.

        Raises:
            Problem: It is.
        """
        hosts = request.headers.getlist("host")
        if len(hosts) > 1:
            raise Problem(HTTPStatus.BAD_REQUEST, "bad_host", "there is more than one Host")
        if hosts and not self._is_expected(hosts[0]):
            raise Problem(
                HTTPStatus.MISDIRECTED_REQUEST,
                "unexpected_host",
                f"{hosts[0][:100]!r} is not a name of this server",
                "ask by its address, or add the name to httpHosts",
            )

    def check_write(self, request: Request) -> None:
        """Refuse a change that a page of another site sent, or that comes from elsewhere without the token.

        Raises:
            Problem: It is refused.
        """
        if not request.headers.get("host"):
            raise Problem(HTTPStatus.BAD_REQUEST, "bad_host", "a change needs a Host")
        self._check_origin(request)
        self._check_token(request)

    def _check_origin(self, request: Request) -> None:
        site = request.headers.get("sec-fetch-site", "none").lower()
        origins = request.headers.getlist("origin")
        own = f"{request.scope.get('scheme', 'http')}://{request.headers['host']}".lower()
        if site not in ("none", "same-origin") or any(origin.lower() != own for origin in origins):
            raise Problem(
                HTTPStatus.FORBIDDEN,
                "foreign_origin",
                "a page of another origin may not change anything here",
                "send it from a page of this server, or from a program, without an Origin",
            )

    def _check_token(self, request: Request) -> None:
        if is_loopback(request):
            return
        expected = self._settings.token
        if not expected:
            raise Problem(
                HTTPStatus.FORBIDDEN,
                "no_token_set",
                "changes over HTTP come from this host only, as long as there is no httpToken",
                "set httpToken, and send Authorization: Bearer TOKEN",
            )
        given = request.headers.get("authorization", "")
        if not given.lower().startswith(_BEARER):
            raise _unauthorized("a change from another host needs Authorization: Bearer TOKEN (httpToken)")
        # Compared as bytes: a text with other letters than ASCII cannot be compared in constant time.
        if not hmac.compare_digest(given[len(_BEARER) :].strip().encode(), expected.encode()):
            raise _unauthorized("that is not the token (httpToken)")

    def _is_expected(self, host: str) -> bool:
        name = _PORT.sub("", host).strip().lower()
        if name == "localhost" or name.endswith(".localhost") or name in self._settings.hosts:
            return True
        return _address(name) is not None


def is_loopback(request: Request) -> bool:
    """Whether a request comes from this host itself; one that was passed on by a proxy here does not."""
    if request.client is None or any(name in request.headers for name in _FORWARDED):
        return False
    address = _address(request.client.host)
    return address is not None and address.is_loopback


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _unauthorized(detail: str) -> Problem:
    return Problem(HTTPStatus.UNAUTHORIZED, "bad_token", detail, headers={"WWW-Authenticate": "Bearer"})
