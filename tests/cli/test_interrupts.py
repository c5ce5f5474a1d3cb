"""Signals that end a command: what it has started and made is cleaned up first."""

from __future__ import annotations

import os
import signal

import pytest

from couplet.cli.interrupts import ENDING, orderly_end, uninterrupted


@pytest.mark.parametrize("number", ENDING)
def test_the_first_signal_ends_the_block_and_the_next_ones_do_not_disturb_it(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    cleaned = []
    with pytest.raises(SystemExit) as ended, orderly_end():
        try:
            os.kill(os.getpid(), number)
        finally:
            os.kill(os.getpid(), number)
            cleaned.append(number)
    assert ended.value.code == 128 + number
    assert cleaned == [number] and signal.getsignal(number) == before


def test_a_signal_waits_for_a_process_that_is_being_started() -> None:
    started = []
    with pytest.raises(SystemExit) as ended, orderly_end():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            started.append("process")
        started.append("too much")
    assert ended.value.code == 143
    assert started == ["process"]
    with orderly_end(), uninterrupted():
        started.append("again")
    assert started == ["process", "again"]


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with orderly_end():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
