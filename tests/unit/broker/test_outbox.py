"""Requests of a broker to its clients, and their answers."""

from cosmodrome.broker.outbox import Outbox
from cosmodrome.protocol.codes import FLAG_ONEWAY, FLAG_RESPONSE
from cosmodrome.protocol.command import RemotingCommand, request, response_to


class Lines:
    """Connections 1 and 2, and what was sent over them."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, RemotingCommand]] = []

    def send(self, connection: int, command: RemotingCommand) -> bool:
        self.sent.append((connection, command))
        return connection in (1, 2)


def answer_to(command: RemotingCommand) -> RemotingCommand:
    return RemotingCommand(0, command.opaque, FLAG_RESPONSE)


def test_each_gets_its_own_answer_and_only_from_who_was_asked() -> None:
    lines = Lines()
    outbox = Outbox(lines.send)
    heard: list[object] = []
    outbox.ask(1, request(307), 10.0, heard.append)
    asked = lines.sent[0][1]
    outbox.answered(2, answer_to(asked))
    assert heard == []
    outbox.answered(1, answer_to(asked))
    outbox.answered(1, answer_to(asked))
    assert heard == [answer_to(asked)]


def test_none_without_a_connection_or_in_time() -> None:
    outbox = Outbox(Lines().send)
    heard: list[object] = []
    outbox.ask(3, request(307), 10.0, heard.append)
    outbox.ask(1, request(307), 10.0, heard.append)
    outbox.ask(2, request(307), 99.0, heard.append)
    assert heard == [None]
    outbox.overdue(10.2)
    assert heard == [None, None]
    outbox.connection_lost(2)
    outbox.connection_lost(2)
    assert heard == [None, None, None]


def test_a_oneway_request_is_not_answered() -> None:
    lines = Lines()
    outbox = Outbox(lines.send)
    asked = request(310, is_oneway=True)
    outbox.answer(1, asked, response_to(asked, 0))
    assert lines.sent == []
    outbox.tell(1, 40, {"consumerGroup": "G"})
    assert [each.flag for _, each in lines.sent] == [FLAG_ONEWAY]
