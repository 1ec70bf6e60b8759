"""What two registrations that say the same have in common.

Owns: the digest of a registration, what is left out of it, the hash that it is made with.
Must not know: what happens to a registration.
"""

import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Final

from cosmodrome.protocol.acl import SIGNATURE
from cosmodrome.protocol.bodies.register_broker import SLICE_BYTES
from cosmodrome.protocol.bodies.table_outline import Digest, Outline, outline_in_slices
from cosmodrome.protocol.bodies.topic_stretches import KnownStretch
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.slices import Slices, at_once

_DIGEST_BYTES: Final = 16
_KEY_BYTES: Final = 32
_MAPPING_DATA_VERSION: Final = b'"mappingDataVersion":{'
_HEAD_BYTES: Final = 1024 * 1024
_NEVER_THE_SAME: Final = frozenset({"bodyCrc32", SIGNATURE})
_HASHES: Final[tuple[Callable[[bytes], Digest], ...]] = (hashlib.blake2b, hashlib.sha256)
_TRIAL: Final = bytes(64 * 1024)
_TRIALS: Final = 3


def _quickest() -> Callable[[bytes], Digest]:
    """Give the hash that this machine computes fastest: SHA-256 where the processor knows it, else BLAKE2."""

    def took_ns(new: Callable[[bytes], Digest]) -> int:
        begun_ns = time.perf_counter_ns()
        new(_TRIAL).digest()
        return time.perf_counter_ns() - begun_ns

    return min(_HASHES, key=lambda new: min(took_ns(new) for _ in range(_TRIALS)))


_KEYED: Final = _quickest()(secrets.token_bytes(_KEY_BYTES))
"""Keyed with what nobody knows, so that no peer can look for two texts with one digest. Never leaves this process."""


def registration_digest(request: RemotingCommand, host: str = "") -> bytes:
    """Give what two registrations from one host that say the same have in common.

    `bodyCrc32` and the body's `mappingDataVersion` are left out: 5.x brokers write the time of sending there. So is
    the signature, which follows from them.
    """
    digest, _ = at_once(digest_in_slices(request, host, ()))
    return digest


def digest_in_slices(
    request: RemotingCommand, host: str, known: Sequence[KnownStretch] | None
) -> Slices[tuple[bytes, Outline | None]]:
    """Give the `registration_digest` with pauses, and the outline of a long JSON body.

    The digest of such a body depends on where it is cut, and that on `known`, the stretches of the broker's last one.
    `known` is None for a body that is not JSON.
    """
    ext_fields, body = request.ext_fields or {}, request.body
    fields = [(name, ext_fields[name]) for name in sorted(ext_fields) if name not in _NEVER_THE_SAME]
    outline = None if known is None else (yield from outline_in_slices(body, known, _KEYED))
    stretches = () if outline is None else outline.stretches
    sizes = [stretch.end - stretch.start for stretch in stretches]
    digest = _KEYED.copy()
    digest.update(repr((request.version, host, fields, sizes)).encode("utf-8", "surrogatepass"))
    # Brokers that have it write it before the topics.
    start = body.find(_MAPPING_DATA_VERSION, 0, _HEAD_BYTES if outline is None else outline.start)
    end = body.find(b"}", start) + 1 if start >= 0 else 0
    parts = [(0, start), (end, len(body))] if end else [(0, len(body))]
    if outline is not None:
        parts = [*parts[:-1], (parts[-1][0], outline.start), (outline.end, len(body))]
        digest.update(b"".join(stretch.digest for stretch in stretches))
    with memoryview(body) as view:
        for begin, stop in parts:
            for position in range(begin, stop, SLICE_BYTES):
                digest.update(view[position : min(position + SLICE_BYTES, stop)])
                if position + SLICE_BYTES < stop:
                    yield
    return digest.digest()[:_DIGEST_BYTES], outline
