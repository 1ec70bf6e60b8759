"""Which message holds up a queue, and for how long."""

from tests.unit.client.consumer.stored import stored
from tests.unit.client.consumer.test_assigned_queue import Rig

from cosmodrome.client.consumer.status import SlowMessages, StuckMessage, queue_status


async def test_c048_the_message_that_is_handled_and_holds_up_the_offset_is_named_with_its_age() -> None:
    rig, slow = Rig(), SlowMessages()
    rig.pulled(0, 1)
    slow.look([rig.queue], 10.0)
    assert slow.waits_for(rig.queue, 20.0) is None  # nobody handles it yet

    first, second = rig.message(), rig.message()
    slow.look([rig.queue], 20.0)
    slow.look([rig.queue], 25.0)

    assert slow.waits_for(rig.queue, 30.0) == StuckMessage(msg_id=stored(0).msg_id, queue_offset=0, age_s=10.0)
    assert slow.overdue(rig.queue, 30.0, 10.5) is None
    assert slow.overdue(rig.queue, 30.0, 9.5) == stored(0)
    await first.ack()
    assert slow.waits_for(rig.queue, 30.0) is None
    slow.look([rig.queue], 31.0)
    assert slow.overdue(rig.queue, 32.0, 5.0) is None
    await second.ack()
    slow.look([rig.queue], 99.0)
    assert slow.waits_for(rig.queue, 99.0) is None


async def test_a_queues_figures() -> None:
    rig = Rig()
    rig.pulled(0, 1, 2)
    await rig.message().ack()
    rig.message()

    status = queue_status(rig.queue, None)

    assert (status.committable, status.next_offset, status.held, status.handed_out, status.held_bytes) == (
        1,
        3,
        2,
        1,
        2,
    )
