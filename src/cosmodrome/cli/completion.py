"""`cosmodrome completion`: what makes a shell complete words of `cosmodrome`.

Owns: which shells.
Must not know: which words there are (click asks the commands themselves).
"""

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

_SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
_PROGRAM = "cosmodrome"
_VARIABLE = "_COSMODROME_COMPLETE"
"""What click looks for in the environment when it is asked for words."""


@click.command("completion", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.argument("shell", type=click.Choice(sorted(_SHELLS)))
def completion(shell: str) -> None:
    r"""Print what makes a shell complete commands and flags.

    \b
    bash: eval "$(cosmodrome completion bash)"                                        in ~/.bashrc
    zsh:  eval "$(cosmodrome completion zsh)"                                         in ~/.zshrc
    fish: cosmodrome completion fish > ~/.config/fish/completions/cosmodrome.fish
    """
    # The class of bash would start one to see its version, which is not the one that reads this.
    source = ShellComplete.source
    click.echo(source(_SHELLS[shell](click.Command(_PROGRAM), {}, _PROGRAM, _VARIABLE)))
