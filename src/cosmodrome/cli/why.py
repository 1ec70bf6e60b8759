"""`cosmodrome why`: its flags, and whom it asks.

Owns: that a server of ours is asked over HTTP, since it knows more, and any other over the wire.
Must not know: what follows from the facts.
"""

import os
import urllib.parse
from typing import Any, Final

import click
import msgspec

from cosmodrome.cli.admin.declaration import Declared
from cosmodrome.cli.admin.grammar import CONTEXT, Common, common_options
from cosmodrome.cli.admin.running import run_declared
from cosmodrome.cli.http_target import api_of
from cosmodrome.client.addresses import chosen_addresses
from cosmodrome.errors import OperatorError
from cosmodrome.why.facts import BrokerFacts, TopicFacts

_WHY: Final = Declared(name="why", text="Explain a missing route.", runs="why:why")
_GUESS_S: Final = 1.0


def _why(*, topic: str | None, broker: str | None, http: str | None, **flags: Any) -> int:
    """Explain why TOPIC has no route, or what is wrong with the one it has; with --broker, the same of a broker.

    A NameServer of ours is asked over HTTP and knows what happened; of any other, Apache's too, the present is told.
    Ends with 0 when all is well, with 66 when it is not there, with 1 when something is wrong with it.
    """
    if (topic is None) == (broker is None):
        raise click.UsageError("name a TOPIC, or a broker with --broker.", click.get_current_context(silent=True))
    common = Common(**{field: flags.pop(field) for field in Common.__dataclass_fields__})
    known = _over_http(topic, broker, http, common)
    return run_declared(_WHY, common, {"topic": topic, "broker": broker, "known": known})


def _over_http(
    topic: str | None, broker: str | None, http: str | None, common: Common
) -> TopicFacts | BrokerFacts | None:
    """Ask the JSON API for facts; None when nobody named it and it is not where it usually is."""
    kind, name = ("topics", topic) if topic is not None else ("brokers", broker)
    path = f"/api/v1/{kind}/{urllib.parse.quote(name or '', safe='')}/why"
    form: type[TopicFacts | BrokerFacts] = TopicFacts if topic is not None else BrokerFacts
    if http is not None:
        return _facts(api_of(http, None, common.timeout_s).get(path), form)
    first = str(chosen_addresses(common.namesrv_addr, os.environ)[0])
    try:
        return _facts(api_of(None, first, min(common.timeout_s, _GUESS_S)).get(path), form)
    except (OperatorError, msgspec.ValidationError):
        return None


def _facts(answer: Any, form: type[TopicFacts | BrokerFacts]) -> TopicFacts | BrokerFacts:
    facts = answer.get("facts") if isinstance(answer, dict) else None
    return msgspec.convert(facts, form, strict=False, str_keys=True)


why: Final = click.Command(
    "why",
    callback=_why,
    params=[
        click.Argument(["topic"], required=False),
        click.Option(["-b", "--broker"], metavar="NAME", help="Explain this broker instead of a topic."),
        click.Option(
            ["--http"],
            metavar="A:P",
            help="Where the server's HTTP listens; default: its port + 10000, if that is ours.",
        ),
        *common_options(["-b", "--broker", "--http"]),
    ],
    help=_why.__doc__,
    context_settings=dict(CONTEXT),
)
