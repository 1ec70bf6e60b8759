"""Apache's own reader of settings against what `config import`, `config check` and `lint` say that it does."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from tests.interop.rig.jars import V4_9, V5_1, V5_5
from tests.interop.rig.java import JavaProcess, JavaProgram

from cosmodrome.configuring.described import Program
from cosmodrome.configuring.files import SettingsFile, read_settings_file
from cosmodrome.configuring.importing import Fate, imported
from cosmodrome.configuring.java_broker_keys import JAVA_BROKER_KEYS, JavaType
from cosmodrome.configuring.linting.host import Host
from cosmodrome.configuring.linting.lint import lint
from cosmodrome.namesrv.config import KEYS
from cosmodrome.namesrv.config_keys import Family

FULL: Final = [V5_5, pytest.param(V5_1, marks=pytest.mark.full), pytest.param(V4_9, marks=pytest.mark.full)]
WITHIN_S: Final = 60.0
ODD: Final = {
    "orderMessageEnable": "true ", "enableTopicList": "yes", "enableAllTopicList": "TRUE", "clusterTest": "no",
    "scanNotActiveBrokerInterval": "6000 ", "waitSecondsForService": "+46", "serverSocketBacklog": "99999999999",
    "serverChannelMaxIdleTimeSeconds": "0x78", "shutdownWaitTimeSeconds": "31", "listenPort": "10921 ",
    "flushDiskType": "SYNC", "brokerRole": "SYNC_MASTER", "fileReservedTime": "48h", "slaveReadEnable": "yes",
    "traceOn": "false ", "autoCreateTopicEnable": "False", "maxMessageSize": "4M", "transactionTimeOut": "6001 ",
    "accessMessageInMemoryMaxRatio": "+41", "startAcceptSendRequestTimeStamp": "12", "deleteWhen": "05",
    "inSyncReplicas": "2",
}  # fmt: skip
"""Texts that a person might write."""


class JavaReading(NamedTuple):
    """What a release made of a file, and which keys it has, by program."""

    values: Mapping[str, Mapping[str, str]]
    keys: Mapping[str, Mapping[str, set[str]]]


def read_by_java(release: str, file: Path, folder: Path) -> JavaReading:
    reader = JavaProcess(JavaProgram(release=release, main_class="ReadSettings", arguments=(str(file),)), folder)
    reader.start()
    lines = reader.wait_for_text("@@END", WITHIN_S).splitlines()
    assert reader.wait_ended() == 0
    values: dict[str, dict[str, str]] = {"namesrv": {}, "broker": {}}
    keys: dict[str, dict[str, set[str]]] = {"namesrv": {}, "broker": {}}
    for program, key, value in (line.split("\t", 2) for line in lines if line.count("\t") > 1):
        if program.endswith("-key"):
            keys[program.removesuffix("-key")].setdefault(key, set()).add(value)
        else:
            values[program][key] = value
    return JavaReading(values, keys)


@pytest.mark.parametrize("release", FULL)
def test_what_is_imported_is_what_java_had_in_force(release: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.conf"
    path.write_text("".join(f"{key}={text}\n" for key, text in ODD.items()), encoding="utf-8")
    java = read_by_java(release, path, tmp_path / "java")

    for program in Program:
        file = read_settings_file(str(path), program)
        compared = {
            each.key: (each.new_text.strip().lower(), _told(java, program, each.key))
            for each in imported(file)
            if each.fate is not Fate.REFUSED and each.new_key in java.values[program]
        }
        assert len(compared) >= 5
        assert {key for key, (ours, theirs) in compared.items() if ours.lstrip("+") != theirs} <= {"listenPort"}, (
            compared
        )
    assert _error_keys(file) == {
        "fileReservedTime", "slaveReadEnable", "maxMessageSize", "transactionTimeOut", "flushDiskType",
        "serverSocketBacklog", "serverChannelMaxIdleTimeSeconds", "listenPort",
    }  # fmt: skip
    _check_tables(release, java)


def _told(java: JavaReading, program: Program, key: str) -> str:
    return java.values[program][key].lower()


def _error_keys(file: SettingsFile) -> set[str]:
    report = lint([file.shown], Host())
    return {each.key for each in report.findings if each.rule == "bad-value"}


def _check_tables(release: str, java: JavaReading) -> None:
    """Compare the keys of a release with the tables of keys here."""
    types = {JavaType.TEXT: "String"}
    for key, kinds in java.keys["broker"].items():
        known = JAVA_BROKER_KEYS[key]
        assert release in known.releases, key
        assert types.get(known.type, known.type.value) in kinds, (key, kinds)
    ours = {name for name, key in KEYS.items() if key.family in (Family.NAMESRV, Family.NETTY_SERVER)}
    assert set(java.keys["namesrv"]) <= ours
