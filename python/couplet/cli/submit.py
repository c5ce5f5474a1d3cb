"""``couplet run --submit``: writes a batch script for Slurm, and submits it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

from couplet.cli.configuration import Configuration, Program
from couplet.cli.slurm import SlurmError, only_options, size_words, slurm_programs, split_options

# If each program gets a job of its own, couplet run must not start the programs in the job in which it runs itself.
_FORGET_JOB = """\
# Each program gets a job of its own, so `couplet run` must not start the programs in this job.
for name in "${!SLURM_@}"; do
  [ "$name" = SLURM_CONF ] || unset "$name"
done
"""
# The options for the account, the queue and the time limit: the job for couplet run has those of the first program.
_QUEUE_OPTIONS = {
    *("-A", "--account", "-p", "--partition", "-q", "--qos", "-t", "--time", "--reservation", "-M", "--clusters"),
    "--wckey",
}
# Categories of Unicode: control characters, line and paragraph separators, bytes that are not UTF-8.
_NOT_IN_A_LINE = ("Cc", "Zl", "Zp", "Cs")


def _couplet() -> str:
    """Returns the command of this installation."""
    beside = Path(sys.executable).parent / "couplet"
    found = str(beside) if beside.is_file() else shutil.which("couplet")
    if found is None:
        raise SlurmError("the command couplet is not on PATH, so that a batch script could not start it")
    return found


def _one_line(text: str, what: str) -> str:
    """Returns ``text``. Raises SlurmError if a line of a batch script cannot hold it: its rest would be a command."""
    if any(unicodedata.category(character) in _NOT_IN_A_LINE for character in text):
        raise SlurmError(
            f"{what} is {text!r}, with a character that a line of a batch script cannot hold (a line break, another "
            "control character, or a byte that is not UTF-8); choose a text without it"
        )
    return text


def _directives(words: list[str]) -> list[str]:
    return [f"#SBATCH {word}" for word in words]


def _joined(options: list[str]) -> list[str]:
    """Returns one text for each option, with its value."""
    lines: list[str] = []
    for word in options:
        quoted = word if word.isascii() and not set(word) & set(" '\"\\#") else shlex.quote(word)
        if word.startswith("-") or not lines:
            lines.append(quoted)
        else:
            lines[-1] += f" {quoted}"
    return lines


def _component(program: Program) -> list[str]:
    for word in program.launcher_options:
        _one_line(word, f'launcher_options of program "{program.name}": an option')
    allocation, _ = split_options(program.launcher_options)
    return [f"# {program.name}", *_directives([*size_words(program), *_joined(allocation)])]


def script(configuration: Configuration, separate_jobs: bool) -> str:
    """Returns the batch script.

    Raises SlurmError if no program runs on Slurm, or if a name or an option has a control character.

    It is one heterogeneous job with a component for each program; or, with ``separate_jobs``, a job for ``couplet
    run`` alone, which gets a job for each program.
    """
    programs = slurm_programs(configuration)
    if not programs:
        raise SlurmError(
            f'{configuration.path}: no program has launcher = "slurm", so there is nothing for which a job could be '
            "submitted; start it with couplet run alone"
        )
    file, couplet = configuration.path.resolve(), _couplet()
    _one_line(str(file), "the path of the file")
    _one_line(configuration.name, "the name of the universe")
    _one_line(couplet, "the path of the command couplet")
    common = [f"--job-name={configuration.name}", f"--chdir={file.parent}", "--output=couplet-%j.log"]
    lines = ["#!/bin/bash", f"# Written by `couplet run --submit` for {file}.", *_directives(_joined(common))]
    if separate_jobs:
        for word in programs[0].launcher_options:
            _one_line(word, f'launcher_options of program "{programs[0].name}": an option')
        lines += _directives(["--ntasks=1", *_joined(only_options(programs[0].launcher_options, _QUEUE_OPTIONS))])
        lines += ["", *_FORGET_JOB.splitlines()]
    else:
        for index, program in enumerate(programs):
            lines += ["#SBATCH hetjob"] if index else []
            lines += _component(program)
        lines += [""]
    lines += [f"exec {shlex.quote(couplet)} run --plain {shlex.quote(str(file))}"]
    return "\n".join(lines) + "\n"


def submit(text: str, directory: Path) -> str:
    """Submits the script, and returns the number of the job. Raises SlurmError with sbatch's text if it refuses."""
    sbatch = shutil.which("sbatch")
    if sbatch is None:
        raise SlurmError("sbatch is not installed here; couplet run --submit --print shows the script")
    done = subprocess.run(
        [sbatch, "--parsable"], input=text, cwd=directory, capture_output=True, text=True, errors="replace",
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        hint = ""
        if "#SBATCH hetjob" in text:
            hint = "\nIf this Slurm has no heterogeneous jobs, add --separate-jobs: then each program gets its own job."
        raise SlurmError(f"sbatch has refused the job: {said}{hint}")
    job = done.stdout.strip().split(";")[0]
    if not job.isdigit():
        raise SlurmError(f"sbatch has not said the number of the job, but {done.stdout.strip()!r}; see squeue")
    return job
