"""docs/reference/broker_configuration.md: every key of the broker, from the table of keys.

Owns: the layout of that page.
Must not know: anything about a key that the table does not say.
"""

from typing import Final

from cosmodrome.configuring.described import KeyDescription, broker_keys

_HEAD: Final = """\
# Settings of the broker

<!-- Written by `python -m scripts.reference` from src/cosmodrome/broker/config.py. Do not edit. -->

For `broker.conf`, `--set KEY=VALUE`, and, in snake case, `Broker(...)` in Python. [broker.md](../broker.md#settings) says which of
them matter, and how they are changed while the broker runs. `cosmodrome config explain KEY` tells the same of one key, with its
value; `cosmodrome config check broker.conf` what is wrong in a file, `cosmodrome lint broker.conf` what is allowed and unwise.

Names, defaults and units are those of Apache's brokers, except for keys that are marked as ours. A key of Apache's that is not here
is refused at the start: `cosmodrome config import broker.conf -O new.conf` takes such keys out of a file and says which they were.

| Key | Type | Default | A change counts | By request 25 | Meaning |
|---|---|---|---|---|---|
"""


def page() -> str:
    """Give the whole page."""
    return _HEAD + "".join(_row(key) for key in broker_keys().values())


def _row(key: KeyDescription) -> str:
    default = f"`{key.default}`" if key.default else ""
    ours = "" if key.is_java else " (ours)"
    by_request = "yes" if key.by_request else "never"
    meaning = f"{key.meaning}{ours}".replace("|", "\\|")
    return f"| `{key.name}` | {key.type} | {default} | {key.effect.value} | {by_request} | {meaning} |\n"
