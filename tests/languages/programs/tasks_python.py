"""Tasks and areas in Python; see test_tasks.py and tasks_c.c. Usage: tasks_python.py requester|coupler|worker"""

from __future__ import annotations

import sys

import numpy as np
import pytest

import couplet

REQUESTS = 12


def request(universe: couplet.Universe) -> None:
    memory = np.arange(36, dtype=np.float64).reshape(3, 12)
    memory[2] -= 6
    with universe.expose_area("field", memory, stamped=True) as area:
        assert area.info.route == "own"
        assert area.info.shape == (3, 12)
        assert area.memory is not None
        with pytest.raises(couplet.ExistsError, match="field"):
            universe.create_area("field", (3, 12))
        with universe.requester("analysis") as tasks:
            with pytest.raises(couplet.NotFoundError, match="nobody"):
                universe.requester("other", couplers="nobody")
            handles = []
            for n in range(REQUESTS):
                parameters = [n, 2 * n, 0] if n == 11 else [n, 2 * n]
                handles.append(tasks.submit(40, parameters, np.array([n, n + 1, n + 2], np.float64), timeout=100))
            wrong = {
                3: (couplet.UnsupportedError, "three is too much"),
                5: (couplet.LimitError, "five is refused"),
                11: (couplet.ArgumentError, "3 parameters"),
            }
            for _ in range(REQUESTS):
                index, error = couplet.waitany_task(handles, 30)
                kind, words = wrong.get(index, (type(None), ""))
                assert isinstance(error, kind)
                assert words in str(error or "")
            assert couplet.waitany_task(handles) == (-1, None)
            area.begin(30)
            expected = [n + (0 if n in (3, 5, 9, 11) else 70) for n in range(REQUESTS)]
            assert memory[0].tolist() == expected
            assert area.memory[0].tolist() == expected
            area.end()


def couple(universe: couplet.Universe) -> None:
    with universe.coupler("analysis", workers="worker") as tasks:
        taken = 0
        for work in tasks:
            assert (work.source, work.worker, work.parameters[0]) == (0, 40, taken)
            assert work.payload is not None
            assert work.payload.dtype == np.float64
            assert len(work.payload) == 3
            if taken == 5:
                work.complete(couplet.LimitError("five is refused"))
            elif taken == 7:
                work.dispatch(40, [7, 14], np.array([7.0, 8.0, 9.0]))
            elif taken == 9:
                work.complete()
            else:
                work.dispatch()
            taken += 1
        assert taken == REQUESTS


def do_task(area: couplet.Area, work: couplet.Work) -> None:
    n = work.parameters[0]
    assert work.parameters == (n, 2 * n)
    assert work.payload is not None
    assert work.payload.tolist() == [n, n + 1, n + 2]
    total = area.read([(1, 3), (2, 4)], timeout=100).sum() + n
    assert area.write_elements(np.array([total]), n, timeout=100) >= 1


def work(universe: couplet.Universe) -> None:
    with universe.worker("analysis", worker_id=40) as tasks:
        with pytest.raises(couplet.NotFoundError, match="'field'"):
            universe.open_area("fields", 0, timeout=0.2)
        area = universe.open_area("field", 0, timeout=100)
        with pytest.raises(couplet.ShapeError, match="36"):
            area.read_elements(36, 1)
        done = refused = 0
        while True:
            try:
                task = tasks.next(2, 3, np.float64, timeout=100)
            except couplet.ArgumentError:
                refused += 1
                continue
            if task is None:
                break
            done += 1
            if task.parameters[0] == 3:
                task.complete(couplet.UnsupportedError("three is too much"))
                continue
            do_task(area, task)
            task.complete()
        assert (done, refused) == (REQUESTS - 3, 1)
        area.close()


def main() -> None:
    role = sys.argv[1]
    with couplet.join(role) as universe:
        {"requester": request, "coupler": couple, "worker": work}[role](universe)
    print(f"python {role}: done")


main()
