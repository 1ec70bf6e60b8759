"""HTTP address servers, which say where the NameServers are (Java: `rocketmq.namesrv.domain`).

Owns: the question and the reading of the answer: its size, its time, which redirects are followed; the text in it.
Must not know: when it is asked; what becomes of the addresses.
"""

import asyncio
import re
import ssl
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit

from cosmodrome.client.addresses import Address, parse_addresses
from cosmodrome.errors import AddressServerError, UsageError

MAX_BODY_BYTES: Final = 64 * 1024
MAX_HEAD_BYTES: Final = 16 * 1024
MAX_REDIRECTS: Final = 3
_PORTS: Final = {"http": 80, "https": 443}
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: .*)?")
_URL: Final = re.compile(r"https?://[^/;,\s]+/[^;,\s]+", re.IGNORECASE)


def is_url(text: str) -> bool:
    """Tell a URL with a path, which is an address server, from a list of NameServers."""
    return _URL.fullmatch(text.strip()) is not None


def url_of_unit(url: str, unit_name: str | None) -> str:
    """Give the URL at which Java's clients of a unit ask."""
    return f"{url.strip()}-{unit_name}?nofix=1" if unit_name else url.strip()


async def name_servers_at(url: str, timeout_s: float) -> tuple[Address, ...]:
    """Ask an address server.

    Raises:
        AddressServerError: It does not answer in time, or with anything but a list of addresses.
    """
    try:
        async with asyncio.timeout(timeout_s):
            body = await _fetched(url)
    except TimeoutError:
        raise AddressServerError(url, f"no answer in {timeout_s:g} s") from None
    except (OSError, ssl.SSLError) as error:
        raise AddressServerError(url, str(error) or type(error).__name__) from error
    try:
        return parse_addresses(body.decode("utf-8").strip(), "its answer")
    except (UnicodeDecodeError, UsageError) as error:
        what = error.what if isinstance(error, UsageError) else "its answer is no text"
        raise AddressServerError(url, what[:500]) from None


async def _fetched(url: str) -> bytes:
    asked = url
    for _ in range(MAX_REDIRECTS + 1):
        status, head, body = await _answer(asked)
        if status not in _REDIRECTS:
            if status != 200:
                raise AddressServerError(url, f"HTTP status {status}")
            return body
        there = urljoin(asked, head.get("location", ""))
        if urlsplit(there).scheme != urlsplit(asked).scheme or there == asked:
            raise AddressServerError(url, f"it redirects to {there[:200]!r}, which is not followed")
        asked = there
    raise AddressServerError(url, f"more than {MAX_REDIRECTS} redirects")


async def _answer(url: str) -> tuple[int, dict[str, str], bytes]:
    parts = urlsplit(url)
    try:
        port = parts.port or _PORTS[parts.scheme.lower()]
    except (ValueError, KeyError):
        raise AddressServerError(url, "the URL has no host and port that can be asked") from None
    context = ssl.create_default_context() if parts.scheme.lower() == "https" else None
    reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=context, limit=MAX_HEAD_BYTES)
    try:
        writer.write(_question(parts))
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise AddressServerError(url, f"a head of more than {MAX_HEAD_BYTES} bytes") from None
        except asyncio.IncompleteReadError:
            raise AddressServerError(url, "it is no HTTP server") from None
        status, fields = _read_head(url, head)
        body = await _read_body(url, reader, fields) if status not in _REDIRECTS else b""
        return status, fields, body
    finally:
        # Not waited for: a peer may take its time, and nothing more comes.
        writer.transport.abort()


def _question(parts: SplitResult) -> bytes:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host = parts.netloc.rpartition("@")[2]
    # HTTP/1.0: the answer comes whole, without chunks, and ends the connection.
    text = f"GET {target} HTTP/1.0\r\nHost: {host}\r\nUser-Agent: cosmodrome\r\nAccept: text/plain, */*\r\nConnection: close\r\n\r\n"
    return text.encode("ascii", "replace")


def _read_head(url: str, head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head[:-4].split(b"\r\n")
    status = _STATUS.fullmatch(first)
    if status is None:
        raise AddressServerError(url, "it is no HTTP server")
    fields = {}
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            fields[name.strip().lower()] = value.strip()
    return int(status[1]), fields


async def _read_body(url: str, reader: asyncio.StreamReader, fields: dict[str, str]) -> bytes:
    if fields.get("transfer-encoding", "identity").lower() != "identity":
        raise AddressServerError(url, "an answer in chunks, which was not asked for")
    told = fields.get("content-length")
    if told is not None and not (told.isascii() and told.isdigit() and len(told) < 10):
        raise AddressServerError(url, f"Content-Length {told[:50]!r}")
    length = None if told is None else int(told)
    if length is not None and length > MAX_BODY_BYTES:
        raise AddressServerError(url, f"an answer of more than {MAX_BODY_BYTES} bytes")
    body = bytearray()
    while length is None or len(body) < length:
        data = await reader.read(MAX_BODY_BYTES)
        if not data:
            break
        body += data
        if len(body) > MAX_BODY_BYTES:
            raise AddressServerError(url, f"an answer of more than {MAX_BODY_BYTES} bytes")
    if length is not None and len(body) < length:
        raise AddressServerError(url, "its answer was cut off")
    return bytes(body if length is None else body[:length])
