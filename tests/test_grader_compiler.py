"""The C compiler of rungs 19 and up, in its jail: what it compiles, what it may not read, and that packages are graded with it."""

from __future__ import annotations

import shutil
import struct

import pytest
from grader_catalogue import grade_only
from tails import keeping

from grading.__main__ import main
from grading.grader import compiler, rungs
from grading.grader.bubblewrap import JailError
from grading.grader.compiler import Compiler
from grading.grader.selftest import self_test
from grading.grader.standing import Standing
from grading.grader.store import Store
from jitkit.kata.ladder.rungs import prefix, solution_text

NOTHING_IS_REFUSED = struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)  # a filter of one line, which allows everything


@pytest.fixture(scope="module")
def jail():
    try:
        compiler.command()
    except JailError as error:
        pytest.skip(f"needs bubblewrap and a C compiler: {error}")


@pytest.fixture
def ask(jail):
    """Send a text to a compiler, as a check's process does. Return whether it made a library, and the library or its
    message.
    """
    machine = Compiler()
    machine.channel.settimeout(60)

    def exactly(size):
        data = b""
        while len(data) < size:
            part = machine.channel.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def asked(text, size=None):
        data = text.encode()
        machine.channel.sendall(struct.pack(">Q", len(data) if size is None else size) + data)
        made, length = struct.unpack(">?Q", exactly(9))
        return made, exactly(length)

    yield asked
    machine.close()


def test_a_text_becomes_a_library_and_a_wrong_one_the_compilers_words(ask):
    made, library = ask("void run(float *x) { x[0] *= 2; }")
    assert made
    assert library.startswith(b"\x7fELF")
    made, words = ask("void run( {")
    assert not made
    assert b"program.c:1:11: error" in words


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/proc/self/environ", "/root/.bashrc", __file__, rungs.__file__, "/tmp/../home"]
)
def test_a_text_can_bring_in_no_file_that_is_not_the_systems(ask, path):
    for text in (f'#include "{path}"\n', f'asm(".section .rodata\\n.incbin \\"{path}\\"\\n");\n'):
        made, words = ask(f"{text}void run(void) {{}}")
        assert not made
        assert b"No such file" in words or b"not found" in words, words


CALLS = """#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#define TRY(name, ...) if (syscall(SYS_##name, ##__VA_ARGS__) >= 0 || (errno != EPERM && errno != ENOSYS)) printf(#name " ")
int main(void) {
  TRY(unshare, 0); TRY(unshare, 0x10000000); TRY(socket, 1, 1, 0); TRY(memfd_create, "x", 0); TRY(ptrace, 0, 0, 0, 0);
  TRY(shmget, 0, 4096, 01600); TRY(msgget, 0, 01600); TRY(semget, 0, 1, 01600); TRY(inotify_init1, 0); TRY(keyctl, 0, -3, 0);
  TRY(io_uring_setup, 1, 0); TRY(bpf, 0, 0, 0); TRY(perf_event_open, 0, 0, -1, -1, 0); TRY(userfaultfd, 0);
  TRY(clone, 0x10000000 | 17, 0, 0, 0, 0); TRY(mount, 0, 0, 0, 0, 0); TRY(setns, 0, 0); TRY(flock, 0, 8);
  return 0; }
"""


@pytest.mark.usefixtures("jail")
def test_machine_code_that_a_text_made_the_compiler_run_meets_the_filter_of_system_calls(monkeypatch):
    def refused(most):
        with compiler.command().started(compiler._RUN, ()) as process:
            return process.communicate(CALLS.encode(), timeout=most)

    assert refused(60) == (b"", b"")
    monkeypatch.setattr(compiler, "system_call_filter", lambda compiles: NOTHING_IS_REFUSED)
    assert b"unshare" in refused(60)[0]
    with pytest.raises(JailError, match="is not held there"):
        compiler.command.__wrapped__()


def test_a_text_may_use_so_much_time_memory_and_disk(ask, monkeypatch):
    assert not ask("char a[1ull << 34] = {1}; void run(void) {}")[0]
    monkeypatch.setattr(compiler, "_SECONDS", 1.0)
    doubled = "\n".join(f"#define A{i + 1} A{i} A{i}" for i in range(30))
    made, words = ask(f"#define A0 x = x * 3 + 1;\n{doubled}\nvoid run(int *p) {{ int x = *p; A30 *p = x; }}")
    assert (made, words) == (False, b"compiling had not ended after 1 seconds")


def test_however_much_the_compiler_says_the_grader_reads_little_of_it(ask, monkeypatch):
    read = []
    communicate = compiler.subprocess.Popen.communicate
    monkeypatch.setattr(
        compiler.subprocess.Popen, "communicate", lambda *a, **k: read.append(communicate(*a, **k)) or read[-1]
    )
    made, words = ask("\n".join(f"#error {'x' * 900}" for _ in range(4_000)))
    assert not made
    assert len(words) == 2_000
    assert max(len(said) for _, said in read if said) <= 4_000


def test_who_breaks_the_protocol_has_no_compiler_any_more(ask):
    made, words = ask("", compiler.LONGEST_TEXT + 1)
    assert (made, words) == (False, b"The source is longer than 4,194,304 bytes.")
    with pytest.raises((EOFError, OSError)):
        ask("void run(void) {}")


def test_without_a_compiler_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(JailError, match=r"this machine has none that the jail can run.*apt install gcc"):
        compiler.command.__wrapped__()
    monkeypatch.setattr(shutil, "which", lambda name: "/opt/own/bin/cc")
    with pytest.raises(JailError, match="this machine has none that the jail can run"):
        compiler.command.__wrapped__()


@pytest.mark.usefixtures("jail")
def test_the_jail_holds_for_workers_that_load_machine_code():
    assert self_test(compiles=True) == []


def graded(tmp_path, packages):
    for name, text in packages.items():
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "myjax.py").write_text(text, encoding="utf-8")
        (tmp_path / "in" / name / "xla.py").write_text("", encoding="utf-8")
    words = ["grade", tmp_path / "in", "--out", tmp_path / "out", "--quiet", "--workers", "1", "--lab", rungs.BEHIND]
    status = main([*map(str, words)])
    with Store(tmp_path / "out") as store:
        return status, {(r.grade.student, r.grade.exercise): r for r in Standing.of(store).records}


TRIES = """
import os
_translate = cc.translate
def _first(text):
    for path in ("/bin/sh", "/usr/bin/cc", "/usr/bin/gcc"):
        try:
            os.posix_spawn(path, [path, "--version"], {})
        except OSError:
            continue
        raise SystemExit(path)
    return _translate(text)
cc.translate = _first
"""


@pytest.mark.tail
@pytest.mark.usefixtures("jail")
def test_a_package_with_a_compiler_has_the_points_of_its_rungs(tmp_path):
    up_to_19 = prefix(solution_text(), "19")
    wrong = up_to_19.replace("sinf", "cosf").replace('"sin"', '"cos"')
    assert wrong != up_to_19
    packages = {"one loop": up_to_19, "tries": up_to_19 + TRIES, "wrong": wrong, "none": prefix(solution_text(), "05")}
    status, found = graded(tmp_path, packages)
    assert status == 0
    assert found["one loop", "19"].points == found["tries", "19"].points == 5
    assert found["wrong", "19"].points < 5
    assert found["one loop", "23"].points < 5
    assert ("none", "19") not in found


@pytest.mark.parametrize("numbers", keeping(["19", "20 21 22 23"], "19", mark=pytest.mark.rest))
@pytest.mark.usefixtures("jail")
def test_without_a_compiler_nobody_loses_a_point(tmp_path, monkeypatch, capsys, numbers):
    def none():
        raise JailError("it needs a C compiler, and this machine has none that the jail can run")

    monkeypatch.setattr(compiler, "command", none)
    grade_only(monkeypatch, *numbers.split())
    _, found = graded(tmp_path, {"one loop": prefix(solution_text(), "19")})
    assert [exercise for _, exercise in found] == numbers.split()
    assert {(r.grade.outcome, r.points) for r in found.values()} == {("INFRA", None)}
    assert "this machine has none that the jail can run" in "".join(capsys.readouterr())
