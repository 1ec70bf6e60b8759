"""Numbers and names that travel. They are on the wire: a change here is a break."""

from tests.support.golden import recording, recording_names

from cosmodrome.protocol.codes import LanguageCode, RequestCode, ResponseCode, SerializeType


def test_every_code_that_real_software_sends_is_known() -> None:
    sent = {frame.command.code for name in recording_names() for frame in recording(name).requests()}

    assert sent <= set(RequestCode)


def test_languages_are_those_of_the_oracle() -> None:
    names = [
        "JAVA",
        "CPP",
        "DOTNET",
        "PYTHON",
        "DELPHI",
        "ERLANG",
        "RUBY",
        "OTHER",
        "HTTP",
        "GO",
        "PHP",
        "OMS",
        "RUST",
        "NODE_JS",
    ]

    assert [LanguageCode(number).name for number in range(14)] == names


def test_codecs_and_answers() -> None:
    assert {kind.name: int(kind) for kind in SerializeType} == {"JSON": 0, "ROCKETMQ": 1}
    assert {0, 1, 2, 3, 16, 17, 22, 1500} <= set(ResponseCode)
