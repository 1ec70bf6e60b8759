"""A message, as commands print it.

Owns: its row in JSON; bodies as text; the file of a body.
Must not know: how it was found.
"""

import base64
import codecs
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

from cosmodrome.admin.java_text import hash_order, host_text, map_text, store_size
from cosmodrome.admin.moments import local_ms, rfc3339
from cosmodrome.admin.output import Row
from cosmodrome.client.message import MessageView
from cosmodrome.errors import MalformedBodyError, MissingLibraryError, StorageError
from cosmodrome.shown_text import shown

UTF_8: Final = "UTF-8"
_LABEL: Final = 20


def charset(text: str) -> str:
    """Give the name of a charset.

    Raises:
        ValueError: Python does not know it, or it is none of text.
    """
    try:
        if not codecs.lookup(text)._is_text_encoding:  # noqa: SLF001  # the only place that says so
            raise ValueError(f"{text!r} is no charset of text")
    except LookupError:
        raise ValueError(f"unknown charset {text!r}: for example UTF-8 or GBK") from None
    return text


def body_of(message: MessageView) -> bytes:
    """Give the body, inflated if possible, else as it is stored."""
    try:
        return message.body
    except (MalformedBodyError, MissingLibraryError):
        return message.stored.body


def body_text(body: bytes, charset_name: str = UTF_8) -> str:
    """Give a body on one line: what is no text of this charset, and what would move the cursor, as escapes."""
    return shown(body.decode(charset_name, "backslashreplace"))


def message_row(message: MessageView, charset_name: str | None = UTF_8) -> Row:
    """Give a message as JSON; `charset_name` None leaves the body out.

    One of `body` and `body_base64` is null: which one depends on whether it is text of this charset.
    """
    stored = message.stored
    return {
        "topic": stored.topic,
        "msg_id": message.msg_id,
        "offset_msg_id": message.offset_msg_id,
        "broker_name": message.queue.broker_name,
        "queue_id": stored.queue_id,
        "queue_offset": stored.queue_offset,
        "commit_log_offset": stored.commit_log_offset,
        "store_size": store_size(stored),
        "born_at": rfc3339(stored.born_timestamp_ms),
        "stored_at": rfc3339(stored.store_timestamp_ms),
        "born_host": host_text(stored.born_host),
        "store_host": host_text(stored.store_host),
        "sys_flag": stored.sys_flag,
        "flag": stored.flag,
        "reconsume_times": stored.reconsume_times,
        "tag": message.tag,
        "keys": list(message.keys),
        "properties": {name: message.properties[name] for name in hash_order(message.properties)},
        **(_body_members(body_of(message), charset_name) if charset_name else {}),
    }


def message_lines(message: MessageView, properties: Mapping[str, str], *, with_offset_id: bool) -> list[str]:
    """Give what mqadmin prints of a message that was looked for, without its body and its consumers."""
    stored = message.stored
    keys = properties.get("KEYS")
    rows = [
        ("OffsetID:", stored.offset_msg_id),
        ("Topic:", stored.topic),
        ("Tags:", f"[{'null' if message.tag is None else message.tag}]"),
        ("Keys:", f"[{'null' if keys is None else keys}]"),
        ("Queue ID:", stored.queue_id),
        ("Queue Offset:", stored.queue_offset),
        ("CommitLog Offset:", stored.commit_log_offset),
        ("Reconsume Times:", stored.reconsume_times),
        ("Born Timestamp:", local_ms(stored.born_timestamp_ms)),
        ("Store Timestamp:", local_ms(stored.store_timestamp_ms)),
        ("Born Host:", host_text(stored.born_host)),
        ("Store Host:", host_text(stored.store_host)),
        ("System Flag:", stored.sys_flag),
        ("Properties:", map_text(properties)),
    ]
    return [labelled(label, value) for label, value in rows[0 if with_offset_id else 1 :]]


def labelled(label: str, value: object) -> str:
    """Give a line of such a message."""
    return f"{label:<{_LABEL}} {shown(str(value))}"


def write_body(message: MessageView, folder: str) -> str:
    """Write a body to a file of its own that has the name of the message's id, and give its path.

    Raises:
        StorageError: It cannot be written.
    """
    name = quote(message.msg_id, safe="") or "message"
    path = Path(folder) / name.replace(".", "%2E")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A link that somebody laid where the file is to be is not followed: the name can be guessed.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        with open(os.open(path, flags, 0o600), "wb") as file:  # noqa: PTH123  # a descriptor
            file.write(body_of(message))
    except OSError as error:
        raise StorageError(f"cannot write the body to {path}.", why=f"{error}.") from error
    return str(path)


def _body_members(body: bytes, charset_name: str) -> Row:
    try:
        return {"body": body.decode(charset_name), "body_base64": None}
    except UnicodeDecodeError:
        return {"body": None, "body_base64": base64.b64encode(body).decode()}
