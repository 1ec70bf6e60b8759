"""Which consumer groups have consumed a message.

Owns: the states, in Java's words, and how they are found out.
Must not know: how it is printed beside other things.
"""

import asyncio
from enum import Enum
from typing import NamedTuple

from cosmodrome.admin.output import Row
from cosmodrome.client.admin.admin import AdminClient
from cosmodrome.client.admin.clients import ConsumerMembers
from cosmodrome.client.message import MessageView
from cosmodrome.errors import RocketMQError
from cosmodrome.protocol.bodies.heartbeat import ConsumeType, MessageModel
from cosmodrome.shown_text import shown


class TrackState(Enum):
    """What became of a message in a group."""

    CONSUMED = "CONSUMED"
    CONSUMED_BUT_FILTERED = "CONSUMED_BUT_FILTERED"
    """The group is past it and does not subscribe to its tag."""
    PULL = "PULL"
    """The group pulls: nobody knows."""
    NOT_CONSUME_YET = "NOT_CONSUME_YET"
    NOT_ONLINE = "NOT_ONLINE"
    CONSUME_BROADCASTING = "CONSUME_BROADCASTING"
    """Members keep their offsets themselves."""
    UNKNOWN = "UNKNOWN"


class Track(NamedTuple):
    """What became of a message in one group; `reason` says why it is not known better."""

    group: str
    state: TrackState
    reason: str | None = None

    def row(self) -> Row:
        """Give it as JSON."""
        return {"consumer_group": self.group, "track_type": self.state.value, "reason": self.reason}

    def line(self) -> str:
        """Give it as mqadmin prints it."""
        reason = "null" if self.reason is None else self.reason
        return shown(f"MessageTrack [consumerGroup={self.group}, trackType={self.state.value}, exceptionDesc={reason}]")


async def tracks_of(admin: AdminClient, message: MessageView) -> list[Track]:
    """Give what became of a message in each group of its topic. Raises RocketMQError when the groups are not known."""
    names = (await admin.topics.groups(message.stored.topic)).names
    return list(await asyncio.gather(*(_track(admin, message, name) for name in names)))


async def _track(admin: AdminClient, message: MessageView, group: str) -> Track:
    try:
        members = await admin.clients.consumers(group)
        if not members.members:
            return Track(group, TrackState.NOT_ONLINE, f"CODE:206 DESC:the consumer group[{group}] not online")
        if members.consume_type is ConsumeType.CONSUME_ACTIVELY:
            return Track(group, TrackState.PULL)
        if members.message_model is MessageModel.BROADCASTING:
            return Track(group, TrackState.CONSUME_BROADCASTING)
        if members.consume_type is not ConsumeType.CONSUME_PASSIVELY:
            return Track(group, TrackState.UNKNOWN)
        return Track(group, await _state(admin, message, members, group))
    except RocketMQError as error:
        return Track(group, TrackState.UNKNOWN, " ".join(str(error).split()))


async def _state(admin: AdminClient, message: MessageView, members: ConsumerMembers, group: str) -> TrackState:
    progress = (await admin.offsets.progress(group)).queues.get(message.queue)
    if progress is None or progress.consumer_offset <= message.queue_offset:
        return TrackState.NOT_CONSUME_YET
    subscribed = members.subscriptions.get(message.stored.topic)
    tags = () if subscribed is None else subscribed.tags_set
    is_filtered = bool(tags) and message.tag not in tags and "*" not in tags
    return TrackState.CONSUMED_BUT_FILTERED if is_filtered else TrackState.CONSUMED
