"""Configuration switches: which there are, how a history sets them, and requests that change them.

Owns: the keys that histories touch, with the values that a play starts from, and the bodies of
UPDATE_NAMESRV_CONFIG that are worth sending.
Must not know: servers, and what a switch does (model.py knows the one that changes tables).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Final

from tests.interop.differential.history import Body, Setting

SWITCHES: Final[Mapping[str, str]] = {
    "supportActingMaster": "false",
    "notifyMinBrokerIdChanged": "false",
    "deleteTopicWithBrokerRegistration": "false",
    "orderMessageEnable": "false",
    "returnOrderTopicConfigToBroker": "true",
    "enableAllTopicList": "true",
    "enableTopicList": "true",
    "needWaitForService": "false",
}
"""What changes an answer or a table, with its default. Waiting for service lasts 0 s in a play."""

OLD_SWITCHES: Final = ("orderMessageEnable", "supportActingMaster")
"""What 4.9.7 knows, and what makes no difference for its brokers."""

RESET: Final[Mapping[str, str]] = {
    **SWITCHES,
    "waitSecondsForService": "0",
    "productEnvName": "center",
    "defaultThreadPoolNums": "16",
    "unRegisterBrokerQueueCapacity": "3000",
    "serverSocketBacklog": "1024",
}
"""Every key that a history may change, and its value at the start of a play."""

STORE_PATHS: Final = ("kvConfigPath", "configStorePath")
BLACK_LIST: Final = (*STORE_PATHS, "configBlackList", "rocketmqHome")
BAD_LINES: Final = (
    "defaultThreadPoolNums=many",
    "defaultThreadPoolNums=1.5",
    "defaultThreadPoolNums=99999999999999999999",
    "unRegisterBrokerQueueCapacity=0",
    "orderMessageEnable=perhaps",
    "enableTopicList=",
    "listenPort=none",
)
OLD_BAD_LINES: Final = ("orderMessageEnable=perhaps", "listenPort=none")
"""Those about keys that 4.9.7 has too."""

NUMBERS: Final = ("defaultThreadPoolNums=17", "serverSocketBacklog=512", "unRegisterBrokerQueueCapacity=2999")
UNPARSABLE: Final = ("a=\\uZZZZ", "orderMessageEnable=true\nproductEnvName=\\u12", "\\u=1")
STRING_VALUES: Final = ("x", "a b", "a=b:c", "#x", "\\u00e9", "\\\n  continued", "a\\:b", "a;b", "\u4e3b\u9898 é", "")
FORMS: Final = ("{}={}\n", "{} = {}\n", "{}:{}\n", "{} {}\n", "\n# note\n{}={}", "{}=x\n{}={}\n", "  {}={}\r\n")


def random_setting(random: Random, names: Iterable[str]) -> Setting:
    """Return switches, each turned over with a chance that differs between histories."""
    share = random.choice((0.0, 0.15, 0.15, 0.4))
    return tuple((name, _turned(SWITCHES[name])) for name in names if random.random() < share)


def random_change(random: Random, names: Iterable[str], *, is_old: bool) -> Body:
    """Return a body of UPDATE_NAMESRV_CONFIG: mostly a good change of a switch."""
    if random.random() < 0.4:
        return _good_change(random, names)
    forbidden = f"{random.choice(STORE_PATHS if is_old else BLACK_LIST)}=/tmp/x\n"
    bodies = [Body(), _text("\n"), _text("# nothing\n"), _text("noSuchKey=1\nOrderMessageEnable=true\n")]
    bodies += [_text(forbidden), _text(f"productEnvName=changed\n{forbidden}")] * 2
    bodies += [replace(_text(f"{line}\n"), effect="last") for line in (OLD_BAD_LINES if is_old else BAD_LINES)]
    bodies += [replace(_text(text), effect="refused") for text in UNPARSABLE]
    bodies += [_text(f"{line}\n") for line in (() if is_old else NUMBERS)]
    bodies += [_text(f"productEnvName={value}\n") for value in STRING_VALUES]
    return random.choice(bodies)


def _good_change(random: Random, names: Iterable[str]) -> Body:
    changes = {name: random.choice(("true", "false")) for name in random.sample([*names], random.choice((1, 1, 2)))}
    text = "".join(_line(random, key, value) for key, value in changes.items())
    return replace(_text(text), changes=tuple(changes.items()))


def setting_text(setting: Setting) -> bytes:
    """Return what UPDATE_NAMESRV_CONFIG is given at the start of a play: every key that any history changes."""
    return "".join(f"{key}={value}\n" for key, value in (dict(RESET) | dict(setting)).items()).encode()


def _line(random: Random, key: str, value: str) -> str:
    form = random.choice(FORMS)
    return form.format(key, key, value) if form.count("{}") == 3 else form.format(key, value) + "\n"


def _text(text: str) -> Body:
    return Body(form="text", text=text)


def _turned(value: str) -> str:
    return "false" if value == "true" else "true"
