"""Requests about topics: registering, deleting and listing them.

Owns: reading and checking the requests, and the answers.
Must not know: how the tables keep their state.
"""

from collections.abc import Callable

from cosmodrome.errors import RequestRefusedError
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.routing.effects import Effects
from cosmodrome.namesrv.routing.reader import FLAG_UNIT, FLAG_UNIT_SUB
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.bodies.cluster import encode_topic_list
from cosmodrome.protocol.bodies.route import decode_queue_datas
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.topic import (
    DeleteTopicFromNamesrvRequestHeader,
    GetTopicsByClusterRequestHeader,
    RegisterTopicRequestHeader,
)
from cosmodrome.transport.dispatch import Peer


class TopicProcessor:
    """Answers requests about topics. `carry_out` does what a change asks for."""

    def __init__(self, tables: RouteTables, config: LiveConfig, carry_out: Callable[[Effects], None]) -> None:
        self._tables = tables
        self._config = config
        self._carry_out = carry_out

    def register_topic_in_namesrv(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """217. A request without topic or body is answered SUCCESS and does nothing: very old clients mean 101 by it."""
        header = decode_ext_fields(RegisterTopicRequestHeader, request.ext_fields)
        if request.body:
            queue_datas = decode_queue_datas(request.body)
            if header.topic:
                self._carry_out(self._tables.register_topic(header.topic, queue_datas))
        return response_to(request, ResponseCode.SUCCESS)

    def delete_topic_in_namesrv(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """216."""
        header = decode_ext_fields(DeleteTopicFromNamesrvRequestHeader, request.ext_fields)
        if header.topic is not None:
            self._carry_out(self._tables.delete_topic(header.topic, header.cluster_name))
        return response_to(request, ResponseCode.SUCCESS)

    def get_all_topic_list_from_nameserver(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """206."""
        _refuse_unless(self._config.current.enable_all_topic_list)
        return _topic_list(request, self._tables.read.all_topics())

    def get_topics_by_cluster(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """224. An unknown cluster has no topics."""
        _refuse_unless(self._config.current.enable_topic_list)
        header = decode_ext_fields(GetTopicsByClusterRequestHeader, request.ext_fields)
        topics = [] if header.cluster is None else self._tables.read.topics_of_cluster(header.cluster)
        return _topic_list(request, topics)

    def get_system_topic_list_from_ns(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """304. Names of clusters and brokers, in spite of what it is called."""
        names, broker_addr = self._tables.read.system_topics()
        return _topic_list(request, names, broker_addr)

    def get_unit_topic_list(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """311."""
        return self._flagged(request, wanted=FLAG_UNIT)

    def get_has_unit_sub_topic_list(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """312."""
        return self._flagged(request, wanted=FLAG_UNIT_SUB)

    def get_has_unit_sub_ununit_topic_list(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """313."""
        return self._flagged(request, wanted=FLAG_UNIT_SUB, unwanted=FLAG_UNIT)

    def _flagged(self, request: RemotingCommand, *, wanted: int, unwanted: int = 0) -> RemotingCommand:
        _refuse_unless(self._config.current.enable_topic_list)
        return _topic_list(request, self._tables.read.topics_with_flags(wanted=wanted, unwanted=unwanted))


def _refuse_unless(is_enabled: bool) -> None:  # noqa: FBT001 -- reads as a sentence where it is called
    if not is_enabled:
        raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, "disable", is_fault=False)


def _topic_list(request: RemotingCommand, topics: list[str], broker_addr: str | None = None) -> RemotingCommand:
    return response_to(request, ResponseCode.SUCCESS, None, None, encode_topic_list(topics, broker_addr))
