"""What the wording of a question or a claim gives away of its label, before any text is read.

Unanswerable questions ask for defaults and limits, made claims keep certain words: a model takes that
short cut. While it learns, what the wording alone says is added to its logit as a fixed term (a
product of experts), so that nothing is left to gain by it; a trained model is used without the term.
"""

import zlib
from collections.abc import Sequence

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

FOLDS = 5
LEAST_SEEN = 3
STRENGTH = 2.0
MOST = 3.0


def log_odds_of(texts: Sequence[str], labels: Sequence[bool]) -> dict[str, float]:
    """Return the log-odds of every text by its wording, above those of all texts together.

    Each text is judged by a model of words and pairs of words that has not seen it.
    """
    distinct = np.array([zlib.crc32(text.lower().encode()) % FOLDS for text in texts])
    truth = np.array(labels, dtype=bool)
    words = TfidfVectorizer(
        ngram_range=(1, 2), min_df=LEAST_SEEN, sublinear_tf=True, token_pattern=r"\w+|[^\w\s]"
    )
    features = words.fit_transform(texts)
    found: dict[str, float] = {}
    for fold in range(FOLDS):
        rest, own = distinct != fold, np.flatnonzero(distinct == fold)
        model = LogisticRegression(C=STRENGTH, solver="liblinear").fit(features[rest], truth[rest])
        prior = np.log(truth[rest].mean() / (1 - truth[rest].mean()))
        odds = np.clip(model.decision_function(features[own]) - prior, -MOST, MOST)
        found.update(zip((texts[place] for place in own), odds.tolist(), strict=True))
    return found
