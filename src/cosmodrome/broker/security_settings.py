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


def _setting(default: Any, java: str | None = None, *, choices: tuple[str, ...] = (), is_secret: bool = False) -> Any:
    metadata = {"minimum": -1, "maximum": 65_535, "choices": choices, "java": java, "secret": is_secret}
    return field(default=default, repr=not is_secret, metadata=metadata)


def _provider(name: str) -> Any:
    return _setting("", choices=("", f"{_AUTH}.{name}"))


def _strategy(kind: str, name: str) -> Any:
    package = f"{_AUTH}.{kind}.strategy"
    return _setting("", choices=("", f"{package}.Stateless{name}Strategy", f"{package}.Stateful{name}Strategy"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySettings:
    """Part of BrokerConfig. Names of Java classes are taken where they mean what is here."""

    rocketmq_home: str = _setting("")
    acl_enable: bool = _setting(False)
    authentication_enabled: bool = _setting(False)
    authentication_provider: str = _provider("authentication.provider.DefaultAuthenticationProvider")
    authentication_metadata_provider: str = _provider("authentication.provider.LocalAuthenticationMetadataProvider")
    authentication_strategy: str = _strategy("authentication", "Authentication")
    authentication_whitelist: str = _setting("")
    init_authentication_user: str = _setting("", is_secret=True)
    inner_client_authentication_credentials: str = _setting("", is_secret=True)
    authorization_enabled: bool = _setting(False)
    authorization_provider: str = _provider("authorization.provider.DefaultAuthorizationProvider")
    authorization_metadata_provider: str = _provider("authorization.provider.LocalAuthorizationMetadataProvider")
    authorization_strategy: str = _strategy("authorization", "Authorization")
    authorization_whitelist: str = _setting("")
    tls_server_mode: str = _setting("permissive", "tls.server.mode", choices=("disabled", "permissive", "enforcing"))
    tls_config_file: str = _setting("/etc/rocketmq/tls.properties", "tls.config.file")
    tls_test_mode_enable: bool = _setting(True, "tls.test.mode.enable")
    tls_server_need_client_auth: str = _setting(
        "none", "tls.server.need.client.auth", choices=("none", "optional", "require")
    )
    tls_server_cert_path: str = _setting("", "tls.server.certPath")
    tls_server_key_path: str = _setting("", "tls.server.keyPath")
    tls_server_key_password: str = _setting("", "tls.server.keyPassword", is_secret=True)
    tls_server_auth_client: bool = _setting(False, "tls.server.authClient")
    tls_server_trust_cert_path: str = _setting("", "tls.server.trustCertPath")
    tls_enable: bool = _setting(False, "tls.enable")
    tls_client_cert_path: str = _setting("", "tls.client.certPath")
    tls_client_key_path: str = _setting("", "tls.client.keyPath")
    tls_client_key_password: str = _setting("", "tls.client.keyPassword", is_secret=True)
    tls_client_auth_server: bool = _setting(False, "tls.client.authServer")
    tls_client_trust_cert_path: str = _setting("", "tls.client.trustCertPath")

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
