"""What a file made for Apache's servers comes to here."""

from pathlib import Path

import pytest

from cosmodrome.configuring.checking import check_file
from cosmodrome.configuring.described import Program
from cosmodrome.configuring.files import read_settings_file
from cosmodrome.configuring.importing import (
    Fate,
    ImportedKey,
    differing_defaults,
    imported,
    java_value,
    new_text,
    new_values,
)
from cosmodrome.namesrv.config_keys import Kind


def one(tmp_path: Path, line: str, program: Program) -> ImportedKey:
    path = tmp_path / "old.conf"
    path.write_text(f"{line}\n", encoding="utf-8")
    (found,) = imported(read_settings_file(str(path), program))
    return found


@pytest.mark.parametrize(
    ("line", "fate", "new"),
    [
        ("listenPort=9877", Fate.HONOURED, ("listenPort", "9877")),
        ("orderMessageEnable=TRUE", Fate.HONOURED, ("orderMessageEnable", "TRUE")),
        ("orderMessageEnable=true ", Fate.CHANGED, ("orderMessageEnable", "false")),
        ("enableTopicList=yes", Fate.CHANGED, ("enableTopicList", "false")),
        ("orderMessageEnable=no", Fate.CHANGED, ("orderMessageEnable", "false")),
        ("listenPort=9877 ", Fate.CHANGED, ("listenPort", "9876")),
        ("scanNotActiveBrokerInterval=5s", Fate.CHANGED, ("scanNotActiveBrokerInterval", "5000")),
        ("scanNotActiveBrokerInterval=0", Fate.CHANGED, ("scanNotActiveBrokerInterval", "5000")),
        ("serverSocketBacklog=99999999999", Fate.CHANGED, ("serverSocketBacklog", "1024")),
        ("enableControllerInNamesrv=true", Fate.CHANGED, ("enableControllerInNamesrv", "false")),
        ("enableControllerInNamesrv=false", Fate.HONOURED, ("enableControllerInNamesrv", "false")),
        ("clientRequestThreadPoolNums=32", Fate.IGNORED, ("clientRequestThreadPoolNums", "32")),
        ("useTLS=true", Fate.IGNORED, ("useTLS", "true")),
        ("controllerType=jRaft", Fate.IGNORED, ("controllerType", "jRaft")),
        ("configStorePath=/x", Fate.IGNORED, ("configStorePath", "/x")),
        ("tls.server.mode=enforcing", Fate.CHANGED, ("tls.server.mode", "enforcing")),
        ("adminPolicy=open", Fate.HONOURED, ("adminPolicy", "open")),
        ("noSuchKey=1", Fate.IGNORED, (None, "")),
    ],
)
def test_keys_of_the_name_server(tmp_path: Path, line: str, fate: Fate, new: tuple[str | None, str]) -> None:
    found = one(tmp_path, line, Program.NAMESRV)

    assert (found.fate, (found.new_key, found.new_text)) == (fate, new)
    assert bool(found.reason) is (fate is not Fate.HONOURED)


@pytest.mark.parametrize(
    ("line", "fate", "new"),
    [
        ("brokerName=a", Fate.HONOURED, ("brokerName", "a")),
        ("brokerId=0", Fate.HONOURED, ("brokerId", "0")),
        ("brokerId=1", Fate.REFUSED, (None, "")),
        ("brokerRole=SLAVE", Fate.REFUSED, (None, "")),
        ("slaveReadEnable=true ", Fate.CHANGED, ("slaveReadEnable", "false")),
        ("fileReservedTime=48h", Fate.CHANGED, ("fileReservedTime", "72")),
        ("flushDiskType=SYNC", Fate.CHANGED, ("flushDiskType", "ASYNC_FLUSH")),
        ("storePathCommitLog=/x", Fate.IGNORED, (None, "")),
        ("rmqAddressServerDomain=x", Fate.IGNORED, (None, "")),
        ("brokerIp1=1.2.3.4", Fate.IGNORED, (None, "")),
        ("tls.server.mode=disabled", Fate.CHANGED, ("tls.server.mode", "disabled")),
        ("haAllow=10.0.0.0/8", Fate.HONOURED, ("haAllow", "10.0.0.0/8")),
    ],
)
def test_keys_of_the_broker(tmp_path: Path, line: str, fate: Fate, new: tuple[str | None, str]) -> None:
    found = one(tmp_path, line, Program.BROKER)

    assert (found.fate, (found.new_key, found.new_text)) == (fate, new)


def test_the_new_file_is_the_old_one_but_for_what_must_change(tmp_path: Path) -> None:
    path = tmp_path / "old.properties"
    path.write_text(
        "# mine\r\nlistenPort = 9877\r\nbogus=1\r\norderMessageEnable=yes\r\nlistenPort=9878\r\n", newline=""
    )
    file = read_settings_file(str(path), Program.NAMESRV)

    text = new_text(file, imported(file))

    assert text.splitlines()[0] == "# mine"
    assert "listenPort=9878\r\n" in text
    assert "\norderMessageEnable=false\r\n" in text
    assert "#bogus=1" in text
    assert "#listenPort=9877" in text
    new = tmp_path / "new.properties"
    new.write_text(text, newline="")
    assert check_file(str(new)).faults == ()
    assert check_file(str(new)).warnings == ()


def test_what_the_new_file_sets(tmp_path: Path) -> None:
    path = tmp_path / "old.properties"
    path.write_text("listenPort=1\nbogus=1\nlistenPort=2\nenableTopicList=yes\n")

    keys = imported(read_settings_file(str(path), Program.NAMESRV))

    assert new_values(keys) == {"listenPort": "2", "enableTopicList": "false"}


def test_defaults_that_differ_are_told(tmp_path: Path) -> None:
    path = tmp_path / "old.properties"
    path.write_text("kvConfigPath=/x\n")

    (only,) = differing_defaults(read_settings_file(str(path), Program.NAMESRV))

    assert only.startswith("configStorePath")


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("True", Kind.BOOLEAN, "true"),
        ("1", Kind.BOOLEAN, "false"),
        ("+7", Kind.INT, "7"),
        ("-2147483648", Kind.INT, "-2147483648"),
        ("2147483648", Kind.INT, "d"),
        ("2147483648", Kind.LONG, "2147483648"),
        ("9223372036854775808", Kind.LONG, "d"),
        ("0x10", Kind.INT, "d"),
        ("1_000", Kind.INT, "d"),
        ("", Kind.INT, "d"),
        (" a ", Kind.TEXT, "a"),
    ],
)
def test_how_java_reads(text: str, kind: Kind, value: str) -> None:
    assert java_value(text, kind, "d") == value
