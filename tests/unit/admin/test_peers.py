"""Digests and differences of NameServers."""

from cosmodrome.admin.peers import Difference, PeerView, differences


def view(address: str, routes: dict[str, str], addr: str = "h:1") -> PeerView:
    return PeerView(address=address, brokers={("C", "a", 0): addr}, routes=routes)


def test_a_view_s_digest_depends_on_its_content_alone() -> None:
    one = PeerView(address="1", brokers={("C", "a", 0): "x", ("C", "b", 0): "y"}, routes={"T": "d", "U": "e"})
    two = PeerView(address="2", brokers={("C", "b", 0): "y", ("C", "a", 0): "x"}, routes={"U": "e", "T": "d"})

    assert one.digest == two.digest
    assert one.digest != view("1", {"T": "d", "U": "e"}).digest


def test_differences_name_who_says_what() -> None:
    found = list(
        differences(
            [
                view("1", {"same": "d", "one": "d", "both": "d"}),
                view("2", {"same": "d", "both": "e"}, "h:9"),
                view("3", {"same": "d", "one": "d", "both": "d"}),
            ]
        )
    )

    assert [(each.kind, each.name) for each in found] == [("broker", "C/a id 0"), ("route", "both"), ("topic", "one")]
    assert found[0].values == {"1": "h:1", "2": "h:9", "3": "h:1"}
    assert str(found[0]) == "broker C/a id 0: h:1 at 1, h:9 at 2, h:1 at 3"
    assert found[2].missing_at == ("2",)
    assert str(found[2]) == "topic one: missing at 2"


def test_equal_views_have_no_difference() -> None:
    assert list(differences([view("1", {"T": "d"}), view("2", {"T": "d"})])) == []


def test_names_cannot_break_the_lines_of_a_listing() -> None:
    assert "\n" not in str(Difference(kind="topic", name="a\nb", values={"1": "x\n", "2": "y"}))
