"""The description of the API (OpenAPI 3.1).

Owns: its head.
Must not know: the operations; how they are written (cosmodrome/http/openapi.py).
"""

from typing import Any, Final

from cosmodrome import __version__
from cosmodrome.http.openapi import document
from cosmodrome.namesrv.http.table import OPERATIONS

TEXT: Final = (
    "What a NameServer knows, and what can be changed of it. Lists come in pages: give `next_cursor` as `cursor` until it is "
    "null. Errors are application/problem+json with `code`, a word that never changes. A change must call itself JSON, must not "
    "come from a page of another origin, and from another host it needs the token (httpToken); then adminPolicy decides, as for "
    "requests of the remoting protocol."
)


def description() -> dict[str, Any]:
    """Give it, as values of JSON."""
    return document(OPERATIONS, title="Cosmodrome NameServer", version=__version__, text=TEXT)
