"""What the doctor finds, one cause each; the machine's own state is not judged here."""

import itertools
import json
import socket
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from tests.support.broker_process import BrokerProcess
from tests.support.server_process import ServerProcess, run_command
from tests.support.waiting import wait_until

from cosmodrome.client.addresses import parse_addresses
from cosmodrome.operating.api import Api
from cosmodrome.operating.doctor import certificates, machine, server, storage
from cosmodrome.operating.doctor.examination import examine
from cosmodrome.operating.doctor.finding import Finding, Subject, Verdict
from cosmodrome.operating.pid_file import PidFile

OK, WARN, FAIL = Verdict.OK, Verdict.WARN, Verdict.FAIL
MEMORY = "MemTotal: 8000000 kB\nMemAvailable: {available} kB\nSwapTotal: 900000 kB\nSwapFree: {free} kB\nodd\n"
MOUNTS = (
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/a rw\n"
    "23 22 0:20 / /mnt/nfs rw - nfs4 host:/x rw\n"
    "24 22 0:21 / /mnt/a\\040b rw - tmpfs tmpfs rw\n"
    "25 22 0:22 / /mnt/nfs/inner rw master:2 - overlay overlay rw\n"
    "short line\n"
)


def verdicts(findings: Iterable[Finding]) -> dict[str, Verdict]:
    found = list(findings)
    for each in found:
        assert each.what
        assert each.verdict is OK or (each.why and each.do), "what is not good says why, and what to do"
    return {each.name: each.verdict for each in found}


def subject(folder: Path, port: int = 0, http: str = "") -> Subject:
    return Subject(
        kind="namesrv", host="127.0.0.1", port=port, http=http, folder=folder, pid_file=folder / "namesrv.pid"
    )


class TestMachine:
    def test_versions_are_told(self) -> None:
        [finding] = machine.versions()

        assert "Python 3." in finding.what
        assert "msgspec" in finding.what

    def test_without_the_faster_event_loop_there_is_a_warning(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(machine, "_version", lambda name: "" if name == "uvloop" else "1")

        assert verdicts(machine.versions()) == {"python": WARN}

    @pytest.mark.parametrize(("limit", "verdict"), [(512, FAIL), (4096, WARN), (65536, OK), (-1, OK)])
    def test_descriptors(self, monkeypatch: pytest.MonkeyPatch, limit: int, verdict: Verdict) -> None:
        monkeypatch.setattr("resource.getrlimit", lambda _: (limit, limit))

        assert verdicts(machine.descriptors()) == {"open files": verdict}

    def test_a_clock_that_is_set_is_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        jumps = itertools.count(0.0, 100.0)
        monkeypatch.setattr("time.time", lambda: next(jumps))

        assert verdicts(machine.clocks()) == {"clock": WARN}

    @pytest.mark.parametrize(("is_kept_right", "verdict"), [(True, OK), (False, WARN)])
    def test_a_clock_that_nobody_keeps_right(
        self, monkeypatch: pytest.MonkeyPatch, *, is_kept_right: bool, verdict: Verdict
    ) -> None:
        monkeypatch.setattr(machine, "_is_unsynchronised", lambda: not is_kept_right)
        monkeypatch.setattr("time.time", lambda: 0.0)
        monkeypatch.setattr("time.monotonic", lambda: 0.0)

        assert verdicts(machine.clocks()) == {"clock": verdict}

    @pytest.mark.parametrize(
        ("available", "swap_free", "verdict"), [(4_000_000, 900_000, OK), (100_000, 900_000, WARN), (300_000, 0, WARN)]
    )
    def test_memory(self, tmp_path: Path, available: int, swap_free: int, verdict: Verdict) -> None:
        info = tmp_path / "meminfo"
        info.write_text(MEMORY.format(available=available, free=swap_free))

        assert verdicts(machine.memory(info, tmp_path / "none")) == {"memory": verdict}

    def test_huge_pages(self, tmp_path: Path) -> None:
        pages, info = tmp_path / "enabled", tmp_path / "meminfo"
        info.write_text(MEMORY.format(available=4_000_000, free=900_000))
        pages.write_text("[always] madvise never\n")
        assert verdicts(machine.memory(info, pages))["huge pages"] is WARN

        pages.write_text("always [madvise] never\n")
        assert "huge pages" not in verdicts(machine.memory(info, pages))
        assert verdicts(machine.memory(tmp_path / "none", pages)) == {}

    @pytest.mark.parametrize(("address", "verdict"), [("192.0.2.1", OK), ("127.0.0.1", WARN)])
    def test_addresses(self, address: str, verdict: Verdict) -> None:
        assert verdicts(machine.addresses(address)) == {"addresses": verdict}


class TestStorage:
    def test_a_folder_that_is_there_and_one_that_is_not(self, tmp_path: Path) -> None:
        assert verdicts(storage.folder(tmp_path)) == {"data folder": OK}
        [finding] = storage.folder(tmp_path / "a" / "b")
        assert finding.verdict is OK
        assert "first start" in finding.what
        assert not (tmp_path / "a").exists()
        assert list(tmp_path.iterdir()) == []

    def test_one_that_cannot_be_written(self) -> None:
        assert verdicts(storage.folder(Path("/proc/none"))) == {"data folder": FAIL}

    @pytest.mark.parametrize(
        ("free", "verdict"), [(500 * 1024**3, OK), (50 * 1024**3, WARN), (512 * 1024**2, WARN), (1024, FAIL)]
    )
    def test_room(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, verdict: Verdict) -> None:
        total = 1000 * 1024**3
        monkeypatch.setattr("shutil.disk_usage", lambda _: type("U", (), {"total": total, "free": free})())
        monkeypatch.setattr(storage, "_free_inodes", lambda _: 10_000)

        assert verdicts(storage.room(tmp_path)) == {"disk": verdict}

    def test_inodes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(storage, "_free_inodes", lambda _: 10)

        assert verdicts(storage.room(tmp_path))["inodes"] is WARN

    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            ("/", "ext4"),
            ("/mnt/nfs", "nfs4"),
            ("/mnt/nfs/deep/er", "nfs4"),
            ("/mnt/nfsx", "ext4"),
            ("/mnt/a b/c", "tmpfs"),
            ("/mnt/nfs/inner/x", "overlay"),
        ],
    )
    def test_the_kind_of_a_file_system(self, tmp_path: Path, path: str, kind: str) -> None:
        mounts = tmp_path / "mountinfo"
        mounts.write_text(MOUNTS)

        assert storage.kind_of(Path(path), mounts) == kind

    @pytest.mark.parametrize(
        ("kind", "verdict"), [("nfs4", WARN), ("tmpfs", WARN), ("overlay", WARN), ("xfs", OK), ("fuse.sshfs", WARN)]
    )
    def test_what_a_file_system_is_good_for(self, tmp_path: Path, kind: str, verdict: Verdict) -> None:
        mounts = tmp_path / "mountinfo"
        mounts.write_text(f"22 1 8:1 / / rw - {kind} /dev/a rw\n")

        assert verdicts(storage.file_system(tmp_path, mounts)) == {"file system": verdict}
        assert list(storage.file_system(tmp_path, tmp_path / "none")) == []


class TestCertificates:
    def file(self, folder: Path, not_after: datetime) -> Path:
        path = folder / "cert.pem"
        path.write_bytes(trustme.CA().issue_cert("localhost", not_after=not_after).cert_chain_pems[0].bytes())
        return path

    @pytest.mark.parametrize(("days", "verdict"), [(300, OK), (10, WARN), (-1, FAIL)])
    def test_how_long_it_is_good(self, tmp_path: Path, days: int, verdict: Verdict) -> None:
        now = datetime(2026, 3, 1, tzinfo=UTC)
        path = self.file(tmp_path, datetime(2026, 3, 1) + timedelta(days=days))  # noqa: DTZ001  # what trustme takes

        assert verdicts(certificates.certificates((path,), now)) == {"certificate": verdict}

    def test_both_kinds_of_dates_are_read(self, tmp_path: Path) -> None:
        for end in (datetime(2049, 12, 31), datetime(2150, 1, 2)):  # noqa: DTZ001  # what trustme takes
            _, ends = certificates.validity_of(self.file(tmp_path, end).read_text())
            assert ends == end.replace(tzinfo=UTC)

    def test_what_is_none(self, tmp_path: Path) -> None:
        whole = self.file(tmp_path, datetime(2049, 12, 31)).read_text()  # noqa: DTZ001  # what trustme takes
        body = whole.splitlines()
        for text in ("", "garbage", "\n".join([body[0], *body[1:4], body[-1]]), f"{body[0]}\nAAAA\n{body[-1]}\n"):
            path = tmp_path / "bad.pem"
            path.write_text(text)
            assert verdicts(certificates.certificates((path,), datetime.now(UTC))) == {"certificate": FAIL}
        missing = certificates.certificates((tmp_path / "none",), datetime.now(UTC))
        assert verdicts(missing) == {"certificate": FAIL}


class TestPort:
    def test_a_free_one_and_a_taken_one(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            assert verdicts(server.port(subject(tmp_path, port), None)) == {"port": FAIL}
            assert verdicts(server.port(subject(tmp_path), None)) == {"port": OK}

    def test_a_foreign_address(self, tmp_path: Path) -> None:
        foreign = Subject(
            kind="namesrv", host="203.0.113.7", port=0, http="", folder=tmp_path, pid_file=tmp_path / "pid"
        )
        assert verdicts(server.port(foreign, None)) == {"port": FAIL}


def test_a_check_that_cannot_be_made_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterable[Finding]:
        raise KeyError("x")

    monkeypatch.setattr(machine, "memory", broken)
    found = verdicts(examine(subject(tmp_path), (), "192.0.2.1"))

    assert found["memory"] is WARN
    assert found["disk"], "the others are made"


def test_a_server_that_runs(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, "--http", "127.0.0.1:0") as one:
        wait_until((tmp_path / "data" / "namesrv.pid").exists, "the pid file")
        lines = [json.loads(line) for line in one.wait_for_stderr('"http.listening"').splitlines()]
        http = next(line["address"] for line in lines if line["event"] == "http.listening")
        seen = subject(tmp_path / "data", one.port, http)
        pid = server.running_pid(seen)
        wait_until(lambda: Api(http, timeout_s=30).text("/livez"), "an answer over HTTP")

        assert pid == one.pid
        assert verdicts(server.port(seen, pid)) == {"port": OK}
        assert verdicts(server.readiness(seen, pid)) == {"ready": OK, "brokers": WARN}
        assert verdicts(server.name_servers(parse_addresses(one.address))) == {"NameServers": OK}
        words = ["doctor", "--data-dir", str(tmp_path / "data"), "-n", one.address, "-o", "json"]
        for more in ([], ["--http", http]):
            told = json.loads(run_command(*words, *more, folder=tmp_path).stdout)
            by_name = {each["name"]: each for each in told["findings"]}
            names = ("process", "port", "ready", "NameServers")
            assert {by_name[name]["verdict"] for name in names} == {"ok"}, (
                "though its addresses are in no configuration"
            )
            assert by_name["port"]["what"] == f"{one.address}, of the running process {one.pid}"
            assert sum(told["totals"].values()) == len(told["findings"])


def test_a_broker_that_runs_at_a_port_that_a_flag_chose(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, http="127.0.0.1:0") as one:
        addresses = tmp_path / "store" / "broker.pid.addresses"
        wait_until(addresses.exists, "its addresses")
        http = json.loads(addresses.read_text())["http"]
        wait_until(lambda: Api(http, timeout_s=30).text("/livez"), "an answer over HTTP")
        words = ["doctor", "broker", "--data-dir", str(tmp_path / "store"), "-o", "json"]
        told = json.loads(run_command(*words, folder=tmp_path).stdout)
        by_name = {each["name"]: each for each in told["findings"]}
        assert by_name["port"]["what"] == f"{one.address}, of the running process {one.pid}"
        assert (by_name["port"]["verdict"], by_name["ready"]["verdict"]) == ("ok", "ok")


def test_addresses_that_are_none_are_not_used(tmp_path: Path) -> None:
    file = PidFile(tmp_path / "namesrv.pid", is_asked_for=True)
    file.take()
    seen = subject(tmp_path, 4711, "127.0.0.1:1")
    for odd in ("", "127.0.0.1", "127.0.0.1:many"):
        file.leave_addresses(odd, "")
        assert server.as_it_runs(seen) == seen
    file.leave_addresses("[::1]:12", "")
    found = server.as_it_runs(seen)
    assert (found.host, found.port, found.http) == ("::1", 12, "")
    file.release({})
    assert server.as_it_runs(seen) == seen


def findings_of(folder: Path, *words: str, **environment: str) -> dict[str, dict[str, str]]:
    """Give what the doctor says, by name; a name that comes twice is a failure."""
    done = run_command("doctor", *words, "-o", "json", folder=folder, environment=environment)
    found = json.loads(done.stdout)["findings"]
    by_name = {each["name"]: each for each in found}
    assert len(by_name) == len(found), [each["name"] for each in found]
    return by_name


def test_the_configuration_in_force_is_named(tmp_path: Path) -> None:
    kept = tmp_path / "data" / "namesrv.properties"
    kept.parent.mkdir()
    words = ["--data-dir", str(kept.parent)]
    assert findings_of(tmp_path, *words)["configuration"]["what"] == "built-in defaults, and the environment"
    kept.write_text("http=off\n")
    found = findings_of(tmp_path, *words)
    assert found["configuration"]["what"] == str(kept)
    assert found["HTTP"]["what"] == "off"


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "given"])
@pytest.mark.parametrize("damage", ["listenPort=many\n", "zork=1\n", "\\u00zz\n"])
def test_with_a_wrong_configuration_the_rest_is_looked_at(tmp_path: Path, damage: str, *, is_kept: bool) -> None:
    data = tmp_path / "data"
    data.mkdir()
    file = data / "namesrv.properties" if is_kept else tmp_path / "a.conf"
    file.write_text(damage)
    words = ["--data-dir", str(data), *([] if is_kept else ["-c", str(file)])]
    found = findings_of(tmp_path, *words)
    assert found["configuration"]["verdict"] == "fail"
    assert str(file) in found["configuration"]["what"]
    assert found["data folder"]["what"].startswith(str(data))
    assert {"disk", "process", "port"} <= found.keys()


@pytest.mark.parametrize("damage", ["listenPort=many\n", "zork=1\nbrokerRole=SLAVE\n", "brokerName=\\u00zz\n", None])
def test_with_wrong_settings_of_a_broker_the_rest_is_looked_at(tmp_path: Path, damage: str | None) -> None:
    file = tmp_path / "broker.conf"
    if damage is not None:
        file.write_text(f"storePathRootDir={tmp_path / 'store'}\n{damage}")
    found = findings_of(tmp_path, "broker", "-c", str(file))
    assert found["configuration"]["verdict"] == "fail"
    if damage is not None and "\\" not in damage:
        assert found["data folder"]["what"].startswith(str(tmp_path / "store"))
    assert {"disk", "process", "port"} <= found.keys()


def test_a_wrong_variable_is_told_of_once(tmp_path: Path) -> None:
    words = ["--data-dir", str(tmp_path)]
    found = findings_of(tmp_path, *words, COSMODROME_LISTEN_PORT="many", NAMESRV_ADDR="a:b:c")
    assert "COSMODROME_LISTEN_PORT" in found["configuration"]["what"]
    assert (found["NameServer"]["verdict"], found["NameServer"]["do"]) == ("fail", "mend $NAMESRV_ADDR")
    assert run_command("doctor", *words, "-n", "a:b:c", folder=tmp_path).returncode == 2


def test_a_server_that_does_not_answer(tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound, so that nobody else listens there either
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert verdicts(server.name_servers(parse_addresses(address))) == {"NameServer": FAIL}
        assert verdicts(server.readiness(subject(tmp_path, 0, address), None)) == {"HTTP": OK}
        assert verdicts(server.readiness(subject(tmp_path, 0, address), 1)) == {"HTTP": FAIL}
    assert verdicts(server.readiness(subject(tmp_path), None)) == {"HTTP": OK}


def test_the_command_ends_with_1_when_something_fails(tmp_path: Path) -> None:
    conf = tmp_path / "a.properties"
    conf.write_text("listenPrt=1\n")
    done = run_command("doctor", "-c", str(conf), "-q", folder=tmp_path)

    assert done.returncode == 1
    assert done.stdout.startswith("fail  configuration")
    assert "listenPrt" in done.stdout
    broker = run_command("doctor", "broker", "--data-dir", str(tmp_path / "store"), "-o", "json", folder=tmp_path)
    assert {each["name"] for each in json.loads(broker.stdout)["findings"]} >= {"configuration", "data folder", "port"}
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(("count", "text"), [(0, "0 brokers"), (1, "1 broker"), (2, "2 brokers")])
def test_counts_are_words(count: int, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def asked(addresses: Iterable[object]) -> list[int | str]:
        return [count for _ in addresses]

    monkeypatch.setattr(server, "_asked", asked)
    (found,) = server.name_servers(parse_addresses("10.0.0.1:9876"))

    assert found.what == f"1 answers, each knows {text}"
