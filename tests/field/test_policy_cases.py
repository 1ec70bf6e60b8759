"""Who may do what: what went wrong in the field where anybody could do anything, each case under its number.

Owns: cases F094, F095, F096 and F100, over the wire. F090, F091, F093 and F099 are beside the other cases of the
    configuration (test_configuration_cases.py, test_metacharacter_cases.py).
Must not know: the package under test.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.callers import (
    PeerFrom,
    SignedPeer,
    audit_file,
    audit_lines,
    signed,
    wait_for_audit,
    write_accounts,
)
from tests.support.certificates import make_pair
from tests.support.field import Names, StartServer
from tests.support.peer import (
    ADDPERM,
    CFGGET,
    CFGSET,
    CLUSTER,
    DELKV,
    DELTOPIC,
    GETKV,
    KVLIST,
    PUTKV,
    REGTOPIC,
    SUCCESS,
    SYSTOPICS,
    TOPICS,
    TOPICS_OF_CLUSTER,
    UNIT_SUB_NOT_UNIT_TOPICS,
    UNIT_SUB_TOPICS,
    UNIT_TOPICS,
    UNREG,
    WIPE,
    Peer,
    queue_data,
    topics_named,
)
from tests.support.server_log import log_lines, wait_for_line
from tests.support.server_process import ServerProcess, run_command
from tests.support.standing_rule import StandingRule
from tests.support.tls_wire import PROXY_V2_SIGNATURE, proxy_v2
from tests.support.wire import Answer, Broker, dump_bare, identity_ext, register_body

NO_PERMISSION: Final = 16
EVERYWHERE: Final = "0.0.0.0"  # noqa: S104  # what the case is about
STRANGER: Final = "127.0.0.9"
OPERATOR: Final = "127.0.0.2"
BROKER_HOST: Final = "127.0.0.3"
ADMIN: Final = {"accessKey": "ops", "secretKey": "secret of ops", "role": "admin"}
READER: Final = {"accessKey": "console", "secretKey": "secret of console", "role": "reader"}
BROKER: Final = {"accessKey": "brokers", "secretKey": "secret of brokers", "role": "broker"}
MANAGED: Final = {"adminAllow": f"{OPERATOR}/32"}

Send = Callable[[Peer], Answer]


@pytest.fixture
def accounts(tmp_path: Path) -> Path:
    return write_accounts(tmp_path / "accounts.toml", (ADMIN, READER, BROKER))


def as_account(address: str, account: dict[str, str], source: str = STRANGER) -> SignedPeer:
    return SignedPeer(address, account["accessKey"], account["secretKey"], source)


def changes_of(names: Names, broker: Broker) -> dict[int, Send]:
    """Give one request of each kind that changes something, none of which another one here undoes."""
    return {
        CFGSET: lambda peer: peer.change_config(waitSecondsForService=46),
        PUTKV: lambda peer: peer.put_kv(names("N"), "K", "V"),
        DELKV: lambda peer: peer.delete_kv(names("N"), "old"),
        WIPE: lambda peer: peer.request(WIPE, {"brokerName": broker.name}),
        ADDPERM: lambda peer: peer.request(ADDPERM, {"brokerName": broker.name}),
        DELTOPIC: lambda peer: peer.delete_topic(names("gone")),
        REGTOPIC: lambda peer: peer.register_topic(names("new"), queue_data(str(broker.name))),
        UNREG: lambda peer: peer.unreg(broker),
    }


READS: Final[dict[int, dict[str, str | None] | None]] = {
    CFGGET: None,
    GETKV: {"namespace": "N", "key": "K"},
    KVLIST: {"namespace": "N"},
    CLUSTER: None,
    TOPICS: None,
    TOPICS_OF_CLUSTER: {"cluster": "C"},
    SYSTOPICS: None,
    UNIT_TOPICS: None,
    UNIT_SUB_TOPICS: None,
    UNIT_SUB_NOT_UNIT_TOPICS: None,
}


def estate(server: ServerProcess, names: Names) -> tuple[Peer, Broker]:
    """Register a broker from its own host, and give the operator's KV entry something to delete."""
    broker = names.broker()
    peer = PeerFrom(server.address, BROKER_HOST)
    peer.registered(broker, topics_named(names("T"), names("gone"), names("other")))
    with PeerFrom(server.address, OPERATOR) as operator:
        assert operator.put_kv(names("N"), "old", "old value").code == SUCCESS
    return peer, broker


def state(server: ServerProcess, names: Names) -> dict[str, Any]:
    with PeerFrom(server.address, OPERATOR) as operator:
        return {
            "cluster": operator.cluster().raw,
            "routes": [
                (route := operator.route(names(topic))) and route.raw for topic in ("T", "gone", "other", "new")
            ],
            "kv": operator.list_kv(names("N")).body,
            "config": operator.request(CFGGET).body,
        }


class TestF094:
    """Anyone who could connect could list the cluster and take its write permission away."""

    @pytest.fixture
    def server(self, own_server: StartServer, accounts: Path) -> ServerProcess:
        return own_server(adminPolicy="hardened", aclFile=accounts, **MANAGED)

    @staticmethod
    def is_refused_to(peer: Peer, server: ServerProcess, names: Names, broker: Broker, words: tuple[str, ...]) -> None:
        before = state(server, names)
        for code, send in changes_of(names, broker).items():
            answer = send(peer)
            assert answer.code == NO_PERMISSION, code
            assert all(word in (answer.remark or "") for word in (str(code), "adminPolicy=hardened", *words)), answer
        assert state(server, names) == before

    def test_f094_a_stranger_changes_nothing_and_brokers_and_readers_of_routes_go_on(
        self, server: ServerProcess, names: Names
    ) -> None:
        of_broker, broker = estate(server, names)
        with of_broker, PeerFrom(server.address, STRANGER) as stranger:
            self.is_refused_to(stranger, server, names, broker, ("adminAllow", "aclFile", "not signed"))
            assert stranger.routed(names("T")).perms == {broker.name: 6}
            assert stranger.group("C", str(broker.name)) == {"0": broker.addr}
            assert of_broker.heartbeat(broker).code == SUCCESS
            of_broker.registered(broker, topics_named(names("T"), names("more")), version=2)
            assert of_broker.register_topic(names("new"), queue_data(str(broker.name))).code == SUCCESS
            assert stranger.routed(names("new")).perms == {broker.name: 6}
            assert of_broker.unreg(broker).code == SUCCESS
            assert stranger.route(names("T")) is None

            denied = wait_for_audit(server, len(changes_of(names, broker)), event="denied")
            assert [line["code"] for line in denied] == list(changes_of(names, broker)), "one line each"
            assert {line["peer"].partition(":")[0] for line in denied} == {STRANGER}
            assert all(line["request"].isupper() and line["reason"] for line in denied)

    def test_f094_who_is_in_the_access_list_may_make_them_all(self, server: ServerProcess, names: Names) -> None:
        of_broker, broker = estate(server, names)
        with of_broker, PeerFrom(server.address, OPERATOR) as operator:
            for code, send in changes_of(names, broker).items():
                assert send(operator).code == SUCCESS, code
            assert operator.route(names("T")) is None, "unregistered by an operator"

    def test_f094_a_right_signature_stands_for_the_address(self, server: ServerProcess, names: Names) -> None:
        of_broker, broker = estate(server, names)
        with of_broker, as_account(server.address, ADMIN) as admin:
            for code, send in changes_of(names, broker).items():
                assert send(admin).code == SUCCESS, code
        made = [line for line in audit_lines(server, event="change") if line.get("access_key") == "ops"]
        assert {line["code"] for line in made} == set(changes_of(names, broker))

    @pytest.mark.parametrize(
        ("account", "said"),
        [
            ({**ADMIN, "secretKey": "guessed secret"}, "fit no account"),
            ({**ADMIN, "accessKey": "nobody"}, "fit no account"),
            (READER, "role of console is reader"),
            (BROKER, "role of brokers is broker"),
        ],
    )
    def test_f094_a_wrong_signature_does_not_nor_does_another_role(
        self, server: ServerProcess, names: Names, account: dict[str, str], said: str
    ) -> None:
        of_broker, broker = estate(server, names)
        with of_broker, as_account(server.address, account) as peer:
            self.is_refused_to(peer, server, names, broker, (said,))

    def test_f094_a_signature_is_for_one_content_only(self, server: ServerProcess, names: Names) -> None:
        fields = {"namespace": names("N"), "key": "K", "value": "V"}
        good = signed(fields, b"", ADMIN["accessKey"], ADMIN["secretKey"])
        with PeerFrom(server.address, STRANGER) as peer:
            assert peer.request(PUTKV, {**good, "value": "other"}).code == NO_PERMISSION
            assert peer.request(PUTKV, {**good, "more": "x"}).code == NO_PERMISSION
            assert peer.request(PUTKV, good, b"body").code == NO_PERMISSION
            assert peer.request(PUTKV, {**good, "Signature": None}).code == NO_PERMISSION
            assert peer.request(PUTKV, good).code == SUCCESS
            assert peer.request(PUTKV, good).code == SUCCESS, "COMPAT: nothing in a signature makes it unique"

    def test_f094_a_broker_speaks_for_nobody_else(self, server: ServerProcess, names: Names) -> None:
        """A stranger that registers as a broker of its own gets no right over the others by that."""
        of_broker, broker = estate(server, names)
        rogue = names.broker("rogue")
        with of_broker, PeerFrom(server.address, STRANGER) as stranger:
            stranger.registered(rogue, topics_named(names("R"), names("S")))
            before = state(server, names)
            assert stranger.unreg(broker).code == NO_PERMISSION
            in_its_cluster = Broker(name=broker.name, addr=broker.addr, cluster=rogue.cluster)
            assert stranger.unreg(in_its_cluster).code == NO_PERMISSION
            assert stranger.register_topic(names("new"), queue_data(str(broker.name))).code == NO_PERMISSION
            both = (queue_data(str(rogue.name)), queue_data(str(broker.name)))
            assert stranger.register_topic(names("new"), *both).code == NO_PERMISSION
            assert state(server, names) == before
            assert stranger.register_topic(names("new"), queue_data(str(rogue.name))).code == SUCCESS
            assert stranger.unreg(rogue).code == SUCCESS

    def test_f094_behind_a_proxy_both_addresses_must_be_allowed_and_both_are_written_down(
        self, own_server: StartServer, names: Names
    ) -> None:
        server = own_server(adminPolicy="hardened", adminAllow=f"{OPERATOR}/32;198.51.100.0/24")
        with PeerFrom(server.address, OPERATOR, proxied_from="203.0.113.7") as liar:
            assert liar.put_kv(names("N"), "K", "V").code == NO_PERMISSION
        with PeerFrom(server.address, OPERATOR, proxied_from="198.51.100.7") as operator:
            assert operator.put_kv(names("N"), "K", "V").code == SUCCESS
        for event, host in (("denied", "203.0.113.7"), ("change", "198.51.100.7")):
            (line,) = wait_for_audit(server, event=event)
            assert line["peer"].startswith(f"{host}:")
            assert line["proxy"].startswith(f"{OPERATOR}:")

    @pytest.mark.parametrize(
        "header",
        [
            b"PROXY UNKNOWN\r\n",
            proxy_v2(command=0),
            PROXY_V2_SIGNATURE + b"\x21\x31\x00\x04abcd",
        ],
        ids=["UNKNOWN", "LOCAL", "AF_UNIX"],
    )
    def test_f094_a_proxy_that_names_no_source_is_not_the_administrator(
        self, server: ServerProcess, names: Names, header: bytes
    ) -> None:
        with PeerFrom(server.address, OPERATOR) as relay:
            relay.send(header)
            assert relay.put_kv(names("N"), "K", "V").code == NO_PERMISSION
            assert relay.request(CFGGET).code == NO_PERMISSION
            assert relay.route(names("T")) is None, "routes are for everybody"
        with as_account(server.address, ADMIN, OPERATOR) as signed_for:
            signed_for.send(header)
            assert signed_for.put_kv(names("N"), "K", "V").code == SUCCESS

    @pytest.mark.parametrize(
        ("config", "names_sent"),
        [
            ({"maxNameLength": 40_000}, ["x" * 33_000]),
            ({"maxTopicsPerRegistration": 400_000}, ["x"] * 200_001),
        ],
        ids=["names", "topics"],
    )
    def test_f094_a_body_is_judged_by_the_limits_in_force(
        self, own_server: StartServer, names: Names, config: dict[str, int], names_sent: list[str]
    ) -> None:
        """Limits that were raised: a body that only the processor could read passed for a broker's own word."""
        server = own_server(adminPolicy="hardened", **MANAGED, **config)
        of_broker, broker = estate(server, names)
        with of_broker, PeerFrom(server.address, STRANGER) as stranger:
            stranger.registered(names.broker("rogue"), topics_named(names("R"), names("S")))
            others = [{"brokerName": name} for name in names_sent]
            answer = stranger.register_topic(names("T"), queue_data(str(broker.name), perm=0), *others)
            assert answer.code == NO_PERMISSION
            assert stranger.routed(names("T")).perms == {broker.name: 6}
        wait_for_audit(server, event="denied", code=REGTOPIC)

    def test_f094_with_protection_off_it_is_as_the_reference(self, own_server: StartServer, names: Names) -> None:
        server = own_server(adminPolicy="open")
        of_broker, broker = estate(server, names)
        with of_broker, PeerFrom(server.address, STRANGER) as anybody:
            for code, send in changes_of(names, broker).items():
                assert send(anybody).code == SUCCESS, code
        assert log_lines(server, event="request.denied") == []

    def test_f094_refusals_cannot_push_the_changes_out_of_the_audit_log(
        self, own_server: StartServer, names: Names
    ) -> None:
        server = own_server(adminPolicy="hardened", **MANAGED)
        with PeerFrom(server.address, OPERATOR) as operator, PeerFrom(server.address, STRANGER) as stranger:
            assert operator.put_kv(names("N"), "K", "V").code == SUCCESS
            for number in range(1000):
                assert stranger.put_kv(names("N"), str(number), "x" * 1000).code == NO_PERMISSION
            assert operator.delete_kv(names("N"), "K").code == SUCCESS
        assert len(audit_lines(server, event="denied")) <= 120, "sixty a minute, and a minute may begin meanwhile"
        assert len(audit_lines(server, event="change")) == 2

    def test_f094_the_audit_log_holds_what_was_changed_and_cannot_be_flushed(
        self, own_server: StartServer, names: Names
    ) -> None:
        """Under the default policy anybody may send 217, with brokers that do not exist and names of any length."""
        server = own_server()
        of_broker, broker = estate(server, names)
        before = len(audit_lines(server, event="change"))
        invented = [queue_data(f"{number}-" + "\U0001f600" * 990) for number in range(50)]
        with of_broker, PeerFrom(server.address, STRANGER) as stranger:
            assert stranger.register_topic(names("made up"), *invented).code == SUCCESS, "as in the reference"
            assert stranger.register_topic(names("T"), *invented).code == SUCCESS
            assert len(audit_lines(server, event="change")) == before
            assert stranger.register_topic(names("T"), queue_data(str(broker.name), 4), *invented).code == SUCCESS
            (line,) = audit_lines(server, event="change")[before:]
            assert {name: data["perm"] for name, data in line["after"].items()} == {broker.name: 4}
            assert stranger.routed(names("T")).perms == {broker.name: 4}
            for number in range(5):
                assert (
                    stranger.put_kv("ORDER_TOPIC_CONFIG", names("K"), f"{number}" + "\U0001f600" * 3000).code == SUCCESS
                )
        assert max(map(len, audit_file(server).read_bytes().splitlines())) < 16 * 1024

    def test_f094_what_changes_nothing_has_no_line(self, own_server: StartServer, names: Names) -> None:
        server = own_server()
        of_broker, broker = estate(server, names)
        with of_broker, PeerFrom(server.address, OPERATOR) as operator:
            for _ in range(3):
                assert operator.put_kv(names("N"), "K", "V").code == SUCCESS
                assert operator.wipe(str(broker.name)) == 3
        lines = audit_lines(server, event="change")
        assert [line["code"] for line in lines] == [PUTKV, PUTKV, WIPE]
        assert all(line["before"] != line["after"] for line in lines)


class TestF095:
    """Anybody could register as a broker and draw off traffic."""

    @staticmethod
    def imposters(names: Names) -> dict[str, Broker]:
        return {
            "a living broker's name and id": names.broker(addr="203.0.113.66:10911"),
            "a new name": names.broker("imposter"),
            "the very same broker": names.broker(),
        }

    def is_kept_out(self, peer: Peer, server: ServerProcess, names: Names, word: str) -> None:
        before = state(server, names)
        for what, broker in self.imposters(names).items():
            version = {"counter": 9, "timestamp": 1_900_000_000_000, "stateVersion": 2**63 - 1}
            answer = peer.reg(broker, topics_named(names("T"), names("gone")), version)
            assert (answer.code, word in (answer.remark or "")) == (NO_PERMISSION, True), (what, answer)
            assert peer.heartbeat(broker).code == NO_PERMISSION
            assert peer.query_version(broker, None).code == NO_PERMISSION
            assert peer.unreg(broker).code == NO_PERMISSION
            assert peer.register_topic(names("new"), queue_data(str(broker.name))).code == NO_PERMISSION
        assert state(server, names) == before
        wait_for_audit(server, event="denied", code=103)

    def test_f095_an_unlisted_address_registers_nothing(self, own_server: StartServer, names: Names) -> None:
        server = own_server(brokerAllow=f"{BROKER_HOST}/32;127.0.0.1/32", **MANAGED)
        of_broker, broker = estate(server, names)
        with of_broker, PeerFrom(server.address, STRANGER) as stranger:
            self.is_kept_out(stranger, server, names, "brokerAllow")
            assert stranger.routed(names("T")).brokers == {broker.name: {"0": broker.addr}}
            assert of_broker.heartbeat(broker).code == SUCCESS
        with PeerFrom(server.address, BROKER_HOST, proxied_from=STRANGER) as behind_a_proxy:
            assert behind_a_proxy.reg(broker, topics_named(names("T"), names("U"))).code == NO_PERMISSION

    @pytest.fixture
    def server(self, tmp_path: Path, accounts: Path) -> Iterator[ServerProcess]:
        """Give a server at which brokers must sign; the standing rule holds for it."""
        with ServerProcess(tmp_path, config={"brokerAuth": True, "aclFile": accounts, **MANAGED}) as server:
            rule = StandingRule(server, broker=lambda: as_account(server.address, BROKER))
            yield server
            rule.check()

    def test_f095_without_a_signature_nobody_registers(self, server: ServerProcess, names: Names) -> None:
        broker = names.broker()
        with as_account(server.address, BROKER) as of_broker, PeerFrom(server.address, STRANGER) as stranger:
            of_broker.registered(broker, topics_named(names("T"), names("gone"), names("other")))
            assert of_broker.query_version(broker, None).code == SUCCESS
            assert of_broker.heartbeat(broker).code == SUCCESS
            assert of_broker.register_topic(names("more"), queue_data(str(broker.name))).code == SUCCESS
            self.is_kept_out(stranger, server, names, "innerClientAuthenticationCredentials")
            with as_account(server.address, {**BROKER, "secretKey": "guessed secret"}) as guessing:
                self.is_kept_out(guessing, server, names, "fit no account")
            with as_account(server.address, READER) as reader:
                self.is_kept_out(reader, server, names, "role of console is reader")
            assert stranger.routed(names("T")).brokers == {broker.name: {"0": broker.addr}}
            assert of_broker.unreg(broker).code == SUCCESS

    def test_f095_the_same_again_is_a_heartbeat_however_it_is_signed(self, server: ServerProcess, names: Names) -> None:
        """5.x brokers write the time of sending into each registration, so each has another signature."""
        broker = names.broker()
        with as_account(server.address, BROKER) as of_broker:
            for at in (1, 2, 3):
                wrapper = json.loads(register_body(topics_named(names("T"), names("U"))))
                wrapper["topicConfigSerializeWrapper"]["mappingDataVersion"]["timestamp"] += at
                body = dump_bare(wrapper)
                fields = identity_ext(broker) | {"haServerAddr": broker.ha_addr, "compressed": "false"}
                assert of_broker.request(103, fields, body).code == SUCCESS
            assert of_broker.routed(names("T")).perms == {broker.name: 6}
        wait_for_line(server, event="broker.registered")
        assert len(log_lines(server, event="broker.registered")) == 1
        assert log_lines(server, event="broker.identity_moved") == []

    def test_f095_brokers_must_sign_needs_accounts(self, tmp_path: Path) -> None:
        result = run_command("namesrv", "--check-config", "--set", "brokerAuth=true", folder=tmp_path)

        assert result.returncode == 78
        assert "aclFile" in result.stderr

    def test_f095_a_file_without_accounts_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "accounts.toml").touch()
        flags = ("--set", "brokerAuth=true", "--set", f"aclFile={tmp_path / 'accounts.toml'}")
        result = run_command("namesrv", "--check-config", *flags, folder=tmp_path)

        assert result.returncode == 78
        assert "no account" in result.stderr

    def test_f095_a_moved_identity_is_written_down_however_many_refusals_there_are(
        self, own_server: StartServer, names: Names
    ) -> None:
        server = own_server(adminPolicy="hardened", **MANAGED)
        topics = topics_named(names("T"), names("U"))
        with PeerFrom(server.address, BROKER_HOST) as of_broker, PeerFrom(server.address, STRANGER) as stranger:
            of_broker.registered(names.broker(), topics)
            for number in range(100):
                assert stranger.put_kv(names("N"), str(number), "V").code == NO_PERMISSION
            stranger.registered(names.broker(addr="203.0.113.66:10911"), topics)
            (moved,) = wait_for_audit(server, event="broker_moved")
            assert moved["peer"].startswith(STRANGER)

    def test_f095_with_protection_off_a_moved_identity_raises_an_alarm(
        self, own_server: StartServer, names: Names
    ) -> None:
        server = own_server()
        broker, elsewhere = names.broker(), names.broker(addr="203.0.113.66:10911")
        topics = topics_named(names("T"), names("U"))
        with PeerFrom(server.address, BROKER_HOST) as of_broker, PeerFrom(server.address, STRANGER) as stranger:
            of_broker.registered(broker, topics)
            of_broker.registered(broker, topics)
            of_broker.registered(broker, topics, version=2)
            assert log_lines(server, event="broker.identity_moved") == [], "nothing has moved yet"

            stranger.registered(elsewhere, topics, version=3)
            assert stranger.routed(names("T")).brokers == {broker.name: {"0": elsewhere.addr}}, "as in the reference"
            (moved,) = wait_for_audit(server, event="broker_moved")
            assert (moved["broker"], moved["id"]) == (broker.name, 0)
            assert (moved["old_addr"], moved["addr"]) == (broker.addr, elsewhere.addr)
            assert moved["old_peer"].startswith(BROKER_HOST)
            assert moved["peer"].startswith(STRANGER)
            line = wait_for_line(server, event="broker.identity_moved", broker=broker.name)
            assert line["level"] == "WARN"

    def test_f095_the_same_address_from_another_host_raises_it_too(self, own_server: StartServer, names: Names) -> None:
        """A registration that was overheard can be sent again, letter by letter."""
        server = own_server()
        broker, topics = names.broker(), topics_named(names("T"), names("U"))
        with PeerFrom(server.address, BROKER_HOST) as of_broker, PeerFrom(server.address, STRANGER) as stranger:
            of_broker.registered(broker, topics)
            stranger.registered(broker, topics)
            (moved,) = wait_for_audit(server, event="broker_moved")
            assert (moved["old_addr"], moved["addr"]) == (broker.addr, broker.addr)

    @pytest.mark.parametrize("policy", ["compatible", "hardened"])
    def test_f095_another_name_for_the_same_address_from_another_host_raises_it_too(
        self, own_server: StartServer, names: Names, policy: str
    ) -> None:
        """An address has one name, so a broker is unregistered by whoever gives its address another one."""
        server = own_server(adminPolicy=policy, **MANAGED)
        broker, topics = names.broker(), topics_named(names("T"), names("U"))
        thief = names.broker("thief", addr=broker.addr)
        with PeerFrom(server.address, BROKER_HOST) as of_broker, PeerFrom(server.address, STRANGER) as stranger:
            of_broker.registered(broker, topics)
            stranger.registered(thief, topics)
            assert stranger.routed(names("T")).perms == {thief.name: 6}, "as in the reference"
            (moved,) = wait_for_audit(server, event="broker_moved")
            assert (moved["old_broker"], moved["broker"], moved["addr"]) == (broker.name, thief.name, broker.addr)
            assert moved["old_peer"].startswith(BROKER_HOST)
            assert moved["peer"].startswith(STRANGER)
            wait_for_line(server, event="broker.identity_moved", old_broker=broker.name)

    def test_f095_a_broker_that_renames_itself_raises_none(self, own_server: StartServer, names: Names) -> None:
        server = own_server()
        topics, broker = topics_named(names("T"), names("U")), names.broker()
        with PeerFrom(server.address, BROKER_HOST) as of_broker:
            of_broker.registered(broker, topics)
            of_broker.registered(names.broker("renamed", addr=broker.addr), topics)
            assert of_broker.put_kv(names("N"), "K", "V").code == SUCCESS
        assert audit_lines(server, event="broker_moved") == []

    def test_f095_a_broker_that_comes_back_raises_none(self, own_server: StartServer, names: Names) -> None:
        server = own_server()
        topics = topics_named(names("T"), names("U"))
        with PeerFrom(server.address, BROKER_HOST) as of_broker:
            of_broker.registered(names.broker(), topics)
            of_broker.end_sending()
        with PeerFrom(server.address, STRANGER) as of_broker:
            of_broker.registered(names.broker(addr="203.0.113.66:10911"), topics)
            of_broker.registered(names.broker(broker_id=1), topics)
            assert of_broker.put_kv(names("N"), "K", "V").code == SUCCESS
        assert audit_lines(server, event="broker_moved") == []


class TestF096:
    """Configuration and internals could be read by anyone, or by non-admins even with access control on."""

    @pytest.fixture
    def server(self, own_server: StartServer, accounts: Path) -> ServerProcess:
        return own_server(adminPolicy="hardened", aclFile=accounts, **MANAGED)

    @staticmethod
    def codes(peer: Peer) -> dict[int, int]:
        return {code: peer.request(code, ext).code for code, ext in READS.items()}

    def test_f096_with_protection_on_only_those_entitled_read(self, server: ServerProcess, names: Names) -> None:
        with PeerFrom(server.address, OPERATOR) as operator:
            assert operator.put_kv("N", "K", "V").code == SUCCESS
            assert set(self.codes(operator).values()) == {SUCCESS}
        with PeerFrom(server.address, STRANGER) as stranger:
            assert set(self.codes(stranger).values()) == {NO_PERMISSION}
        for account in (ADMIN, READER, BROKER):
            with as_account(server.address, account) as peer:
                assert set(self.codes(peer).values()) == {SUCCESS}, account["accessKey"]
        with as_account(server.address, {**READER, "secretKey": "guessed secret"}) as guessing:
            assert set(self.codes(guessing).values()) == {NO_PERMISSION}
        with PeerFrom(server.address, STRANGER) as of_broker:
            of_broker.registered(names.broker(), topics_named(names("T"), names("U")))
            may_read = {code for code, answer in self.codes(of_broker).items() if answer == SUCCESS}
            assert may_read == {CLUSTER}, "5.x brokers ask for it; anybody may register here"

    def test_f096_brokers_that_are_checked_read_all(self, own_server: StartServer, names: Names) -> None:
        server = own_server(adminPolicy="hardened", brokerAllow=f"{BROKER_HOST}/32;127.0.0.1/32", **MANAGED)
        with PeerFrom(server.address, OPERATOR) as operator, PeerFrom(server.address, BROKER_HOST) as of_broker:
            assert operator.put_kv("N", "K", "V").code == SUCCESS
            assert set(self.codes(of_broker).values()) == {NO_PERMISSION}, "not yet a broker"
            of_broker.registered(names.broker(), topics_named(names("T"), names("U")))
            assert set(self.codes(of_broker).values()) == {SUCCESS}

    def test_f096_with_protection_off_reads_are_free_as_in_the_reference(self, own_server: StartServer) -> None:
        server = own_server(adminAllow="192.0.2.0/24")
        with PeerFrom(server.address, STRANGER) as anybody:
            anybody.put_kv("N", "K", "V")
            assert set(self.codes(anybody).values()) == {SUCCESS}

    def test_f096_no_secret_is_ever_shown(self, tmp_path: Path, accounts: Path) -> None:
        """In `-p`, 319, the log at its most talkative, the audit log and every answer."""
        secret = "the password of the key"  # noqa: S105
        pair = make_pair(tmp_path)
        keys = {"tls.server.keyPassword": secret, "tls.client.keyPassword": secret}
        printed = run_command(
            "namesrv", "-p", *(part for key in keys for part in ("--set", f"{key}={secret}")), folder=tmp_path
        )
        assert printed.stdout.count("********") == len(keys)
        assert secret not in printed.stdout + printed.stderr

        config = {"aclFile": accounts, "tls.client.keyPassword": secret, "tls.server.keyPath": pair.key}
        said: list[str] = []
        with ServerProcess(tmp_path, "-vv", config=config) as server, as_account(server.address, ADMIN) as peer:
            said.append(peer.request(CFGGET).body.decode())
            for namespace, key in (("N", "db.password"), ("N", "apiToken"), ("secrets", "K"), ("N", "K")):
                assert peer.put_kv(namespace, key, "sesame-open").code == SUCCESS
                assert peer.put_kv(namespace, key, "sesame-open-2").code == SUCCESS
                assert peer.delete_kv(namespace, key).code == SUCCESS
            said.append(repr(peer.put_kv("N", None, "sesame-open")))
            said.append(repr(peer.change_config(**{"tls.client.keyPassword": "sesame-open"})))
            said.append(repr(peer.change_config(waitSecondsForService="sesame")))
            server.stop()
            said += [server.stderr, audit_file(server).read_text("utf-8")]
        for text in said:
            for hidden in (secret, "sesame-open", *(each["secretKey"] for each in (ADMIN, READER, BROKER))):
                assert hidden not in text
        shown = [(line["target"]["key"], line["before"], line["after"]) for line in audit_lines(server, code=PUTKV)]
        assert ("db.password", "********", "********") in shown
        digest = hashlib.sha256(b"sesame-open").hexdigest()[:16]
        assert ("K", None, {"bytes": len("sesame-open"), "sha256": digest}) in shown

    def test_f096_remarks_hold_no_trace_path_or_code_name(self, own_server: StartServer, names: Names) -> None:
        """Every kind of request, wrong in every way that an answer speaks of."""
        server = own_server(**MANAGED)
        remarks: set[str] = set()
        with PeerFrom(server.address, OPERATOR) as peer:
            for code in [*range(90, 110), *range(200, 230), *range(300, 330), *range(900, 906), 1001, 0, -1]:
                for ext in wrong_fields(names):
                    for body in WRONG_BODIES:
                        remarks.add(peer.request(code, ext, body).remark or "")
        data = server.folder / "data"
        data.rename(server.folder / "moved")
        data.write_text("a file where the folder was")
        with PeerFrom(server.address, OPERATOR) as peer:
            remarks |= {peer.put_kv("N", "K", "V").remark or "", peer.change_config(productEnvName="x").remark or ""}
        data.unlink()
        (server.folder / "moved").rename(data)

        assert len(remarks) > 20, remarks
        texts = [remark.replace(FAQ, "") for remark in remarks]
        leaks = [text for text in texts if LEAK.search(text) or str(server.folder) in text]
        assert leaks == []


LEAK: Final = re.compile(
    r"Traceback|\.py\b|\bline \d+, in\b|cosmodrome|msgspec|\b\w+Exception\b|\b\w+Error\b|0x[0-9a-f]{6}|<\w+ object|/\w+/\w+"
)
FAQ: Final = "https://rocketmq.apache.org/docs/bestPractice/06FAQ"
"""What Java's remark about a missing route ends with."""
WRONG_BODIES: Final = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"7",
    b'"text"',
    b'{"topicConfigSerializeWrapper":7}',
    b'{"queueDatas":[7]}',
    b'{"queueDatas":[{"perm":"x"}]}',
    b'{"counter":"x","timestamp":{}}',
    b"x\x9c\x00\x01",
    b"\xff\xfe",
    b"productEnvName=\\uZZ\n",
    b"listenPort=x\nscanNotActiveBrokerInterval=99999999999999999999999\n",
    b"enableControllerInNamesrv=true",
)


def wrong_fields(names: Names) -> Iterator[dict[str, str | None] | None]:
    yield None
    yield {}
    whole = {
        **identity_ext(names.broker()),
        "haServerAddr": "h",
        "topic": names("T"),
        "namespace": "N",
        "key": "K",
        "cluster": "C",
    }
    yield whole
    yield whole | {"brokerId": "x", "compressed": "true", "bodyCrc32": "7"}
    yield whole | {"brokerId": "1", "compressed": "true"}
    yield {"topic": "", "brokerName": "", "namespace": "\r\n", "key": "\x00"}


class TestF100:
    """A public listener without any protection was possible without a word."""

    SHUT: Final = {"adminPolicy": "hardened", "brokerAllow": "10.0.0.0/8"}

    @staticmethod
    def warnings(server: ServerProcess) -> list[dict[str, Any]]:
        return log_lines(server, event="server.exposed")

    @pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "127.0.0.5"])
    def test_f100_a_server_for_this_host_only_needs_no_warning(self, tmp_path: Path, address: str) -> None:
        with ServerProcess(tmp_path, "--banner", "--bindAddress", address, config={"adminPolicy": "open"}) as server:
            server.wait_for_stderr("Waiting for brokers")
            assert self.warnings(server) == []
            assert "WARNING" not in server.stderr

    @pytest.mark.parametrize(
        ("config", "open_doors", "shut_doors"),
        [
            ({}, ("KV", "listings", "103", "TLS"), ("318",)),
            ({"adminPolicy": "open"}, ("318", "KV", "listings", "103", "TLS"), ()),
            ({"adminPolicy": "hardened"}, ("103", "106", "TLS"), ("318", "KV", "listings")),
            (
                {"adminPolicy": "hardened", "adminAllow": "0.0.0.0/0", "brokerAllow": "0.0.0.0/0"},
                ("318", "KV", "listings", "103", "TLS"),
                (),
            ),
            ({"adminAllow": "0.0.0.0/0"}, ("318", "KV", "listings", "103", "TLS"), ()),
            ({"brokerAllow": "10.0.0.0/8"}, ("KV", "listings", "TLS"), ("103", "318")),
            (SHUT, ("TLS",), ("103", "318", "KV", "listings")),
        ],
    )
    def test_f100_a_public_one_says_aloud_what_is_open(
        self, tmp_path: Path, config: dict[str, str], open_doors: tuple[str, ...], shut_doors: tuple[str, ...]
    ) -> None:
        flags = ("--banner", "--bindAddress", EVERYWHERE)
        with ServerProcess(tmp_path, *flags, config=config or {"adminPolicy": "compatible"}) as server:
            server.wait_for_stderr("Waiting for brokers")
            (warning,) = self.warnings(server)
            banner = server.stderr.partition("WARNING")[2].partition("Ready in")[0]
        assert warning["level"] == "WARN"
        for text in (warning["open"], banner):
            assert all(word in text for word in open_doors), text
            assert not any(word in text.partition("to shut them")[0] for word in shut_doors), text
        assert all(word in warning["remedy"] for word in ("adminPolicy=hardened", "brokerAllow", "tls.server.mode"))

    def test_f100_hardened_with_tls_and_checked_brokers_shows_as_such(self, tmp_path: Path) -> None:
        pair = make_pair(tmp_path)
        tls = {
            "tls.server.mode": "enforcing",
            "tls.test.mode.enable": False,
            "tls.server.certPath": pair.cert,
            "tls.server.keyPath": pair.key,
        }
        flags = ("--banner", "--bindAddress", EVERYWHERE)
        with ServerProcess(tmp_path, *flags, config=self.SHUT | tls) as server:
            server.wait_for_stderr("Waiting for brokers")
            assert self.warnings(server) == []
            assert "WARNING" not in server.stderr
            assert "adminPolicy=hardened" in server.stderr
            assert "from 10.0.0.0/8 only, by TLS only" in server.stderr

    def test_f100_mutating_requests_of_others_follow_the_policy(self, own_server: StartServer, names: Names) -> None:
        """The default: configuration from loopback only, here from one address of it."""
        server = own_server(**MANAGED)
        of_broker, broker = estate(server, names)
        with of_broker, PeerFrom(server.address, STRANGER) as anybody:
            answers = {code: send(anybody).code for code, send in changes_of(names, broker).items()}
        assert {code for code, answer in answers.items() if answer == NO_PERMISSION} == {CFGSET}
