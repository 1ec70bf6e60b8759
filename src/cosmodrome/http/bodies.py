"""The JSON that is sent with a change.

Owns: how long it may be and take, that it calls itself JSON, and that it is what the operation takes.
Must not know: what is done with it.
"""

import asyncio
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import ClientDisconnect, Request

from cosmodrome.http.operations import JSON, Operation
from cosmodrome.http.problems import Problem

LONGEST_BODY_BYTES: Final = 1024 * 1024
BODY_TIMEOUT_S: Final = 10.0


async def body_of(operation: Operation, request: Request) -> Any:
    """Read what was sent, as the operation takes it; None when it takes nothing.

    Raises:
        Problem: It is too long, too slow, too deep, no JSON, not of that form, or there is one and should be none.
    """
    if operation.is_json_wanted and _media_type(request) != JSON:
        raise Problem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "not_json", f"a change needs Content-Type: {JSON}, also without a body"
        )
    data = await _received(request)
    if operation.takes is None:
        if data:
            raise Problem(HTTPStatus.BAD_REQUEST, "unwanted_body", "this takes no body")
        return None
    try:
        return msgspec.json.decode(data, type=operation.takes)
    except RecursionError:
        raise Problem(HTTPStatus.BAD_REQUEST, "too_deep", "the body is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "bad_body", f"the body cannot be used: {error}"[:500]) from error


async def _received(request: Request) -> bytes:
    declared = request.headers.get("content-length", "0")
    if not (declared.isascii() and declared.isdigit()) or int(declared[:20]) > LONGEST_BODY_BYTES:
        raise _too_long()
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for part in request.stream():
                size += len(part)
                if size > LONGEST_BODY_BYTES:
                    raise _too_long()
                parts.append(part)
    except TimeoutError:
        raise Problem(
            HTTPStatus.REQUEST_TIMEOUT,
            "slow_body",
            f"the body did not come in {BODY_TIMEOUT_S:g} s",
            headers={"Connection": "close"},
        ) from None
    except ClientDisconnect:
        raise Problem(HTTPStatus.BAD_REQUEST, "broken_body", "the body ended early") from None
    return b"".join(parts)


def _too_long() -> Problem:
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "long_body",
        f"a body has at most {LONGEST_BODY_BYTES} bytes",
        headers={"Connection": "close"},
    )


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
