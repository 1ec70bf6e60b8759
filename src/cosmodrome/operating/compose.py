"""A compose file: NameServers that do not know each other, and a broker that registers with all of them.

Owns: every line of it.
Must not know: how the image is made (packaging/Containerfile); where the text goes.
"""

from typing import Final

FIRST_PORT: Final = 9876
BROKER_PORT: Final = 10911
_LETTERS: Final = "abcdefghi"
MOST: Final = len(_LETTERS)

_HEAD: Final = """\
# {what}, each with its own folder: they do not know each other, brokers register with all of them.
# Brokers and clients on other hosts use namesrvAddr={addresses}.
x-server: &server
{image}  restart: always
  stop_grace_period: 60s
  read_only: true
  cap_drop: [ALL]
  security_opt: ["no-new-privileges:true"]
  # Standard error is the log; the runtime keeps it, so it must bound it.
  logging:
    driver: json-file
    options: {{max-size: 10m, max-file: "5"}}

services:
"""
_NAME_SERVER: Final = """\
  namesrv-{letter}:
    <<: *server
    command: [nameserver]
    ports: ["{port}:9876"]
    volumes: ["namesrv-{letter}:/data"]
"""
_BROKER: Final = """\
  broker-a:
    <<: *server
    # Clients get brokerIP1: it must be an address of this host that they can reach.
    command:
      - broker
      - --set=brokerName=broker-a
      - --set=brokerIP1=${{BROKER_IP1:-127.0.0.1}}
      - --set=storePathRootDir=/data/store
      - --namesrvAddr={addresses}
    depends_on: [{names}]
    ports: ["10909:10909", "10911:10911", "10912:10912"]
    volumes: ["broker-a:/data"]
    healthcheck: {{disable: true}}
"""
IMAGE: Final = "cosmodrome"
"""What the Containerfile is built as, when nobody names an image."""
_BUILD: Final = f"""\
  # In a checkout: docker build -f packaging/Containerfile -t {IMAGE} .
  image: {IMAGE}
"""


def compose_file(count: int, image: str | None, *, has_broker: bool) -> str:
    """Give a file with so many NameServers (1 to MOST); without an image it has the name of one that a checkout builds."""
    letters = _LETTERS[:count]
    names = [f"namesrv-{letter}" for letter in letters]
    what = "One NameServer" if count == 1 else f"{count} NameServers"
    parts = [
        _HEAD.format(
            what=what,
            addresses=";".join(f"HOST:{FIRST_PORT + index}" for index in range(count)),
            image=_BUILD if image is None else f"  image: {image}\n",
        ),
        *(_NAME_SERVER.format(letter=letter, port=FIRST_PORT + index) for index, letter in enumerate(letters)),
    ]
    if has_broker:
        inner = ";".join(f"{name}:{FIRST_PORT}" for name in names)
        parts.append(_BROKER.format(addresses=inner, names=", ".join(names)))
    volumes = [*names, *(["broker-a"] if has_broker else [])]
    parts.append("\nvolumes:\n" + "".join(f"  {name}:\n" for name in volumes))
    return "".join(parts)
