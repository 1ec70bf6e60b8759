"""Which groups pop which topics (Java: MessageRequestModeManager).

Owns: the table of modes.
Must not know: files; which queues a member gets.
"""

from cosmodrome.protocol.bodies.pop import MessageRequestModeTable, SetMessageRequestModeRequestBody


class RequestModes:
    """Modes by topic and group."""

    def __init__(self) -> None:
        """Begin without any."""
        self._modes: dict[tuple[str, str], SetMessageRequestModeRequestBody] = {}

    def load(self, table: MessageRequestModeTable) -> None:
        """Take over a table that was kept."""
        for topic, groups in table.message_request_mode_map.items():
            for group, mode in groups.items():
                self._modes[topic, group] = mode

    def get(self, topic: str, group: str) -> SetMessageRequestModeRequestBody | None:
        """Give how a group asks for a topic; None when nobody has said."""
        return self._modes.get((topic, group))

    def put(self, mode: SetMessageRequestModeRequestBody) -> None:
        """Note how a group asks for a topic."""
        self._modes[mode.topic, mode.consumer_group] = mode

    def table(self) -> MessageRequestModeTable:
        """Give the table as it is kept and shown."""
        found: dict[str, dict[str, SetMessageRequestModeRequestBody]] = {}
        for (topic, group), mode in self._modes.items():
            found.setdefault(topic, {})[group] = mode
        return MessageRequestModeTable(message_request_mode_map=found)
