"""Requests that list: clusters and topics.

Owns: which request asks for which listing, the switches, and the answers.
Must not know: how a listing is made.
"""

from cosmodrome.errors import RequestRefusedError
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.routing.listings import Listing, ListingKind
from cosmodrome.namesrv.routing.reader import RouteReader
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.topic import GetTopicsByClusterRequestHeader
from cosmodrome.transport.dispatch import Peer


class ListingProcessor:
    """Answers with listings."""

    def __init__(self, read: RouteReader, config: LiveConfig) -> None:
        self._read = read
        self._config = config

    def get_broker_cluster_info(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """106."""
        return self._answer(request, Listing(ListingKind.CLUSTER_INFO))

    def get_all_topic_list_from_nameserver(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """206."""
        _refuse_unless(self._config.current.enable_all_topic_list)
        return self._answer(request, Listing(ListingKind.ALL_TOPICS))

    def get_topics_by_cluster(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """224. An unknown cluster has no topics."""
        _refuse_unless(self._config.current.enable_topic_list)
        header = decode_ext_fields(GetTopicsByClusterRequestHeader, request.ext_fields)
        return self._answer(request, Listing(ListingKind.TOPICS_OF_CLUSTER, header.cluster))

    def get_system_topic_list_from_ns(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """304. Names of clusters and brokers, in spite of what it is called."""
        return self._answer(request, Listing(ListingKind.SYSTEM_TOPICS))

    def get_unit_topic_list(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """311."""
        return self._flagged(request, ListingKind.UNIT_TOPICS)

    def get_has_unit_sub_topic_list(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """312."""
        return self._flagged(request, ListingKind.UNIT_SUB_TOPICS)

    def get_has_unit_sub_ununit_topic_list(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """313."""
        return self._flagged(request, ListingKind.UNIT_SUB_UNUNIT_TOPICS)

    def _flagged(self, request: RemotingCommand, kind: ListingKind) -> RemotingCommand:
        _refuse_unless(self._config.current.enable_topic_list)
        return self._answer(request, Listing(kind))

    def _answer(self, request: RemotingCommand, listing: Listing) -> RemotingCommand:
        return response_to(request, ResponseCode.SUCCESS, None, None, self._read.listing(listing))


def _refuse_unless(is_enabled: bool) -> None:  # noqa: FBT001 -- reads as a sentence where it is called
    if not is_enabled:
        raise RequestRefusedError(ResponseCode.SYSTEM_ERROR, "disable", is_fault=False)
