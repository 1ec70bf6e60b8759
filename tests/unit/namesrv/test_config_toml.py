"""Configuration in TOML, as text."""

import pytest

from cosmodrome.errors import ConfigError
from cosmodrome.namesrv import config_toml
from cosmodrome.namesrv.properties import last_values


@pytest.mark.parametrize(
    "text",
    [
        'tls.server.mode = "disabled"',
        'listenPort = 9876\ntls.server.mode = "disabled"',
        "com.rocketmq.remoting.frameMaxLength = 1000 # why",
        "[tls.server]\nmode = 'disabled'",
        "listenPort = 1",
        "# nothing",
        "",
    ],
)
@pytest.mark.parametrize("key", ["clusterTest", "tls.server.keyPath"])
def test_a_key_is_added_behind_a_last_line_without_an_end(text: str, key: str) -> None:
    """Found by the fuzzer: both came to stand on one line, and the next start could not read the file."""
    changed = config_toml.updated(text, {key: "true"})

    assert last_values(config_toml.parse(changed)) == last_values(config_toml.parse(text)) | {key: "true"}


def test_a_change_that_would_not_read_back_is_refused() -> None:
    """Here it would take another key along."""
    with pytest.raises(ConfigError, match="listenPort cannot be written into this TOML text") as caught:
        config_toml.updated("listenPort.a = 1\nlistenPort.b = 2\n", {"listenPort": "9876"})

    assert caught.value.remedy
