"""Every configuration key does what it says, in the real process: the keys about who may come in and change things."""

import contextlib
import socket
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from tests.support.callers import PeerFrom
from tests.support.certificates import Pair, encrypt_key, make_pair
from tests.support.field import Names
from tests.support.field_brokers import Listener
from tests.support.peer import (
    ADDPERM,
    CFGGET,
    CFGSET,
    DELKV,
    DELTOPIC,
    MIN_ID_NOTICE,
    PUTKV,
    REGTOPIC,
    SUCCESS,
    TOPICS,
    WIPE,
    Peer,
    queue_data,
    topics_named,
)
from tests.support.server_log import log_lines, wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.shown_keys import When, shows
from tests.support.waiting import wait_until
from tests.support.wire import Ext, dump

NO_PERMISSION: Final = 16
SOON_S: Final = 10.0
OPERATOR: Final = "127.0.0.1"
STRANGER: Final = "127.0.0.9"
PASSWORD: Final = "open sesame"  # noqa: S105  # of a key that lives as long as a test


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    return Names(request.node.name)


class TestAdminPolicy:
    """Who may change the server over the wire."""

    CHANGES: Final = frozenset({CFGSET, PUTKV, DELKV, WIPE, ADDPERM, DELTOPIC, REGTOPIC})

    def answers(self, peer: Peer, names: Names) -> dict[int, int]:
        """Send every kind of change and return the code of each answer."""
        name = names("broker-a")
        requests: Mapping[int, tuple[Ext | None, bytes]] = {
            CFGSET: (None, b"waitSecondsForService=46\n"),
            PUTKV: ({"namespace": "N", "key": "K", "value": "V"}, b""),
            DELKV: ({"namespace": "N", "key": "K"}, b""),
            WIPE: ({"brokerName": name}, b""),
            ADDPERM: ({"brokerName": name}, b""),
            REGTOPIC: ({"topic": names("new")}, dump({"brokerDatas": [], "queueDatas": [queue_data(name)]})),
            DELTOPIC: ({"topic": names("new")}, b""),
        }
        assert requests.keys() == self.CHANGES
        answers = {code: peer.request(code, ext, body) for code, (ext, body) in requests.items()}
        for code, answer in answers.items():
            if answer.code == NO_PERMISSION:
                assert all(word in (answer.remark or "") for word in ("adminAllow", "adminPolicy", str(code)))
        return {code: answer.code for code, answer in answers.items()}

    def refused(self, peer: Peer, names: Names) -> set[int]:
        """Return the codes that are refused to this peer."""
        answers = self.answers(peer, names)
        assert set(answers.values()) <= {SUCCESS, NO_PERMISSION}
        return {code for code, answer in answers.items() if answer == NO_PERMISSION}

    @shows("adminPolicy", "adminAllow", when=When.START)
    @pytest.mark.parametrize(
        ("policy", "to_strangers"),
        [(None, {CFGSET}), ("compatible", {CFGSET}), ("hardened", CHANGES), ("open", set())],
    )
    def test_what_is_refused_to_strangers(
        self, tmp_path: Path, names: Names, policy: str | None, to_strangers: set[int]
    ) -> None:
        config = {"adminAllow": f"{OPERATOR}/32"} | ({} if policy is None else {"adminPolicy": policy})
        with ServerProcess(tmp_path, config=config) as server, PeerFrom(server.address, STRANGER) as of_broker:
            of_broker.registered(names.broker(), topics_named(names("T"), names("U")))
            with PeerFrom(server.address, OPERATOR) as operator:
                assert self.refused(operator, names) == set()
            with PeerFrom(server.address, STRANGER) as stranger:
                assert self.refused(stranger, names) == to_strangers
                reading = NO_PERMISSION if policy == "hardened" else SUCCESS
                assert [stranger.request(code).code for code in (CFGGET, TOPICS)] == [reading] * 2
                assert stranger.routed(names("T")).perms == {names("broker-a"): 6}
            with PeerFrom(server.address, STRANGER, proxied_from=OPERATOR) as liar:
                assert self.refused(liar, names) == to_strangers, "anybody can send a PROXY header"
            with PeerFrom(server.address, OPERATOR, proxied_from=STRANGER) as behind_a_proxy:
                assert self.refused(behind_a_proxy, names) == to_strangers
            with PeerFrom(server.address, OPERATOR, proxied_from=OPERATOR) as operator_behind_a_proxy:
                assert self.refused(operator_behind_a_proxy, names) == set()
            assert self.refused(of_broker, names) == to_strangers - {REGTOPIC}, "brokers register topics"
            if to_strangers:
                denied = wait_for_line(server, "adminAllow", event="request.denied", code=CFGSET)
                assert denied["level"] == "WARN"
                assert STRANGER in denied["peer"]
            else:
                assert log_lines(server, event="request.denied") == []

    @shows("adminAllow", when=When.START)
    @pytest.mark.parametrize(
        ("allowed", "refused"),
        [
            (None, set()),
            ("127.0.0.0/8;::1/128", set()),
            ("127.0.0.1/32 , 127.0.0.9", set()),
            ("127.0.0.1/32", {STRANGER}),
            ("127.0.0.9/32", {OPERATOR}),
            ("", {OPERATOR, STRANGER}),
        ],
    )
    def test_where_changes_may_come_from(
        self, tmp_path: Path, names: Names, allowed: str | None, refused: set[str]
    ) -> None:
        config = {} if allowed is None else {"adminAllow": allowed}
        with ServerProcess(tmp_path, config={"adminPolicy": "hardened", **config}) as server:
            for source in (OPERATOR, STRANGER):
                with PeerFrom(server.address, source) as peer:
                    assert self.refused(peer, names) == (self.CHANGES if source in refused else set())


class TestServerTls:
    """What connections to us are encrypted with, and who may open them."""

    @pytest.fixture
    def pair(self, tmp_path: Path) -> Pair:
        return make_pair(tmp_path)

    @pytest.fixture
    def of_client(self, tmp_path: Path) -> Pair:
        return make_pair(tmp_path, "client")

    @shows("tls.server.mode", when=When.START)
    @pytest.mark.parametrize(
        ("mode", "plain", "encrypted"),
        [("disabled", True, False), ("permissive", True, True), ("enforcing", False, True)],
    )
    def test_whether_it_is_used(self, tmp_path: Path, pair: Pair, mode: str, *, plain: bool, encrypted: bool) -> None:
        with ServerProcess(tmp_path, config=with_pair(pair) | {"tls.server.mode": mode}) as server:
            assert is_served(server, None) is plain
            assert is_served(server, pair.client_context()) is encrypted

    @shows("tls.test.mode.enable", when=When.START)
    @pytest.mark.parametrize("is_test", [True, False])
    def test_a_throw_away_certificate_or_the_files(self, tmp_path: Path, pair: Pair, *, is_test: bool) -> None:
        """In test mode all files are ignored, as in Java; test mode is the default."""
        config = with_pair(pair) | {"tls.test.mode.enable": is_test}
        with ServerProcess(tmp_path, config=config) as server:
            assert is_served(server, None)
            assert is_served(server, trusting_context())
            assert is_served(server, pair.client_context()) is not is_test

    @shows("tls.server.certPath", "tls.server.keyPath", "tls.server.keyPassword", when=When.START)
    def test_the_files(self, tmp_path: Path, pair: Pair, of_client: Pair) -> None:
        encrypt_key(pair, PASSWORD)
        config = with_pair(pair) | {"tls.server.keyPassword": PASSWORD}
        with ServerProcess(tmp_path / "good", config=config) as server:
            assert is_served(server, pair.client_context())
        for number, (key, value, why) in enumerate(
            [
                ("tls.server.certPath", "", "without a certificate"),
                ("tls.server.certPath", of_client.cert, "no pair"),
                ("tls.server.keyPath", of_client.key, "no pair"),
                ("tls.server.keyPassword", "", "no password is given"),
                ("tls.server.keyPassword", "wrong", "the password is wrong"),
            ]
        ):
            assert why in refused_start(tmp_path / f"bad-{number}", config | {key: value}), key

    @shows("tls.config.file", when=When.START)
    def test_a_file_of_its_own(self, tmp_path: Path, pair: Pair) -> None:
        file = tmp_path / "tls.properties"
        file.write_text("".join(f"{key}={str(value).lower()}\n" for key, value in with_pair(pair).items()))
        with ServerProcess(tmp_path, config={"tls.config.file": file, "tls.test.mode.enable": True}) as server:
            assert is_served(server, pair.client_context())

    @shows("tls.server.need.client.auth", "tls.server.authClient", "tls.server.trustCertPath", when=When.START)
    @pytest.mark.parametrize(
        ("wanted", "is_checked", "without", "known", "unknown"),
        [
            ("none", True, True, True, True),
            ("optional", False, True, True, True),
            ("optional", True, True, True, False),
            ("require", True, False, True, False),
        ],
    )
    def test_which_clients(
        self,
        tmp_path: Path,
        pair: Pair,
        of_client: Pair,
        wanted: str,
        *,
        is_checked: bool,
        without: bool,
        known: bool,
        unknown: bool,
    ) -> None:
        config = with_pair(pair) | {
            "tls.server.need.client.auth": wanted,
            "tls.server.authClient": is_checked,
            "tls.server.trustCertPath": of_client.trust,
        }
        other = make_pair(tmp_path, "other")
        with ServerProcess(tmp_path, config=config) as server:
            assert is_served(server, pair.client_context()) is without
            assert is_served(server, showing(pair.client_context(), of_client)) is known
            assert is_served(server, showing(pair.client_context(), other)) is unknown

    def test_a_certificate_that_is_required_must_be_checked(self, tmp_path: Path, pair: Pair) -> None:
        config = with_pair(pair) | {"tls.server.need.client.auth": "require"}
        assert "needs tls.server.authClient=true" in refused_start(tmp_path, config)


class TlsListener(Listener):
    """A broker that listens with TLS; `failures` are handshakes that came to nothing."""

    def __init__(self, host: str, context: ssl.SSLContext) -> None:
        """Listen on a free port of `host`."""
        self.failures: list[str] = []
        self._context = context
        super().__init__(host)

    def _read(self, connection: socket.socket) -> None:
        connection.settimeout(SOON_S)
        try:
            encrypted = self._context.wrap_socket(connection, server_side=True)
        except OSError as error:
            self.failures.append(str(error))
            connection.close()
            return
        super()._read(encrypted)


class TestClientTls:
    """What connections that we open (905) are encrypted with."""

    @pytest.fixture
    def ours(self, tmp_path: Path) -> Pair:
        pair = make_pair(tmp_path, "ours")
        encrypt_key(pair, PASSWORD)
        return pair

    @pytest.fixture
    def theirs(self, tmp_path: Path) -> Pair:
        return make_pair(tmp_path, "theirs")

    @pytest.fixture
    def broker(self, ours: Pair, theirs: Pair) -> Iterator[TlsListener]:
        """Give a broker that wants to see our certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(theirs.cert, theirs.key)
        context.load_verify_locations(ours.trust)
        context.verify_mode = ssl.CERT_REQUIRED
        with TlsListener("127.0.0.2", context) as listener:
            yield listener

    @pytest.fixture
    def config(self, ours: Pair, theirs: Pair) -> dict[str, object]:
        return {
            "notifyMinBrokerIdChanged": True,
            "tls.server.mode": "disabled",
            "tls.enable": True,
            "tls.test.mode.enable": False,
            "tls.client.certPath": ours.cert,
            "tls.client.keyPath": ours.key,
            "tls.client.keyPassword": PASSWORD,
            "tls.client.authServer": True,
            "tls.client.trustCertPath": theirs.trust,
        }

    def cause_notice(self, server: ServerProcess, names: Names, receiver: Listener) -> None:
        with Peer(server.address) as peer:
            for broker_id, address in enumerate(("192.0.2.1:10911", receiver.address)):
                broker = names.broker("broker-a", broker_id, addr=address, enable_acting_master=True)
                peer.registered(broker, topics_named(names("T"), names("U")))
            peer.unreg(names.broker("broker-a", 0, addr="192.0.2.1:10911"))

    @shows("tls.enable", "tls.client.certPath", "tls.client.keyPath", "tls.client.keyPassword", when=When.START)
    @shows("tls.client.authServer", "tls.client.trustCertPath", when=When.START)
    def test_both_sides_know_each_other(
        self, tmp_path: Path, names: Names, config: dict[str, object], broker: TlsListener
    ) -> None:
        with ServerProcess(tmp_path, config=config) as server:
            self.cause_notice(server, names, broker)
            wait_until(lambda: broker.frames, "the notice", SOON_S)
            assert broker.frames[0].code == MIN_ID_NOTICE
            assert broker.failures == []

    @pytest.mark.parametrize(
        "without",
        [
            {"tls.enable": False},
            {"tls.client.certPath": "", "tls.client.keyPath": "", "tls.client.keyPassword": ""},
            {"tls.client.trustCertPath": "ours-trust.pem"},
        ],
        ids=["plain", "no certificate of ours", "theirs is not trusted"],
    )
    def test_without_one_of_them_it_fails(
        self,
        tmp_path: Path,
        names: Names,
        config: dict[str, object],
        broker: TlsListener,
        without: dict[str, object],
    ) -> None:
        with ServerProcess(tmp_path, config=config | without) as server:
            self.cause_notice(server, names, broker)
            wait_until(lambda: broker.failures, "the broken handshake", SOON_S)
            assert broker.frames == []

    @pytest.mark.parametrize("trusting", [{"tls.client.authServer": False}, {"tls.test.mode.enable": True}])
    def test_unless_it_is_asked_for_anybody_is_trusted(
        self,
        tmp_path: Path,
        names: Names,
        config: dict[str, object],
        broker: TlsListener,
        trusting: dict[str, object],
    ) -> None:
        wrong: dict[str, object] = {"tls.client.trustCertPath": "ours-trust.pem"}
        with ServerProcess(tmp_path, config=config | wrong | trusting) as server:
            self.cause_notice(server, names, broker)
            wait_until(lambda: broker.frames, "the notice", SOON_S)

    @pytest.mark.parametrize(
        ("key", "value"), [("tls.client.keyPassword", ""), ("tls.client.keyPath", ""), ("tls.client.certPath", "none")]
    )
    def test_files_that_cannot_be_used_end_the_start(
        self, tmp_path: Path, config: dict[str, object], key: str, value: str
    ) -> None:
        assert "error[NS-TLS" in refused_start(tmp_path, config | {key: value})


def with_pair(pair: Pair) -> dict[str, object]:
    return {"tls.test.mode.enable": False, "tls.server.certPath": pair.cert, "tls.server.keyPath": pair.key}


def trusting_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def showing(context: ssl.SSLContext, pair: Pair) -> ssl.SSLContext:
    context.load_cert_chain(pair.cert, pair.key)
    return context


def is_served(server: ServerProcess, context: ssl.SSLContext | None) -> bool:
    """Tell whether a peer gets an answer: plain without a context, else encrypted."""
    with contextlib.suppress(OSError), contextlib.closing(_connected(server, context)) as peer:
        return peer.request(TOPICS).code == SUCCESS
    return False


def _connected(server: ServerProcess, context: ssl.SSLContext | None) -> Peer:
    return Peer(server.address, SOON_S, tls=context)


def refused_start(folder: Path, config: Mapping[str, object]) -> str:
    """Start a server that must not come up, and return what it said."""
    server = ServerProcess(folder, config=config)
    server.start()
    assert server.wait_ended(SOON_S * 3) != 0
    assert not any("boot success" in line for line in server.stdout_lines)
    return server.stderr
