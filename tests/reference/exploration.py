"""The paper's policy and value, one state at a time: sort by ℓ, then a stack of vertices."""

from itertools import pairwise

import numpy as np


def solve(q, ell, kappa):
    """(π*, v*) of one row, in 64 bits. Equal actions share; ties in ℓ keep the larger q."""
    q, ell = np.asarray(q, np.float64), np.asarray(ell, np.float64)
    vertices = [(0.0, 0.0)]  # (ℓ, ℓ·q), beginning at the origin
    for a in np.lexsort((-q, ell)):
        x, y = ell[a], ell[a] * q[a]
        if x == vertices[-1][0]:
            continue
        while len(vertices) > 1 and _slope(vertices[-2], vertices[-1]) <= _slope(
            vertices[-1], (x, y)
        ):
            vertices.pop()
        vertices.append((x, y))

    slopes = np.array([_slope(i, k) for i, k in pairwise(vertices)])
    widths = np.diff([x for x, _ in vertices])
    p = np.append(np.exp((slopes - slopes[0]) / kappa), 0.0)
    normaliser = np.sum(widths * p[:-1])
    policy = np.zeros(len(q))
    for j, (x, y) in enumerate(vertices[1:]):
        same = (ell == x) & (ell * q == y)
        policy[same] = x * (p[j] - p[j + 1]) / normaliser / same.sum()
    return policy, slopes[0] + kappa * np.log(normaliser / vertices[-1][0])


def _slope(i, k):
    return (k[1] - i[1]) / (k[0] - i[0])
