"""With which keys a command signs its requests.

Owns: where keys are looked for, and the form of that file: mqadmin's `conf/tools.yml`.
Must not know: how a request is signed (client/credentials.py).
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from cosmodrome.errors import ConfigError

ACCESS_KEY_VARIABLE: Final = "ROCKETMQ_ACCESS_KEY"
SECRET_KEY_VARIABLE: Final = "ROCKETMQ_SECRET_KEY"  # noqa: S105  # the name of a variable
HOME_VARIABLE: Final = "ROCKETMQ_HOME"
LARGEST_FILE_BYTES: Final = 64 * 1024
_LINE: Final = re.compile(r"""^\s*(?:-\s+)?["']?(\w+)["']?\s*[:=]\s*(.*?)\s*$""")
_QUOTED: Final = re.compile(r"""^(["'])(.*)\1(?:\s+#.*)?$""")


class Keys(NamedTuple):
    """A pair of keys, and a token where the server wants one."""

    access_key: str
    secret_key: str
    security_token: str | None = None

    def __repr__(self) -> str:
        """Show who signs, without the secrets."""
        return f"Keys({self.access_key!r})"


def chosen_keys(file: str | None, environment: Mapping[str, str]) -> Keys | None:
    """Give the keys of a file that was named, else of the environment, else of `$ROCKETMQ_HOME/conf/tools.yml`.

    None: there are none, and requests are not signed. mqadmin passes over a tools.yml without keys; so does this.

    Raises:
        ConfigError: The file that was named cannot be read or has no keys; the environment has only one of both.
    """
    if file is not None:
        return _of_named(Path(file))
    access, secret = (environment.get(name, "") for name in (ACCESS_KEY_VARIABLE, SECRET_KEY_VARIABLE))
    if access and secret:
        return Keys(access, secret)
    if access or secret:
        raise ConfigError(
            f"only one of ${ACCESS_KEY_VARIABLE} and ${SECRET_KEY_VARIABLE} is set.",
            remedy="set both, or none",
        )
    home = environment.get(HOME_VARIABLE, "")
    return _of_home(Path(home) / "conf" / "tools.yml") if home else None


def _of_named(path: Path) -> Keys:
    try:
        found = _read(path)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"cannot read the credentials of {path}.", why=f"{error}.") from error
    if found is None:
        raise ConfigError(
            f"{path} has no credentials.",
            why="accessKey and secretKey are both needed.",
            remedy="two lines: accessKey: NAME and secretKey: SECRET",
        )
    return found


def _of_home(path: Path) -> Keys | None:
    try:
        return _read(path)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            f"cannot read the credentials of {path}.",
            why=f"{error}.",
            remedy=f"unset ${HOME_VARIABLE}, or --credentials FILE",
        ) from error


def _read(path: Path) -> Keys | None:
    with path.open("rb") as file:
        text = file.read(LARGEST_FILE_BYTES).decode("utf-8")
    values = {found[1]: _plain(found[2]) for line in text.splitlines() if (found := _LINE.match(line))}
    if not values.get("accessKey") or not values.get("secretKey"):
        return None
    return Keys(values["accessKey"], values["secretKey"], values.get("securityToken") or None)


def _plain(text: str) -> str:
    """Give a scalar of YAML: in quotes, or up to a comment."""
    quoted = _QUOTED.match(text)
    return quoted[2] if quoted else re.split(r"(?:^|\s)#", text, maxsplit=1)[0].strip()
