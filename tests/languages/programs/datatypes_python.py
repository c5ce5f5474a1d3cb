"""Arrays with gaps in Python; see test_datatypes.py. Usage: datatypes_python.py sender|receiver"""

import sys

import numpy as np

import couplet

PARTICLE = np.dtype([("x", "f8"), ("kind", "i4")])  # without gaps, as it travels


def send_all(group: couplet.Group) -> None:
    field = (10 * np.arange(6)[:, None] + np.arange(5)).astype(np.float64)
    group.Send(field[:, 2], 1, 1)
    group.Send(field[2:5, 1:3], 1, 2)
    group.Send(field[:, :2].T, 1, 3)
    group.Send(field.ravel()[[3, 4, 0]], 1, 4)
    group.Send(np.array([(index + 0.5, index) for index in range(3)], PARTICLE).view(np.uint8), 1, 5)
    large = 1000.0 * np.arange(1000)[:, None] + np.arange(300)
    group.Isend(large[:, 50:150], 1, 6).wait()
    group.Send(field[:, :2].T, 1, 7)
    group.Send(field[:, :3].T, 1, 8)


def receive_all(group: couplet.Group) -> None:
    field = np.zeros((6, 5))
    message = group.Recv(field[:, 1], 0, 1)
    assert (message.count, message.bytes) == (6, 48)
    expected = np.zeros((6, 5))
    expected[:, 1] = 10 * np.arange(6) + 2
    assert np.array_equal(field, expected)
    dense = np.zeros(12)
    assert group.Recv(dense, 0, 2).count == 6
    assert dense[:6].tolist() == [21, 22, 31, 32, 41, 42]
    backwards = np.zeros((2, 12))[:, ::-2]  # strides of 96 and -16 bytes
    request = group.Irecv(backwards, 0, 3)
    index, message = couplet.waitany([request])
    assert (index, message.count, message.bytes) == (0, 12, 96)
    assert backwards.tolist() == [[0, 10, 20, 30, 40, 50], [1, 11, 21, 31, 41, 51]]
    assert group.Recv(dense, 0, 4).count == 3
    assert dense[:3].tolist() == [3, 4, 0]
    particles = np.zeros(4, PARTICLE)
    assert group.Recv(particles.view(np.uint8), 0, 5).bytes == 36
    assert particles[:3].tolist() == [(0.5, 0), (1.5, 1), (2.5, 2)]
    large = np.zeros((1000, 300))
    group.Irecv(large[:, 150:250], 0, 6).wait()
    expected = np.zeros((1000, 300))
    expected[:, 150:250] = 1000.0 * np.arange(1000)[:, None] + np.arange(50, 150)
    assert np.array_equal(large, expected)
    assert group.Recv(field[:, :3].T, 0, 7).count == 12
    try:
        group.Recv(field[:, :2].T, 0, 8)
    except couplet.TruncatedError as error:
        assert "144 bytes" in str(error)
    else:
        raise AssertionError("three columns do not fit")


def main() -> None:
    program = sys.argv[1]
    with couplet.join(program) as universe:
        (send_all if program == "sender" else receive_all)(universe.group)
    print(f"python {program}: all items")


main()
