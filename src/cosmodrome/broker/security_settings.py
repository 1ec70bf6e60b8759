"""Settings of accounts and TLS.

Owns: these settings with their Java keys, defaults and limits; which of them are secrets.
Must not know: what is done with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cosmodrome.errors import ConfigError
from cosmodrome.protocol.codes import BrokerRequestCode

_AUTH: Final = "org.apache.rocketmq.auth"
_NEVER_OPEN: Final = frozenset(
    {
        *range(BrokerRequestCode.UPDATE_AND_CREATE_ACL_CONFIG, BrokerRequestCode.GET_BROKER_CLUSTER_ACL_CONFIG + 1),
        *range(BrokerRequestCode.AUTH_CREATE_USER, BrokerRequestCode.AUTH_LIST_ACL + 1),
        BrokerRequestCode.UPDATE_BROKER_CONFIG,
        BrokerRequestCode.GET_BROKER_CONFIG,
    }
)
"""Requests that no whitelist may open: they are about the accounts themselves, or change every setting."""


def _setting(
    default: Any, meaning: str, java: str | None = None, *, choices: tuple[str, ...] = (), is_secret: bool = False
) -> Any:
    metadata = {
        "minimum": -1,
        "maximum": 65_535,
        "choices": choices,
        "meaning": meaning,
        "java": java,
        "secret": is_secret,
    }
    return field(default=default, repr=not is_secret, metadata=metadata)


def _provider(name: str) -> Any:
    return _setting("", "Java class; the one that is here anyway", choices=("", f"{_AUTH}.{name}"))


def _strategy(kind: str, name: str) -> Any:
    package = f"{_AUTH}.{kind}.strategy"
    choices = ("", f"{package}.Stateless{name}Strategy", f"{package}.Stateful{name}Strategy")
    return _setting("", "Java class; both that Java has are the same here", choices=choices)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySettings:
    """Part of BrokerConfig. Names of Java classes are taken where they mean what is here."""

    rocketmq_home: str = _setting("", "folder whose conf/ holds the accounts of aclEnable")
    acl_enable: bool = _setting(False, "accounts of conf/plain_acl.yml, as in 4.9")
    authentication_enabled: bool = _setting(False, "users must say who they are, as in 5.x")
    authentication_provider: str = _provider("authentication.provider.DefaultAuthenticationProvider")
    authentication_metadata_provider: str = _provider("authentication.provider.LocalAuthenticationMetadataProvider")
    authentication_strategy: str = _strategy("authentication", "Authentication")
    authentication_whitelist: str = _setting("", "request codes for which nobody is asked who he is, with , between")
    init_authentication_user: str = _setting("", "JSON of the first user, with username and password", is_secret=True)
    inner_client_authentication_credentials: str = _setting(
        "", "JSON of the user that brokers are, with accessKey and secretKey", is_secret=True
    )
    authorization_enabled: bool = _setting(False, "users need rights, too")
    authorization_provider: str = _provider("authorization.provider.DefaultAuthorizationProvider")
    authorization_metadata_provider: str = _provider("authorization.provider.LocalAuthorizationMetadataProvider")
    authorization_strategy: str = _strategy("authorization", "Authorization")
    authorization_whitelist: str = _setting("", "request codes that every user may send, with , between")
    tls_server_mode: str = _setting(
        "permissive",
        "whether connections are encrypted: never, as the peer likes, or always",
        "tls.server.mode",
        choices=("disabled", "permissive", "enforcing"),
    )
    tls_config_file: str = _setting(
        "/etc/rocketmq/tls.properties", "properties file whose tls keys win over these, if it exists", "tls.config.file"
    )
    tls_test_mode_enable: bool = _setting(True, "a throw-away certificate instead of the files", "tls.test.mode.enable")
    tls_server_need_client_auth: str = _setting(
        "none",
        "whether clients must show a certificate",
        "tls.server.need.client.auth",
        choices=("none", "optional", "require"),
    )
    tls_server_cert_path: str = _setting("", "PEM file of the certificate chain", "tls.server.certPath")
    tls_server_key_path: str = _setting("", "PEM file of the private key", "tls.server.keyPath")
    tls_server_key_password: str = _setting("", "password of the private key", "tls.server.keyPassword", is_secret=True)
    tls_server_auth_client: bool = _setting(False, "check the certificates of clients", "tls.server.authClient")
    tls_server_trust_cert_path: str = _setting(
        "", "PEM file of what clients are checked against", "tls.server.trustCertPath"
    )
    tls_enable: bool = _setting(False, "encrypt the connections that this broker opens", "tls.enable")
    tls_client_cert_path: str = _setting("", "PEM file of our certificate as a client", "tls.client.certPath")
    tls_client_key_path: str = _setting("", "PEM file of our key as a client", "tls.client.keyPath")
    tls_client_key_password: str = _setting(
        "", "password of our key as a client", "tls.client.keyPassword", is_secret=True
    )
    tls_client_auth_server: bool = _setting(
        False, "check the certificates of those we connect to", "tls.client.authServer"
    )
    tls_client_trust_cert_path: str = _setting(
        "", "PEM file of what they are checked against", "tls.client.trustCertPath"
    )

    def check_security(self) -> None:
        """Refuse accounts of which nothing would follow.

        Raises:
            ConfigError: They contradict each other.
        """
        if self.acl_enable and self.authentication_enabled:
            raise ConfigError(
                "aclEnable and authenticationEnabled are both true.",
                keys=("aclEnable", "authenticationEnabled"),
                remedy="choose one: plain_acl.yml as in 4.9, or users as in 5.x.",
            )
        if self.authorization_enabled and not self.authentication_enabled:
            raise ConfigError(
                "authorizationEnabled=true needs authenticationEnabled=true.", keys=("authorizationEnabled",)
            )
        _ = self.unchecked_codes

    @property
    def unchecked_codes(self) -> tuple[frozenset[int], frozenset[int]]:
        """Requests for which nobody is asked who he is, and those that every user may send.

        Raises:
            ConfigError: One of the lists is none, or opens what must not be open.
        """
        return (
            _codes("authenticationWhitelist", self.authentication_whitelist),
            _codes("authorizationWhitelist", self.authorization_whitelist),
        )


SECURITY_KEYS: Final[Mapping[str, str]] = {
    name: each.metadata["java"]
    for name, each in SecuritySettings.__dataclass_fields__.items()
    if each.metadata["java"] is not None
}
"""Java keys that are not the field's name in camel case."""
SECRETS: Final = frozenset(
    name for name, each in SecuritySettings.__dataclass_fields__.items() if each.metadata["secret"]
)


def _codes(key: str, text: str) -> frozenset[int]:
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    if not all(piece.isascii() and piece.isdigit() and len(piece) < 10 for piece in pieces):
        raise ConfigError(f"{key} is no list of request codes.", keys=(key,))
    codes = frozenset(map(int, pieces))
    closed = sorted(codes & _NEVER_OPEN)
    if closed:
        raise ConfigError(f"{key} may not hold {', '.join(map(str, closed))}.", keys=(key,))
    return codes
