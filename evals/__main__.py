"""`python -m evals`: measure answers on question sets, and how a book is read."""

from citewell.cli import main
from evals.commands import command

if __name__ == "__main__":
    main(command)
