"""How a command of `cosmodrome admin` runs and ends.

Owns: connections, credentials and output of one run; exit codes.
Must not know: how words are parsed (grammar.py); any command.
"""

import asyncio
import importlib
import logging
import os
import ssl
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, TextIO

import click

from cosmodrome.admin.name_servers import Access, NameServers
from cosmodrome.admin.output import Output, OutputForm
from cosmodrome.cli.admin.declaration import Declared
from cosmodrome.cli.admin.grammar import Common
from cosmodrome.client.addresses import chosen_addresses, resolve
from cosmodrome.errors import OperatorError, UsageError
from cosmodrome.transport.channel import Links
from cosmodrome.transport.client import RemotingClient

EXIT_INTERRUPTED: Final = 130


def run_declared(declared: Declared, common: Common, flags: Mapping[str, Any]) -> int:
    """Run one command to its end, and give its exit code."""
    return asyncio.run(_act(declared, common, flags))


async def _act(declared: Declared, common: Common, flags: Mapping[str, Any]) -> int:
    access = _access(common)
    servers = await resolve(chosen_addresses(common.namesrv_addr, os.environ), common.timeout_s)
    remoting = RemotingClient(tls=_tls_maker(access) if access.tls else None, links=Links(prepare=access.sign()))
    output = Output(OutputForm(common.form.lower()), sys.stdout, sys.stderr, common.verbosity())
    output.detail(f"NameServers: {', '.join(map(str, servers.found)) or 'none'}")
    output.flush()
    module, _, function = declared.runs.partition(":")
    try:
        action = getattr(importlib.import_module(f"cosmodrome.admin.{module}"), function)
        return int(await action(NameServers(remoting, servers, common.timeout_s, access), output, **flags))
    finally:
        await remoting.close()
        output.flush()


def _access(common: Common) -> Access:
    from cosmodrome.admin.credentials import chosen_keys

    keys = chosen_keys(common.credentials, os.environ)
    return Access(tls=common.tls or common.tls_trust is not None, tls_trust=common.tls_trust, keys=keys)


def _tls_maker(access: Access) -> Callable[[], ssl.SSLContext]:
    from cosmodrome.transport.tls import TlsFiles, client_context

    verify = ssl.CERT_REQUIRED if access.tls_trust else ssl.CERT_NONE
    context = client_context(TlsFiles(trust_path=access.tls_trust, verify=verify))
    return lambda: context


def run(group: click.Command, words: Sequence[str], program: str) -> NoReturn:
    """Run a command line of one of the groups, and end the process with its exit code."""
    _make_lossless(sys.stdout)
    logging.getLogger("cosmodrome").addHandler(logging.NullHandler())  # what matters is in the errors
    shows_traces = any(word.startswith("-vv") for word in words)
    sys.exit(_exit_code(lambda: _main(group, words, program), shows_traces=shows_traces))


def _main(group: click.Command, words: Sequence[str], program: str) -> int:
    try:
        return int(group.main(list(words), prog_name=program, standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        raise _without_command(error.ctx, program) from error
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else program
        raise UsageError(f"{path}: {error.format_message()}", remedy=f"{path} -h shows the options") from error


def _without_command(ctx: click.Context | None, program: str) -> UsageError:
    path = ctx.command_path if ctx else program
    names = ctx.command.list_commands(ctx) if ctx and isinstance(ctx.command, click.Group) else ()
    return UsageError(
        f"{path}: a command is missing.", why=f"it is one of {', '.join(names)}.", remedy=f"{path} -h tells of each"
    )


def _exit_code(action: Callable[[], int], *, shows_traces: bool) -> int:
    try:
        return action()
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001  # outermost; the report of a bug is not worth loading before
        if isinstance(error, OperatorError) and not shows_traces:
            sys.stderr.write(f"{error.render()}\n")
            return error.exit_code
        from cosmodrome.cli.failures import exit_code_of

        return exit_code_of(_raising(error), shows_traces=shows_traces)


def _raising(error: Exception) -> Callable[[], int]:
    def action() -> int:
        raise error

    return action


def _make_lossless(stream: TextIO) -> None:
    """Write values as they are, whatever the locale."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")
