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

Every key of the Java NameServer is accepted under its own name. Those of the broker are in
[broker_configuration.md](reference/broker_configuration.md); the commands below are for both.

## How to

| to | type |
|---|---|
| begin | `cosmodrome config init` writes a file of comments where the server finds it without `-c`; `config init FILE` (`.properties`, `.toml`), `--broker` for a broker.conf. A file that is there is left alone, without `--force` |
| come from Java | `cosmodrome config import namesrv.properties -O new.properties` says of each key whether it counts here, counts otherwise or does not count, and why; the new file has the effect that the old one had in Java, which takes `yes` and `true` with a blank behind it for false, and keeps its default where it cannot read a number |
| know a key | `cosmodrome config explain KEY`: value, where it comes from, default, type, when a change counts, what Java does; of a misspelt key the one that was probably meant |
| see what is in force | `cosmodrome config show` as a start here and now would have it (`-c FILE`, `--set KEY=VALUE`, `--broker`); `--http HOST:PORT` of a server that runs, with the source of each; `-n ADDR` by request 319, `-b HOST:PORT` of a broker by 26, which Java's answer too |
| look for mistakes | `cosmodrome config check FILE...`: all of them, with their lines; 1 if a server would not start with one of the files. Whose a file is, its keys tell, then its first line if `config init` wrote it, then its name (`broker`, `namesrv`, `.conf`); where nothing does it is checked as a NameServer's, and the verdict says that it fits both: `--kind broker` is for the other. `cosmodrome lint broker.conf...`: what is allowed and does harm, for Apache's brokers as well: see [below](#lint) |
| change it | `cosmodrome config set KEY VALUE -n A:9876,B:9876` while servers run: each says when the change counts, 1 if some did not obey. `-b HOST:PORT` of a broker (25). `config set KEY VALUE --file FILE`: only that line, atomically, the file as it was stays as `.bak`; a value that cannot be is not written |
| have a file read again | nothing: a file that was changed is read once it has been the same for `configWatchSeconds` (5; 0 switches that off). Or SIGHUP, `cosmodrome reload`, `POST /api/v1/reload` |

All of them take `-o json`. A file is read again as a whole or not at all: what can change while the server runs does at once, what cannot is
named and counts at the next start, and with one bad line nothing changes (`config.reload_failed`, with every bad line). A line without effect, because a flag or a variable
wins over it, is named, too (`overridden`). What a request changed
and the server wrote itself is not read again; a file that is gone changes nothing before SIGHUP. Certificates, keys and trust anchors are looked
at by themselves, and new connections use them as soon as they are a complete set; so are accounts. Brokers do the same with their broker.conf.

## Where a value comes from

Later wins:

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

## Lint

```console
$ cosmodrome lint broker.conf
broker.conf:7: error brokerIP1=172.17.0.2 is a container bridge address; clients outside will fail to connect.
    Set it to an address clients can reach, for example brokerIP1=192.168.1.31
broker.conf:9: warning namesrvAddr uses ',' between addresses; RocketMQ expects ';'
1 error, 1 warning
```

It knows the keys of Apache's brokers 4.9.7, 5.1.4 and 5.5.0 and of ours, and looks at one file or at all files of an estate together. It ends with 1
when there is an error. A note that all of several files have is one line, `all 3 files: note ...`. `-o json` has file, line, severity, rule, key, text and what to do of each finding.

| rule | an error | a warning or note |
|---|---|---|
| `unknown-key`, `repeated-key` | misspelt: Java skips it without a word | like no other key; there twice; a system property, which Apache's take from `-D` only |
| `bad-value` | what Java takes for something else: `yes`, `true` with a blank, `48h`, `flushDiskType=SYNC` | |
| `announced-address` | `brokerIP1`, `brokerIP2`: Docker's bridge, a wildcard, link-local, a port or brackets in it | loopback, networks that containers often have, a name; not set where the host has several addresses |
| `name-servers` | blanks between addresses, no port, a wildcard | `,` for `;`, one twice, loopback, none |
| `role-and-id`, `dledger-peers`, `slave-reads` | a slave without an id of its own, a master with the id of a slave, a DLedger id that is not among the peers | a slave that refuses pulls |
| `identity` | a name and id in two files, a name in two clusters | brokers of a name with different NameServers, a slave without its master |
| `ports`, `store-path` | two brokers of one host that want one port (each takes `listenPort`, two below, one above) or one folder; a folder in memory, with `~` or `${{}}` | `/tmp`, a path that is not whole, a container's own files |
| `durability`, `permission`, `open-doors` | | what a power cut, a kill or a dead disk takes; `SYNC_MASTER` without `inSyncReplicas`; topics made by a misspelt name; no accounts |

The server itself changes nothing of what a broker announces: clients get those very addresses.

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
