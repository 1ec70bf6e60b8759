"""What lint finds in files of brokers, rule by rule. F024: what a broker announces is checked where it is written, never changed on the way."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cosmodrome.configuring.linting.finding import Finding, Severity
from cosmodrome.configuring.linting.host import Host, this_host
from cosmodrome.configuring.linting.lint import Report, lint

ONE_NIC = Host(name="host-1", addresses=(("192.168.1.31", "eth0"),), mounts=(("/", "ext4"), ("/dev/shm", "tmpfs")))  # noqa: S108
TWO_NICS = Host(name="host-1", addresses=(("192.168.1.31", "eth0"), ("172.17.0.1", "docker0")))
GOOD = """\
brokerClusterName=DefaultCluster
brokerName=broker-a
brokerId=0
brokerRole=SYNC_MASTER
inSyncReplicas=2
flushDiskType=SYNC_FLUSH
brokerIP1=192.168.1.31
namesrvAddr=10.0.0.1:9876;10.0.0.2:9876
listenPort=10911
storePathRootDir=/var/lib/rocketmq/store
autoCreateTopicEnable=false
aclEnable=true
"""
Lint = Callable[..., Report]


@pytest.fixture
def linted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lint:
    """Give what lints texts as files a.conf, b.conf, ..."""
    monkeypatch.chdir(tmp_path)

    def run(*texts: str, host: Host = ONE_NIC) -> Report:
        names = [f"{letter}.conf" for letter, _ in zip("abcdef", texts, strict=False)]
        for name, text in zip(names, texts, strict=True):
            Path(name).write_text(text, encoding="utf-8")
        return lint(names, host)

    return run


def only(report: Report, rule: str) -> Finding:
    found = [each for each in report.findings if each.rule == rule]
    assert len(found) == 1, [each.lines() for each in report.findings]
    return found[0]


def with_line(line: str) -> str:
    """Give the good file with another line for a key."""
    key = line.partition("=")[0].strip()
    return "".join(each for each in GOOD.splitlines(keepends=True) if not each.startswith(f"{key}=")) + line + "\n"


def test_nothing_is_found_in_a_good_file(linted: Lint) -> None:
    report = linted(GOOD)

    assert report.findings == ()
    assert report.summary == "nothing found"


def test_a_finding_reads_as_specified(linted: Lint) -> None:
    report = linted("# a\nbrokerIP1=172.17.0.2\nnamesrvAddr=10.0.0.1:9876,10.0.0.2:9876\n")

    assert only(report, "announced-address").lines() == [
        "a.conf:2: error brokerIP1=172.17.0.2 is a container bridge address; clients outside will fail to connect.",
        "    Set it to an address clients can reach, for example brokerIP1=192.168.1.31",
    ]
    assert only(report, "name-servers").lines() == [
        "a.conf:3: warning namesrvAddr uses ',' between addresses; RocketMQ expects ';'"
    ]
    assert report.summary.startswith("1 error, 1 warning")


class TestF024AnnouncedAddresses:
    """Clients connect to what the broker says."""

    @pytest.mark.parametrize(
        ("line", "severity", "said"),
        [
            ("brokerIP1=172.17.0.2", Severity.ERROR, "container bridge"),
            ("brokerIP1=172.18.0.5", Severity.WARNING, "containers often have"),
            ("brokerIP1=10.88.0.7", Severity.WARNING, "containers often have"),
            ("brokerIP1=0.0.0.0", Severity.ERROR, "no address of one host"),
            ("brokerIP1=::", Severity.ERROR, "no address of one host"),
            ("brokerIP1=127.0.0.1", Severity.WARNING, "loopback"),
            ("brokerIP1=::1", Severity.WARNING, "loopback"),
            ("brokerIP1=localhost", Severity.WARNING, "loopback"),
            ("brokerIP1=169.254.3.4", Severity.ERROR, "link-local"),
            ("brokerIP1=", Severity.ERROR, "is empty"),
            ("brokerIP1=[fd00::1]", Severity.ERROR, "brackets and zones"),
            ("brokerIP1=fe80::1%eth0", Severity.ERROR, "link-local"),
            ("brokerIP1=10.0.0.1:10911", Severity.ERROR, "the port is listenPort"),
            ("brokerIP1=broker.internal", Severity.NOTE, "is a name"),
            ("brokerIP2=172.17.0.2", Severity.ERROR, "slaves outside"),
        ],
    )
    def test_f024_one_that_clients_cannot_reach(self, linted: Lint, line: str, severity: Severity, said: str) -> None:
        found = only(linted(with_line(line)), "announced-address")

        assert found.severity is severity
        assert said in found.text
        assert found.line

    @pytest.mark.parametrize("address", ["192.168.1.31", "198.51.100.7", "10.0.0.1", "fd00::1", "8.8.8.8"])
    def test_f024_one_that_they_may_reach(self, linted: Lint, address: str) -> None:
        assert linted(with_line(f"brokerIP1={address}")).findings == ()

    def test_f024_none_where_there_are_several(self, linted: Lint) -> None:
        text = "".join(line for line in GOOD.splitlines(keepends=True) if not line.startswith("brokerIP1"))

        found = only(linted(text, host=TWO_NICS), "announced-address")

        assert (found.line, found.severity) == (0, Severity.WARNING)
        assert "192.168.1.31 (eth0), 172.17.0.1 (docker0)" in found.text
        assert linted(text, host=ONE_NIC).findings == ()


@pytest.mark.parametrize(
    ("line", "severity", "said"),
    [
        ("namesrvAddr=10.0.0.1:9876; 10.0.0.2:9876", Severity.ERROR, "blanks"),
        ("namesrvAddr=10.0.0.1", Severity.ERROR, "no address with a port"),
        ("namesrvAddr=http://10.0.0.1:9876", Severity.ERROR, "no address with a port"),
        ("namesrvAddr=10.0.0.1:99999", Severity.ERROR, "no address with a port"),
        ("namesrvAddr=0.0.0.0:9876", Severity.ERROR, "no address of one host"),
        ("namesrvAddr=127.0.0.1:9876", Severity.NOTE, "same host"),
        ("namesrvAddr=a:9876;b:9876;a:9876", Severity.WARNING, "twice"),
        ("namesrvAddr=", Severity.ERROR, "is empty"),
    ],
)
def test_lists_of_name_servers(linted: Lint, line: str, severity: Severity, said: str) -> None:
    found = only(linted(with_line(line)), "name-servers")

    assert found.severity is severity
    assert said in found.text


class TestKeysAndValues:
    """What Java skips without a word."""

    def test_a_misspelt_key(self, linted: Lint) -> None:
        found = only(linted(GOOD + "brokerIp1=10.0.0.1\n"), "unknown-key")

        assert (found.line, found.severity, found.remedy) == (13, Severity.ERROR, "Did you mean brokerIP1?")

    def test_a_key_that_is_like_no_other(self, linted: Lint) -> None:
        assert only(linted(GOOD + "zzzz=1\n"), "unknown-key").severity is Severity.WARNING

    def test_keys_of_all_releases_and_ours_are_known(self, linted: Lint) -> None:
        text = "maxDelayTime=40\npopConsumerKVServiceEnable=true\nauthenticationEnabled=true\nhaAllow=10.0.0.0/8\nrmqAddressServerDomain=a\n"

        assert linted(GOOD + text).findings == ()

    def test_a_system_property(self, linted: Lint) -> None:
        found = only(linted(GOOD + "tls.server.mode=enforcing\n"), "unknown-key")

        assert found.severity is Severity.NOTE
        assert "-Dtls.server.mode" in found.remedy

    def test_a_key_that_is_there_twice(self, linted: Lint) -> None:
        found = only(linted(GOOD + "brokerName=broker-b\n"), "repeated-key")

        assert (found.line, found.text) == (13, "brokerName is in line 2 too; this one counts.")

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("slaveReadEnable=true ", "blank after true"),
            ("slaveReadEnable=yes", "neither true nor false"),
            ("fileReservedTime=48 ", "blank after its number"),
            ("fileReservedTime=48h", "is no int"),
            ("fileReservedTime=4294967296", "is no int"),
            ("startAcceptSendRequestTimeStamp=soon", "is no long"),
            ("flushDiskType=SYNC", "none of ASYNC_FLUSH, SYNC_FLUSH; Apache's broker takes ASYNC_FLUSH"),
            ("brokerRole=MASTER", "none of ASYNC_MASTER, SYNC_MASTER, SLAVE; Apache's broker takes ASYNC_MASTER"),
            ("messageDelayLevel=1s,5s", "no list of times"),
        ],
    )
    def test_a_value_that_java_does_not_take(self, linted: Lint, line: str, said: str) -> None:
        found = only(linted(with_line(line)), "bad-value")

        assert found.severity is Severity.ERROR
        assert said in found.text

    @pytest.mark.parametrize("line", ["slaveReadEnable=TRUE", "fileReservedTime=+48", "messageDelayLevel=1s 5m 2h 1d"])
    def test_a_value_that_java_takes(self, linted: Lint, line: str) -> None:
        assert linted(with_line(line)).findings == ()

    @pytest.mark.parametrize(("value", "said"), [("4", "sent to"), ("2", "read"), ("0", "sent to or read")])
    def test_a_permission_that_shuts_clients_out(self, linted: Lint, value: str, said: str) -> None:
        assert f"can be {said}." in only(linted(GOOD + f"brokerPermission={value}\n"), "permission").text


class TestRoles:
    """An id goes with a role, and a role with a promise."""

    @pytest.mark.parametrize("broker_id", ["0", "-1"])
    def test_a_slave_without_an_id_of_its_own(self, linted: Lint, broker_id: str) -> None:
        text = with_line("brokerRole=SLAVE").replace("brokerId=0", f"brokerId={broker_id}") + "slaveReadEnable=true\n"

        found = only(linted(text), "role-and-id")

        assert (found.severity, found.key, found.line) == (Severity.ERROR, "brokerId", 3)

    def test_a_master_with_the_id_of_a_slave(self, linted: Lint) -> None:
        assert "registers as master 0" in only(linted(with_line("brokerId=1")), "role-and-id").text

    def test_a_good_slave(self, linted: Lint) -> None:
        text = with_line("brokerRole=SLAVE").replace("brokerId=0", "brokerId=1")

        assert only(linted(text), "slave-reads").severity is Severity.NOTE
        assert linted(text + "slaveReadEnable=true\n").findings == ()

    def test_roles_that_others_decide(self, linted: Lint) -> None:
        text = with_line("brokerId=7") + "enableControllerMode=true\n"

        assert linted(text).findings == ()

    def test_a_peer_that_is_not_among_the_peers(self, linted: Lint) -> None:
        text = GOOD + "enableDLegerCommitLog=true\ndLegerPeers=n0-127.0.0.1:40911;n1-127.0.0.1:40912\ndLegerSelfId=n2\n"

        assert only(linted(text), "dledger-peers").key == "dLegerSelfId"
        assert linted(text.replace("n2", "n1")).findings == ()

    def test_both_ways_to_elect(self, linted: Lint) -> None:
        text = GOOD + "enableDLegerCommitLog=true\ndLegerPeers=n0-a:1\ndLegerSelfId=n0\nenableControllerMode=true\n"

        assert "both true" in only(linted(text), "dledger-peers").text

    def test_b043_a_master_that_waits_for_nobody(self, linted: Lint) -> None:
        text = "".join(line for line in GOOD.splitlines(keepends=True) if not line.startswith("inSync"))

        assert only(linted(text), "durability").severity is Severity.WARNING

    def test_what_a_power_cut_takes(self, linted: Lint) -> None:
        text = with_line("brokerRole=ASYNC_MASTER").replace("SYNC_FLUSH", "ASYNC_FLUSH")

        assert only(linted(text), "durability").severity is Severity.NOTE

    def test_what_a_kill_takes(self, linted: Lint) -> None:
        text = GOOD.replace("=SYNC_FLUSH", "=ASYNC_FLUSH") + "transientStorePoolEnable=true\n"

        assert only(linted(text), "durability").severity is Severity.WARNING


@pytest.mark.parametrize(
    ("path", "severity", "said"),
    [
        ("/dev/shm/store", Severity.ERROR, "in memory"),  # noqa: S108  # compared
        ("/tmp/rmqstore", Severity.WARNING, "systems clean"),  # noqa: S108  # as above
        ("store", Severity.WARNING, "not a whole path"),
        ("~/store", Severity.ERROR, "as it stands"),
        ("${user.home}/store", Severity.ERROR, "as it stands"),
    ],
)
def test_folders_in_which_messages_do_not_last(linted: Lint, path: str, severity: Severity, said: str) -> None:
    found = only(linted(with_line(f"storePathRootDir={path}")), "store-path")

    assert found.severity is severity
    assert said in found.text


def test_a_folder_of_a_container(linted: Lint) -> None:
    host = Host(mounts=(("/", "overlay"), ("/data", "ext4")))

    assert only(linted(GOOD, host=host), "store-path").severity is Severity.WARNING
    assert linted(with_line("storePathRootDir=/data/store"), host=host).findings == ()


def test_switches_that_are_handy_while_trying(linted: Lint) -> None:
    text = "".join(line for line in GOOD.splitlines(keepends=True) if not line.startswith("autoCreate"))

    assert only(linted(text), "open-doors").severity is Severity.NOTE
    assert only(linted(text + "autoCreateTopicEnable=true\n"), "open-doors").severity is Severity.WARNING
    assert only(linted(GOOD + "adminPolicy=open\n"), "open-doors").key == "adminPolicy"
    assert only(linted(GOOD.replace("aclEnable=true", "aclEnable=false")), "open-doors").key == "aclEnable"


class TestPorts:
    """A broker takes three ports."""

    @pytest.mark.parametrize(
        ("lines", "said"),
        [
            ("listenPort=2", "no room"),
            ("listenPort=65535", "no room"),
            ("listenPort=9878", "which is a NameServer's"),
            ("haListenPort=10911", "taken by the broker itself"),
            ("haListenPort=10909", "taken by the broker itself"),
        ],
    )
    def test_of_one_broker(self, linted: Lint, lines: str, said: str) -> None:
        assert said in only(linted(with_line(lines)), "ports").text

    @pytest.mark.parametrize("port", [10909, 10910, 10911, 10912, 10913, 10914])
    def test_of_two_on_one_host(self, linted: Lint, port: int) -> None:
        """Those of the first are 10909, 10911 and 10912."""
        other = GOOD.replace("broker-a", "broker-b").replace("/store", "/store-b").replace("10911", str(port))

        ports = [each for each in linted(GOOD, other).findings if each.rule == "ports"]

        is_clash = bool({port - 2, port, port + 1} & {10909, 10911, 10912})
        assert bool(ports) is is_clash
        assert all(each.file == "b.conf" for each in ports)

    def test_of_two_on_different_hosts(self, linted: Lint) -> None:
        other = GOOD.replace("broker-a", "broker-b").replace("192.168.1.31", "192.168.1.32")

        assert linted(GOOD, other).findings == ()


class TestTogether:
    """Files of one estate."""

    def test_one_name_and_id_twice(self, linted: Lint) -> None:
        other = GOOD.replace("192.168.1.31", "192.168.1.32")

        found = only(linted(GOOD, other), "identity")

        assert (found.file, found.line, found.severity) == ("b.conf", 2, Severity.ERROR)
        assert "with id 0 is in a.conf too" in found.text

    def test_f008_one_name_in_two_clusters(self, linted: Lint) -> None:
        other = GOOD.replace("192.168.1.31", "192.168.1.32").replace("DefaultCluster", "Other")

        assert "routes mix" in only(linted(GOOD, other), "identity").text

    def test_a_master_and_its_slave(self, linted: Lint) -> None:
        slave = (
            GOOD.replace("192.168.1.31", "192.168.1.32")
            .replace("SYNC_MASTER", "SLAVE")
            .replace("brokerId=0", "brokerId=1")
        ) + "slaveReadEnable=true\n"

        assert linted(GOOD, slave).findings == ()
        other_list = slave.replace("10.0.0.2:9876", "10.0.0.3:9876")
        assert only(linted(GOOD, other_list), "identity").severity is Severity.WARNING
        assert (
            "none of these files is its master"
            in only(linted(GOOD.replace("broker-a", "broker-b"), slave), "identity").text
        )

    def test_one_folder_for_two(self, linted: Lint) -> None:
        other = GOOD.replace("broker-a", "broker-b").replace("10911", "10921")

        assert only(linted(GOOD, other), "store-path").severity is Severity.ERROR

    def test_files_without_names_are_for_different_hosts(self, linted: Lint) -> None:
        text = "".join(line for line in GOOD.splitlines(keepends=True) if not line.startswith("brokerName"))
        other = text.replace("192.168.1.31", "192.168.1.32")

        assert linted(text, other).findings == ()


def test_a_file_that_cannot_be_read_is_a_finding(linted: Lint, tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text(GOOD, encoding="utf-8")

    report = lint(["a.conf", "gone.conf"], ONE_NIC)

    assert only(report, "unreadable").file == "gone.conf"
    assert report.count(Severity.ERROR) == 1


COMMON = "brokerClusterName=DefaultCluster\ndeleteWhen=04\nfileReservedTime=48\n"
DLEDGER = (
    "brokerClusterName=RaftCluster\nbrokerName=RaftNode00\nlistenPort={port}\nnamesrvAddr=127.0.0.1:9876\n"
    "storePathRootDir=/tmp/rmqstore/node0{number}\nstorePathCommitLog=/tmp/rmqstore/node0{number}/commitlog\n"
    "enableDLegerCommitLog=true\ndLegerGroup=RaftNode00\n"
    "dLegerPeers=n0-127.0.0.1:40911;n1-127.0.0.1:40912;n2-127.0.0.1:40913\ndLegerSelfId=n{number}\n"
    "sendMessageThreadPoolNums=16\n"
)


def shipped(name: str, broker_id: int, role: str) -> str:
    return f"{COMMON}brokerName={name}\nbrokerId={broker_id}\nbrokerRole={role}\nflushDiskType=ASYNC_FLUSH\n"


@pytest.mark.parametrize(
    "texts",
    [
        [shipped("broker-a", 0, "ASYNC_MASTER")],
        [shipped("broker-a", 0, "ASYNC_MASTER"), shipped("broker-b", 0, "ASYNC_MASTER")],
        [shipped(name, number, role) for name in ("a", "b") for number, role in ((0, "ASYNC_MASTER"), (1, "SLAVE"))],
        [shipped(name, number, role) for name in ("a", "b") for number, role in ((0, "SYNC_MASTER"), (1, "SLAVE"))],
        [DLEDGER.format(port=port, number=number) for number, port in enumerate((30911, 30921, 30931))],
    ],
    ids=["alone", "2m-noslave", "2m-2s-async", "2m-2s-sync", "dledger"],
)
def test_what_apache_ships_as_examples_has_no_errors(linted: Lint, texts: list[str]) -> None:
    """The settings of its conf folders, each set together."""
    report = linted(*texts)

    assert report.count(Severity.ERROR) == 0, [each.lines() for each in report.findings]
    assert {each.rule for each in report.findings if each.severity is Severity.WARNING} <= {"durability", "store-path"}


def test_this_host_is_known() -> None:
    """What it is depends on where the test runs."""
    host = this_host()

    assert host.name
    assert all(not address.startswith("127.") for address, _ in host.addresses)
    assert host.file_system("/") or not host.mounts


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("flushDiskType=SYNC", "flushDiskType=SYNC_FLUSH"),
        ("flushDiskType=sync-flush", "flushDiskType=SYNC_FLUSH"),
        ("flushDiskType=ASYNC", "flushDiskType=ASYNC_FLUSH"),
        ("flushDiskType=SYMC_FLUSH", "flushDiskType=SYNC_FLUSH"),
        ("flushDiskType=", "flushDiskType=ASYNC_FLUSH"),
        ("brokerRole=SYNC", "brokerRole=SYNC_MASTER"),
        ("brokerRole=slave", "brokerRole=SLAVE"),
        ("brokerRole=42", "brokerRole=ASYNC_MASTER"),
    ],
)
def test_a_bad_word_is_answered_with_the_one_that_was_meant(linted: Lint, line: str, meant: str) -> None:
    assert only(linted(with_line(line)), "bad-value").remedy == f"Write one of them, for example {meant}"


def test_notes_that_all_files_have_are_known(linted: Lint) -> None:
    note = "rocketmq.namesrv.domain=x\n"
    second = GOOD.replace("broker-a", "broker-b").replace("10911", "11911").replace("rocketmq/store", "rocketmq/b")
    both = linted(GOOD + note, second + "\n" + note)
    one = linted(GOOD + note, second)

    assert [each.file for each in both.findings if each.severity is Severity.NOTE] == ["a.conf", "b.conf"]
    assert [(each.file, each.key) for each in both.everywhere()] == [("a.conf", "rocketmq.namesrv.domain")]
    assert one.everywhere() == ()
    assert linted(GOOD + note).everywhere() == ()
