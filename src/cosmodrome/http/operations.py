"""What can be done over HTTP, as a table: the routes, the description and the reference are made from it.

Owns: what is said of one operation; how the operations of a family of handlers are found.
Must not know: what an operation does; how a request is matched with one (api.py).
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from starlette.requests import Request

JSON: Final = "application/json"


class Asked(NamedTuple):
    """A request that was matched and admitted: the parts of its path by name, and its body as the operation takes it."""

    request: Request
    names: Mapping[str, str]
    body: Any = None


Handler = Callable[[Any, Asked], Awaitable[object]]
"""Gets its family and what is asked; gives a value that is written as JSON, or a whole Response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a query. `schema` is JSON Schema."""

    name: str
    meaning: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path.

    Attributes:
        method: In capitals.
        path: With `{name}` for a part that is a name; each is one segment, percent-encoded.
        handler: Does it; its docstring is what people read.
        answers: The type of the JSON that a success answers, as msgspec knows types.
        takes: The type of the JSON that must be sent; None for no body.
        query: Parameters of the query.
        problems: What can go wrong beside what can with every operation, by status.
        like: The code of the remoting request that asks for the same: who may send that may do this.
        media_type: Of the answer.
        is_json_wanted: Whether a request must call itself JSON even without a body, as forms of other sites cannot.
    """

    method: str
    path: str
    handler: Handler
    answers: Any
    takes: Any = None
    query: tuple[Parameter, ...] = ()
    problems: Mapping[HTTPStatus, str] = field(default_factory=dict)
    like: int | None = None
    media_type: str = JSON
    is_json_wanted: bool = False

    @property
    def is_write(self) -> bool:
        """Whether it changes something."""
        return self.method != "GET"

    @property
    def name(self) -> str:
        """Give the name of the operation, the same in every release."""
        name: str = getattr(self.handler, "__name__", "")
        return name

    @property
    def text(self) -> str:
        """What it does, in sentences; the first line stands for all."""
        lines = (self.handler.__doc__ or "").strip().splitlines()
        return "\n".join(line.strip() for line in lines)


def get(path: str, **about: Any) -> Callable[[Handler], Operation]:
    """Make a handler the operation that reads a path; `about` are attributes of Operation."""
    return lambda handler: Operation(method="GET", path=path, handler=handler, **about)


def write(method: str, path: str, **about: Any) -> Callable[[Handler], Operation]:
    """Make a handler an operation that changes something."""
    is_json_wanted = method != "DELETE"
    return lambda handler: Operation(method=method, path=path, handler=handler, is_json_wanted=is_json_wanted, **about)


def operations_of(family: type) -> Iterator[Operation]:
    """Give the operations that a class of handlers declares, in order."""
    return (each for each in vars(family).values() if isinstance(each, Operation))
