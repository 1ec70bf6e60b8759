"""docs/configuration.md says what the table of keys says."""

import subprocess
import sys
from pathlib import Path

from tests.support.server_process import server_environment

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "generate_configuration_doc.py"


def test_the_page_is_up_to_date(tmp_path: Path) -> None:
    """If not: python scripts/generate_configuration_doc.py."""
    result = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], cwd=tmp_path, env=server_environment(tmp_path), check=False
    )

    assert result.returncode == 0
