"""The command line: `citewell`, and one module for each command."""

import importlib
import sys
from keyword import iskeyword

import click

COMMANDS = {
    "ingest": "Read a book and bring its index up to date.",
    "ask": "Ask a question; the answer streams with its proof.",
    "receipt": "Show the full record of an answer.",
    "replay": "Check an answer again, against the book as it is now.",
    "search": "Show the passages nearest to a question.",
    "toc": "Show how the book is built: parts, chapters and sections.",
    "books": "List the books, show what was noticed about one, or remove one.",
    "export": "Write a book's index into one file.",
    "import": "Take in a book from such a file.",
    "index": "Move books between the data folder and a Qdrant server.",
    "serve": "Serve the books over HTTP, with a chat page.",
    "mcp": "Offer the books as tools to other agents, on standard input and output.",
    "keys": "Make, list and revoke the keys that callers of the service show.",
    "doctor": "Show what is configured, what works, and what to do about the rest.",
    "db": "Show or upgrade the database of conversations.",
    "answers": "List answers, and what the book does not support in them.",
    "feedback": "List what readers think of answers.",
}


class LazyGroup(click.Group):
    """Loads a command's module only when that command is run, so that help is instant."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Name the commands in the order a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name not in COMMANDS:
            return None
        # A module cannot be called `import`.
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        module = importlib.import_module(f"citewell.cli.{name}")
        command: click.Command = module.command
        return command

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="citewell")
def group() -> None:
    """Answers about a book, from the book alone, with every sentence proven."""


def main(command: click.Command = group) -> None:
    """Run the command line; what goes wrong on purpose is one sentence and exit code 1."""
    from citewell.errors import CitewellError

    try:
        command(standalone_mode=False)
    except (CitewellError, PermissionError) as error:
        from citewell.cli.options import explain_error

        said, advice = explain_error(error)
        click.echo(f"citewell: {said}", err=True)
        if advice:
            click.echo(f"          {advice}", err=True)
        sys.exit(1)
    except click.exceptions.Abort:
        click.echo("citewell: stopped.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        click.echo("citewell: stopped.", err=True)
        sys.exit(130)
