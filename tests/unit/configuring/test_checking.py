"""Every fault of a file at once, by line."""

from pathlib import Path

import pytest

from cosmodrome.configuring.checking import check_file
from cosmodrome.configuring.described import Program


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.conf"


def test_a_name_servers_file(path: Path) -> None:
    path.write_text("listenPort=x\n# c\norderMesageEnable=true\nenableTopicList=yes\n")

    checked = check_file(str(path))

    assert checked.program is Program.NAMESRV
    assert [(each.place, each.key, each.guess) for each in checked.faults] == [
        (f"{path}:1", "listenPort", None),
        (f"{path}:3", "orderMesageEnable", "orderMessageEnable"),
        (f"{path}:4", "enableTopicList", None),
    ]


def test_a_brokers_file(path: Path) -> None:
    path.write_text(
        "brokerName=a\nbrokerId=1\nflushDiskType=SYNC\nstorePathCommitLog=/x\nbrokerIp1=1.2.3.4\nmaxMessageSize=4M\n"
    )

    checked = check_file(str(path))

    assert checked.program is Program.BROKER
    assert [(each.place.rpartition(":")[2], each.key, each.guess) for each in checked.faults] == [
        ("2", "brokerId", None),
        ("3", "flushDiskType", None),
        ("4", "storePathCommitLog", None),
        ("5", "brokerIp1", "brokerIP1"),
        ("6", "maxMessageSize", None),
    ]
    assert "a key of Apache's brokers that this one does not have" in checked.faults[2].text


def test_settings_of_a_broker_that_contradict_each_other(path: Path) -> None:
    path.write_text(
        "brokerName=a\naclEnable=true\nauthenticationEnabled=true\nadminAllow=nowhere\nauthorizationEnabled=true\n"
    )

    keys = {each.key for each in check_file(str(path)).faults}

    assert {"aclEnable", "adminAllow"} <= keys


@pytest.mark.parametrize("text", ["brokerName=a\nbrokerName=b\n", "listenPort=1\nlistenPort=2\nkvConfigPath=/x\n"])
def test_a_repeated_key_is_a_warning(path: Path, text: str) -> None:
    path.write_text(text)

    checked = check_file(str(path))

    assert checked.faults == ()
    assert [f"{path}:2" in warning for warning in checked.warnings] == [True]


def test_a_good_toml_file(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("listenPort = 9876\n[tls.server]\nmode = 'disabled'\n")

    assert check_file(str(path)).faults == ()


def test_a_file_that_cannot_be_read(path: Path) -> None:
    checked = check_file(str(path))

    assert checked.program is None
    assert "cannot read" in checked.faults[0].text
