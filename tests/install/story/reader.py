"""Program "reader_python": from the installed wheel; reads the whole array of every step."""

import numpy as np

import couplet

rows, columns = np.mgrid[0:4, 0:6]
steps = []
with couplet.join("reader_python") as universe:
    eta = universe.open_series("eta")
    for batch in eta.batches(up_to=8):
        for step, data in zip(batch.steps, batch.data, strict=True):
            assert np.array_equal(data, 100 * step + 10 * rows + columns), step
            steps.append(int(step))
assert steps == list(range(1, 21)), steps
print(f"reader_python: {len(steps)} steps from {couplet.__file__}")
