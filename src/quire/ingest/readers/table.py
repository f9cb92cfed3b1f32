"""Tables of Markdown."""


def write_table(rows: list[list[str]]) -> str:
    """Write rows as a Markdown table whose first row is its head."""
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    full = [row + [""] * (width - len(row)) for row in rows]
    head, *body = (f"| {' | '.join(row)} |" for row in full)
    return "\n".join((head, f"|{' --- |' * width}", *body))
