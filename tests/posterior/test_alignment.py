"""Alignment undoes permutations and flips of directions."""

from itertools import permutations, product

import numpy as np
import pytest

from structbo.posterior import aligned

RNG = np.random.default_rng(0)


def test_permuted_and_flipped_columns_come_back():
    W = RNG.normal(size=(2, 7, 6, 4))
    reference = W[0, 0]
    noisy = reference + 0.01 * W
    orders = RNG.permuted(np.tile(np.arange(4), (2, 7, 1)), axis=-1)
    signs = RNG.choice([-1.0, 1.0], (2, 7, 1, 4))
    shuffled = np.take_along_axis(noisy, orders[:, :, None], axis=-1) * signs
    np.testing.assert_allclose(aligned(shuffled, reference), noisy)


def test_no_other_order_or_signs_are_closer_in_angle():
    W, reference = RNG.normal(size=(2, 5, 3))
    reference /= np.linalg.norm(reference, axis=0)

    def agreement(W):
        return sum(w @ r / np.linalg.norm(w) for w, r in zip(W.T, reference.T, strict=True))

    options = [
        agreement(W[:, order] * signs)
        for order, signs in product(permutations(range(3)), product([-1, 1], repeat=3))
    ]
    np.testing.assert_allclose(agreement(aligned(W, reference)), max(options))


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"got shape \(3, 2\)"):
        aligned(np.ones((4, 3, 3)), np.ones((3, 2)))
