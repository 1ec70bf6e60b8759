"""Topics that were asked for and not found.

Owns: /api/v1/misses.
Must not know: how they are counted (namesrv/misses.py).
"""

from cosmodrome.http.operations import Asked, get
from cosmodrome.http.paging import NUMBERED, PREFIXED, page_of
from cosmodrome.http.parameters import number_of
from cosmodrome.namesrv.event_form import rfc3339
from cosmodrome.namesrv.http import shapes
from cosmodrome.namesrv.misses import Miss
from cosmodrome.namesrv.view import View
from cosmodrome.protocol.codes import RequestCode


class MissedTopics:
    """Answers what was asked for in vain."""

    def __init__(self, view: View) -> None:
        self._view = view

    @get(
        "/api/v1/misses",
        answers=shapes.MissedTopics,
        query=(*NUMBERED, PREFIXED[-1]),
        like=RequestCode.GET_NAMESRV_CONFIG,
    )
    async def misses(self, asked: Asked) -> object:
        """Topics that were asked for and had no route, and have none yet: how often, by whom, when first and last.

        The thousand that were asked for most since the start. A cursor is a place in the list, which goes on changing.
        """
        page = page_of(asked.request)
        start = number_of(page.cursor, "cursor") if page.cursor else 0
        known = [miss for miss in self._view.misses.most_asked() if miss.topic.startswith(page.prefix)]
        end = start + page.limit
        return shapes.MissedTopics(
            items=[_shown(miss) for miss in known[start:end]],
            next_cursor=str(end) if len(known) > end else None,
            total=self._view.misses.total,
        )


def _shown(miss: Miss) -> shapes.MissedTopic:
    return shapes.MissedTopic(
        topic=miss.topic,
        count=miss.count,
        at_most_over=miss.at_most_over,
        first_at=rfc3339(miss.first_s),
        last_at=rfc3339(miss.last_s),
        askers=[shapes.Asker(host=host, count=count) for host, count in reversed(miss.askers.items())],
    )
