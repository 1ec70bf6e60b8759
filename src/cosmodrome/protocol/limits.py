"""What a body may hold.

Owns: the limits of bodies and of the names in them, and their defaults.
Must not know: what any of it means; where a limit was configured.

The size of a body is limited by its frame. These limit what it makes of itself: what it inflates to, and how much
more memory its values take than its text.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cosmodrome.errors import BodyLimitError

DEFAULT_MAX_INFLATED_BYTES: Final = 64 * 1024 * 1024
DEFAULT_MAX_TOPICS: Final = 200_000
DEFAULT_MAX_FILTER_SERVERS: Final = 1024
DEFAULT_MAX_NAME_LENGTH: Final = 1024
MAX_PIECE_BYTES: Final = 1024 * 1024
"""One length-prefixed part of a compressed registration: a topic, a mapping, a version, the filter servers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """Ceilings of one body; what is at the ceiling is accepted.

    Attributes:
        max_inflated_bytes: What a compressed registration may inflate to.
        max_topics: Topics in one registration, and static-topic mappings too; queue datas of one topic.
        max_filter_servers: Filter servers of one broker.
        max_name_length: Characters in the name of a topic, broker, cluster or address.
    """

    max_inflated_bytes: int = DEFAULT_MAX_INFLATED_BYTES
    max_topics: int = DEFAULT_MAX_TOPICS
    max_filter_servers: int = DEFAULT_MAX_FILTER_SERVERS
    max_name_length: int = DEFAULT_MAX_NAME_LENGTH

    def check_topics(self, count: int) -> None:
        """Refuse more topics, mappings or queue datas than are allowed.

        Raises:
            BodyLimitError: There are more.
        """
        if count > self.max_topics:
            raise BodyLimitError(f"more than {self.max_topics} topics in one request")

    def check_filter_servers(self, count: int) -> None:
        """Refuse more filter servers than are allowed.

        Raises:
            BodyLimitError: There are more.
        """
        if count > self.max_filter_servers:
            raise BodyLimitError(f"more than {self.max_filter_servers} filter servers")

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse names that are too long.

        Raises:
            BodyLimitError: One is.
        """
        if max(map(len, names), default=0) > self.max_name_length:
            raise BodyLimitError(f"a name of more than {self.max_name_length} characters")


DEFAULT_LIMITS: Final = BodyLimits()
