from citewell.questions.followup import Exchange, standalone_question


def follow(previous: str, question: str, *headings: str) -> str:
    return standalone_question(question, [Exchange(previous, headings)])
