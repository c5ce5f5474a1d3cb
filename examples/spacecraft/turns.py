"""A worker: finds the direction in which a front passed the spacecraft, from the past steps (minimum variance)."""

import numpy as np

import couplet

WORKER = 1
SPACING = 0.2


def normal_of(potential: np.ndarray) -> tuple[float, float, float]:
    """Returns the direction in which the field varied least, and the ratio of the variances; (steps, 3 rows, 3
    columns).
    """
    bx = (potential[:, 2, 1] - potential[:, 0, 1]) / (2 * SPACING)
    by = -(potential[:, 1, 2] - potential[:, 1, 0]) / (2 * SPACING)
    variances, directions = np.linalg.eigh(np.cov(bx, by))
    x, y = directions[:, 0]
    sign = 1 if x > 0 else -1
    return sign * x, sign * y, variances[1] / variances[0]


with couplet.join("turns") as universe, universe.worker("spacecraft", worker_id=WORKER) as tasks:
    for work in tasks:
        kind, event, first, count, column, row = work.parameters
        box = [(row - 1, row + 2), (column - 1, column + 2)]
        # It holds, so nothing is overwritten while it is read.
        with universe.open_series("potential", box=box, start=first) as potential:
            batch = potential.read(at_least=count, up_to=count)
            assert list(batch.steps) == list(range(first, first + count)), batch.steps
            normal = normal_of(np.array(batch.data))
        with universe.open_series(
            "potential", start=first + count - 1
        ) as potential:  # the whole plane, for the picture
            np.savez("output/plane.npz", step=first + count - 1, potential=potential.read().data[0])
        with universe.open_area("turns", work.source) as area:
            area.write_elements(np.array(normal), 3 * event)
        work.complete()
