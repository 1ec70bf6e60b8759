"""What is wrong with slaves is told once a minute for each host and kind, with how often it was meanwhile."""

import pytest

from cosmodrome.broker.replication import complaints as module
from cosmodrome.broker.replication.complaints import AGAIN_MS, Complaints


class Told:
    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.now_ms = 0
        self.complaints = Complaints(lambda: self.now_ms)
        self._caplog = caplog

    @property
    def lines(self) -> list[str]:
        return [each.getMessage().partition("is closed: ")[2] for each in self._caplog.records]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    return Told(caplog)


def test_the_first_at_once_and_the_rest_as_a_number(told: Told) -> None:
    for port in range(5):
        told.complaints.tell(f"10.0.0.1:{port}", "ahead", "it is ahead")
    assert told.lines == ["it is ahead"]
    told.now_ms = AGAIN_MS
    told.complaints.tell("10.0.0.1:9", "ahead", "it is ahead")
    assert told.lines[1:] == ["it is ahead (4 more since this was said last)"]
    told.now_ms *= 2
    told.complaints.tell("10.0.0.1:9", "ahead", "it is ahead")
    assert told.lines[2:] == ["it is ahead"]


def test_other_hosts_and_kinds_are_told_for_themselves(told: Told) -> None:
    for host, cause in (("10.0.0.1", "a"), ("10.0.0.2", "a"), ("[::1]", "a"), ("10.0.0.1", "b")):
        told.complaints.tell(f"{host}:1", cause, f"{host} {cause}")
    assert len(told.lines) == 4


def test_many_hosts_are_not_all_remembered(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 2)
    for number in (1, 2, 3, 1):
        told.complaints.tell(f"10.0.0.{number}:1", "a", str(number))
    assert told.lines == ["1", "2", "3", "1"]
