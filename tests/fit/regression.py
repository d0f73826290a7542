"""A logistic regression over the signs of prompt injection in the windows of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from tests.fit.texts import ORDINARY, SOME, TESTED, Text

FEWEST_TEXTS = 5
"""A sign of fewer texts has no weight."""
STRENGTH = 0.3
"""How free the weights are: `C` of the regression."""
HEAVY = 5.0
"""How much more a harmless look-alike counts, since false alarms are to be rare, and what the tests promise."""
ROUNDS = 3


class Regression:
    """Texts as a table, a row per window and a column per sign, and what can be learnt from it.

    Args:
        texts: The texts.
        fewest: A sign of fewer texts has no weight.
    """

    def __init__(self, texts: Sequence[Text], fewest: int = FEWEST_TEXTS) -> None:
        counts = Counter(sign for text in texts for sign in frozenset[str]().union(*text.windows))
        self.texts = texts
        self.signs = sorted(sign for sign, count in counts.items() if count >= fewest)
        column = {sign: at for at, sign in enumerate(self.signs)}
        rows: list[int] = []
        columns: list[int] = []
        owners: list[int] = []
        for owner, text in enumerate(texts):
            for signs in text.windows:
                known = [column[sign] for sign in signs if sign in column]
                rows += [len(owners)] * len(known)
                columns += known
                owners.append(owner)
        self.table = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(owners), len(self.signs)))
        self.owners = np.array(owners)
        self.attack = np.array([bool(text.labels) for text in texts])
        self.author = np.array([text.author for text in texts])
        self.placed = np.array([text.placed for text in texts])
        self.ordinary = np.char.startswith(self.author, ORDINARY)
        rare = ~self.attack & ~self.ordinary
        self._weight = np.where(rare | (self.author == TESTED), HEAVY, 1.0)

    def fit(self, train: np.ndarray) -> Any:
        """Return the model of the texts that are true in `train`.

        Of an attack the window counts that weighs most, of a harmless text all of them; which one weighs most is
        found in rounds.
        """
        attack = self.attack[self.owners]
        points = np.asarray(self.table.sum(axis=1)).ravel()
        model = LogisticRegression(C=STRENGTH, solver="liblinear", max_iter=1000, random_state=0)
        for _ in range(ROUNDS):
            rows = train[self.owners] & (~attack | self._heaviest(points))
            model.fit(self.table[rows], attack[rows], sample_weight=self._weight[self.owners[rows]])
            points = model.decision_function(self.table)
        return model

    def fit_kinds(self, model: Any) -> Any:
        """Return the model of the kind of an attack, over the meanings in the window that weighs most."""
        meanings = np.array([sign[0] == "@" and not set(sign) & {">", "+"} for sign in self.signs])
        chosen = np.flatnonzero(self._heaviest(model.decision_function(self.table)))
        rows = [(row, self.texts[self.owners[row]].labels) for row in chosen]
        told = [(row, label, 1 / len(labels)) for row, labels in rows for label in labels if label != SOME]
        at, labels, shares = zip(*told, strict=True)
        kinds = LogisticRegression(max_iter=1000)
        return kinds.fit(self.table[list(at)].multiply(meanings).tocsr(), labels, sample_weight=shares)

    def points(self, model: Any) -> np.ndarray:
        """Return what the heaviest window of each text weighs."""
        heaviest = np.full(len(self.attack), -np.inf)
        np.maximum.at(heaviest, self.owners, model.decision_function(self.table))
        return heaviest

    def points_if_unknown(self, authors: Sequence[str]) -> np.ndarray:
        """Return what the texts of each author weigh where that author's texts were not learnt; of others, -inf."""
        points = np.full(len(self.attack), -np.inf)
        for author in authors:
            mine = self.author == author
            points[mine] = self.points(self.fit(~mine))[mine]
        return points

    def _heaviest(self, points: np.ndarray) -> np.ndarray:
        """Return which row is the first heaviest one of its text."""
        order = np.lexsort((-points, self.owners))
        first = np.r_[True, self.owners[order][1:] != self.owners[order][:-1]]
        chosen = np.zeros(len(points), dtype=bool)
        chosen[order[first]] = True
        return chosen
