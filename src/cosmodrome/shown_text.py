"""Texts from peers, as a terminal or a table may show them.

Owns: which characters would move the cursor or end a line, and what stands for them.
Must not know: who shows what.
"""

from typing import Final

_CONTROLS: Final = {code: ascii(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}


def shown(text: str) -> str:
    """Give a text from a peer so that it stays on its line: control characters as escapes."""
    return text.translate(_CONTROLS)
