"""Settings of a server that runs, as its JSON API gives them.

Owns: reading all pages of /api/v1/config.
Must not know: how a server is asked (operating/api.py); the form in which they are shown (cli/).
"""

from itertools import islice
from typing import Any, Final

from cosmodrome.errors import AdminError
from cosmodrome.operating.api import Api

_PATH: Final = "/api/v1/config"
_PAGE: Final = 200
_PAGES_AT_MOST: Final = 100


def settings_over_http(api: Api) -> list[dict[str, str]]:
    """Give every key with its value and source.

    Raises:
        OperatorError: It does not answer, or not with settings.
    """
    items: list[dict[str, str]] = []
    for page in islice(api.pages(_PATH, page=_PAGE), _PAGES_AT_MOST):
        items += [{key: str(value) for key, value in item.items()} for item in _checked(api, page)["items"]]
    return items


def _checked(api: Api, page: Any) -> dict[str, Any]:
    is_page = isinstance(page, dict) and isinstance(page.get("items"), list) and "next_cursor" in page
    if not is_page or not all(isinstance(item, dict) and "key" in item and "value" in item for item in page["items"]):
        raise AdminError(f"{api.address} answered {_PATH} with something else.")
    return dict(page)
