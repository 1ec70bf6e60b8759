"""What a server process does before anything else.

Owns: statements that run in a process when its interpreter starts.
Must not know: what the process is started for.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

WITHOUT_UVLOOP: Final = 'import sys\nsys.modules["uvloop"] = None\n'
"""It runs on asyncio's own event loop."""


def few_descriptors(limit: int) -> str:
    """Give statements that leave the process so many descriptors, for good."""
    return f"import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))\n"


def doing_first(folder: Path, statements: str) -> Mapping[str, str]:
    """Give what to lay over a process's environment so that it does this first; writes a file into `folder`."""
    hooks = folder / "first-statements"
    hooks.mkdir(parents=True, exist_ok=True)
    (hooks / "sitecustomize.py").write_text(statements, encoding="utf-8")
    source = Path(__file__).resolve().parents[2] / "src"
    return {"PYTHONPATH": os.pathsep.join((str(hooks), str(source)))}
