"""Settings that are shown, and cleaning that is asked for: 26, 306, 329.

Owns: what is shown; what is answered.
Must not know: which messages go (store/retention.py).
"""

from collections.abc import Callable, Mapping

from cosmodrome.protocol.bodies.data_version import DataVersion, encode_data_version
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import encode_ext_fields
from cosmodrome.protocol.headers.statistics import GetBrokerConfigResponseHeader
from cosmodrome.transport.dispatch import Peer


class MaintenanceProcessor:
    """Shows settings, and deletes old messages now instead of at the hour."""

    def __init__(self, settings: Mapping[str, str], started_ms: int, sweep_now: Callable[[], None]) -> None:
        """Show these; `sweep_now` deletes what is old enough, and raises StorageError when it cannot."""
        self._text = "".join(f"{key}={value}\n" for key, value in sorted(settings.items()))
        self._version = DataVersion(counter=0, timestamp=started_ms)
        self._sweep_now = sweep_now

    def get_broker_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """26."""
        version = encode_data_version(self._version).decode()
        fields = encode_ext_fields(GetBrokerConfigResponseHeader(version=version))
        return response_to(request, ResponseCode.SUCCESS, None, fields, self._text.encode())

    def clean_expired_consumequeue(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """306. There is nothing to do: queues go with the messages to which they point."""
        return response_to(request, ResponseCode.SUCCESS)

    def delete_expired_commitlog(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """329: files that are old enough, whatever the hour."""
        self._sweep_now()
        return response_to(request, ResponseCode.SUCCESS)
