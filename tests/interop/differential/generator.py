"""Random histories, each determined by a seed, a number and a setting.

Owns: which requests are likely, and with which names, versions and bodies.
Must not know: servers and answers.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any, Final

from tests.interop.differential.history import (
    Body,
    Close,
    History,
    Request,
    Setting,
    StaticMapping,
    Step,
    Topic,
    Version,
)
from tests.interop.differential.model import Model, Verdict
from tests.interop.differential.oddities import (
    BODIES,
    HUGE,
    LARGEST_BINARY_CODE,
    UNKNOWN_CODES,
    VERSIONS,
    is_harmless,
    made_odd,
    odd_text,
    with_body,
    with_json_types,
)
from tests.interop.differential.settings import OLD_SWITCHES, SWITCHES, random_change, random_setting
from tests.support import wire

READ_VERSIONS: Final = (-5, 63, *VERSIONS)
BROKER_VERSIONS: Final = (31, 700, *VERSIONS)
LANGUAGES: Final = ("JAVA", "CPP", "GO", "PYTHON", "OTHER", "DOTNET", "RUST", "NODE_JS")
ODD_TOPICS: Final = (
    "té/~",
    't"\\~',
    "t<&'>~",
    "t\u2028\u00a0~",
    "t\u007f\u0085~",
    "t\u000b\u0001\t~",
    "t\U0001f680~",
    *(f"{'t' * (size - 10)}~" for size in HUGE),
)
ODD_NAMES: Final = ("b-\u0000\n~", 'b"\\~', "b,:;=~", "b\U0001f680~", *(f"{'b' * (size - 10)}~" for size in HUGE))
MEMBER_TOPIC: Final = "rmq_sys_SYNC_BROKER_MEMBER_~"
ORDER_NAMESPACE: Final = "ORDER_TOPIC_CONFIG"
ORDER_VALUES: Final = ("b1:4;b2:4", "", 'é/"\\\u0007<>')
ADDRS_PER_NAME: Final = 3
NO_BODY: Final = Body()
TRANSLATABLE_PROBABILITY: Final = 0.7
LAST_STEP_PROBABILITY: Final = 0.15


def generate(seed: int, number: int, *, is_old: bool = False) -> History:
    """Return history `number` of a seed, for Apache's 4.9.7 if it is an old one."""
    random = Random(f"{seed}/{number}")
    setting = random_setting(random, OLD_SWITCHES if is_old else SWITCHES)
    composer = Composer(random, setting, is_old=is_old)
    steps: list[Step] = []
    wanted = random.randint(8, 40)
    for composed in composer.steps():
        step = replace(composed, is_translatable=random.random() < TRANSLATABLE_PROBABILITY)
        verdict, _ = composer.model.judge(step)
        if verdict is Verdict.PLAY or (verdict is Verdict.LAST and random.random() < LAST_STEP_PROBABILITY):
            steps.append(step)
        if verdict is Verdict.LAST and steps and steps[-1] is step:
            break
        if len(steps) >= wanted:
            steps += composer.final_reads()
            break
    return History(seed=seed, number=number, setting=setting, steps=tuple(steps), is_old=is_old)


def playable(history: History) -> History:
    """Return the history with facts added, without the steps that must not be played."""
    model = Model(history.setting, is_old=history.is_old)
    steps: list[Step] = []
    for step in history.steps:
        verdict, judged = model.judge(step)
        if verdict is not Verdict.SKIP:
            steps.append(judged)
        if verdict is Verdict.LAST:
            break
    return replace(history, steps=tuple(steps))


class Composer:
    """Makes one step after the other; looks at the model to make sense most of the time."""

    def __init__(self, random: Random, setting: Setting, *, is_old: bool) -> None:
        """Choose the names of the history."""
        self.random = random
        self.is_old = is_old
        self.switches = OLD_SWITCHES if is_old else tuple(SWITCHES)
        self.model = Model(setting, is_old=is_old)
        self.clusters = ["c1~"] * 12 + (["c2~"] if random.random() < 0.2 else [])
        self.names = ["b1~", "b2~", "b-é~" if random.random() < 0.6 else random.choice(ODD_NAMES)]
        self.names = self.names[: random.randint(1, 3)]
        self.topics = ["t1~", "t2~", "t3~", random.choice([*ODD_TOPICS, MEMBER_TOPIC])]
        self.flags = {name: random.choice(self._usual_flags()) for name in self.names}
        zones = (None,) if is_old else (None, None, "z1", "Z1", "zé")
        self.zones = {name: random.choice(zones) for name in self.names}
        self.home = {name: random.choice(self.clusters) for name in self.names}
        self.flags_of_topics = {name: random.choice((0, 1, 2, 3)) for name in self.topics[2:]}
        self.has_flags = random.random() < 0.5
        self.kv_keys: list[dict[str, str | None]] = []
        self.sent: dict[str, Request] = {}
        """The last full registration by address, to be repeated."""

    def _usual_flags(self) -> tuple[str | None, ...]:
        if self.is_old:
            return (None,)
        is_acting = self.model.config["supportActingMaster"] == "true"
        return ("true", "true", "true", "false", None) if is_acting else ("true", "false", None)

    def steps(self) -> Iterator[Step]:
        """Yield steps without end."""
        makers, weights = list(self._makers()), list(self._makers().values())
        yield self.register()
        while True:
            (maker,) = self.random.choices(makers, weights)
            step = maker()
            yield self._maybe_odd(step) if isinstance(step, Request) else step

    def _maybe_odd(self, step: Request) -> Request:
        """Make one request in five an odd one, if that leaves no doubt about what it does."""
        if not self._chance(0.2):
            return step
        if is_harmless(step):
            return made_odd(self.random, step, self.is_old)
        if step.code in (103, 104, 322, 904):
            return with_json_types(self.random, step)
        return with_body(self.random, step) if step.code not in (217, 318) else step

    def _makers(self) -> dict[Callable[[], Step], int]:
        return {
            self.register: 24,
            self.register_again: 12,
            self.register_single: 6,
            self.register_role: 4,
            self.register_oddly: 8,
            self.register_elsewhere: 1,
            self.unregister: 8,
            self.unregister_oddly: 6,
            self.heartbeat: 3,
            self.query_version: 8,
            self.add_topic: 6,
            self.delete_topic: 5,
            self.change_permission: 8,
            self.change_kv: 7,
            self.read_kv: 6,
            self.read_route: 26,
            self.read_list: 16,
            self.read_group: 5,
            self.ask_unknown: 3,
            self.change_config: 4,
            self.read_config: 2,
            self.use_odd_name: 4,
            self.close: 5,
        }

    def final_reads(self) -> list[Step]:
        """Return requests that show the whole state."""
        routes = [Request(connection="end", code=105, ext={"topic": topic}, version=513) for topic in self.topics]
        routes += [replace(each, version=317) for each in routes]
        groups = [
            Request(connection="end", code=901, ext={"clusterName": "c1~", "brokerName": name}) for name in self.names
        ]
        lists = [Request(connection="end", code=code) for code in (106, 206, 304)]
        return [*lists, *groups, *routes]

    # REGISTER_BROKER

    def register(self) -> Request:
        """A full registration of a random broker."""
        name, at = self._name(), self.random.choice((0, 0, 0, 1, 1, 2))
        addr = self._addr(name, at)
        group = self.model.groups.get(name)
        ids = [i for i, a in group.addrs.items() if a == addr] if group else []
        broker_id = ids[0] if ids and self._chance(0.9) else self._pick(at, at, at, at, 0, 1, 2, -1, 2**40)
        version = self._pick(*BROKER_VERSIONS) if self._chance(0.4) else 513
        request = self._registration(name, addr, broker_id, version)
        self.sent[addr] = request
        return request

    def _registration(self, name: str, addr: str, broker_id: int, version: int) -> Request:
        body = self._registration_body(name, addr, version)
        flag = self.flags[name] if self.is_old or self._chance(0.93) else self._pick("true", "false", None)
        zone = self.zones[name] if self.is_old or self._chance(0.93) else self._pick(None, "z1", "z2", "z,\n")
        compressed = "true" if body.form == "zip" else self._pick("false", "false", "false", None)
        cluster = self.home[name] if self._chance(0.97) else self.random.choice(self.clusters)
        ext = {
            "brokerName": name,
            "brokerAddr": addr,
            "clusterName": cluster,
            "haServerAddr": f"ha-of-{addr}",
            "brokerId": str(broker_id),
            "heartbeatTimeoutMillis": self._pick(None, None, None, "120000", "600000", "x"),
            "enableActingMaster": flag,
            "compressed": compressed,
            "bodyCrc32": self._pick(None, None, None, "0", "many"),
            "__ZONE_NAME": zone,
        }
        connection = self._home_connection(addr) if self._chance(0.85) else "shared"
        return self._request(103, ext, body, version=version, connection=connection)

    def _registration_body(self, name: str, addr: str, version: int) -> Body:
        form = self._registration_form(version)
        mapped = version >= 413 and self._chance(0.15) and not self.is_old
        return Body(
            form=form,
            topics=self._topic_table(),
            version=self._next_version(addr),
            filters=self._pick((), (), (), ("f1", "f2"), ("f/é",), () if form == "zip" else None),
            mappings=(StaticMapping(self._topic(), name, ((0, 0), (4, self.random.randint(1, 9)))),) if mapped else (),
            with_mapping_part=version >= 413,
        )

    def _registration_form(self, version: int) -> Any:
        if version < wire.SECOND_BODY_VERSION:
            return "old"
        if self.is_old:
            return "json"
        # Compressed bodies carry no flags, and Apache's unit lists ask any one of a topic's brokers.
        return "zip" if self._chance(0.25) and not self.has_flags else "json"

    def _topic_table(self) -> tuple[Topic, ...]:
        names = self.random.sample(self.topics, self._pick(0, 2, 2, 3, 3, 4))
        return tuple(self._topic_config(name) for name in names)

    def _topic_config(self, name: str) -> Topic:
        flag = self._flag_of(name)
        if self._chance(0.5):
            return Topic(name, sys_flag=flag)
        read, write, perm = self._pick(1, 8, 16), self._pick(1, 8, 16), self._pick(6, 6, 6, 4, 2, 7, 0)
        return Topic(name, read, write, perm, flag)

    def _flag_of(self, topic: str) -> int:
        return self.flags_of_topics.get(topic, 0) if self.has_flags else 0

    def _next_version(self, addr: str) -> Version:
        before = self.sent[addr].body.version if addr in self.sent else Version()
        states = [] if self.is_old else ["state", "less state"]
        match self._pick("same", "same", "counter", "counter", "time", *states):
            case "counter":
                return replace(before, counter=before.counter + 1)
            case "time":
                return replace(before, timestamp=before.timestamp + 1000)
            case "state":
                return replace(before, state=before.state + 1)
            case "less state":
                return replace(before, state=max(before.state - 1, 0))
            case _:
                return before

    def register_again(self) -> Request:
        """The same registration again, or one that differs in its topics only."""
        if not self.sent:
            return self.register()
        request = self.sent[self.random.choice(list(self.sent))]
        if self._chance(0.3) and request.body.form != "text":
            request = replace(request, body=replace(request.body, topics=self._topic_table()))
        return request

    def register_single(self) -> Request:
        """An increment of one topic, mostly of a broker that is known."""
        request = self.register_again()
        body = replace(request.body, topics=(self._topic_config(self._topic()),))
        if self._chance(0.5):
            body = replace(body, version=replace(body.version, counter=body.version.counter + 1))
        return replace(request, body=body)

    def register_role(self) -> Request:
        """An address under another id, as after an election."""
        request = self.register_again()
        broker_id, state = self._pick(0, 0, 1, 2), 0 if self.is_old else self._pick(0, 1, 1)
        version = replace(request.body.version, state=request.body.version.state + state)
        ext = dict(request.ext or {}) | {"brokerId": str(broker_id)}
        request = replace(request, ext=ext, body=replace(request.body, version=version))
        self.sent[ext["brokerAddr"]] = request
        return request

    def register_elsewhere(self) -> Request:
        """An address under another name or in another cluster."""
        request = self.register_again()
        ext = dict(request.ext or {})
        if self._chance(0.5):
            body = replace(request.body, mappings=())
            return replace(request, ext=ext | {"brokerName": self._pick("b1~", "b2~", "b9~")}, body=body)
        return replace(request, ext=ext | {"clusterName": "c3~"})

    def register_oddly(self) -> Request:
        """A registration with something wrong or unusual about it."""
        request = self.register_again()
        odd: Callable[[Request], Request] = self._pick(
            self._with_bad_crc,
            self._with_odd_field,
            self._with_odd_field,
            self._with_wrong_label,
            self._with_wrong_label,
            self._with_negative_version,
            self._with_odd_body,
            self._with_odd_body,
            self._with_odd_body,
        )
        return odd(request)

    def _with_bad_crc(self, request: Request) -> Request:
        ext = {name: value for name, value in (request.ext or {}).items() if name != "bodyCrc32"}
        return replace(request, ext=ext, bad_crc=True)

    def _with_odd_field(self, request: Request) -> Request:
        ext = dict(request.ext or {})
        missing = self._pick("brokerName", "brokerAddr", "clusterName", "haServerAddr", "brokerId", None, None)
        if missing is None:
            ext["brokerId"] = self._pick("x", "1.5", "99999999999999999999")
        else:
            ext.pop(missing)
        return replace(request, ext=self._pick(ext, ext, ext, ext, None))

    def _with_wrong_label(self, request: Request) -> Request:
        if request.body.form == "json" and not self.has_flags and not self.is_old and self._chance(0.8):
            body = replace(request.body, form="zip", with_mapping_part=request.version >= 413)
            filters = body.filters or ()
            request = replace(request, body=replace(body, filters=filters))
        label = "false" if request.body.form == "zip" else "true"
        return replace(request, ext=dict(request.ext or {}) | {"compressed": label, "bodyCrc32": "0"})

    def _with_negative_version(self, request: Request) -> Request:
        return replace(request, version=-1, body=replace(request.body, effect="refused"))

    def _with_odd_body(self, request: Request) -> Request:
        version = 513 if request.version < wire.SECOND_BODY_VERSION else request.version
        body = self.random.choice([Body(version=Version(0, 0)), *self._text_bodies()])
        return replace(request, version=version, ext=dict(request.ext or {}) | {"compressed": "false"}, body=body)

    def _text_bodies(self) -> list[Body]:
        now = Version(0, -1)
        refused = ["null", "[]", "{", "hello", "{} x", '{"topicConfigSerializeWrapper":7}']
        refused += ['{"topicConfigSerializeWrapper":{"topicConfigTable":{"t1~":null,"t2~":null}}}']
        refused += [text for text in BODIES if not text.startswith("{") or text in ("{", '{"a":')]
        empty = (
            ["{}"]
            if self.is_old
            else ["{}", ' { "filterServerList" : [ ] , "unknown" : {"a":[1,{}]} }', '{"filterServerList":7}']
        )
        empty += [text for text in BODIES if text.startswith("{") and text.endswith("}")]
        null, nothing = ("8", "8") if self.is_old else ("null", '""')
        two = f'{{"topicName":"t1~","perm":"4","readQueueNums":{null},"order":"true"}}'
        table = f'"topicConfigTable":{{"t1~":{two},"t2~":{{"topicName":"t2~","writeQueueNums":{nothing}}}}}'
        bodies = [Body(form="text", text=text, effect="refused") for text in refused]
        bodies += [Body(form="text", text=text, version=now) for text in empty]
        bodies.append(Body(form="text", text='{"topicConfigSerializeWrapper":null}', effect="last"))
        odd = f'{{"topicConfigSerializeWrapper":{{"dataVersion":{{"counter":3}},{table}}}}}'
        bodies.append(Body(form="text", text=odd, version=now, topics=(Topic("t1~"), Topic("t2~"))))
        keyed = table.replace('"t2~":{', '"other key~":{')
        keyed = f'{{"topicConfigSerializeWrapper":{{"dataVersion":{{"timestamp":5}},{keyed}}}}}'
        bodies.append(Body(form="text", text=keyed, version=Version(0, 5), topics=(Topic("t1~"), Topic("t2~"))))
        return bodies

    # UNREGISTER_BROKER, heartbeats

    def unregister(self) -> Request:
        """The right fields of a live broker, if there is one."""
        return self._request(104, self._identity(), connection=self._pick("admin", None))

    def unregister_oddly(self) -> Request:
        """A field wrong, unknown or missing."""
        ext = self._identity()
        match self._pick("id", "id", "addr", "name", "cluster", "missing", "unknown"):
            case "id":
                ext["brokerId"] = self._pick("0", "1", "7")
            case "addr":
                ext["brokerAddr"] = self._pick("@1", "@4", "@15")
            case "name":
                ext["brokerName"] = self._pick(*self.names, "b9~")
            case "cluster":
                ext["clusterName"] = self._pick("c2~", "c9~")
            case "missing":
                ext.pop(self.random.choice(list(ext)))
            case _:
                ext = {"brokerName": "b9~", "brokerAddr": "@15", "clusterName": "c9~", "brokerId": "0"}
        return self._request(104, ext, connection="admin")

    def heartbeat(self) -> Request:
        """904, as brokers send it (oneway) or waiting for the answer."""
        ext = self._identity() | {"heartbeatTimeoutMills": "120000"}
        if self._chance(0.2):
            ext.pop(self._pick("brokerName", "brokerAddr", "clusterName", "brokerId"))
        return replace(self._request(904, ext), is_oneway=self._chance(0.5))

    def query_version(self) -> Request:
        """322 with a data version that is mostly the one registered."""
        ext = self._identity()
        sent = self.sent.get(ext["brokerAddr"])
        version = sent.body.version if sent and self._chance(0.8) else Version(2)
        texts = [json.dumps(wire.data_version(version.counter, version.timestamp, version.state))] * 6
        texts += [
            self._pick(*BODIES),
            "",
            "{}",
            "null",
            "[]",
            "{",
            '{"counter":1}',
            '{"timestamp":"1700000000000","counter":1.0}',
        ]
        text = self.random.choice(texts)
        if self._chance(0.1):
            ext.pop(self.random.choice(list(ext)))
        return self._request(322, ext, Body(form="text", text=text) if text else Body())

    def _identity(self) -> dict[str, str]:
        if self.model.live and self._chance(0.85):
            (cluster, addr), entry = self.random.choice(list(self.model.live.items()))
            return self._named(entry.name, addr, cluster, entry.broker_id)
        name = self._name()
        return self._named(name, self._addr(name, self._pick(0, 1, 2)), self.home[name], 0)

    def _named(self, name: str, addr: str, cluster: str, broker_id: int) -> dict[str, str]:
        return {"brokerName": name, "brokerAddr": addr, "clusterName": cluster, "brokerId": str(broker_id)}

    # Topics, permissions, KV

    def add_topic(self) -> Request:
        """217 with queue data of known and unknown brokers."""
        known = [*self.model.groups] or self.names
        brokers = self.random.sample([*known, "b9~"] if self._chance(0.3) else known, self._pick(0, 1, 1, 1))
        topic = self._pick(*[self._topic(), "new~"] * 6, None, "")
        numbers = {"readQueueNums": 4, "topicSysFlag": self._flag_of(topic or ""), "writeQueueNums": 4}
        queues = [{"brokerName": broker, "perm": self._pick(6, 4), **numbers} for broker in brokers]
        text = self._route_text(queues)
        body = Body() if self._chance(0.05) else Body(form="text", text=self._pick(*[text] * 12, "{}", "null"))
        if self._chance(0.05):
            body = Body(form="text", text=self._pick("{", *BODIES))
        elif self._chance(0.03):
            body = Body(form="text", text=self._route_text([{"perm": 6, **numbers}]))
        return self._request(217, {"topic": topic}, body)

    def _route_text(self, queues: list[dict[str, Any]]) -> str:
        return json.dumps({"brokerDatas": [], "filterServerTable": {}, "queueDatas": queues}, ensure_ascii=False)

    def delete_topic(self) -> Request:
        """216, everywhere or in one cluster."""
        cluster = self._pick(None, None, *self.clusters[-2:], "c9~", "")
        return self._request(216, {"topic": self._pick(*[self._topic()] * 8, "new~", None), "clusterName": cluster})

    def change_permission(self) -> Request:
        """205 or 327."""
        name = self._pick(*[self._name()] * 8, "b9~", None)
        return self._request(self._pick(205, 205, 327), {"brokerName": name})

    def change_kv(self) -> Request:
        """100 or 102, in a namespace of the history or in that of ordered topics."""
        ext = self._kv_key()
        if self._chance(0.3):
            return self._request(102, ext)
        self.kv_keys.append(ext)
        value = self._pick(*ORDER_VALUES) if self._chance(0.95) else None
        return self._request(100, ext | {"value": value})

    def read_kv(self) -> Request:
        """101 or 219."""
        ext = self._kv_key()
        return self._request(101, ext) if self._chance(0.5) else self._request(219, {"namespace": ext["namespace"]})

    def _kv_key(self) -> dict[str, str | None]:
        if self.kv_keys and self._chance(0.6):
            return self.random.choice(self.kv_keys)
        space, key = self._pick(*[ORDER_NAMESPACE] * 8, *["ns~"] * 6, None), self._topic()
        return {"namespace": space, "key": key if self._chance(0.93) else None}

    # Reads

    def read_route(self) -> Request:
        """105 in either dialect, sometimes through the zone filter."""
        ext: dict[str, str | None] = {"topic": self._pick(*[self._topic()] * 10, "new~", "none~", None)}
        if self._chance(0.2):
            ext["acceptStandardJsonOnly"] = self._pick("true", "true", "false", "TRUE", "1")
        if self._chance(0.2) and not self.is_old:
            zone = self._pick("z1", "Z1", "zé", "z9", "", " ")
            ext |= {"__ZONE_MODE": self._pick("true", "true", "TRUE", "false", None), "__ZONE_NAME": zone}
        return self._request(105, ext)

    def read_list(self) -> Request:
        """One of the lists."""
        code = self._pick(106, 106, 106, 206, 206, 224, 224, 304, 304, 311, 312, 313)
        ext = {"cluster": self._pick(*self.clusters[-3:], "c9~", None)} if code == 224 else None
        return self._request(code, ext)

    def read_group(self) -> Request:
        """901 of a known or unknown broker name."""
        ext = {"clusterName": self._pick("c1~", "c9~", None), "brokerName": self._pick(*self.names, "b9~", None)}
        return self._request(901, ext)

    def ask_unknown(self) -> Request:
        """A code that a NameServer does not serve."""
        request = self._request(self._pick(*UNKNOWN_CODES), self._pick(None, {"a": "b"}))
        if not -LARGEST_BINARY_CODE <= request.code <= LARGEST_BINARY_CODE:
            request = replace(request, codec="JSON")
        return with_body(self.random, request) if self._chance(0.3) else request

    def use_odd_name(self) -> Request:
        """A name that nobody chose well, where it is stored, looked up or removed."""
        name = odd_text(self.random)
        ext = {"namespace": self._pick("ns~", name), "key": name, "value": self._pick("v", odd_text(self.random))}
        code = self._pick(100, 100, 101, 102, 205, 327, 216, 219)
        fields = {205: {"brokerName": name}, 327: {"brokerName": name}, 216: {"topic": name}}
        return self._request(code, fields.get(code, ext))

    # Configuration

    def change_config(self) -> Request:
        """318, mostly a good change of a switch."""
        return self._request(318, None, random_change(self.random, self.switches, is_old=self.is_old))

    def read_config(self) -> Request:
        """319."""
        return self._request(319)

    def close(self) -> Close:
        """The end of a connection, mostly one that a broker is bound to."""
        bound = [entry.connection for entry in self.model.live.values()]
        return Close(connection=self._pick(*bound, "admin", "shared", "shared"), is_reset=self._chance(0.3))

    # Small choices

    def _request(
        self,
        code: int,
        ext: wire.Ext | None = None,
        body: Body = NO_BODY,
        *,
        version: int | None = None,
        connection: str | None = None,
    ) -> Request:
        fields = None if ext is None else {name: value for name, value in ext.items() if value is not None}
        return Request(
            connection=connection or self._pick("client", "client", "admin"),
            code=code,
            ext=None if not fields and self._chance(0.5) else fields,
            body=body,
            version=self._pick(*READ_VERSIONS) if version is None else version,
            codec="ROCKETMQ" if self._chance(0.15) else "JSON",
            language=self._pick(*LANGUAGES),
        )

    def _pick(self, *options: Any) -> Any:
        return self.random.choice(options)

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _name(self) -> str:
        return self.random.choice(self.names)

    def _topic(self) -> str:
        return self.random.choice(self.topics)

    def _addr(self, name: str, at: int) -> str:
        return f"@{self.names.index(name) * ADDRS_PER_NAME + at + 1}"

    def _home_connection(self, addr: str) -> str:
        return f"broker{addr}"
