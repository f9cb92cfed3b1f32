"""The `citewell` command line, with one module per command."""

import importlib
import sys
from keyword import iskeyword

import click

COMMANDS = {
    "ingest": "Read a book and bring its index up to date.",
    "ask": "Ask a question; the answer streams with its citations.",
    "receipt": "Show the full record of an answer.",
    "replay": "Check an answer again, against the current book.",
    "search": "Show the passages most relevant to a question.",
    "toc": "Show the table of contents: parts, chapters and sections.",
    "books": "List the books, show the ingest report of one, or remove one.",
    "export": "Export a book's index to one file.",
    "import": "Import a book from an exported file.",
    "index": "Copy books between the data folder and a Qdrant server.",
    "serve": "Serve the books over HTTP, with a chat page.",
    "mcp": "Serve the books as MCP tools on standard input and output.",
    "keys": "Create, list and revoke API keys.",
    "doctor": "Check the setup and say how to fix what does not work.",
    "db": "Show or upgrade the database schema.",
    "answers": "List answers with their unsupported claims.",
    "feedback": "List readers' feedback on answers.",
}


class LazyGroup(click.Group):
    """Loads a command's module only when that command runs, to keep `--help` fast."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the commands in the order a newcomer needs them."""
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
    """Run the command line; print expected errors in one sentence and exit with code 1."""
    from citewell.errors import CitewellError

    try:
        command(standalone_mode=False)
    except (CitewellError, PermissionError) as error:
        from citewell.cli.options import explain_error

        message, advice = explain_error(error)
        click.echo(f"citewell: {message}", err=True)
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
