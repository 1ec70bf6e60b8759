"""Clients among brokers that fail at random lose nothing, get stuck nowhere and end cleanly (C001, C003, C020, C021).

Ten seeds in `./test`. The full scale: `./test tests/field/test_client_chaos.py --chaos 200 -rP`, which prints what each run met;
`--chaos-seed N` begins elsewhere.
"""

from pathlib import Path

import pytest
from tests.support.client_chaos import ChaosRun
from tests.support.faulty_broker import Refuse


async def test_nothing_is_lost_or_stuck_and_the_end_is_clean(tmp_path: Path, chaos_seed: int) -> None:
    """Consumers of even seeds are orderly."""
    run = ChaosRun(chaos_seed, is_orderly=chaos_seed % 2 == 0)
    await run.play(tmp_path)
    print(run)  # noqa: T201  # for -rP
    assert run.faults or run.disturbances


@pytest.mark.parametrize("is_orderly", [False, True], ids=["concurrent", "orderly"])
async def test_a_run_notices_a_message_that_was_acknowledged_and_not_stored(
    tmp_path: Path, *, is_orderly: bool
) -> None:
    lie = Refuse(
        0, None, {"msgId": "0" * 32, "queueId": "0", "queueOffset": "0", "MSG_REGION": "R", "TRACE_ON": "true"}
    )
    with pytest.raises(AssertionError, match="every message"):
        await ChaosRun(1, is_orderly, settled_s=1.0, lie=lie).play(tmp_path)
