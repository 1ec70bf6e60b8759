"""Configuration of servers as the text in which it travels.

Owns: both directions of Java's properties text.
Must not know: which keys there are.
"""

from collections.abc import Mapping


def properties_from(text: str) -> dict[str, str]:
    """Read a listing. Apache's servers write values as they are, so one that is no properties text is taken so."""
    import javaproperties  # noqa: PLC0415  # only the configuration needs it

    try:
        return dict(javaproperties.loads(text))
    except javaproperties.InvalidUEscapeError:
        pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
        return {key.strip(): value.strip() for key, _, value in pairs}


def properties_text(values: Mapping[str, str]) -> str:
    """Write a change; every reader of properties gets these values back."""
    import javaproperties  # noqa: PLC0415  # only the configuration needs it

    return "".join(f"{javaproperties.join_key_value(key, value)}\n" for key, value in values.items())
