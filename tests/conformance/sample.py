"""What the sample book says, and questions about it."""

COVERED = "What is AMCL?"
UNCOVERED = "Who won the 1998 World Cup?"
SMALL_TALK = ("hello", "thanks")
SYMBOLS = "???!!"
CONTENTS = "list the chapters"
QUOTABLE = (
    COVERED,
    "What is a quaternion?",
    "What is dead reckoning?",
    "What is a particle filter?",
    "What is the zero moment point?",
    "Show an example of a URDF file",
)
"""Questions that the embedded model answers by quoting the book, also its listings."""
AMCL = (
    "Adaptive Monte Carlo localisation (AMCL) is a particle filter that changes its number of "
    "particles with KLD-sampling: few particles when they agree, many when they are spread out."
)
DRIFT = "Dead reckoning drifts because each increment carries an error and nothing ever removes it."
LIE = "AMCL was invented on the Moon in 1969 by a crew of four."


def question_of(length: int) -> str:
    """Return a question of exactly so many characters."""
    return ("What is AMCL " + "and what is AMCL " * 200)[: length - 1].rstrip().ljust(
        length - 1, "L"
    ) + "?"
