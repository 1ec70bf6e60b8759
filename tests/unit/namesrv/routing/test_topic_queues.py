"""Topic → broker name → QueueData, and its reverse."""

from tests.support.builders import mapping, queue_data

from cosmodrome.namesrv.routing.topic_queues import TopicQueues


def filled() -> TopicQueues:
    queues = TopicQueues()
    for topic in ("T1", "T2"):
        queues.put(topic, queue_data("a"))
    queues.put("T1", queue_data("b", perm=4))
    return queues


def test_both_directions() -> None:
    queues = filled()

    assert list(queues) == ["T1", "T2"]
    assert len(queues) == 2
    assert "T1" in queues
    assert "T3" not in queues
    assert dict(queues.of_topic("T1")) == {"a": queue_data("a"), "b": queue_data("b", perm=4)}
    assert queues.of_topic("T3") == {}
    assert sorted(queues.topics_of("a")) == ["T1", "T2"]
    assert queues.topics_of("b") == ("T1",)
    assert queues.topics_of("c") == ()


def test_a_change_is_told_from_a_repetition() -> None:
    queues = filled()

    assert not queues.put("T1", queue_data("a"))
    assert queues.put("T1", queue_data("a", perm=4))
    assert queues.put("T3", queue_data("a"))


def test_equal_numbers_are_one_object() -> None:
    """Brokers have thousands of topics with the same ones."""
    queues = filled()

    assert queues.of_topic("T1")["a"] is queues.of_topic("T2")["a"]


def test_dropping_a_broker_of_a_topic() -> None:
    queues = filled()

    assert not queues.drop("T1", "a")
    assert queues.drop("T1", "b"), "it was the last"
    assert not queues.drop("T1", "b")
    assert not queues.drop("T3", "a")
    assert list(queues) == ["T2"]
    assert queues.topics_of("b") == ()


def test_dropping_a_broker() -> None:
    queues = filled()

    assert queues.drop_broker("a") == ["T2"]
    assert queues.drop_broker("a") == []
    assert queues.drop_broker("b") == ["T1"]
    assert len(queues) == 0


def test_mappings_live_and_die_with_the_queues() -> None:
    queues = filled()
    assert queues.put_mapping("T1", "a", mapping("T1", "a"))
    assert not queues.put_mapping("T1", "a", mapping("T1", "a"))
    assert queues.put_mapping("T1", "b", mapping("T1", "b"))
    assert queues.mappings_of("T2") is None

    queues.drop("T1", "a")
    assert queues.mappings_of("T1") == {"b": mapping("T1", "b")}
    queues.drop("T1", "b")
    assert queues.mappings_of("T1") is None


def test_a_broker_takes_mappings_without_queues_along() -> None:
    queues = filled()
    queues.put_mapping("T9", "a", mapping("T9", "a"))

    queues.drop_broker("a")

    assert queues.mappings_of("T9") is None


def test_the_last_broker_takes_all_mappings_of_a_topic_along() -> None:
    queues = filled()
    queues.put_mapping("T2", "b", mapping("T2", "b"))

    queues.drop("T2", "a")

    assert queues.mappings_of("T2") is None


def test_queues_are_counted_anew_where_they_changed() -> None:
    queues = filled()
    assert queues.queue_counts() == (12, 12)
    assert queues.uncounted() == []

    queues.put("T2", queue_data("a", queues=7))
    assert queues.uncounted() == ["a"]
    queues.count_queues("a")
    queues.count_queues("nobody")
    assert queues.uncounted() == []
    assert queues.queue_counts() == (15, 15)
    queues.drop("T1", "b")
    assert queues.queue_counts() == (11, 11)
    queues.drop_broker("a")
    assert (queues.queue_counts(), queues.uncounted()) == ((0, 0), [])
