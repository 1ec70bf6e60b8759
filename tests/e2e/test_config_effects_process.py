"""Every configuration key does what it says, in the real process: the keys about the process's own files."""

from pathlib import Path
from typing import Final

import pytest
from tests.support.field import Names
from tests.support.peer import SUCCESS, TOPICS, UNIT_TOPICS, Peer, topics_named
from tests.support.server_log import log_lines, wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.shown_keys import When, shows
from tests.support.waiting import wait_until

SOON_S: Final = 10.0
SMALLEST: Final = 65_536


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    return Names(request.node.name)


@shows("pidFile", when=When.START)
def test_the_pid_file(tmp_path: Path) -> None:
    file = tmp_path / "server.pid"
    with ServerProcess(tmp_path, config={"pidFile": file}) as server:
        wait_until(file.exists, "the file", SOON_S)
        assert int(file.read_text(encoding="ascii")) == server.pid
    assert not file.exists()
    assert not (tmp_path / "data" / "namesrv.pid").exists()


@shows("logFile", "logFileMaxBytes", "logFileBackups", when=When.START)
@pytest.mark.parametrize("backups", [0, 2])
def test_the_log_file(tmp_path: Path, names: Names, backups: int) -> None:
    file = tmp_path / "logs" / "server.log"
    config = {"logFile": file, "logFileMaxBytes": SMALLEST, "logFileBackups": backups}
    with ServerProcess(tmp_path, config=config) as server, Peer(server.address, 30) as peer:
        for number in range(600):
            peer.registered(names.broker(f"b-{number}"), topics_named(names("T"), names("U")))
            peer.unreg(names.broker(f"b-{number}"))
    files = sorted(file.parent.iterdir())
    assert [each.name for each in files] == ["server.log", "server.log.1", "server.log.2"][: backups + 1]
    assert all(each.stat().st_size <= SMALLEST for each in files)
    assert "server.stopped" in file.read_text(encoding="utf-8")
    assert "server.stopped" not in server.stderr


@shows("configWatchSeconds", when=When.START)
def test_the_file_is_read_again_when_it_was_changed(tmp_path: Path) -> None:
    """Without a signal. What a request had the server write itself is no news, and a bad file changes nothing."""
    with ServerProcess(tmp_path, config={"configWatchSeconds": 1, "enableTopicList": True}) as server:
        file = tmp_path / "start.properties"
        with Peer(server.address) as peer:
            assert peer.change_config(enableAllTopicList=False).code == SUCCESS
            file.write_text(file.read_text().replace("enableTopicList=true", "enableTopicList=false"))
            line = wait_for_line(server, event="config.reloaded")
            assert line["applied"] == "enableTopicList", "and not what the request had changed already"
            file.write_text("enableTopicList=true\nenableAllTopicList=maybe\n")
            assert wait_for_line(server, event="config.reload_failed")["refused"] == "enableAllTopicList"
            assert (peer.request(TOPICS).remark, peer.request(UNIT_TOPICS).remark) == ("disable", "disable")
        assert len(log_lines(server, event="config.reloaded")) == 1
