"""The table of a compressed registration: texts of topics, read many in one step.

Owns: how texts become stretches; the table that consists of them.
Must not know: how a text is found (compressed_pieces.py), or what one means (topic_config.py).
"""

from collections.abc import Iterator, Sequence
from sys import intern
from typing import Final

from cosmodrome.protocol.bodies.topic_config import TopicConfig, shape_of, topic_config_from_text
from cosmodrome.protocol.bodies.topic_stretches import KnownStretch, TopicShape, TopicStretch

_MOST_REMEMBERED: Final = 4096
"""Texts after a name that are remembered; topics that are alike have the same."""


class TopicTexts:
    """Reads texts of one body."""

    def __init__(self) -> None:
        self._shapes: dict[bytes, TopicShape] = {}
        """By what stands behind the name."""

    def stretch(self, texts: Sequence[bytes]) -> TopicStretch:
        """Give the topics of these texts, in their order; a name may be there twice.

        Raises:
            MalformedBodyError: As `topic_config_from_text`.
        """
        parts = [text.partition(b" ") for text in texts]
        # No name has a blank, and bytes that are no UTF-8 are replaced one by one.
        names = b" ".join([part[0] for part in parts]).decode("utf-8", "replace").split(" ")
        rests = [part[2] for part in parts]
        try:
            shapes = list(map(self._shapes.__getitem__, rests))
        except KeyError:
            shapes = [self._shape(text, rest) for text, rest in zip(texts, rests, strict=True)]
        return TopicStretch(tuple(map(intern, names)), shapes)

    def _shape(self, text: bytes, rest: bytes) -> TopicShape:
        shape = self._shapes.get(rest)
        if shape is None:
            shape = shape_of(topic_config_from_text(text.decode("utf-8", "replace")))
            if len(self._shapes) < _MOST_REMEMBERED:
                self._shapes[rest] = shape
        return shape


class TextTable(list[TopicStretch]):
    """A WrittenTable that was read. What it was is not kept: it is read again as quickly as it could be compared."""

    replaced: frozenset[str] | None = None

    @staticmethod
    def known_with(_: Sequence[tuple[str, ...]]) -> tuple[KnownStretch, ...]:
        """Give nothing."""
        return ()

    def configs(self) -> Iterator[TopicConfig]:
        """Give the topics one by one."""
        for names, shapes in self:
            for name, (perm, read, flag, write) in zip(names, shapes or (), strict=True):
                yield TopicConfig(
                    topic_name=name, perm=perm, read_queue_nums=read, topic_sys_flag=flag, write_queue_nums=write
                )
