"""The viewer: a program of its own that takes part in the solver's rounds, receives its frames, and steers it.

usage: viewer.py [--commands ROUND:INFLOW:ANGLE,...] [--output FOLDER] [--live]

While it runs, it also takes commands from the file FOLDER/steer: write "INFLOW ANGLE" into it. With --live, the newest
frame is FOLDER/live.png. If the solver dies, the viewer waits until it has been started again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import picture
from numpy.typing import NDArray

import couplet

GREETING_TAG = 12
DELAY = 16  # rounds between a command and its effect


class Greeting(NamedTuple):
    """What the solver says when it begins."""

    first_round: int
    rounds: int
    repartition_at: int
    width: int
    height: int
    frame_every: int
    check_every: int
    merge_waits: int
    merge_messages: int


class Command(NamedTuple):
    """A change of the inflow and of the viewpoint, from a round on."""

    round: int
    inflow: float
    angle: float


def read_commands(text: str) -> list[Command]:
    commands = []
    for word in filter(None, text.split(",")):
        number, inflow, angle = word.split(":")
        commands.append(Command(int(number), float(inflow), float(angle)))
    return commands


class Frames(couplet.Client):
    """Receives the frames of rank 0 of the solver."""

    def __init__(self, manager: couplet.StepManager, greeting: Greeting, take: Callable[[picture.Frame], None]) -> None:
        self.shape = greeting.height, greeting.width
        self.words = np.zeros(2 + 2 * greeting.height * greeting.width, np.int64)
        self.manager, self.take = manager, take
        self.request = manager.receive(manager.add("frames", self), self.words, peer=0, title="frame", optional=True)

    def use(self, moment: couplet.Moment) -> None:
        if self.manager.length(self.request) > 0:
            self.take(picture.read(self.words, self.shape))


class Viewer:
    """Lives as long as the solver has rounds, and longer than a solver that dies."""

    def __init__(self, universe: couplet.Universe, options: argparse.Namespace) -> None:
        self.universe, self.options = universe, options
        self.solver = universe.find_rank("solver", 0)
        self.commands = read_commands(options.commands)
        self.taken: list[Command] = []
        self.lives: list[int] = []  # the round with which each began
        self.frames: dict[int, picture.Frame] = {}
        self.seconds = 0.0
        self.first_round = 0
        self.steered = self.steer_file.read_text() if self.steer_file.exists() else ""

    @property
    def steer_file(self) -> Path:
        return Path(self.options.output) / "steer"

    def await_greeting(self) -> Greeting:
        """Waits for the solver, which may be dead and not started again yet."""
        words = np.zeros(len(Greeting._fields), np.int64)
        while True:
            try:
                self.universe.group.Recv(words, self.solver, GREETING_TAG)
                return Greeting(*(int(word) for word in words))
            except couplet.PeerLostError:
                time.sleep(0.05)

    def next_command(self, number: int) -> NDArray[np.float64] | None:
        """Returns a command that is to be given in this round: one that was planned, or one from the file."""
        now = self.first_round + number
        for command in self.commands:
            if self.first_round < command.round <= now + DELAY:
                self.commands.remove(command)
                return np.array(command)
        if now % 8 == 0 and self.steer_file.exists():
            text = self.steer_file.read_text()
            if text != self.steered and len(text.split()) == 2:
                self.steered = text
                inflow, angle = map(float, text.split())
                return np.array(Command(now + DELAY, inflow, angle))
        return None

    def take_command(self, _: int, value: NDArray[np.float64]) -> None:
        command = Command(int(value[0]), float(value[1]), float(value[2]))
        self.taken.append(command)
        print(f"from round {command.round} on: inflow {command.inflow}, viewpoint {command.angle} degrees", flush=True)

    def take_frame(self, frame: picture.Frame) -> None:
        """Shows a frame. Its pixels are kept, and become files when the rounds are over."""
        self.frames[frame.round] = frame
        if self.options.live:
            picture.write(Path(self.options.output) / "live.png", picture.paint(frame))

    def register(self, manager: couplet.StepManager, greeting: Greeting) -> None:
        """Registers what the solver has registered, in the same order. This rank has nothing to reduce."""
        pixels = greeting.width * greeting.height

        def silent(*_: object) -> None:
            return None

        for name, operation in (("projected speed", "sum"), ("wall shear", "max")):
            manager.add_reduction(
                name, operation, silent, silent, count=pixels, dtype=np.int64, every=greeting.frame_every
            )
        self.receiver = Frames(manager, greeting, self.take_frame)
        for name, operation, count in (("sums", "sum", 3), ("largest", "max", 4)):
            manager.add_reduction(
                name, operation, silent, silent, count=count, dtype=np.int64, to_all=True, every=greeting.check_every
            )
        manager.add_broadcast(
            "commands", self.next_command, self.take_command, capacity=3, root=self.universe.group.rank
        )

    def follow(self, greeting: Greeting) -> None:
        """Takes part in the rounds of one life of the solver."""
        self.lives.append(greeting.first_round)
        self.first_round = greeting.first_round
        # What was commanded for a later round is lost if the state of the solver does not have it.
        self.commands = sorted({*self.commands, *(each for each in self.taken if each.round > greeting.first_round)})
        if len(self.lives) > 1:
            print(f"life {len(self.lives)} of the solver begins with round {greeting.first_round}", flush=True)
        manager = self.universe.group.create_step_manager(
            "blood flow", merge_waits=bool(greeting.merge_waits), merge_messages=bool(greeting.merge_messages)
        )
        try:
            self.register(manager, greeting)
            manager.freeze()
            start = time.monotonic()
            try:
                self.run(manager, greeting)
            finally:
                self.seconds += time.monotonic() - start
        finally:
            manager.close()

    def run(self, manager: couplet.StepManager, greeting: Greeting) -> None:
        divided = greeting.repartition_at
        is_divided = divided > 0 and divided >= greeting.first_round
        for now in range(greeting.first_round, greeting.rounds):
            if is_divided and now in (divided, divided + 1):
                manager.amend(now - greeting.first_round)
            manager.round()

    def watch(self) -> None:
        while True:
            greeting = self.await_greeting()
            try:
                self.follow(greeting)
                return
            except couplet.PeerLostError as lost:
                print(f"the solver is lost: {lost}", flush=True)

    def finish(self) -> None:
        folder = Path(self.options.output)
        for number, frame in sorted(self.frames.items()):
            picture.write(folder / f"frame-{number:06}.png", picture.paint(frame))
        rate = len(self.frames) / self.seconds
        record = {"frames": len(self.frames), "seconds": self.seconds, "lives": self.lives, "commands": self.taken}
        (folder / "viewer.json").write_text(json.dumps(record) + "\n")
        np.savez_compressed(
            folder / "frames.npz",
            rounds=sorted(self.frames),
            angles=[self.frames[number].angle for number in sorted(self.frames)],
            speed=np.array([self.frames[number].speed for number in sorted(self.frames)]),
            wall=np.array([self.frames[number].wall for number in sorted(self.frames)]),
        )
        print(f"{len(self.frames)} frames, {rate:.1f} a second", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Shows the blood flow, and steers it.")
    parser.add_argument("--commands", default="", help="ROUND:INFLOW:ANGLE,...")
    parser.add_argument("--output", default="output")
    parser.add_argument("--live", action="store_true", help="write live.png with each frame")
    options = parser.parse_args()
    Path(options.output).mkdir(parents=True, exist_ok=True)
    with couplet.join("viewer") as universe:
        viewer = Viewer(universe, options)
        viewer.watch()
        universe.leave()
    viewer.finish()


if __name__ == "__main__":
    main()
