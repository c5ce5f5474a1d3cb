"""Runs the hub as a child process, and reads the events that it writes."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from couplet.cli.configuration import Configuration
from couplet.cli.installation import executable


class HubError(Exception):
    """The hub could not be started."""


LISTEN = "127.0.0.1:0"  # only this host, at a free port
MAX_RESTARTS = 20  # restarts of the hub in one run


class Hub:
    """Hosts the hub of one run: a secret of its own, a free port, and its events. If the hub dies, it is started
    again. ``listen`` is used if the configuration has no address.
    """

    def __init__(self, configuration: Configuration, scratch: Path, listen: str | None = None) -> None:
        self._events = scratch / "events.jsonl"
        self._position = 0
        secret = scratch / "secret"
        descriptor = os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
        settings = scratch / "settings.json"
        settings.write_text(json.dumps(configuration.hub_settings()))
        command = [str(executable("couplet-hub")), "--programs", configuration.hub_programs()]
        address = configuration.listen or listen or LISTEN
        command += ["--listen", address, "--secret-file", str(secret), "--config", str(settings)]
        command += ["--events", str(self._events), "--name", configuration.name]
        if configuration.linger_s is not None:
            command += ["--linger", str(configuration.linger_s)]
        if configuration.encrypt:
            command.append("--encrypt")
        if configuration.authenticate:
            command.append("--authenticate")
        self._log = (scratch / "hub.log").open("w+")
        self._command = command
        self._restarts = 0
        self.process = self._start(command)
        self.environment = {
            **self._announced(),
            "COUPLET_SECRET_FILE": str(secret),
            "COUPLET_JOIN_TIMEOUT": str(configuration.timeout_s),
        }
        if configuration.links:
            self.environment["COUPLET_LINKS"] = ",".join(configuration.links)
        if configuration.interface:
            self.environment["COUPLET_INTERFACE"] = configuration.interface
        if configuration.ports:
            self.environment["COUPLET_PORTS"] = configuration.ports

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, start_new_session=True, bufsize=0)

    def _announced(self, timeout_s: float = 10.0) -> dict[str, str]:
        """Returns the hub's address and its run, which it prints when it listens, as variables for the programs that
        join.
        """
        assert self.process.stdout is not None
        deadline = time.monotonic() + timeout_s
        said = b""
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self.process.stdout], [], [], 0.1)
            if ready:
                said += os.read(self.process.stdout.fileno(), 4096)
                lines = dict(line.split("=", 1) for line in said.decode().split("\n")[:-1] if "=" in line)
                if lines.keys() == {"COUPLET_HUB", "COUPLET_RUN"}:
                    return lines
            if self.process.poll() is not None:
                break
        self.stop()
        raise HubError(f"the hub did not start: {self.log() or 'it said nothing'}")

    def revive(self) -> str:
        """Starts the hub again if it was killed; the members then return to it. Returns a sentence about this, else
        "".
        """
        code = self.process.poll()
        if code is None or code >= 0 or self._restarts >= MAX_RESTARTS:
            return ""
        self._restarts += 1
        if self.process.stdout is not None:
            self.process.stdout.close()
        command = list(self._command)
        command[command.index("--listen") + 1] = self.environment["COUPLET_HUB"]
        self.process = self._start([*command, "--resume", self.environment["COUPLET_RUN"]])
        try:
            self._announced()
        except HubError as error:
            return f"the hub was ended by signal {-code}, and cannot be started again: {error}"
        return f"the hub was ended by signal {-code}; it was started again"

    def log(self) -> str:
        """Returns the hub's standard error."""
        self._log.flush()
        self._log.seek(0)
        return self._log.read().strip()

    def events(self) -> list[dict[str, Any]]:
        """Returns the events since the last call."""
        if not self._events.exists():
            return []
        with self._events.open() as file:
            file.seek(self._position)
            lines = file.readlines()
            if lines and not lines[-1].endswith("\n"):
                lines.pop()
            self._position += sum(len(line.encode()) for line in lines)
        found = []
        for line in lines:
            with contextlib.suppress(json.JSONDecodeError):  # a full disk may have taken only a part of a line
                found.append(json.loads(line))
        return found

    def wait(self, timeout_s: float) -> bool:
        """Says whether the hub finds within this time that the universe has ended."""
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> None:
        """Ends the hub, which tells the members."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
