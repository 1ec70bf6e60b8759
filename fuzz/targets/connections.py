"""The state machine of connections: any bytes in any pieces, and anything that may happen between them."""

import hashlib
from typing import Any, Final

from tests.support import wire

from fuzz.asking import CHANGING, FILE_CODES, TABLE_CODES, asked
from fuzz.expected import check_answers, expected
from fuzz.folder import empty_folder
from fuzz.peer import FuzzedPeer
from fuzz.scene import Scene
from fuzz.script import Script, cut
from fuzz.view import View, view
from fuzz.virtual_loop import VirtualLoop

_PEERS: Final = 3
_LONGEST_SCRIPT: Final = 60
_SECONDS: Final = (0.01, 0.2, 1.5, 12.0, 45.0, 130.0, 0.001, 400.0)
_UNDISTURBED_S: Final = 0.9
"""The shortest time limit is a second."""
_HIGH_WATER: Final = 4096
_BURST: Final = 64 * 1024
_POLICIES: Final = ("compatible", "hardened", "open")


def connection(data: bytes) -> None:
    """Play a script to a whole NameServer; see `_Play` for what must hold."""
    loop = VirtualLoop()
    try:
        loop.run_until_complete(_Play(loop, Script(data), hashlib.sha256(data).hexdigest()[:12]).run())
        assert not loop.failures(), loop.failures()
    finally:
        loop.close()


class _Play:
    """Three peers that do anything, and then one of good will.

    Each request that wants an answer has one, in order, with its opaque; nothing else has one. A peer that is let
    down meanwhile (it is reset, or closed for its silence) has a beginning of that. Refusals leave no trace in the
    tables. What a peer that does not read is owed is bounded. Afterwards a broker can register, and others see it; and
    what is said of KV entries is what is on disk.
    """

    def __init__(self, loop: VirtualLoop, script: Script, nonce: str) -> None:
        options = script.byte()
        self._loop = loop
        self._script = script
        self._nonce = nonce
        self._scene = Scene(
            loop,
            empty_folder(),
            admin_policy=_POLICIES[options % 3],
            support_acting_master=bool(options & 8),
            delete_topic_with_broker_registration=bool(options & 16),
            return_order_topic_config_to_broker=bool(options & 32),
            write_buffer_high_water_mark=_HIGH_WATER,
            write_buffer_low_water_mark=_HIGH_WATER // 4,
            tls_server_mode="disabled",
        )
        self._peers: list[FuzzedPeer] = []
        self._finished: set[FuzzedPeer] = set()
        self._at = 0
        self._opaque = 0

    async def run(self) -> None:
        await self._scene.server.start()
        try:
            await self._play()
        finally:
            await self._scene.server.stop()
        await self._scene.turns(3)
        assert all(peer.is_lost for peer in self._peers), "a connection outlives the server"

    async def _play(self) -> None:
        self._peers = [await self._scene.connect(f"10.0.0.{number}") for number in range(_PEERS)]
        before, began_s = view(self._scene.tables), self._loop.time()
        for _ in range(_LONGEST_SCRIPT):
            if self._script.is_over:
                break
            await self._step()
            self._check_owed()
        for peer in self._peers:
            peer.take()
        await self._settle()
        self._check(before, is_in_time=self._loop.time() - began_s < _UNDISTURBED_S)
        await self._check_good_will()

    async def _step(self) -> None:
        """Do one thing: send, wait, or something that may happen to a connection."""
        peer, action = self._peers[self._at], self._script.byte()
        match action & 0x0F:
            case 0 | 5 | 6:
                self._send(peer, action)
            case 1 | 2 | 3 | 4:
                self._send_request(peer, action)
            case 10:
                await self._wait(_SECONDS[(action >> 4) % len(_SECONDS)])
            case 11 | 12:
                await self._scene.turns(1 + (action >> 4))
            case 14 | 15:
                self._at = (self._at + 1 + (action >> 4)) % _PEERS
            case _:
                self._happen(peer, action)

    def _send(self, peer: FuzzedPeer, action: int) -> None:
        """Send bytes as they are, in pieces, or as one frame."""
        script = self._script
        match action & 0x0F:
            case 0:
                peer.send(script.long())
            case 5:
                for piece in cut(script.long(), script.short()):
                    peer.send(piece)
            case _:
                header, body = script.long(), script.long()
                peer.send(wire.frame(header, body, header_type=action >> 4))

    def _happen(self, peer: FuzzedPeer, action: int) -> None:
        """Let a peer stop reading, read a little or everything, finish, or break off."""
        match action & 0x0F:
            case 7:
                peer.stop_taking()
            case 8:
                peer.take(None if action & 0x10 else self._script.word())
            case 9 if peer not in self._finished:
                self._finished.add(peer)
                peer.finish()
            case 13:
                peer.break_off()

    def _send_request(self, peer: FuzzedPeer, action: int) -> None:
        """Send one request in one piece, in two, or byte by byte."""
        self._opaque += 1
        ask = asked(self._script, TABLE_CODES if action & 0x0F < 4 else FILE_CODES)
        frame = wire.encode_request(
            ask.code, ask.fields, ask.body, opaque=self._opaque, version=ask.version, flag=ask.flag, codec=ask.codec
        )
        half = len(frame) // 2
        for piece in cut(frame, (b"", bytes([half % 256]), b"\x01", b"\xff")[action >> 6]):
            peer.send(piece)

    async def _wait(self, seconds: float) -> None:
        until_s = self._loop.time() + seconds
        waiter = self._loop.create_future()
        self._loop.call_at(until_s, waiter.set_result, None)
        await waiter

    async def _settle(self) -> None:
        """Let everything that was asked be answered; changes of files take a little time."""
        for _ in range(_LONGEST_SCRIPT):
            await self._scene.turns(20)
            if not self._is_waiting():
                return
            await self._wait(0.003)

    def _is_waiting(self) -> bool:
        return any(not peer.is_closing() and self._lacks_something(peer) for peer in self._peers)

    @staticmethod
    def _lacks_something(peer: FuzzedPeer) -> bool:
        """Whether answers are missing, or the end that follows them where the stream goes wrong."""
        wanted = expected(peer.sent)
        return wanted.is_wrong or len(wire.split(peer.received)[0]) < len(wanted.requests)

    def _check_owed(self) -> None:
        for peer in self._peers:
            assert peer.most_unread <= _HIGH_WATER + 2 * _BURST, f"{peer.most_unread} bytes are owed to one peer"

    def _check(self, before: View, *, is_in_time: bool) -> None:
        is_changed = False
        for peer in self._peers:
            is_complete = is_in_time and not peer.is_reset_by_peer and not self._may_be_dropped(peer)
            answered = check_answers(peer.sent, peer.received, is_complete=is_complete)
            is_changed = is_changed or not is_complete or any(self._is_change(*pair) for pair in answered)
            is_changed = is_changed or any(each.code in CHANGING for each in expected(peer.sent).oneways)
        after = view(self._scene.tables)
        assert is_changed or after == before, "refused requests left a trace"

    def _may_be_dropped(self, peer: FuzzedPeer) -> bool:
        """Whether a registration may have gone with its broker: one that closed while it waited for its turn."""
        return peer in self._finished and any(
            each.code == wire.REGISTER_BROKER for each in expected(peer.sent).requests
        )

    @staticmethod
    def _is_change(request: Any, answer: wire.Answer) -> bool:
        return request.code in CHANGING and answer.code == 0

    async def _is_answered_as_kept(self, asking: FuzzedPeer) -> bool:
        """A change of a peer that has gone since may still be on its way to the disk, and is answered once it is there."""
        for _ in range(_LONGEST_SCRIPT):
            kept = await self._scene.ask(asking, 219, {"namespace": "n"})
            if (None if kept.code else kept.json()["table"]) == self._scene.kv_file().get("n"):
                return True
            await self._wait(0.003)
        return False

    async def _check_good_will(self) -> None:
        """A broker registers a topic that no script can name, and a client finds it, however the others behaved."""
        name, topic = f"good-{self._nonce}", f"topic-{self._nonce}"
        broker = wire.Broker(name=name, addr=f"{name}:10911", cluster=f"cluster-{self._nonce}")
        body = wire.register_body([wire.topic_config(topic, 3, 5), wire.topic_config(f"{topic}-too")])
        registering, asking = await self._scene.connect("10.1.0.1"), await self._scene.connect("10.1.0.2")
        fields = wire.registration_ext(broker, crc=wire.crc32_masked(body))
        registered = await self._scene.ask(registering, 103, fields, body)
        assert registered.code == 0, registered
        answer = await self._scene.ask(asking, 105, {"topic": topic})
        assert answer.code == 0, answer
        route = answer.json()
        assert [each["brokerAddrs"] for each in route["brokerDatas"]] == [{"0": f"{name}:10911"}]
        assert route["queueDatas"][0] | {"readQueueNums": 3, "writeQueueNums": 5} == route["queueDatas"][0]
        if not self._is_waiting():
            assert await self._is_answered_as_kept(asking), "what is answered is not what is on disk"
        missing = await self._scene.ask(asking, 105, {"topic": f"missing-{self._nonce}"})
        assert missing.code == 17, missing
