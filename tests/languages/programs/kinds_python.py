"""Every element type in Python, series and messages, in one process; see test_kinds.py."""

import array

import numpy as np

import couplet

NUMBERS = (
    [f"int{bits}" for bits in (8, 16, 32, 64)]
    + [f"uint{bits}" for bits in (8, 16, 32, 64)]
    + ["float32", "float64", "complex64", "complex128"]
)


def try_type(universe: couplet.Universe, name: str) -> None:
    values = np.arange(1, 25).reshape(4, 3, 2).astype(name)
    writer = universe.create_series(name, values.shape, name, slots=4)
    reader = universe.open_series(name, box=[(1, 3), slice(0, 3), (1, 2)])
    writer.put(values, 7)
    writer.put(np.asfortranarray(values), 8)  # another layout costs a copy, and has no other effect
    with writer.claim(9) as slot:
        slot[...] = values
    assert not slot.flags.writeable
    out = np.zeros((4, 2, 3, 1), name)
    batch = reader.read(at_least=3, out=out)
    assert batch.steps.tolist() == [7, 8, 9] and batch.data.base is out and batch.data.dtype == name
    np.testing.assert_array_equal(batch.data, np.stack([values[1:3, :, 1:2]] * 3))
    info = reader.describe()
    assert info.dtype == name and info.shape == (4, 3, 2) and info.box == ((1, 3), (0, 3), (1, 2))
    writer.close()
    assert reader.read().ended

    received = np.zeros_like(values)
    request = universe.group.Irecv(received, 0, 3)
    universe.group.Send(values, 0, 3)
    assert request.wait().count == 24
    np.testing.assert_array_equal(received, values)


def try_buffers(group: couplet.Group) -> None:
    """Uses anything with a buffer, and pickled objects, of which no receive takes another's part."""
    room = bytearray(6)
    request = group.Irecv(room, 0, 1)
    group.Send(b"couple", 0, 1)
    request.wait()
    assert room == b"couple"
    doubles = array.array("d", [0, 0])
    request = group.Irecv(doubles, 0, 1)
    group.Send(array.array("d", [1.5, 2.5]), 0, 1)
    request.wait()
    assert doubles.tolist() == [1.5, 2.5]
    values = [{"step": 3}, list(range(10_000)), "short", np.arange(5000)]
    sends = [group.isend(value, 0, 5) for value in values]
    receives = [group.irecv(0, 5) for _ in values]
    last, third, second, first = (request.wait(30) for request in reversed(receives))
    assert first == values[0] and second == values[1] and third == "short" and (last == values[3]).all()
    couplet.waitall(sends, 30)


with couplet.join("solo") as universe:
    for name in NUMBERS:
        try_type(universe, name)
    try_buffers(universe.group)
print("python: all types")
