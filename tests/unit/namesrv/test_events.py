"""What happened, as typed values."""

import logging

from cosmodrome.namesrv import events
from cosmodrome.namesrv.events import Event, KVPut, MasterChanged, TopicsAdded, some_of


def kinds() -> list[type[Event]]:
    return [each for each in vars(events).values() if isinstance(each, type) and issubclass(each, Event) and each.NAME]


def test_every_event_has_a_name_of_its_own_and_a_level() -> None:
    names = [kind.NAME for kind in kinds()]

    assert len(set(names)) == len(names) > 15
    assert all(kind.LEVEL in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR) for kind in kinds())


def test_fields_are_in_printing_order_without_those_that_are_none() -> None:
    assert list(KVPut(namespace="N", key="k").fields().items()) == [("namespace", "N"), ("key", "k")]
    assert KVPut(namespace="N", key="k", peer="p").fields()["peer"] == "p"


def test_many_names_are_cut() -> None:
    assert some_of(()) == ""
    assert some_of(("a", "b")) == "a,b"
    assert some_of(tuple("abcdefg")) == "a,b,c,d,e,+2"
    assert TopicsAdded(broker="a", count=7, topics=tuple("abcdefg")).fields()["topics"] == "a,b,c,d,e,+2"


def test_no_master_is_written_out() -> None:
    event = MasterChanged(cluster="C", broker="a", old_addr=None, new_addr="x")

    assert event.fields() == {"cluster": "C", "broker": "a", "old_addr": "none", "new_addr": "x"}
