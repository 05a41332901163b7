"""Files that are written whole or not at all: with other threads and processes, on full disks, on Windows, in folders that
disappear.
"""

from __future__ import annotations

import errno
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import threading

import pytest

from jitkit.base import whole_file
from jitkit.base.whole_file import write_whole

A_WRITER = """
import sys
from jitkit.base.whole_file import write_whole
for i in range(200):
    write_whole(sys.argv[1], sys.argv[2].encode() * 50_000)
"""


def everything_in(folder: pathlib.Path) -> list[str]:
    """Return the names of all files, hidden ones too."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_file_is_written_and_written_again(tmp_path):
    path = tmp_path / "x.bin"
    for content in (b"first, and longer", b"", b"third"):
        write_whole(path, content)
        assert path.read_bytes() == content
    write_whole(str(path), b"by its name")
    assert path.read_bytes() == b"by its name"
    assert everything_in(tmp_path) == ["x.bin"]


def test_a_file_of_the_current_folder_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_whole("x.bin", b"here", make_folder=True)
    assert everything_in(tmp_path) == ["x.bin"]


def test_a_name_as_long_as_a_name_may_be_can_be_written(tmp_path):
    name = "é" * 127
    write_whole(tmp_path / name, b"x")
    assert everything_in(tmp_path) == [name]


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX: its permissions")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_a_new_file(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "ours", b"x")
        (tmp_path / "pythons").write_bytes(b"x")
    finally:
        os.umask(before)
    ours, pythons = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "pythons"))
    assert ours == pythons == 0o666 & ~mask


def test_threads_of_one_process_do_not_meet_in_one_temporary_file(tmp_path):
    path, failures, halves = tmp_path / "x.bin", [], []
    write_whole(path, b"0" * 50_000)

    def write(digit: int) -> None:
        try:
            for _ in range(100):
                write_whole(path, str(digit).encode() * 50_000)
                content = path.read_bytes()
                if len(content) != 50_000 or len(set(content)) != 1:
                    halves.append(content)
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(digit,)) for digit in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (failures, halves) == ([], [])
    assert everything_in(tmp_path) == ["x.bin"]


def test_a_reader_never_sees_half_of_what_another_process_writes(tmp_path):
    path = tmp_path / "x.bin"
    write_whole(path, b"0" * 50_000)
    writers = [subprocess.Popen([sys.executable, "-c", A_WRITER, str(path), digit]) for digit in "12"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        content = path.read_bytes()
        seen.add((len(content), len(set(content))))
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen == {(50_000, 1)}
    assert everything_in(tmp_path) == ["x.bin"]


def test_a_folder_that_is_not_there_is_named_and_not_made(tmp_path):
    folder = tmp_path / "nowhere"
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(folder / "x.bin", b"x")
    assert caught.value.filename == str(folder)
    assert not folder.exists()


def test_a_folder_is_made_where_that_is_wanted_and_again_when_it_goes(tmp_path):
    folder = tmp_path / "a" / "b"
    for _ in range(2):
        write_whole(folder / "x.bin", b"x", make_folder=True)
        assert everything_in(tmp_path) == ["x.bin"]
        shutil.rmtree(tmp_path / "a")


def test_a_file_in_the_place_of_a_folder_is_an_error_that_names_a_path_of_the_users(tmp_path):
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(OSError, match="file") as caught:
        write_whole(tmp_path / "file" / "x.bin", b"x", make_folder=True)
    assert whole_file.PART not in str(caught.value)
    assert everything_in(tmp_path) == ["file"]


def test_a_folder_in_the_place_of_the_file_stays_and_nothing_is_left_beside_it(tmp_path):
    (tmp_path / "x.bin").mkdir()
    with pytest.raises(OSError, match=r"x\.bin") as caught:
        write_whole(tmp_path / "x.bin", b"x")
    assert caught.value.filename == str(tmp_path / "x.bin")
    assert (tmp_path / "x.bin").is_dir()
    assert everything_in(tmp_path) == []


class Failing:
    """A file that takes half of what it is given, and then raises."""

    def __init__(self, path: str, error: BaseException) -> None:
        self.path = pathlib.Path(path)
        self.error = error

    def __enter__(self) -> Failing:
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing: no file is open."""

    def write(self, content: bytes) -> None:
        self.path.write_bytes(content[: len(content) // 2])
        raise self.error


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_what_cannot_be_finished_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, error):
    path = tmp_path / "x.bin"
    write_whole(path, b"old")
    monkeypatch.setattr(whole_file, "open", lambda path, mode: Failing(path, error), raising=False)
    with pytest.raises(type(error)) as caught:
        write_whole(path, b"the new content")
    assert path.read_bytes() == b"old"
    assert everything_in(tmp_path) == ["x.bin"]
    if isinstance(error, OSError):
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))


def refusing(times: int):
    """Return an `os.replace` that fails this many times, as on Windows while somebody reads the target."""
    calls, replace = [], os.replace

    def refuse(source, target):
        calls.append(target)
        if len(calls) <= times:
            raise PermissionError(errno.EACCES, "Access is denied", source, None, target)
        replace(source, target)

    return calls, refuse


@pytest.mark.parametrize(("system", "times", "attempts"), [("nt", 3, 4), ("nt", 99, 20), ("posix", 99, 1)])
def test_windows_is_asked_again_where_somebody_reads_the_target(tmp_path, monkeypatch, system, times, attempts):
    path = tmp_path / "x.bin"
    write_whole(path, b"old")
    calls, refuse = refusing(times)
    monkeypatch.setattr(whole_file, "_NAP", 0)

    class System:
        name = system
        replace = staticmethod(refuse)

        def __getattr__(self, name):
            return getattr(os, name)

    monkeypatch.setattr(whole_file, "os", System())
    if times < attempts:
        write_whole(path, b"new")
    else:
        with pytest.raises(PermissionError) as caught:
            write_whole(path, b"new")
        assert caught.value.filename == str(path)
    assert len(calls) == attempts
    assert path.read_bytes() == (b"new" if times < attempts else b"old")
    assert everything_in(tmp_path) == ["x.bin"]
