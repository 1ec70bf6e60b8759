"""Root as anybody else: permissions of files and folders hold for it.

Owns: a program that gives up the right to pass them by, for good, and becomes another one.
Must not know: what that program is.
"""

import sys
from typing import Final

_DROP_FROM_BOUNDING_SET: Final = 24
_RIGHTS: Final = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH

# Who is not root has none of these, and the calls do nothing.
_PROGRAM: Final = f"""\
import ctypes, os, sys
for right in {_RIGHTS}:
    ctypes.CDLL(None).prctl({_DROP_FROM_BOUNDING_SET}, right, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""

WRAPPER: Final = (sys.executable, "-c", _PROGRAM)
