"""The configuration as the options of each part.

Owns: which key goes where.
Must not know: what a part does with its options.
"""

from cosmodrome.namesrv.brake import Brake, Brakes, Room
from cosmodrome.namesrv.config import NamesrvConfig
from cosmodrome.namesrv.events import Publish
from cosmodrome.namesrv.routing.reader import TableOptions
from cosmodrome.namesrv.routing.room import TableLimits
from cosmodrome.transport.connection import ConnectionOptions
from cosmodrome.transport.entrance import EntrancePolicy
from cosmodrome.transport.limits import PeerLimits
from cosmodrome.transport.server import ListenOptions


def table_options(config: NamesrvConfig) -> TableOptions:
    """Give what the tables do by choice."""
    return TableOptions(
        support_acting_master=config.support_acting_master,
        notify_min_broker_id_changed=config.notify_min_broker_id_changed,
        delete_topic_with_broker_registration=config.delete_topic_with_broker_registration,
    )


def table_limits(config: NamesrvConfig) -> TableLimits:
    """Give how much the tables may hold."""
    return TableLimits(brokers=config.max_brokers, size_bytes=config.max_table_bytes)


def brakes(config: NamesrvConfig, publish: Publish) -> Brakes:
    """Give the brakes of long work, whose changes are told to `publish`."""
    registrations = Room(config.max_pending_registrations, config.max_pending_registration_bytes)
    return Brakes(
        Brake("registrations", registrations, publish), Brake("listings", Room(config.max_pending_listings), publish)
    )


def listen_options(config: NamesrvConfig, entrance: EntrancePolicy) -> ListenOptions:
    """Give where to listen, whom to let in, and what a peer may cost."""
    return ListenOptions(
        host=config.bind_address,
        port=config.listen_port,
        backlog=config.server_socket_backlog,
        max_idle_s=config.server_channel_max_idle_time_seconds,
        limits=PeerLimits(
            greeting_timeout_s=config.greeting_timeout_seconds,
            frame_timeout_s=config.frame_timeout_seconds,
            write_timeout_s=config.write_timeout_seconds,
            min_bytes_per_s=config.min_bytes_per_second,
            connections=config.max_connections,
            connections_per_address=config.max_connections_per_address,
            unsent_bytes=config.max_unsent_bytes,
        ),
        connection=ConnectionOptions(
            max_frame_bytes=config.frame_max_length,
            max_header_bytes=config.max_header_bytes,
            send_buffer_bytes=config.server_socket_snd_buf_size,
            receive_buffer_bytes=config.server_socket_rcv_buf_size,
            high_water_bytes=config.write_buffer_high_water_mark,
            low_water_bytes=config.write_buffer_low_water_mark,
            entrance=entrance,
        ),
    )
