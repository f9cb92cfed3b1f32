"""`python -m evals`: evaluate answers on question sets, and the ingest of books."""

from citewell.cli import main
from evals.commands import command

if __name__ == "__main__":
    main(command)
