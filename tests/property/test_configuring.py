"""Whatever is in a file of settings, it is told of; nothing of it ends a command in a fault of ours."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosmodrome.admin.output import Output, OutputForm, Verbosity
from cosmodrome.cli import config_form
from cosmodrome.configuring.checking import check_file
from cosmodrome.configuring.described import Program, broker_keys, namesrv_keys
from cosmodrome.configuring.files import read_settings_file
from cosmodrome.configuring.importing import Fate, differing_defaults, imported, new_text
from cosmodrome.configuring.java_broker_keys import JAVA_BROKER_KEYS
from cosmodrome.configuring.linting.host import Host
from cosmodrome.configuring.linting.lint import lint
from cosmodrome.errors import ConfigError

HOST = Host(name="h", addresses=(("10.0.0.1", "eth0"), ("10.0.0.2", "eth1")), mounts=(("/", "overlay"),))
KEYS = sorted({*broker_keys(), *namesrv_keys(), *JAVA_BROKER_KEYS, "brokerIp1", "", "x y"})
VALUES = st.one_of(
    st.sampled_from(
        ["true ", "yes", "172.17.0.2", "fe80::1%x", "a:1;b:2, c", "SLAVE", "-1", "9" * 30, "~/x", "\\ud800", "\\u0000"]
    ),
    st.integers().map(str),
    st.text(st.characters(exclude_characters="\r\n"), max_size=20),
)
LINES = st.lists(st.tuples(st.sampled_from(KEYS), VALUES).map("=".join), max_size=12).map("\n".join)
CONTENTS = st.one_of(st.binary(max_size=200), LINES.map(lambda text: text.encode("utf-8", "replace")))


def written(show: Callable[[Output], None]) -> object:
    """Give the JSON that a command would write."""
    stdout = io.StringIO()
    output = Output(OutputForm.NDJSON, stdout, io.StringIO(), Verbosity.USUAL)
    show(output)
    return [json.loads(line) for line in filter(None, stdout.getvalue().rstrip("\n").split("\n"))]


@pytest.mark.parametrize("name", ["x.conf", "x.toml"])
@given(content=CONTENTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_is_told_of(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    given_name = str(path)

    report = lint([given_name], HOST)
    assert written(lambda output: config_form.show_report(output, report)) is not None
    for program in Program:
        checked = check_file(given_name, program)
        assert written(lambda output, checked=checked: config_form.show_checked(output, checked))  # type: ignore[misc]
        try:
            file = read_settings_file(given_name, program)
        except ConfigError:
            assert checked.faults
            continue
        keys = imported(file)
        assert len(keys) == len(file.entries)
        written(lambda output, keys=keys: config_form.show_imported(output, "x", keys, differing_defaults(file)))  # type: ignore[misc]  # noqa: B023
        if name == "x.conf" and not any(each.fate is Fate.REFUSED for each in keys):
            _check_new_file(tmp_path / "new.conf", new_text(file, keys), program)


def _check_new_file(path: Path, text: str, program: Program) -> None:
    """What is imported has only keys that are known here, each with a value that it can have."""
    path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    known = {fault.key for fault in check_file(str(path), program).faults if "unknown key" in fault.text}
    assert not known
