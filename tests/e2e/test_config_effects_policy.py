"""Every configuration key does what it says, in the real process: the keys about brokers, accounts and the audit log."""

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.callers import (
    PeerFrom,
    SignedPeer,
    audit_file,
    audit_lines,
    wait_for_audit,
    write_accounts,
)
from tests.support.field import Names
from tests.support.peer import PUTKV, SUCCESS, SYSTEM_ERROR, Peer, topics_named
from tests.support.server_log import log_lines, wait_for_line
from tests.support.server_process import ServerProcess, run_command
from tests.support.shown_keys import When, shows
from tests.support.waiting import wait_until

NO_PERMISSION: Final = 16
LISTED: Final = "127.0.0.3"
UNLISTED: Final = "127.0.0.9"
SMALLEST_FILE_BYTES: Final = 65_536
ACCOUNT: Final = {"accessKey": "brokers", "secretKey": "secret of brokers", "role": "broker"}
OTHER: Final = {"accessKey": "others", "secretKey": "secret of others", "role": "broker"}


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    return Names(request.node.name)


def registers(peer: Peer, names: Names) -> bool:
    answer = peer.reg(names.broker(), topics_named(names("T"), names("U")))
    assert answer.code in (SUCCESS, NO_PERMISSION), answer
    return answer.code == SUCCESS


class TestBrokers:
    """Who may register."""

    @shows("brokerAllow", when=When.START)
    @pytest.mark.parametrize(
        ("allowed", "is_taken"), [(None, True), ("", True), (f"{LISTED}/32;::1", False), ("127.0.0.0/8", True)]
    )
    def test_where_brokers_may_register_from(
        self, tmp_path: Path, names: Names, allowed: str | None, *, is_taken: bool
    ) -> None:
        config = {} if allowed is None else {"brokerAllow": allowed}
        with ServerProcess(tmp_path, config=config) as server, PeerFrom(server.address, UNLISTED) as peer:
            assert registers(peer, names) is is_taken
            with PeerFrom(server.address, LISTED) as listed:
                assert registers(listed, names)

    @shows("brokerAuth", "aclFile", when=When.START)
    def test_whether_they_must_sign_and_whose_signature_counts(self, tmp_path: Path, names: Names) -> None:
        file = write_accounts(tmp_path / "accounts.toml", [ACCOUNT])
        with ServerProcess(tmp_path / "on", config={"brokerAuth": True, "aclFile": file}) as server:
            for account, is_taken in ((ACCOUNT, True), (OTHER, False)):
                with SignedPeer(server.address, account["accessKey"], account["secretKey"]) as peer:
                    assert registers(peer, names) is is_taken
            with Peer(server.address) as unsigned:
                assert not registers(unsigned, names)
        with ServerProcess(tmp_path / "off", config={"aclFile": file}) as server, Peer(server.address) as unsigned:
            assert registers(unsigned, names)


class TestAccounts:
    """The file of accounts while the server runs."""

    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        return write_accounts(tmp_path / "accounts.toml", [ACCOUNT])

    @pytest.fixture
    def server(self, tmp_path: Path, file: Path) -> Iterator[ServerProcess]:
        with ServerProcess(tmp_path / "run", config={"brokerAuth": True, "aclFile": file}) as server:
            yield server

    @staticmethod
    def is_known(server: ServerProcess, names: Names, account: dict[str, str]) -> bool:
        with SignedPeer(server.address, account["accessKey"], account["secretKey"]) as peer:
            return registers(peer, names)

    def test_it_is_read_again_when_it_changes(self, server: ServerProcess, file: Path, names: Names) -> None:
        assert not self.is_known(server, names, OTHER)
        write_accounts(file, [OTHER])
        wait_until(lambda: self.is_known(server, names, OTHER), "the new account")
        assert not self.is_known(server, names, ACCOUNT)
        assert wait_for_line(server, event="accounts.reloaded")["accounts"] == 1

    @pytest.mark.parametrize(
        "text", ["[[account]\n", '[[account]]\naccessKey = "a"\nsecretKey = "short"\nrole = "admin"\n']
    )
    def test_a_bad_file_replaces_nothing_and_no_secret_is_said(
        self, server: ServerProcess, file: Path, names: Names, text: str
    ) -> None:
        file.write_text(text)
        line = wait_for_line(server, event="accounts.reload_failed")
        assert line["level"] == "ERROR"
        assert line["accounts_kept"] == 1
        assert "short" not in server.stderr
        assert self.is_known(server, names, ACCOUNT)
        file.unlink()
        wait_for_line(server, "No such file", event="accounts.reload_failed")
        assert self.is_known(server, names, ACCOUNT)

    def test_a_file_that_others_may_read_is_used_and_that_is_said(self, tmp_path: Path, file: Path) -> None:
        file.chmod(0o644)
        with ServerProcess(tmp_path / "run", config={"aclFile": file}) as server:
            wait_for_line(server, "can be read by others", "644")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (None, "No such file"),
            ("x", "cannot use the aclFile"),
            ("[[account]]\n", "missing required field"),
            ('[[account]]\naccessKey = "a"\nsecretKey = "1234567"\nrole = "king"\n', "king"),
            ('[[account]]\naccessKey = "a"\nsecretKey = "1234567"\nrole = "admin"\nhost = "x"\n', "unknown field"),
            ('[[account]]\naccessKey = "a"\nsecretKey = "1234567"\nrole = "admin"\nnetworks = ["x"]\n', "10.0.0.0/8"),
            ('[[account]]\naccessKey = "a"\nsecretKey = "123456"\nrole = "admin"\n', "at least 7"),
            ('[[account]]\naccessKey = ""\nsecretKey = "1234567"\nrole = "admin"\n', "needs an accessKey"),
            ('[[account]]\naccessKey = "a"\nsecretKey = "1234567"\nrole = "admin"\n' * 2, "there twice"),
        ],
    )
    def test_a_file_that_cannot_be_used_ends_the_start(self, tmp_path: Path, text: str | None, said: str) -> None:
        file = tmp_path / "accounts.toml"
        if text is not None:
            file.write_text(text)
        result = run_command("namesrv", "--check-config", "--set", f"aclFile={file}", folder=tmp_path)
        assert result.returncode == 78
        assert said in result.stderr
        assert "123456" not in result.stderr


class TestAuditLog:
    """What is written down of changes."""

    @shows("auditLog", when=When.START)
    def test_where_it_is(self, tmp_path: Path) -> None:
        elsewhere = tmp_path / "logs" / "who.jsonl"
        with ServerProcess(tmp_path, config={"auditLog": elsewhere}) as server, Peer(server.address) as peer:
            assert peer.put_kv("N", "K", "V").code == SUCCESS
            (line,) = (json.loads(text) for text in elsewhere.read_text().splitlines())
            assert line["peer"] == peer.local_address
        assert not audit_file(server).exists()
        assert elsewhere.stat().st_mode & 0o777 == 0o600
        with ServerProcess(tmp_path / "off", config={"auditLog": "off"}) as server, Peer(server.address) as peer:
            assert peer.put_kv("N", "K", "V").code == SUCCESS
        assert not audit_file(server).exists()

    def test_each_kind_of_change_has_its_line_before_it_is_answered(self, tmp_path: Path, names: Names) -> None:
        broker = names.broker()
        queues = {"perm": 6, "read": 8, "write": 8}
        with ServerProcess(tmp_path) as server, Peer(server.address) as of_broker, Peer(server.address) as peer:
            of_broker.registered(broker, topics_named("T", "U"))
            expected: list[tuple[int, dict[str, Any], Any, Any]] = []

            def did(target: dict[str, Any], before: Any, after: Any) -> None:
                line = audit_lines(server, event="change")[-1]
                assert (line["target"], line["before"], line["after"]) == (target, before, after)
                assert line["peer"] == peer.local_address
                assert line["time"].endswith("Z")
                expected.append((line["code"], target, before, after))

            peer.put_kv("ORDER_TOPIC_CONFIG", "T", "broker-a:4")
            did({"namespace": "ORDER_TOPIC_CONFIG", "key": "T"}, None, "broker-a:4")
            peer.delete_kv("ORDER_TOPIC_CONFIG", "T")
            did({"namespace": "ORDER_TOPIC_CONFIG", "key": "T"}, "broker-a:4", None)
            peer.wipe(str(broker.name))
            did({"broker": broker.name}, {"topics_by_perm": {"6": 2}}, {"topics_by_perm": {"4": 2}})
            peer.add_perm(str(broker.name))
            did({"broker": broker.name}, {"topics_by_perm": {"4": 2}}, {"topics_by_perm": {"6": 2}})
            peer.change_config(enableTopicList=False)
            did({"keys": ["enableTopicList"]}, {"enableTopicList": "true"}, {"enableTopicList": "false"})
            peer.register_topic("V", {"brokerName": broker.name, "perm": 6, "readQueueNums": 8, "writeQueueNums": 8})
            did({"topic": "V"}, None, {broker.name: queues})
            peer.delete_topic("V")
            did({"topic": "V"}, {broker.name: queues}, None)
            peer.unreg(broker)
            before = [{"cluster": broker.cluster, "peer": of_broker.local_address}]
            did({"broker": broker.name, "addr": broker.addr}, before, None)
        assert len(audit_lines(server)) == len(expected) == 8

    def test_what_changes_nothing_and_what_brokers_say_of_themselves_has_none(
        self, tmp_path: Path, names: Names
    ) -> None:
        broker = names.broker()
        with ServerProcess(tmp_path) as server, Peer(server.address) as of_broker, Peer(server.address) as peer:
            of_broker.registered(broker, topics_named("T", "U"))
            of_broker.register_topic("V", {"brokerName": broker.name, "perm": 6, "readQueueNums": 8})
            of_broker.unreg(broker)
            peer.delete_kv("N", "K")
            peer.wipe("nobody")
            peer.add_perm("nobody")
            peer.delete_topic("nothing")
            peer.unreg(broker)
            peer.put_kv("N", None, "V")
            peer.change_config(waitSecondsForService="soon")
            peer.change_config(zork=1)
        assert audit_lines(server) == []

    @shows("auditFileBytes", "auditFilesKept", when=When.START)
    def test_how_much_of_it_is_kept(self, tmp_path: Path) -> None:
        config = {"auditFileBytes": SMALLEST_FILE_BYTES, "auditFilesKept": 2}
        text = "x" * 1000
        with ServerProcess(tmp_path, config=config) as server, Peer(server.address) as peer:
            for number in range(250):
                assert peer.put_kv("ORDER_TOPIC_CONFIG", str(number), text).code == SUCCESS
        files = sorted(audit_file(server).parent.glob("audit.jsonl*"))
        assert [file.name for file in files] == ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]
        assert all(file.stat().st_size <= SMALLEST_FILE_BYTES for file in files)
        lines = [json.loads(line) for file in reversed(files) for line in file.read_text().splitlines()]
        numbers = [int(line["target"]["key"]) for line in lines]
        assert numbers == list(range(numbers[0], 250)), "without a gap, the last whole"
        assert numbers[0] > 0

    @pytest.mark.parametrize(
        "torn", [b'{"time":"2026', b"\x00" * 5000, b'\xff{"a":1}', b'{"time":"x","event":"change"}']
    )
    def test_a_torn_end_is_made_whole_at_the_next_start(self, tmp_path: Path, torn: bytes) -> None:
        with ServerProcess(tmp_path) as server, Peer(server.address) as peer:
            peer.put_kv("N", "K", "V")
        file = audit_file(server)
        whole = file.read_bytes()
        file.write_bytes(whole + torn)
        with ServerProcess(tmp_path) as server, Peer(server.address) as peer:
            lines = audit_lines(server)
            assert len(lines) == 2, "every line parses already"
            peer.put_kv("N", "K", "W")
            assert audit_lines(server)[-1]["code"] == PUTKV
        assert file.read_bytes().startswith(whole)
        if torn.startswith(b'{"time":"2026'):
            assert lines[1] == {"event": "torn", "fragment": torn.decode()}

    def test_a_change_that_cannot_be_written_down_is_refused(self, tmp_path: Path) -> None:
        """The folder of the audit log is a file; as soon as it is not, changes succeed, without a restart."""
        folder = tmp_path / "logs"
        folder.write_text("in the way")
        config = {"auditLog": folder / "audit.jsonl"}
        with ServerProcess(tmp_path, config=config) as server, Peer(server.address) as peer:
            wait_for_line(server, event="audit.failed")
            broker = Names("B").broker()
            peer.registered(broker, topics_named("T", "U"))
            assert peer.put_kv("N", "K", "V").code == SYSTEM_ERROR
            assert peer.delete_topic("T").code == SYSTEM_ERROR
            assert peer.request(205, {"brokerName": broker.name}).code == SYSTEM_ERROR
            answer = peer.change_config(enableTopicList=False)
            assert (answer.code, answer.remark) == (SYSTEM_ERROR, "the change could not be stored and was not made")
            assert peer.get_kv("N", "K").code != SUCCESS
            assert peer.routed("T").perms == {broker.name: 6}
            folder.unlink()
            assert peer.put_kv("N", "K", "V").code == SUCCESS
        assert len((folder / "audit.jsonl").read_text().splitlines()) == 1

    def test_a_full_disk_leaves_whole_lines_only(self, tmp_path: Path) -> None:
        """A limit on the size of files stands for the disk: lines that do not fit are not in the file, not even a part."""
        text = "x" * 900
        with ServerProcess(tmp_path) as server, Peer(server.address) as peer:
            assert peer.put_kv("ORDER_TOPIC_CONFIG", "K", text).code == SUCCESS
            size = audit_file(server).stat().st_size
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size + 300, resource.RLIM_INFINITY))
            assert peer.put_kv("ORDER_TOPIC_CONFIG", "K", text + "2").code == SYSTEM_ERROR
            assert audit_file(server).stat().st_size == size
            assert peer.get_kv("ORDER_TOPIC_CONFIG", "K").ext == {"value": text}
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            assert peer.put_kv("ORDER_TOPIC_CONFIG", "K", text + "3").code == SUCCESS
        assert [line["after"][900:] for line in audit_lines(server, event="change")] == ["", "3"]

    def test_a_change_that_then_fails_is_said_not_to_be_made(self, tmp_path: Path) -> None:
        folder = tmp_path / "kv"
        folder.mkdir()
        with ServerProcess(tmp_path, config={"kvConfigPath": folder}) as server, Peer(server.address) as peer:
            assert peer.put_kv("N", "K", "V").code == SYSTEM_ERROR
            (line,) = wait_for_audit(server, event="not_made")
            assert line["target"] == {"namespace": "N", "key": "K"}
            assert line["reason"]

    def test_a_file_that_was_moved_away_is_begun_anew(self, tmp_path: Path) -> None:
        """As logrotate does."""
        with ServerProcess(tmp_path) as server, Peer(server.address) as peer:
            peer.put_kv("N", "K", "V")
            moved = audit_file(server).with_name("moved")
            audit_file(server).rename(moved)
            peer.put_kv("N", "K", "W")
        assert [len(file.read_text().splitlines()) for file in (moved, audit_file(server))] == [1, 1]

    def test_every_acknowledged_change_has_its_line_whenever_the_process_is_killed(self, tmp_path: Path) -> None:
        """Twenty kills under load; the file parses, and holds each acknowledged change."""
        acknowledged = 0
        for number in range(20):
            server = ServerProcess(tmp_path)
            with server:
                peer = Peer(server.address)
                for key in range(number % 7 + 1):
                    assert peer.put_kv("ORDER_TOPIC_CONFIG", f"{number}-{key}", "v" * 50).code == SUCCESS
                    acknowledged += 1
                for key in range(50):
                    peer.oneway(
                        PUTKV, {"namespace": "ORDER_TOPIC_CONFIG", "key": f"more-{key}", "value": os.urandom(4).hex()}
                    )
                server.kill()
                peer.close()
            keys = (
                {line["target"]["key"] for line in audit_lines(server, event="change")}
                if audit_lines_parse(server)
                else set()
            )
            assert {f"{number}-{key}" for key in range(number % 7 + 1)} <= keys
        made = [line for line in audit_lines(server, event="change") if not line["target"]["key"].startswith("more")]
        assert len(made) == acknowledged


def audit_lines_parse(server: ServerProcess) -> bool:
    """Make the file whole as the next start does, by starting; then every line must parse."""
    with ServerProcess(server.folder) as again:
        assert log_lines(again, event="audit.failed") == []
    return all(isinstance(json.loads(line), dict) for line in audit_file(server).read_text("utf-8").splitlines())
