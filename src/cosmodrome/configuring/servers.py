"""Settings of a server that runs, as its JSON API gives them.

Owns: reading all pages of /api/v1/config.
Must not know: the form in which they are shown (cli/).
"""

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Final

from cosmodrome.errors import AdminError, NoAnswerError, UnreachableError, UsageError

_PATH: Final = "/api/v1/config"
_PAGE: Final = 200
_LARGEST_BYTES: Final = 4 * 1024 * 1024
_PAGES_AT_MOST: Final = 100


def settings_over_http(given: str, timeout_s: float) -> list[dict[str, str]]:
    """Give every key with its value and source.

    Args:
        given: `host:port`, or a URL of it.
        timeout_s: For each page.

    Raises:
        AdminError: It does not answer, or not with settings.
    """
    base = given if "://" in given else f"http://{given}"
    parts = urllib.parse.urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{given} is no address of HTTP.", remedy="for example: --http 127.0.0.1:19876")
    url = f"{parts.scheme}://{parts.netloc}{_PATH}?limit={_PAGE}"
    items: list[dict[str, str]] = []
    cursor: str | None = ""
    for _ in range(_PAGES_AT_MOST):
        page = _page(given, url + (f"&cursor={urllib.parse.quote(cursor)}" if cursor else ""), timeout_s)
        items += [{key: str(value) for key, value in item.items()} for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    return items


def _page(given: str, url: str, timeout_s: float) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:  # noqa: S310 -- its scheme was looked at
            page = json.loads(answer.read(_LARGEST_BYTES))
    except urllib.error.HTTPError as error:
        with error:
            raise AdminError(f"{given} answered {error.code} to {_PATH}: {error.reason}.") from error
    except TimeoutError as error:
        raise NoAnswerError(f"{given} did not answer in {timeout_s:g} s.") from error
    except (OSError, ValueError) as error:
        why = f"{getattr(error, 'reason', None) or error}."
        remedy = "name where its HTTP listens, the key http: --http HOST:PORT"
        raise UnreachableError(f"{given} gave no settings.", why=why, remedy=remedy) from error
    is_page = isinstance(page, dict) and isinstance(page.get("items"), list) and "next_cursor" in page
    if not is_page or not all(isinstance(item, dict) and "key" in item and "value" in item for item in page["items"]):
        raise AdminError(f"{given} answered {_PATH} with something else.")
    return dict(page)
