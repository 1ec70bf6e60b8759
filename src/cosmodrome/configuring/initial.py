"""A first file of settings: every line is a comment, so that it changes nothing until a person says so.

Owns: which keys matter at first, and their order.
Must not know: where the file is put (cli/).
"""

from collections.abc import Mapping
from typing import Final

from cosmodrome.configuring.described import TITLES, KeyDescription, Program, keys_of
from cosmodrome.namesrv.config import parse_values
from cosmodrome.namesrv.properties import entry

_NAMESRV: Final[Mapping[str, tuple[str, ...]]] = {
    "Where it listens": ("bindAddress", "listenPort", "http"),
    "Where its files are": ("dataDir", "kvConfigPath", "logFile", "auditLog"),
    "Who may do what (docs/policy.md)": (
        "adminPolicy",
        "adminAllow",
        "brokerAllow",
        "brokerAuth",
        "aclFile",
    ),
    "TLS": (
        "tls.server.mode",
        "tls.test.mode.enable",
        "tls.server.certPath",
        "tls.server.keyPath",
        "tls.server.need.client.auth",
        "tls.server.authClient",
        "tls.server.trustCertPath",
    ),
    "What clients and brokers are told": (
        "orderMessageEnable",
        "returnOrderTopicConfigToBroker",
        "supportActingMaster",
        "notifyMinBrokerIdChanged",
        "enableTopicList",
        "enableAllTopicList",
    ),
    "When brokers are gone": (
        "scanNotActiveBrokerInterval",
        "serverChannelMaxIdleTimeSeconds",
        "deleteTopicWithBrokerRegistration",
    ),
    "Start and stop": (
        "needWaitForService",
        "waitSecondsForService",
        "enableShutdownGracefully",
        "shutdownWaitTimeSeconds",
    ),
    "This file": ("configWatchSeconds", "configBlackList"),
}
_BROKER: Final[Mapping[str, tuple[str, ...]]] = {
    "Who it is": ("brokerClusterName", "brokerName", "namesrvAddr"),
    "Where it listens, and what it tells clients": ("bindAddress", "listenPort", "brokerIP1", "http"),
    "Messages on disk": (
        "storePathRootDir",
        "flushDiskType",
        "maxMessageSize",
        "fileReservedTime",
        "deleteWhen",
        "diskMaxUsedSpaceRatio",
    ),
    "Slaves": ("brokerRole", "inSyncReplicas", "haListenPort", "haAllow", "slaveReadEnable"),
    "Topics and groups": (
        "autoCreateTopicEnable",
        "autoCreateSubscriptionGroup",
        "defaultTopicQueueNums",
        "enablePropertyFilter",
    ),
    "Who may do what (docs/broker-security.md)": (
        "adminPolicy",
        "adminAllow",
        "aclEnable",
        "authenticationEnabled",
        "authorizationEnabled",
        "auditLog",
    ),
    "TLS": ("tls.server.mode", "tls.test.mode.enable", "tls.server.certPath", "tls.server.keyPath"),
    "This file": ("configWatchSeconds",),
}


def initial_text(program: Program, *, is_toml: bool) -> str:
    """Give the file, as a properties text or as TOML."""
    sections = _NAMESRV if program is Program.NAMESRV else _BROKER
    keys = keys_of(program)
    head = (
        f"# {TITLES[program]}. Take the # away where another value is wanted; what is not here has its default.\n"
        "# cosmodrome config explain KEY tells more of each, cosmodrome config check FILE what is wrong.\n"
    )
    return head + "".join(
        f"\n# --- {title}\n" + "".join(_lines(keys[name], is_toml=is_toml) for name in names)
        for title, names in sections.items()
    )


def _lines(key: KeyDescription, *, is_toml: bool) -> str:
    is_value = _is_value(key)
    default = key.default if is_value else ""
    shown = f"; default: {key.default}" if key.default and not is_value else ""
    line = f"{key.name} = {_toml_value(key, default)}" if is_toml else entry(key.name, default)
    return f"# {key.meaning} ({key.type}{shown}; a change counts {key.effect.value})\n#{line}\n"


def _is_value(key: KeyDescription) -> bool:
    """Tell whether the default is one that could be written, not words about it."""
    if key.program is Program.BROKER:
        return True
    _, faults = parse_values({key.name: key.default})
    return not (faults or " in dataDir" in key.default or key.default.startswith(("~", "$")))


def _toml_value(key: KeyDescription, text: str) -> str:
    if key.type == "boolean" or (key.type.startswith(("int", "long")) and text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
