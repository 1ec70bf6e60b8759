"""Which test shows the effect of which configuration key, and when.

Owns: the register that tests enter their keys in; changing keys over the wire and reading them back.
Must not know: which keys there are; what a key does.
"""

import enum
from collections import defaultdict
from collections.abc import Callable
from typing import Final, TypeVar

import javaproperties
from tests.support.peer import CFGGET, SUCCESS, Peer
from tests.support.server_process import ServerProcess

T = TypeVar("T")


class When(enum.Enum):
    """At which moment a value is shown to have its effect."""

    START = "given at the start"
    LIVE = "changed by a request, at once, and after a restart"
    RESTART = "changed by a request, named as waiting, and only after a restart"
    NEVER_BY_REQUEST = "a request that would change it is refused"


SHOWN: Final[dict[str, set[When]]] = defaultdict(set)
"""Every key that some test shows, by its Java name."""


def shows(*keys: str, when: When) -> Callable[[T], T]:
    """Enter keys for the test that this decorates."""
    for key in keys:
        SHOWN[key].add(when)
    return lambda test: test


def listing(server: ServerProcess) -> dict[str, str]:
    """Return what the server lists (319)."""
    with Peer(server.address) as peer:
        answer = peer.request(CFGGET)
    assert answer.code == SUCCESS, answer
    return javaproperties.loads(answer.body)


def change(server: ServerProcess, **values: object) -> str:
    """Change keys by a request (318) that must succeed, and return its remark; a name's `_` stands for `.`."""
    with Peer(server.address) as peer:
        answer = peer.change_config(**{key.replace("_", "."): value for key, value in values.items()})
    assert answer.code == SUCCESS, answer
    return answer.remark or ""


def is_waiting(remark: str, key: str) -> bool:
    """Tell whether a remark names a key as one that takes effect at the next start."""
    part = next((part for part in remark.split("; ") if "after a restart" in part), "")
    return key in part.rpartition(": ")[2].split(", ")
