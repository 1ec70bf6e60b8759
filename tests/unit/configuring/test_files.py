"""Reading files of settings, and telling whose they are."""

from pathlib import Path

import pytest

from cosmodrome.configuring.described import Program
from cosmodrome.configuring.files import program_of, read_settings_file
from cosmodrome.configuring.initial import initial_text
from cosmodrome.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "keys", "program"),
    [
        ("x.conf", ["brokerName", "listenPort"], Program.BROKER),
        ("broker.conf", ["kvConfigPath"], Program.NAMESRV),
        ("x.properties", ["orderMessageEnable"], Program.NAMESRV),
        ("broker.conf", ["listenPort"], Program.BROKER),
        ("x.conf", ["listenPort"], Program.BROKER),
        ("namesrv.conf", ["listenPort"], Program.NAMESRV),
        ("x.toml", ["listenPort"], Program.NAMESRV),
        ("x.properties", ["listenPort"], None),
        ("my-broker.conf", [], Program.BROKER),
        ("x", [], None),
        ("x", ["popConsumerKVServiceEnable"], Program.BROKER),
        ("x", ["controllerType"], Program.NAMESRV),
    ],
)
def test_keys_and_then_the_name_tell_whose_it_is(name: str, keys: list[str], program: Program | None) -> None:
    assert program_of(Path(name), keys, "# x") is program


@pytest.mark.parametrize("program", Program)
def test_a_file_that_config_init_wrote_says_whose_it_is(program: Program) -> None:
    text = initial_text(program, is_toml=False)

    assert program_of(Path("x"), ["listenPort"], text) is program
    assert program_of(Path("x"), ["brokerName", "listenPort"], text) is Program.BROKER, "keys count for more"


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
