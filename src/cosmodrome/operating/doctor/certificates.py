"""Checks of certificates: how long they are good for.

Owns: reading the dates of a certificate (X.509, DER), and what they mean today.
Must not know: what a certificate is used for.
"""

import re
import ssl
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cosmodrome.operating.doctor.finding import Finding, fail, ok, warn

_SOON: Final = timedelta(days=30)
_PEM: Final = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_SEQUENCE: Final = 0x30
_VERSION: Final = 0xA0
_UTC_TIME: Final = 0x17
_GENERALIZED_TIME: Final = 0x18
_BEFORE_VALIDITY: Final = 3
"""Serial number, algorithm, issuer."""


def certificates(paths: Sequence[Path], now: datetime) -> Iterator[Finding]:
    """Look at the first certificate of each file."""
    for path in paths:
        try:
            begins, ends = validity_of(path.read_text(encoding="ascii", errors="replace"))
        except OSError as error:
            yield fail(
                "certificate", f"{path} cannot be read: {error.strerror}", "nobody can connect by TLS.", "mend the path"
            )
        except ValueError as error:
            yield fail(
                "certificate", f"{path}: {error}", "nobody can connect by TLS.", "use a PEM file of a certificate"
            )
        else:
            yield _judged(path, begins, ends, now)


def _judged(path: Path, begins: datetime, ends: datetime, now: datetime) -> Finding:
    if now < begins or now >= ends:
        what = f"{path} is good from {begins:%Y-%m-%d} until {ends:%Y-%m-%d %H:%M} UTC"
        return fail(
            "certificate", what, "whoever checks it does not connect.", "put a new one there: it is used at once"
        )
    left = ends - now
    if left < _SOON:
        return warn(
            "certificate",
            f"{path} ends in {left.days} days, {ends:%Y-%m-%d}",
            "whoever checks it does not connect then.",
            "put a new one there: it is used at once",
        )
    return ok("certificate", f"{path} is good until {ends:%Y-%m-%d}")


def validity_of(text: str) -> tuple[datetime, datetime]:
    """Give from when until when the first certificate of a PEM text is good.

    Raises:
        ValueError: There is none, or it cannot be read.
    """
    found = _PEM.search(text)
    if found is None:
        raise ValueError("there is no certificate in it")
    try:
        content = ssl.PEM_cert_to_DER_cert(found[0])
        _, certificate, _ = _element(content)
        _, body, _ = _element(certificate)
        tag, _, rest = _element(body)
        if tag == _VERSION:
            body = rest
        for _ in range(_BEFORE_VALIDITY):
            _, _, body = _element(body)
        tag, dates, _ = _element(body)
        if tag != _SEQUENCE:
            raise ValueError("it has no dates")
        first_tag, first, rest = _element(dates)
        second_tag, second, _ = _element(rest)
        return _moment(first_tag, first), _moment(second_tag, second)
    except IndexError:
        raise ValueError("it is cut off") from None


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """Take one element: its tag, its content, and what follows."""
    length, start = data[1], 2
    if length & 0x80:
        count = length & 0x7F
        if count > 4:
            raise ValueError("a length in it is impossible")
        length, start = int.from_bytes(data[2 : 2 + count]), 2 + count
    if len(data) < start + length:
        raise ValueError("it is cut off")
    return data[0], data[start : start + length], data[start + length :]


def _moment(tag: int, content: bytes) -> datetime:
    text = content.decode("ascii")
    if tag == _UTC_TIME:
        century = "19" if text[:2] >= "50" else "20"
        text = century + text
    elif tag != _GENERALIZED_TIME:
        raise ValueError("its dates are of no known kind")
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
