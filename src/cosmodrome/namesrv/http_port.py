"""Where the HTTP of a NameServer is when nobody said where.

Owns: how far above the remoting port it is. Commands that only need to know this load nothing else.
Must not know: who listens, who asks.
"""

from typing import Final

PORT_DISTANCE: Final = 10_000
