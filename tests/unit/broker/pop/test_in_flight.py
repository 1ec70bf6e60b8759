"""What is popped and not acknowledged."""

from cosmodrome.broker.pop.in_flight import InFlight, Place, Popped
from cosmodrome.protocol.bodies.pop_records import PopCheckPoint, bits_of


def point(start: int = 0, count: int = 3, pop_time: int = 100, bit_map: int = 0) -> PopCheckPoint:
    return PopCheckPoint(
        topic="T", group="g", start_offset=start, count=count, pop_time=pop_time, invisible_time=50, broker_name="b", bit_map=bit_map
    )  # fmt: skip


def put(flight: InFlight, what: PopCheckPoint, place: Place) -> Popped:
    popped = flight.put(what.key("b"), what, place, what.revive_time)
    flight.read_to(place)
    return popped


def test_what_is_done_is_not_due() -> None:
    flight = InFlight()
    popped = put(flight, point(), Place(0, 0))
    flight.acknowledge(popped, [0, 2, 99])
    assert popped.open_offsets == (1,)
    assert flight.take_due(149, 10) == []
    assert flight.take_due(150, 10) == [popped]
    assert flight.take_due(150, 10) == [], "once"
    flight.later(popped, 160)
    assert flight.next_due_ms() == 160
    flight.acknowledge(popped, [1])
    assert flight.next_due_ms() is None
    assert len(flight) == 0


def test_what_is_due_comes_in_the_order_of_time_and_not_all_at_once() -> None:
    flight = InFlight()
    all_popped = [put(flight, point(start=each, pop_time=100 - each), Place(0, each)) for each in range(5)]
    assert flight.take_due(1000, 3) == all_popped[:1:-1]
    assert flight.take_due(1000, 3) == all_popped[1::-1]


def test_the_topic_is_done_with_up_to_the_oldest_that_is_open() -> None:
    flight = InFlight()
    first, second = put(flight, point(0), Place(3, 4)), put(flight, point(9), Place(3, 6))
    flight.read_to(Place(3, 8))
    assert flight.done_to() == {3: 4}
    flight.acknowledge(second, [9, 10, 11])
    assert flight.done_to() == {3: 4}
    flight.acknowledge(first, [0, 1, 2])
    assert flight.done_to() == {3: 9}
    assert flight.end_of(3) == 9
    assert flight.end_of(0) == 0


def test_an_acknowledgement_that_cannot_be_stored_never_was() -> None:
    flight = InFlight()
    popped = put(flight, point(), Place(0, 0))
    flight.acknowledge(popped, [0, 1, 2])
    assert flight.get(popped.key) is None
    flight.take_back(popped, popped.bits([1]))
    assert flight.get(popped.key) is popped
    assert popped.open_offsets == (1,)
    assert flight.done_to() == {0: 0}
    assert flight.take_due(150, 1) == [popped]


def test_a_check_point_that_is_written_anew_moves_with_what_is_done_of_it() -> None:
    flight = InFlight()
    popped = put(flight, point(), Place(0, 0))
    flight.acknowledge(popped, [0])
    anew = put(flight, point(bit_map=bits_of(0b101)), Place(0, 7))
    assert anew is popped
    assert popped.open_offsets == (1,)
    assert flight.done_to() == {0: 7}
    assert flight.take_due(150, 10) == [popped], "once, wherever it is"
    assert flight.oldest(0, 5) == [popped]
    assert flight.oldest(1, 5) == []


def test_a_check_point_of_which_all_is_done_is_over_at_once() -> None:
    flight = InFlight()
    popped = put(flight, point(bit_map=bits_of(0b111)), Place(0, 0))
    assert popped.is_over
    assert flight.done_to() == {0: 1}
    assert flight.of(lambda _: True) == []
