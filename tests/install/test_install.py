"""What is installed works without this checkout: C by find_package and by pkg-config, Fortran, Python from a wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from launching import mpi_environment
from needs import built, compiler
from waitio import free_port

PROJECT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("COUPLET_BUILD_DIR", PROJECT / "build" / "release"))
STORY = Path(__file__).resolve().parent / "story"
COUPLED = """
[[program]]
name = "writer"
command = ["{bin}/writer"]
[[program]]
name = "reader_c"
command = ["{bin}/reader_c"]
[[program]]
name = "reader_fortran"
command = ["{bin}/reader_fortran"]
[[program]]
name = "reader_python"
command = ["{python}", "{bin}/reader.py"]
"""


def run(command: list[str | Path], **options: object) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=240, check=False, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a fresh prefix, and moves it after the installation, so that no path of it can be built in."""
    first = tmp_path_factory.mktemp("install") / "first"
    run(["cmake", "--install", BUILD, "--prefix", first])
    return first.rename(first.parent / "moved")


@pytest.fixture(scope="module")
def story(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of the programs, built as a user builds them."""
    folder = tmp_path_factory.mktemp("story")
    command = ["cmake", "-S", STORY, "-B", folder, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", "-Werror=dev"]
    run(command)
    run(["cmake", "--build", folder])
    pkg_config = {**os.environ, "PKG_CONFIG_PATH": str(next(prefix.glob("lib*/**/pkgconfig")))}
    flags = run(["pkg-config", "--cflags", "--libs", "couplet"], env=pkg_config).split()
    library = run(["pkg-config", "--variable=libdir", "couplet"], env=pkg_config).strip()
    run(["gcc", "-std=c11", STORY / "reader.c", "-o", folder / "reader_c", *flags, f"-Wl,-rpath,{library}"])
    shutil.copy(STORY / "reader.py", folder)
    return folder


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a fresh virtual environment with the wheel. It borrows what the package depends on."""
    folder = tmp_path_factory.mktemp("wheel")
    offline = ["--no-build-isolation", "--no-deps", "--no-index", "--config-settings=build-dir=build/python"]
    run([sys.executable, "-m", "pip", "wheel", "--quiet", *offline, "--wheel-dir", folder, "."], cwd=PROJECT)
    run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"])
    python = folder / "venv" / "bin" / "python"
    wheel = next(folder.glob("couplet-*.whl"))
    run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel])
    borrowed = Path(run([sys.executable, "-c", "import numpy; print(numpy.__file__)"]).strip()).parent.parent
    site = Path(run([python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"]).strip())
    (site / "borrowed.pth").write_text(f"{borrowed}\n")
    return python


def test_four_languages_tell_one_story(story: Path, python: Path, tmp_path: Path) -> None:
    (tmp_path / "coupled.toml").write_text(COUPLED.format(bin=story, python=python))
    output = run([python.parent / "couplet", "run", "coupled.toml"], cwd=tmp_path)
    for program in ("writer", "reader_c", "reader_fortran", "reader_python"):
        assert f"{program}: 20 steps" in output
    assert str(python.parent.parent) in output  # the package is that of the wheel


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_clients_of_cotocoa(prefix: Path, python: Path, tmp_path: Path, flavour: str) -> None:
    """They are built with pkg-config and the MPI's wrappers. The worker in Python comes from the wheel."""
    compiler("fortran", flavour)
    search = {**os.environ, "PKG_CONFIG_PATH": str(next(prefix.glob("lib*/**/pkgconfig")))}
    flags = run(["pkg-config", "--cflags", "--libs", f"couplet-cotocoa-{flavour}"], env=search).split()
    for wrapper, source, libraries in (
        ("mpifort", "plate.f90", ["-lctca_f", "-lctca_mod"]),
        ("mpicc", "control.c", []),
        ("mpicc", "look.c", []),
    ):
        program = tmp_path / Path(source).stem
        run([f"{wrapper}.{flavour}", PROJECT / "examples" / "cotocoa" / source, "-o", program, *flags, *libraries])
    command: list[str | Path] = [
        f"mpiexec.{flavour}",
        "-n",
        "2",
        tmp_path / "plate",
        ":",
        "-n",
        "1",
        tmp_path / "control",
    ]
    command += [":", "-n", "1", tmp_path / "look", ":", "-n", "2", python, PROJECT / "examples" / "cotocoa" / "look.py"]
    output = run(command, env={**os.environ, **mpi_environment(flavour), "COUPLET_RUN_DIR": str(tmp_path)})
    assert output.count("  0.924  1.848  2.772  3.697  4.621  5.545\n") == 2


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_clients_of_waitio(prefix: Path, tmp_path: Path, flavour: str) -> None:
    """They are built with pkg-config and the MPI's wrappers: the module, both names of the include file, and C."""
    compiler("fortran", flavour)
    search = {**os.environ, "PKG_CONFIG_PATH": str(next(prefix.glob("lib*/**/pkgconfig")))}
    flags = run(["pkg-config", "--cflags", "--libs", f"couplet-waitio-{flavour}"], env=search).split()
    programs = PROJECT / "tests" / "compat" / "waitio" / "programs"
    block = {"WAITIO_MASTER_HOST": "127.0.0.1", "WAITIO_NPB": "1", "WAITIO_PBID": "0"}
    for wrapper, source, libraries in (
        ("mpifort", "module.f90", ["-lwaitio_mpif90"]),
        ("mpifort", "talk.f", []),
        ("mpifort", "second.f90", []),
        ("mpicc", "convert.c", []),
    ):
        program = tmp_path / Path(source).stem
        run([f"{wrapper}.{flavour}", programs / source, "-o", program, *flags, *libraries], cwd=tmp_path)
        own = block | {"WAITIO_MASTER_PORT": str(free_port()), "COUPLET_RUN_DIR": str(tmp_path)}
        output = run([f"mpiexec.{flavour}", "-n", "2", program], env={**os.environ, **mpi_environment(flavour), **own})
        assert output.count(" 0 wrong\n") == 2
    usage = run([prefix / "bin" / "waitio-serv", "-h"])
    assert usage.startswith("usage: waitio-serv -d -m HOST")


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_each_mpi_gets_its_own_library(story: Path, flavour: str) -> None:
    program = built(story / f"versions_{flavour}", "c", flavour)
    output = run([f"mpiexec.{flavour}", "-n", "1", program])
    assert {"openmpi": "Open MPI", "mpich": "MPICH"}[flavour] in output
