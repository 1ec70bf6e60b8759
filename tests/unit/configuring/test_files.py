"""Reading files of settings, and telling whose they are."""

from pathlib import Path

import pytest

from cosmodrome.configuring.described import Program
from cosmodrome.configuring.files import program_of, read_settings_file
from cosmodrome.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "keys", "program"),
    [
        ("x.conf", ["brokerName", "listenPort"], Program.BROKER),
        ("broker.conf", ["kvConfigPath"], Program.NAMESRV),
        ("x.properties", ["orderMessageEnable"], Program.NAMESRV),
        ("broker.conf", ["listenPort"], Program.BROKER),
        ("x.conf", ["listenPort"], Program.NAMESRV),
        ("my-broker.conf", [], Program.BROKER),
        ("x", [], Program.NAMESRV),
        ("x", ["popConsumerKVServiceEnable"], Program.BROKER),
        ("x", ["controllerType"], Program.NAMESRV),
    ],
)
def test_keys_and_then_the_name_tell_whose_it_is(name: str, keys: list[str], program: Program) -> None:
    assert program_of(Path(name), keys) is program


def test_entries_have_their_places(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_text("# x\nbrokerName=a\n\nbrokerId=0\nbrokerName=b\n")

    file = read_settings_file(str(path))

    assert [file.place(each) for each in file.entries] == [f"{path}:2", f"{path}:4", f"{path}:5"]
    assert file.last()["brokerName"].value == "b"
    assert [(earlier.line, later.line) for earlier, later in file.repeated()] == [(2, 5)]


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot read"), (b"a=\\u12\n", "bad escape"), (b"#" * (4 * 1024 * 1024 + 1), "longer than")],
)
def test_what_cannot_be_read(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "x.conf"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigError, match=said):
        read_settings_file(str(path))
