"""What both header codecs carry.

Owns: the header's fields, and the ranges and the limit that both codecs share.
Must not know: how either codec writes them.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cosmodrome.protocol.codes import LanguageCode

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1
MAX_FIELDS: Final = 1024
"""Entries of extFields. The longest request of any release, a registration, has fifteen, and tools add a few."""


class Header(NamedTuple):
    """The header of one command. The order is that of RemotingCommand's first fields."""

    code: int
    opaque: int
    flag: int
    version: int
    language: LanguageCode | None
    remark: str | None
    ext_fields: Mapping[str, str | None] | None


LANGUAGES_BY_CODE: Final[Mapping[int, LanguageCode]] = {int(member): member for member in LanguageCode}
LANGUAGES_BY_NAME: Final[Mapping[str, LanguageCode]] = {member.name: member for member in LanguageCode}
