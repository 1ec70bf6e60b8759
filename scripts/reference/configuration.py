"""docs/configuration.md: every key of the NameServer, from the table of keys.

Owns: the layout of that page.
Must not know: anything about a key that the table does not say.
"""

from collections.abc import Iterable
from typing import Final

from cosmodrome.namesrv.config import FIXED_BLACK_LIST, KEYS, SECURITY_KEYS
from cosmodrome.namesrv.config_file import JAVA_ENVIRONMENT
from cosmodrome.namesrv.config_keys import CONTROLLER_KEYS, INT_MAX, NETTY_CLIENT_KEYS, Family, Key, Kind

PLACE: Final = "configuration.md"
"""Below docs/; pages without one are docs/reference/<module>.md."""
_NUMBERS: Final = (Kind.INT, Kind.LONG)

_HEAD: Final = """\
# Configuration

<!-- Written by `python -m scripts.reference` from src/cosmodrome/namesrv/config.py. Do not edit. -->

Every key of the Java NameServer is accepted under its own name. A value comes from, later wins:

1. the default in the tables below;
2. Java's own environment variables: {java_environment};
3. the file given with `-c`, or without `-c` the file at `configStorePath` if it exists;
4. the environment variable of the key, such as `COSMODROME_LISTEN_PORT`;
5. `--listenPort`, `--bindAddress`, `--data-dir`, and `--set KEY=VALUE` for any key.

The file is a Java properties file (UTF-8, or else ISO-8859-1; `#` and `!` comments, `\\` continuations, `\\uXXXX`
escapes), or TOML with the same keys if its name ends in `.toml`. `cosmodrome namesrv -p` prints the settings in
force, `cosmodrome namesrv --check-config` checks them without starting.

What cannot be meant ends the start with exit code 78, and every place is named with its line: an unknown key (with
`--lenient` only a warning), a word that is not `true` or `false`, a number with other characters in it or out of
range, a control character in a text. Blanks at the end of a value do not count; `true` and `false` may be in any
case. Of a key that is there twice the last one counts, and a warning names both lines.

## Changes at run time

UPDATE_NAMESRV_CONFIG (318; `mqadmin updateNamesrvConfig`) changes the keys of the first two tables, subject to
`adminPolicy`. One bad value refuses the whole request; the answer names each bad key and why. Accepted changes are
written to the file in use before the request is answered: only the lines of changed keys, atomically, the previous
content kept as `.bak`. The answer names keys that take effect at the next start, and keys that the environment or a
flag will override then. These can never be changed by a request: {black_list}, and whatever
`configBlackList` named at the start.

GET_NAMESRV_CONFIG (319) lists the first two tables as Java does. Where a value holds a character that a properties
reader would change (a backslash, a leading blank, anything outside ASCII) it is escaped, so that it reads back
identical.
"""

_TAIL: Final = """\
## Accepted without effect

A file made for Java may hold these too; they are kept, not checked, and named once at the start.

- Of the outgoing client (NettyClientConfig): {client}.
- Of the embedded controller, which does not exist here: {controller}.
  `enableControllerInNamesrv=true` is refused.
"""


def page() -> str:
    """Give the whole page."""
    java = " and ".join(f"`{variable}` for `{key}`" for variable, key in JAVA_ENVIRONMENT.items())
    parts = [_HEAD.format(java_environment=java, black_list=_listed((*FIXED_BLACK_LIST, *SECURITY_KEYS)))]
    parts += [_family(family) for family in Family]
    parts.append(_TAIL.format(client=_listed(sorted(NETTY_CLIENT_KEYS)), controller=_listed(sorted(CONTROLLER_KEYS))))
    return "\n".join(parts)


def _family(family: Family) -> str:
    rows = "".join(_row(name, key) for name, key in KEYS.items() if key.family is family)
    return (
        f"## {family.value}\n\n"
        "| Key | Type | Default | A change takes effect | Meaning | Environment |\n"
        "|---|---|---|---|---|---|\n"
        f"{rows}"
    )


def _row(name: str, key: Key) -> str:
    default = f"`{key.default_text}`" if key.default_text else ""
    return f"| `{name}` | {_type(key)} | {default} | {key.effect.value} | {key.meaning} | `{key.environment_name}` |\n"


def _type(key: Key) -> str:
    if key.kind not in _NUMBERS:
        return str(key.kind.value)
    limits = f"{key.minimum} to {key.maximum}" if key.maximum < INT_MAX else f"from {key.minimum}"
    return f"{key.kind.value}, {limits}{f' {key.unit}' if key.unit else ''}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
