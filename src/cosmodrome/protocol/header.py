"""What both header codecs carry.

Owns: the header's fields, and the ranges and the limit that both codecs share.
Must not know: how either codec writes them.
"""

from collections.abc import Mapping
from typing import Any, Final, Self

import msgspec

from cosmodrome.protocol.codes import LanguageCode

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1
MAX_FIELDS: Final = 1024
"""Entries of extFields. The longest request of any release, a registration, has fifteen, and tools add a few."""


class Header(msgspec.Struct, frozen=True, gc=False):
    """The header of one command; RemotingCommand adds what its frame says.

    `language` is None when the peer named one that we do not know. `ext_fields` is None when the header had
    none at all; a value of None in it is a field that was there and null.
    """

    code: int
    opaque: int = 0
    flag: int = 0
    version: int = 0
    language: LanguageCode | None = LanguageCode.JAVA
    remark: str | None = None
    ext_fields: Mapping[str, str | None] | None = None

    def replaced(self, **changes: Any) -> Self:
        """Give the same with some members changed."""
        return msgspec.structs.replace(self, **changes)


LANGUAGES_BY_CODE: Final[Mapping[int, LanguageCode]] = {int(member): member for member in LanguageCode}
LANGUAGES_BY_NAME: Final[Mapping[str, LanguageCode]] = {member.name: member for member in LanguageCode}
