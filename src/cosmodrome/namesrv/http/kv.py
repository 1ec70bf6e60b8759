"""KV entries.

Owns: /api/v1/kv, its namespaces and entries; which request each change is.
Must not know: how entries are stored; who may change them.
"""

from http import HTTPStatus
from typing import Final

from cosmodrome.http.operations import Asked, get, write
from cosmodrome.http.paging import PREFIXED, SortedNames, page_of
from cosmodrome.http.problems import Problem
from cosmodrome.namesrv.http import shapes
from cosmodrome.namesrv.http.asking import answer_of
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.codes import RequestCode

_READ: Final = RequestCode.GET_KVLIST_BY_NAMESPACE
_PAGE_CHARACTERS: Final = 512 * 1024
"""Of the values of one page, but for its last one: about a millisecond to write."""


class KV:
    """Answers questions about KV entries, and has them changed."""

    def __init__(self, view: View) -> None:
        self._view = view

    @get("/api/v1/kv", answers=shapes.Namespaces, query=PREFIXED, like=_READ)
    async def kv_namespaces(self, asked: Asked) -> object:
        """Namespaces in order, a page at a time."""
        store = self._view.kv_config
        names, cursor = await SortedNames(store.namespaces, lambda: 0).page(page_of(asked.request))
        items = [shapes.Namespace(namespace=name, entries=len(store.table(name) or ())) for name in names]
        return shapes.Namespaces(items=items, next_cursor=cursor)

    @get("/api/v1/kv/{namespace}", answers=shapes.KVEntries, query=PREFIXED, like=_READ)
    async def kv_entries(self, asked: Asked) -> object:
        """Entries of a namespace in order of their keys, a page at a time; long values make shorter pages."""
        namespace = asked.names["namespace"]
        table = self._view.kv_config.table(namespace)
        if table is None:
            raise Problem(
                HTTPStatus.NOT_FOUND, "unknown_namespace", f"there is no namespace {namespace[:100]}", "see /api/v1/kv"
            )
        names, cursor = await SortedNames(table.keys, lambda: 0).page(page_of(asked.request))
        items: list[shapes.KVEntry] = []
        size = 0
        for key in names:
            items.append(shapes.KVEntry(namespace=namespace, key=key, value=table[key]))
            size += len(table[key])
            if size > _PAGE_CHARACTERS and key != names[-1]:
                return shapes.KVEntries(items=items, next_cursor=key)
        return shapes.KVEntries(items=items, next_cursor=cursor)

    @get("/api/v1/kv/{namespace}/{key}", answers=shapes.KVEntry, like=RequestCode.GET_KV_CONFIG)
    async def kv_entry(self, asked: Asked) -> object:
        """One entry."""
        namespace, key = asked.names["namespace"], asked.names["key"]
        value = self._view.kv_config.get(namespace, key)
        if value is None:
            detail = f"there is no key {key[:100]} in the namespace {namespace[:100]}"
            raise Problem(HTTPStatus.NOT_FOUND, "unknown_key", detail, "see /api/v1/kv")
        return shapes.KVEntry(namespace=namespace, key=key, value=value)

    @write("PUT", "/api/v1/kv/{namespace}/{key}", answers=shapes.KVEntry, takes=shapes.KVValue)
    async def put_kv_entry(self, asked: Asked) -> object:
        """Store an entry, on disk before it is answered. As request 100."""
        names, value = asked.names, asked.body.value
        fields = {"namespace": names["namespace"], "key": names["key"], "value": value}
        await answer_of(self._view, asked.request, RequestCode.PUT_KV_CONFIG, fields)
        return shapes.KVEntry(namespace=names["namespace"], key=names["key"], value=value)

    @write("DELETE", "/api/v1/kv/{namespace}/{key}", answers=shapes.Done)
    async def delete_kv_entry(self, asked: Asked) -> object:
        """Delete an entry, on disk before it is answered.

        As request 102: one that is not there is deleted already, and `changed` is false.
        """
        namespace, key = asked.names["namespace"], asked.names["key"]
        was_there = self._view.kv_config.get(namespace, key) is not None
        fields = {"namespace": namespace, "key": key}
        await answer_of(self._view, asked.request, RequestCode.DELETE_KV_CONFIG, fields)
        return shapes.Done(done=True, changed=was_there)
