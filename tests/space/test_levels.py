"""Legal coordinates."""

import numpy as np

from structbo.space import Levels


def test_even_points_have_every_level_equally_often():
    levels = Levels.of([np.array([0.0, 0.2, 1.0]), None, np.array([0.0, 1.0])])
    uniform = (np.arange(60)[:, None] + 0.5) / 60 * np.ones(3)
    even = np.asarray(levels.even(uniform))
    assert np.unique(even[:, 0], return_counts=True)[1].tolist() == [20, 20, 20]
    assert np.unique(even[:, 2], return_counts=True)[1].tolist() == [30, 30]
    assert np.array_equal(even[:, 1], uniform[:, 1])
