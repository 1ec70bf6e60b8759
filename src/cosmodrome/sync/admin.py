"""AdminClient for plain threads.

Owns: the names and types of its calls.
Must not know: any request (client/admin).
"""

from typing import Unpack

from cosmodrome.client.admin import admin, brokers, clients, groups, messages, name_servers, offsets, topics
from cosmodrome.client.config import ClientOptions
from cosmodrome.sync.blocking import Blocking, Facade, Part


class Topics(Part[topics.Topics]):
    """As client.admin.topics.Topics."""

    names = Blocking(topics.Topics.names)
    route = Blocking(topics.Topics.route)
    clusters_of = Blocking(topics.Topics.clusters_of)
    create = Blocking(topics.Topics.create)
    update = Blocking(topics.Topics.update)
    set_perm = Blocking(topics.Topics.set_perm)
    delete = Blocking(topics.Topics.delete)
    stats = Blocking(topics.Topics.stats)
    configs = Blocking(topics.Topics.configs)
    config = Blocking(topics.Topics.config)
    groups = Blocking(topics.Topics.groups)


class Groups(Part[groups.Groups]):
    """As client.admin.groups.Groups."""

    create = Blocking(groups.Groups.create)
    delete = Blocking(groups.Groups.delete)
    configs = Blocking(groups.Groups.configs)
    config = Blocking(groups.Groups.config)
    names = Blocking(groups.Groups.names)


class Offsets(Part[offsets.Offsets]):
    """As client.admin.offsets.Offsets."""

    progress = Blocking(offsets.Offsets.progress)
    committed = Blocking(offsets.Offsets.committed)
    commit = Blocking(offsets.Offsets.commit)
    bounds = Blocking(offsets.Offsets.bounds)
    at_time = Blocking(offsets.Offsets.at_time)
    reset = Blocking(offsets.Offsets.reset)
    reset_queue = Blocking(offsets.Offsets.reset_queue)
    clone = Blocking(offsets.Offsets.clone)


class Messages(Part[messages.Messages]):
    """As client.admin.messages.Messages."""

    by_offset_id = Blocking(messages.Messages.by_offset_id)
    by_id = Blocking(messages.Messages.by_id)
    by_unique_key = Blocking(messages.Messages.by_unique_key)
    by_key = Blocking(messages.Messages.by_key)
    by_index = Blocking(messages.Messages.by_index)
    pull = Blocking(messages.Messages.pull)
    at = Blocking(messages.Messages.at)
    from_offset = Blocking(messages.Messages.from_offset)
    from_time = Blocking(messages.Messages.from_time)
    consume_directly = Blocking(messages.Messages.consume_directly)


class Clients(Part[clients.Clients]):
    """As client.admin.clients.Clients."""

    consumers = Blocking(clients.Clients.consumers)
    producers = Blocking(clients.Clients.producers)
    all_producers = Blocking(clients.Clients.all_producers)
    running_info = Blocking(clients.Clients.running_info)
    held_offsets = Blocking(clients.Clients.held_offsets)


class Brokers(Part[brokers.Brokers]):
    """As client.admin.brokers.Brokers."""

    list = Blocking(brokers.Brokers.list)
    cluster_info = Blocking(brokers.Brokers.cluster_info)
    runtime_info = Blocking(brokers.Brokers.runtime_info)
    config = Blocking(brokers.Brokers.config)
    update_config = Blocking(brokers.Brokers.update_config)
    counter = Blocking(brokers.Brokers.counter)
    consume_stats = Blocking(brokers.Brokers.consume_stats)


class NameServers(Part[name_servers.NameServers]):
    """As client.admin.name_servers.NameServers."""

    config = Blocking(name_servers.NameServers.config)
    update_config = Blocking(name_servers.NameServers.update_config)
    kv_get = Blocking(name_servers.NameServers.kv_get)
    kv_list = Blocking(name_servers.NameServers.kv_list)
    kv_put = Blocking(name_servers.NameServers.kv_put)
    kv_delete = Blocking(name_servers.NameServers.kv_delete)
    wipe_write_perm = Blocking(name_servers.NameServers.wipe_write_perm)
    add_write_perm = Blocking(name_servers.NameServers.add_write_perm)


class AdminClient(Facade[admin.AdminClient]):
    """Administers brokers and NameServers, as the asyncio AdminClient. `with` opens and closes it.

    In a child process it opens connections of its own when it is first used.

    Args:
        options: The settings, see ClientConfig; `namesrv` first of all.

    Raises:
        ConfigError: A setting is unknown or cannot be used.
    """

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        super().__init__("admin client", lambda: admin.AdminClient(**options), reopens=True)
        self.topics = Topics(self, lambda client: client.topics)
        self.groups = Groups(self, lambda client: client.groups)
        self.offsets = Offsets(self, lambda client: client.offsets)
        self.messages = Messages(self, lambda client: client.messages)
        self.clients = Clients(self, lambda client: client.clients)
        self.brokers = Brokers(self, lambda client: client.brokers)
        self.name_servers = NameServers(self, lambda client: client.name_servers)
