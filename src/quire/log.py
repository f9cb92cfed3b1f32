"""One logging set-up for the command line and the service."""

import logging


def configure_logging(level: str) -> None:
    """Send Quire's records to standard error; leave other libraries at warnings."""
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("quire").setLevel(level.upper())
