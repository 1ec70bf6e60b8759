"""Commands about messages at a broker with accounts: denied without keys, done with them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import pytest
import pytest_asyncio
from tests.support.messaging_bench import BROKER, MessagingBench, messaging_bench

from cosmodrome.admin import consumer_progress, printing, sending, shell_consume, shell_send
from cosmodrome.admin.credentials import Keys
from cosmodrome.admin.name_servers import Access
from cosmodrome.errors import DeniedError

pytestmark = pytest.mark.asyncio(loop_scope="module")

USER: Final = Keys("boss", "the-secret-of-the-boss")
TOPIC: Final = "Guarded"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def guarded() -> AsyncIterator[MessagingBench]:
    user = f'{{"username":"{USER.access_key}","password":"{USER.secret_key}"}}'
    async with messaging_bench(authentication_enabled=True, init_authentication_user=user) as made:
        yield made


def flags(names: str, **given: Any) -> dict[str, Any]:
    return dict.fromkeys(names.split()) | {"topic": TOPIC} | given


COMMANDS: Final[list[tuple[Callable[..., Awaitable[int]], dict[str, Any]]]] = [
    (sending.send_message, flags("keys tag queue_id is_traced", body="x", broker_name=None)),
    (
        shell_send.send,
        flags(
            "file tag delay_s delay_level deliver_at order_key group rate", bodies=["x"], has_lines=False, keys=(),
            properties={}, count=1, concurrency=1, goes_on=False, is_traced=False,
        ),
    ),
    (printing.consume_message, flags("offset group begin_ms end_ms count", broker_name=BROKER, queue_id=0)),
    (
        shell_consume.consume,
        flags("group tags sql for_s idle_s charset_name", peeks=False, begin="first", count=1, has_details=False),
    ),
    (consumer_progress.consumer_progress, flags("shows_ip cluster", group="TOOLS_CONSUMER")),
]  # fmt: skip


async def test_keys_open_what_is_denied_without(guarded: MessagingBench) -> None:
    for command, given in COMMANDS:
        guarded.access = Access(keys=USER)
        allowed = await guarded.run_bare(command, **given)
        assert allowed.code == 0, (command, allowed)
        for keys in (None, Keys("boss", "guessed")):
            guarded.access = Access(keys=keys)
            with pytest.raises(DeniedError) as denied:
                await guarded.run_bare(command, **given)
            assert denied.value.exit_code == 77
            assert "--credentials" in str(denied.value.remedy)
