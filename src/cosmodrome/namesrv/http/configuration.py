"""The configuration.

Owns: /api/v1/config: its form, and that a request with one bad key or value changes nothing.
Must not know: how a change is made and kept; who may make it.
"""

from http import HTTPStatus
from typing import Final

from cosmodrome.errors import ConfigError
from cosmodrome.http.operations import Asked, get, write
from cosmodrome.http.paging import PREFIXED, page_of
from cosmodrome.http.problems import Problem
from cosmodrome.namesrv.config import KEYS, apply_changes, blacklisted, shown_text
from cosmodrome.namesrv.config_keys import Family, Key, text_of
from cosmodrome.namesrv.http import shapes
from cosmodrome.namesrv.http.asking import answer_of
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.properties import escape_value
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.codes import RequestCode

_BY_REQUEST: Final = (Family.NAMESRV, Family.NETTY_SERVER)


class Configuration:
    """Shows settings, and has them changed."""

    def __init__(self, view: View) -> None:
        self._view = view

    @get("/api/v1/config", answers=shapes.Settings, query=PREFIXED, like=RequestCode.GET_NAMESRV_CONFIG)
    async def config(self, asked: Asked) -> object:
        """Settings in order of their keys, a page at a time, secrets masked."""
        page = page_of(asked.request)
        names = [name for name in sorted(KEYS) if name > page.cursor and name.startswith(page.prefix)]
        shown = names[: page.limit]
        return shapes.Settings(
            items=[_setting(name, KEYS[name], self._view.config) for name in shown],
            next_cursor=shown[-1] if len(names) > page.limit else None,
        )

    @write("PATCH", "/api/v1/config", answers=shapes.SettingsChanged, takes=shapes.SettingChanges)
    async def change_config(self, asked: Asked) -> object:
        """Change settings, all or none, on disk before it is answered. As request 318, but for unknown keys: refused."""
        texts = {name: text_of(value) or "" for name, value in asked.body.changes.items()}
        _check_keys(texts)
        try:
            change = apply_changes(self._view.config.current, texts)
        except ConfigError as error:
            raise Problem(HTTPStatus.BAD_REQUEST, "bad_value", error.what, error.why or "") from error
        if not texts:
            return shapes.SettingsChanged(applied=[], needs_restart=[], without_effect=[], note=None)
        body = "".join(f"{name}={escape_value(text)}\n" for name, text in texts.items()).encode()
        answer = await answer_of(self._view, asked.request, RequestCode.UPDATE_NAMESRV_CONFIG, body=body)
        return shapes.SettingsChanged(
            applied=list(change.applied),
            needs_restart=list(change.needs_restart),
            without_effect=list(change.without_effect),
            note=answer.remark,
        )


def _check_keys(texts: dict[str, str]) -> None:
    unknown = [name for name in texts if name not in KEYS]
    if unknown:
        detail = f"there is no key {', '.join(each[:60] for each in unknown[:10])}"
        raise Problem(HTTPStatus.BAD_REQUEST, "unknown_key", detail, "see /api/v1/config")
    fixed = [name for name in texts if KEYS[name].family not in _BY_REQUEST]
    if fixed:
        detail = f"{', '.join(fixed)} cannot be changed by a request"
        raise Problem(HTTPStatus.BAD_REQUEST, "not_by_request", detail, "set it in the file, and start anew")


def _setting(name: str, key: Key, config: LiveConfig) -> shapes.Setting:
    return shapes.Setting(
        key=name,
        value=shown_text(config.current, key),
        source=config.source(name),
        default=key.default_text,
        kind=key.kind.value,
        family=key.family.value,
        takes_effect=key.effect.value,
        by_request=key.family in _BY_REQUEST and not blacklisted(config.started_with, [name]),
        meaning=key.meaning,
    )
