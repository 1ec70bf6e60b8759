"""The configuration keys of the Java server.

Owns: each of them, once: Java's name, type, default, limits, and when it takes effect here.
Must not know: our own keys (config_limits.py, config.py); where values come from (config_file.py).
"""

from dataclasses import dataclass
from typing import Final

from cosmodrome.namesrv.config_keys import INT_MAX, Effect, Family, Key, Kind, option
from cosmodrome.protocol.codes import SerializeType

_DAY_S: Final = 86_400
_DAY_MS: Final = _DAY_S * 1000

_BOOL: Final = Kind.BOOLEAN
_INT: Final = Kind.INT
_NS: Final = Family.NAMESRV
_NETTY: Final = Family.NETTY_SERVER
_SYSTEM: Final = Family.SYSTEM
_LIVE: Final = Effect.LIVE
_RESTART: Final = Effect.RESTART
_NONE: Final = Effect.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaConfig:
    """The fields of Java's NamesrvConfig and NettyServerConfig, then its system properties, in Java's order."""

    rocketmq_home: str | None = option(
        None,
        Key(Kind.TEXT, _NS, _NONE, "Java's installation folder", may_be_empty=True, default_text="$ROCKETMQ_HOME"),
    )
    kv_config_path: str = option(
        "", Key(Kind.PATH, _NS, _RESTART, "file of the KV entries", default_text="kvConfig.json in dataDir")
    )
    config_store_path: str = option(
        "",
        Key(
            Kind.PATH,
            _NS,
            _RESTART,
            "file that keeps changes made at run time; with -c always that file",
            default_text="namesrv.properties in dataDir",
        ),
    )
    product_env_name: str = option(
        "center",
        Key(Kind.TEXT, _NS, _LIVE, "environment asked for unknown topics, with clusterTest", may_be_empty=True),
    )
    cluster_test: bool = option(
        False, Key(_BOOL, _NS, _RESTART, "look unknown topics up in the environment productEnvName")
    )
    order_message_enable: bool = option(False, Key(_BOOL, _NS, _LIVE, "put orderTopicConf into route answers"))
    return_order_topic_config_to_broker: bool = option(
        True, Key(_BOOL, _NS, _LIVE, "answer registrations with the order KV table")
    )
    client_request_thread_pool_nums: int = option(
        8, Key(_INT, _NS, _NONE, "threads for route requests", unit="threads", minimum=1)
    )
    default_thread_pool_nums: int = option(
        16, Key(_INT, _NS, _NONE, "threads for all other requests", unit="threads", minimum=1)
    )
    client_request_thread_pool_queue_capacity: int = option(
        50_000, Key(_INT, _NS, _NONE, "waiting route requests", unit="requests", minimum=1)
    )
    default_thread_pool_queue_capacity: int = option(
        10_000, Key(_INT, _NS, _NONE, "waiting other requests", unit="requests", minimum=1)
    )
    scan_not_active_broker_interval: int = option(
        5000,
        Key(
            Kind.LONG,
            _NS,
            _LIVE,
            "time between two searches for silent brokers",
            unit="milliseconds",
            minimum=1,
            maximum=_DAY_MS,
        ),
    )
    un_register_broker_queue_capacity: int = option(
        3000, Key(_INT, _NS, _NONE, "waiting unregistrations", unit="requests", minimum=1)
    )
    support_acting_master: bool = option(False, Key(_BOOL, _NS, _LIVE, "give clients an acting master in routes"))
    enable_all_topic_list: bool = option(True, Key(_BOOL, _NS, _LIVE, "answer 206, the list of all topics"))
    enable_topic_list: bool = option(True, Key(_BOOL, _NS, _LIVE, "answer 224, 311, 312 and 313, other topic lists"))
    notify_min_broker_id_changed: bool = option(
        False, Key(_BOOL, _NS, _LIVE, "tell brokers when the smallest broker id of their group changes")
    )
    enable_controller_in_namesrv: bool = option(
        False, Key(_BOOL, _NS, _NONE, "embedded controller, which does not exist here: only false is accepted")
    )
    need_wait_for_service: bool = option(
        False, Key(_BOOL, _NS, _LIVE, "refuse route requests for a while after the start")
    )
    wait_seconds_for_service: int = option(
        45,
        Key(
            _INT,
            _NS,
            _LIVE,
            "how long needWaitForService refuses; by request at most 600",
            unit="seconds",
            maximum=_DAY_S,
            request_range=range(601),
        ),
    )
    delete_topic_with_broker_registration: bool = option(
        False, Key(_BOOL, _NS, _LIVE, "a registration removes topics that it does not hold")
    )
    config_black_list: str = option(
        "configBlackList;configStorePath;kvConfigPath",
        Key(Kind.TEXT, _NS, _RESTART, "keys that no request may change, separated by ;", may_be_empty=True),
    )

    bind_address: str = option("0.0.0.0", Key(Kind.TEXT, _NETTY, _RESTART, "address or host name to listen on"))  # noqa: S104  # Java's default
    listen_port: int = option(
        9876, Key(_INT, _NETTY, _RESTART, "port to listen on; 0 takes any free one", maximum=65_535)
    )
    server_worker_threads: int = option(8, Key(_INT, _NETTY, _NONE, "codec threads", unit="threads", minimum=1))
    server_callback_executor_threads: int = option(0, Key(_INT, _NETTY, _NONE, "callback threads", unit="threads"))
    server_selector_threads: int = option(3, Key(_INT, _NETTY, _NONE, "I/O threads", unit="threads", minimum=1))
    server_oneway_semaphore_value: int = option(
        256, Key(_INT, _NETTY, _NONE, "oneway requests under way to peers", unit="requests")
    )
    server_async_semaphore_value: int = option(
        64, Key(_INT, _NETTY, _NONE, "asynchronous requests under way to peers", unit="requests")
    )
    server_channel_max_idle_time_seconds: int = option(
        120,
        Key(
            _INT,
            _NETTY,
            _LIVE,
            "close a connection after so long without a byte; by request 0 (never) or at least 90",
            unit="seconds",
            request_range=range(90, INT_MAX + 1),  # brokers may be silent for 60 s
        ),
    )
    server_socket_snd_buf_size: int = option(
        0, Key(_INT, _NETTY, _RESTART, "send buffer of sockets; 0: the system's choice", unit="bytes")
    )
    server_socket_rcv_buf_size: int = option(
        0, Key(_INT, _NETTY, _RESTART, "receive buffer of sockets; 0: the system's choice", unit="bytes")
    )
    write_buffer_high_water_mark: int = option(
        0, Key(_INT, _NETTY, _RESTART, "unsent bytes from which on reading stops", unit="bytes")
    )
    write_buffer_low_water_mark: int = option(
        0, Key(_INT, _NETTY, _RESTART, "unsent bytes from which on reading resumes", unit="bytes")
    )
    server_socket_backlog: int = option(1024, Key(_INT, _NETTY, _RESTART, "connections waiting to be accepted"))
    server_netty_worker_group_enable: bool = option(True, Key(_BOOL, _NETTY, _NONE, "threads of Netty for codecs"))
    server_pooled_byte_buf_allocator_enable: bool = option(True, Key(_BOOL, _NETTY, _NONE, "buffer pool of Netty"))
    enable_shutdown_gracefully: bool = option(
        False, Key(_BOOL, _NETTY, _LIVE, "when stopping, first send newer clients away")
    )
    shutdown_wait_time_seconds: int = option(
        30,
        Key(_INT, _NETTY, _LIVE, "how long enableShutdownGracefully waits", unit="seconds", maximum=_DAY_S),
    )
    use_epoll_native_selector: bool = option(False, Key(_BOOL, _NETTY, _NONE, "epoll of Netty"))

    serialize_type: SerializeType = option(  # noqa: RUF009  # a field
        SerializeType.JSON,
        Key(
            Kind.SERIALIZE_TYPE,
            _SYSTEM,
            _RESTART,
            "header codec of what this server sends by itself; answers use that of the request",
            java_name="rocketmq.serialize.type",
        ),
    )
    frame_max_length: int = option(
        16_777_216,
        Key(
            _INT,
            _SYSTEM,
            _RESTART,
            "largest frame that is read",
            unit="bytes",
            minimum=1,
            java_name="com.rocketmq.remoting.frameMaxLength",
        ),
    )
    namesrv_domain: str = option(
        "jmenv.tbsite.net",
        Key(
            Kind.TEXT,
            _SYSTEM,
            _RESTART,
            "host that knows the NameServers of productEnvName",
            java_name="rocketmq.namesrv.domain",
        ),
    )
    namesrv_domain_subgroup: str = option(
        "nsaddr",
        Key(
            Kind.TEXT,
            _SYSTEM,
            _RESTART,
            "path at that host",
            java_name="rocketmq.namesrv.domain.subgroup",
        ),
    )
    tls_server_mode: str = option(
        "permissive",
        Key(
            Kind.CHOICE,
            _SYSTEM,
            _RESTART,
            "whether connections are encrypted: never, as the peer likes, or always",
            choices=("disabled", "permissive", "enforcing"),
            java_name="tls.server.mode",
        ),
    )
    tls_config_file: str = option(
        "/etc/rocketmq/tls.properties",
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "properties file whose tls keys win over these, if it exists",
            java_name="tls.config.file",
        ),
    )
    tls_test_mode_enable: bool = option(
        True,
        Key(
            _BOOL,
            _SYSTEM,
            _RESTART,
            "a throw-away certificate instead of the files; needs the extra `tls`",
            java_name="tls.test.mode.enable",
        ),
    )
    tls_server_need_client_auth: str = option(
        "none",
        Key(
            Kind.CHOICE,
            _SYSTEM,
            _RESTART,
            "whether clients must show a certificate",
            choices=("none", "optional", "require"),
            java_name="tls.server.need.client.auth",
        ),
    )
    tls_server_cert_path: str | None = option(
        None,
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "PEM file of the certificate chain",
            may_be_empty=True,
            java_name="tls.server.certPath",
        ),
    )
    tls_server_key_path: str | None = option(
        None,
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "PEM file of the private key",
            may_be_empty=True,
            java_name="tls.server.keyPath",
        ),
    )
    tls_server_key_password: str | None = option(
        None,
        Key(
            Kind.TEXT,
            _SYSTEM,
            _RESTART,
            "password of the private key",
            may_be_empty=True,
            is_secret=True,
            java_name="tls.server.keyPassword",
        ),
    )
    tls_server_auth_client: bool = option(
        False, Key(_BOOL, _SYSTEM, _RESTART, "check the certificates of clients", java_name="tls.server.authClient")
    )
    tls_server_trust_cert_path: str | None = option(
        None,
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "PEM file of what clients are checked against",
            may_be_empty=True,
            java_name="tls.server.trustCertPath",
        ),
    )
    tls_enable: bool = option(
        False,
        Key(_BOOL, _SYSTEM, _RESTART, "encrypt the connections that this server opens (905)", java_name="tls.enable"),
    )
    tls_client_cert_path: str | None = option(
        None,
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "PEM file of our certificate as a client",
            may_be_empty=True,
            java_name="tls.client.certPath",
        ),
    )
    tls_client_key_path: str | None = option(
        None,
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "PEM file of our key as a client",
            may_be_empty=True,
            java_name="tls.client.keyPath",
        ),
    )
    tls_client_key_password: str | None = option(
        None,
        Key(
            Kind.TEXT,
            _SYSTEM,
            _RESTART,
            "password of our key as a client",
            may_be_empty=True,
            is_secret=True,
            java_name="tls.client.keyPassword",
        ),
    )
    tls_client_auth_server: bool = option(
        False,
        Key(
            _BOOL, _SYSTEM, _RESTART, "check the certificates of those we connect to", java_name="tls.client.authServer"
        ),
    )
    tls_client_trust_cert_path: str | None = option(
        None,
        Key(
            Kind.PATH,
            _SYSTEM,
            _RESTART,
            "PEM file of what they are checked against",
            may_be_empty=True,
            java_name="tls.client.trustCertPath",
        ),
    )
