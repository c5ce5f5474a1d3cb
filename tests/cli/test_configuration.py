"""coupled.toml: what is accepted, and every mistake with its line."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from couplet.cli import app
from couplet.cli.configuration import _KINDS, ConfigurationError, load

ROOT = Path(__file__).resolve().parents[2]
GOOD = """\
[universe]
name = "test"

[[program]]
name = "ocean"
command = ["true"]

[[program]]
name = "nowcast"
command = ["true", "x"]
ranks = 3
required = false

[series.eta]
required_readers = ["nowcast"]
slots = 4
steps = 10
"""


def write(path: Path, text: str) -> Path:
    file = path / "coupled.toml"
    file.write_text(text)
    return file


def test_good_file(tmp_path: Path) -> None:
    configuration = load(write(tmp_path, GOOD))
    assert configuration.hub_programs() == "ocean:1,nowcast:3?"
    assert configuration.hub_settings() == {"series": {"eta": {"slots": 4, "required_readers": ["nowcast"]}}}
    assert configuration.series[0].steps == 10


def test_settings_of_the_universe_and_of_a_series_reach_the_hub(tmp_path: Path) -> None:
    text = (
        GOOD
        + """holders = 70
window = 0
[settings]
relay = "in_calls"
spin_us = 0
hub.reset_patience_s = 1.5
"""
    )
    configuration = load(write(tmp_path, text))
    settings = configuration.hub_settings()
    assert settings["series"]["eta"]["holders"] == 70
    assert settings["relay"] == "in_calls" and settings["spin_us"] == 0
    assert settings["hub"] == {"reset_patience_s": 1.5}


def test_a_linger_of_zero_is_a_limit_and_none_is_not_there(tmp_path: Path) -> None:
    assert load(write(tmp_path, GOOD)).linger_s is None
    assert load(write(tmp_path, "[universe]\nlinger = 0\n" + GOOD.replace("[universe]", "", 1))).linger_s == 0
    assert load(write(tmp_path, GOOD + "linger_s = 7.5\n")).max_linger_s() == 7.5


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("ranks = 3", "rank = 3", 11, 'did you mean "ranks"'),
        ("ranks = 3", 'ranks = "3"', 11, "positive number"),
        ("ranks = 3", "ranks = true", 11, "positive number"),
        ("ranks = 3", "ranks = 0", 11, "at least 1"),
        ('["nowcast"]', '["nowcst"]', 15, 'did you mean "nowcast"'),
        ('command = ["true"]', "", 4, "needs a command"),
        ('command = ["true"]', 'command = ["./nothing"]', 6, "no file"),
        ('command = ["true"]', 'command = ["no-such-program"]', 6, "not on PATH"),
        ('name = "nowcast"', 'name = "ocean"', 9, "listed twice"),
        ("required = false", 'launcher = "openmp"', 12, 'did you mean "openmpi"'),
        ("required = false", 'directory = "nowhere"', 12, "no directory"),
        ("[universe]", "[univers]", 1, 'did you mean "universe"'),
        ("slots = 4", "slots = = 4", 16, "not TOML"),
        ("slots = 4", "slots = 4\n[settings]\nrelay = 3", 18, "auto"),
        ("slots = 4", "slots = 4\n[settings]\nhub.retrn_patience_s = 3", 17, 'did you mean "return_patience_s"'),
        ("slots = 4", "slots = 4\n[settings.hub]\nreset_patience_s = true", 18, "seconds"),
        ("slots = 4", "slots = 4\n[settings.series.ice]\nslots = 3", 17, "write [series.NAME]"),
    ],
)
def test_mistakes_have_lines_and_suggestions(tmp_path: Path, old: str, new: str, line: int, says: str) -> None:
    assert old in GOOD
    with pytest.raises(ConfigurationError) as caught:
        load(write(tmp_path, GOOD.replace(old, new, 1)))
    assert any(m.line == line and says in str(m) for m in caught.value.mistakes), caught.value.mistakes


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(write(tmp_path, GOOD.replace("ranks", "rnks").replace("slots", "slts")))
    assert len(caught.value.mistakes) == 2


def test_a_mistake_in_one_program_does_not_hide_those_of_the_next(tmp_path: Path) -> None:
    text = GOOD.replace('command = ["true"]', "").replace(
        '"nowcast"\ncommand', '"ocean"\nlauncher = "mpch"\ncommand', 1
    )
    with pytest.raises(ConfigurationError) as caught:
        load(write(tmp_path, text))
    said = str(caught.value)
    assert "needs a command" in said and 'line 9: program "ocean" is listed twice' in said
    assert 'line 10: no launcher "mpch" (did you mean "mpich"?)' in said


def test_a_file_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.toml: cannot read it: No such file"):
        load(tmp_path / "none.toml")


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="/dev/zero: it is a device; give a file"):
        load(Path("/dev/zero"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="is not text in UTF-8"):
        load(tmp_path / "bytes.toml")


def test_the_settings_of_exchanges_are_known(tmp_path: Path) -> None:
    good = GOOD + '[settings.exchange]\nmethod = "mapped"\nrecord = "/scratch/record"\n'
    settings = load(write(tmp_path, good)).hub_settings()
    assert settings["exchange"] == {"method": "mapped", "record": "/scratch/record"}
    bad = GOOD + '[settings.exchange]\nrecord = "here"\ncache = 3\nmethods = "mapped"\n'
    with pytest.raises(ConfigurationError) as caught:
        load(write(tmp_path, bad))
    said = str(caught.value)
    assert "record has to be the absolute path of a folder, not 'here'" in said
    assert '"cache" has to be the absolute path of a file, not 3' in said
    assert 'unknown key "methods" in [settings.exchange] (did you mean "method"?)' in said


@pytest.mark.parametrize(
    ("folder", "words", "says"),
    [
        ("record", ("--submit",), "in a batch job, set record in [settings.exchange] of "),
        ("coupled.toml", (), "--record-exchanges coupled.toml: is no folder"),
        ("no/where", (), "--record-exchanges no/where: cannot be made: there is no folder "),
        ("old", (), "--record-exchanges old: has records of another run; give each run a folder of its own"),
        ("", (), "--record-exchanges : names no folder"),
        ("n" * 300, (), "cannot be used: File name too long"),
        ("loop", (), "--record-exchanges loop: "),
        ("held", (), "--record-exchanges held: is used by another run just now; give each run a folder of its own"),
    ],
)
def test_a_folder_that_cannot_take_records_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, words: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, GOOD)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "exchanges.0.jsonl").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "held").mkdir()
    held = os.open(tmp_path / "held", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    result = CliRunner().invoke(app, ["run", "--plain", "--record-exchanges", folder, *words])
    assert result.exit_code == 2
    os.close(held)
    assert says in result.stderr


def test_page_lists_every_key() -> None:
    page = (ROOT / "docs/guide/command-line.md").read_text()
    listed = set(re.findall(r"^\|[^|]*\| `(\w+)` \|", page, re.MULTILINE))
    assert listed == {key for table in _KINDS.values() for key in table}


@pytest.mark.parametrize("links", ['"self,shm,tcp,file"', '["self", "shm", "tcp", "file"]'])
def test_links_and_lanes_reach_the_hub(tmp_path: Path, links: str) -> None:
    """The tables of docs/guide/links.md."""
    text = f"""{GOOD}
[settings]
links = {links}
hybrid = "tcp+file"
hybrid_threshold = "524288"
tcp_streams = 4
ucx_tls = "rc,posix"
file_directory = "/scratch/me/couplet"
"""
    settings = load(write(tmp_path, text)).hub_settings()
    assert settings.pop("series")
    assert settings == {
        "links": "self,shm,tcp,file", "hybrid": "tcp+file", "hybrid_threshold": "524288", "tcp_streams": 4,
        "ucx_tls": "rc,posix", "file_directory": "/scratch/me/couplet",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("eager_bytes = -1", "eager_bytes has to be a number of bytes of at least 0, not -1"),
        ("piece_bytes = 0", "piece_bytes has to be a number of bytes of at least 4096, not 0"),
        ("ring_bytes = -1", "at least 0"),
        ("spin_us = nan", "at least 0"),
        ("cma = 2", "cma has to be a number from 0 to 1, not 2"),
        ('relay = "outside"', "one of auto, external, in_calls, none"),
        ('check = "fulll"', "one of header, full, not 'fulll'"),
        ('cost_file = "cost.json"', "an absolute path"),
        ('file_directory = "shared"', "an absolute path"),
        (f'machine = "{"m" * 257}"', "1 to 256 bytes"),
        ('connection_patience_s = "soon"', "\"inf\", not 'soon'"),
        ("connection_patience_s = -1", "at least 0"),
        ("hub.reset_patience_s = -1", "reset_patience_s has to be a number of seconds of at least 0"),
        ('links = "self,ib"', 'no link "ib" for links; there are self, shm, tcp, file, ucx'),
        ('links = "self,file"', "needs file_directory"),
        ('hybrid = "tcp"', "hybrid has to be two of tcp, file, ucx, such as tcp+file, not 'tcp'"),
        ('hybrid = "tcp+tcp"', "two of"),
        ('hybrid = "tcp+shm"', "two of"),
        ('hybrid = "tcp+ucx"', 'links does not name "ucx"'),
        ('hybrid = "tcp+file"', "needs file_directory"),
        ("hybrid_threshold = 1", "needs hybrid"),
        ('hybrid = "tcp+ucx"\nlinks = "tcp,ucx"\nhybrid_threshold = "many"', "hybrid_threshold has to be"),
        ("tcp_streams = 17", "tcp_streams has to be a number from 1 to 16, not 17"),
        ('tcp_streams = "0"', "from 1 to 16"),
    ],
)
def test_values_that_the_library_would_refuse_are_named(
    tmp_path: Path, lines: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COUPLET_FILE_DIRECTORY", raising=False)
    with pytest.raises(ConfigurationError) as caught:
        load(write(tmp_path, f"{GOOD}\n[settings]\n{lines}\n"))
    assert any(m.line >= 18 and says in str(m) for m in caught.value.mistakes), caught.value.mistakes


@pytest.mark.parametrize(
    "lines", ["eager_bytes = 0", "piece_bytes = 4096", 'cost_file = "none"', 'connection_patience_s = "inf"', "cma = 0"]
)
def test_values_at_the_limit_are_good(tmp_path: Path, lines: str) -> None:
    load(write(tmp_path, f"{GOOD}\n[settings]\n{lines}\n"))


def test_links_are_given_once(tmp_path: Path) -> None:
    text = GOOD.replace('name = "test"', 'name = "test"\nlinks = ["self", "tcp"]')
    assert load(write(tmp_path, text)).links == ["self", "tcp"]
    with pytest.raises(ConfigurationError, match=r"given in \[universe\] and in \[settings\]"):
        load(write(tmp_path, text + '[settings]\nlinks = "self"\n'))
    with pytest.raises(ConfigurationError, match='line 3: no link "ib"'):
        load(write(tmp_path, text.replace('"tcp"', '"ib"')))


def test_a_program_may_name_the_directory_of_the_link_file(tmp_path: Path) -> None:
    environment = 'environment = { COUPLET_FILE_DIRECTORY = "/scratch/x" }\n'
    load(write(tmp_path, GOOD.replace("ranks = 3\n", f"ranks = 3\n{environment}") + '[settings]\nlinks = "file"\n'))


@pytest.mark.parametrize("command", ["mpiexec", "/usr/bin/mpirun", "srun", "mpiexec.hydra"])
def test_a_launcher_as_command_is_refused(tmp_path: Path, command: str) -> None:
    text = GOOD.replace('command = ["true", "x"]', f'command = ["{command}", "-n", "2", "./x"]')
    with pytest.raises(ConfigurationError) as caught:
        load(write(tmp_path, text))
    assert 'is a launcher, and launcher is "none"' in str(caught.value)
    assert 'launcher = "' in str(caught.value) and "ranks = N" in str(caught.value)
