"""Executables kept between processes: found again, or else ignored with a warning and made anew."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pytest

import jitkit as jk
import jitkit.numpy as jnp
from jitkit import runtime
from jitkit.base import config, stage_log, whole_file
from jitkit.compiler import disk_cache

ROOT = pathlib.Path(__file__).parents[1]


@pytest.fixture
def folder(tmp_path):
    """Yield a folder that is in use as the disk cache."""
    with config.override(compilation_cache_dir=str(tmp_path / "cache")):
        yield tmp_path / "cache"


def program():
    """Return a new function, for which this process has compiled nothing yet."""

    def kept_on_disk(x):
        return jnp.sin(x) * 2 + jnp.arange(3.0)

    return jk.jit(kept_on_disk)


ARGUMENT = np.array([0.5, 1.0, 2.0], np.float32)
EXPECTED = np.sin(ARGUMENT) * 2 + np.arange(3, dtype=np.float32)


def stages_of_a_first_call(function=None):
    """Call a new function, and check its result; return the stages that ran."""
    f = function or program()
    jk.clear_caches()
    with stage_log.listen() as events:
        np.testing.assert_allclose(f(ARGUMENT), EXPECTED, rtol=1e-6)
    return [event.stage for event in events]


def was_found(function=None):
    return "disk cache hit" in stages_of_a_first_call(function)


def files(folder):
    return sorted(folder.glob("*.jitkit"))


# --- found again ------------------------------------------------------------------------------------------------


def test_a_second_compilation_is_loaded(folder, monkeypatch):
    assert not was_found()
    assert files(folder)
    monkeypatch.setattr(runtime, "compile_text", lambda *args: pytest.fail("XLA was asked to compile"))
    assert was_found()


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not disk_cache.enabled()
    assert not was_found()
    assert not was_found()
    assert list(tmp_path.iterdir()) == []


IN_ANOTHER_PROCESS = textwrap.dedent("""
    import json, sys, warnings
    import numpy as np
    import jitkit as jk, jitkit.numpy as jnp
    from jitkit.base import stage_log

    table = jnp.arange(20_000.0)  # large enough to be passed to the program beside its text

    @jk.jit
    def network(w, x):
        return {"out": jnp.tanh(x @ w).sum() + table[7], "x": x, "i": (x > 0).sum()}

    with stage_log.listen() as events:
        out = network(jnp.ones((3, 4)), np.arange(6, dtype=np.float32).reshape(2, 3))
    stages = [e.stage for e in events if e.function == "network"]
    hits = sum(e.stage == "disk cache hit" for e in events)
    print(json.dumps([stages, hits, float(out["out"]), out["x"].tolist(), int(out["i"]), str(out["i"].dtype)]))
""")


def run(folder, script=IN_ANOTHER_PROCESS, **environment):
    environment = (
        os.environ | {"PYTHONPATH": str(ROOT), "JITKIT_CACHE_DIR": str(folder), "JAX_PLATFORMS": "cpu"} | environment
    )
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def result(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out)


def test_a_second_process_loads_what_the_first_has_compiled(tmp_path):
    first, second = (result(run(tmp_path)) for _ in range(2))
    assert first[1] == 0
    assert second[1] >= 1
    assert second[0] == first[0] == ["tracing", "lowering", "compilation"]
    assert second[2:] == first[2:]
    assert not list(tmp_path.rglob(f"*{whole_file.PART}"))


def test_two_processes_at_once_do_not_disturb_each_other(tmp_path):
    processes = [run(tmp_path) for _ in range(2)]
    results = [result(process) for process in processes]
    assert results[0][2:] == results[1][2:]
    assert not list(tmp_path.rglob(f"*{whole_file.PART}"))
    assert result(run(tmp_path))[1] >= 1


def test_moving_a_function_to_other_lines_still_hits(tmp_path):
    result(run(tmp_path))
    assert result(run(tmp_path, "\n\n\n# moved\n" + IN_ANOTHER_PROCESS))[1] >= 1


# --- the key ----------------------------------------------------------------------------------------------------


def test_the_folder_is_not_used_while_that_is_switched_off(folder):
    with config.override(enable_compilation_cache=False):
        assert not was_found()
    assert files(folder) == []
    assert not was_found()
    with config.override(enable_compilation_cache=False):
        assert not was_found()
    assert was_found()


def test_another_program_is_not_found(folder):
    stages_of_a_first_call()

    def kept_on_disk(x):
        return jnp.sin(x) * 2 + jnp.arange(3.0) + 0.0 * x * x

    assert not was_found(jk.jit(kept_on_disk))


def test_options_are_part_of_the_key(folder):
    def kept_on_disk(x):
        return jnp.sin(x) * 2 + jnp.arange(3.0)

    options = {"xla_backend_optimization_level": 1}
    assert not was_found(jk.jit(kept_on_disk))
    assert not was_found(jk.jit(kept_on_disk, compiler_options=options))
    assert was_found(jk.jit(kept_on_disk, compiler_options=options))
    assert was_found(jk.jit(kept_on_disk))


def test_64_bit_programs_are_kept_apart(folder):
    def kept_on_disk(x):
        return jnp.sin(x) * 2 + jnp.arange(3.0)

    f = jk.jit(kept_on_disk)
    assert not was_found(f)
    with config.override(enable_x64=True):
        jk.clear_caches()
        with stage_log.listen() as events:
            wide = f(ARGUMENT.astype(np.float64))
    assert "disk cache hit" not in [e.stage for e in events if e.function == "kept_on_disk"]
    assert wide.dtype == np.float64
    np.testing.assert_allclose(wide, np.sin(ARGUMENT.astype(np.float64)) * 2 + np.arange(3), rtol=1e-12)
    assert was_found(f)


@pytest.mark.parametrize("part", ["jaxlib 9.9.9", "another processor"])
def test_what_the_machine_code_depends_on_is_part_of_the_key(folder, monkeypatch, part):
    stages_of_a_first_call()
    fingerprint = runtime.platform_fingerprint
    with monkeypatch.context() as patch:
        patch.setattr(runtime, "platform_fingerprint", lambda device: f"{fingerprint(device)}; {part}")
        assert not was_found()
        assert was_found()
    assert was_found()


def test_the_fingerprint_names_jaxlib_and_the_processor():
    text = runtime.platform_fingerprint(runtime.default_device())
    assert "jaxlib 0." in text
    assert "cpu" in text
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = next((line.split(":")[1].split() for line in file if line.startswith(("flags", "Features"))), [])
        assert all(flag in text for flag in flags)


# --- damaged and foreign files ----------------------------------------------------------------------------------


def truncated(content):
    return content[: len(content) // 2]


def changed(content):
    return content[:-100] + bytes([content[-100] ^ 1]) + content[-99:]


def longer(content):
    return content + b"more"


def empty(content):
    return b""


def foreign(content):
    return b"not an executable, but long enough to be one" * 100


def only_the_head(content):
    return content[:30]


def of_another_format(content):
    return b"jitkit-executable-0\n" + content[20:]


@pytest.mark.parametrize("damage", [truncated, changed, longer, empty, foreign, only_the_head, of_another_format])
def test_a_damaged_file_is_ignored_with_a_warning_and_repaired(folder, damage):
    stages_of_a_first_call()
    for path in files(folder):
        path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(UserWarning, match="jitkit's disk cache ignores .*, which is damaged or not its own"):
        assert not was_found()
    assert was_found()  # without a warning, since it was written again


def test_a_file_whose_content_xla_refuses_is_ignored_with_a_warning(folder, monkeypatch):
    monkeypatch.setattr(runtime, "serialize", lambda loaded: b"this is no executable")
    stages_of_a_first_call()
    monkeypatch.undo()
    with config.override(compilation_cache_dir=str(folder)):
        with pytest.warns(UserWarning, match="damaged or not its own"):
            assert not was_found()
        assert was_found()


def test_other_files_in_the_folder_are_left_alone(folder):
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "directory.jitkit").mkdir()
    stages_of_a_first_call()
    assert was_found()
    assert (folder / "notes.txt").read_text() == "mine"


# --- folders that do not work -----------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_made_is_a_warning(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with (
        config.override(compilation_cache_dir=str(tmp_path / "file" / "cache")),
        pytest.warns(UserWarning, match="disk cache cannot"),
    ):
        assert not was_found()


def test_a_folder_that_cannot_be_written_is_a_warning(folder, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    folder.mkdir()
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.warns(UserWarning, match=r"disk cache cannot write to .*Permission denied"):
        assert not was_found()
    assert list(folder.iterdir()) == []  # nothing half-written is left


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="needs POSIX, and a user who may not write everywhere"
)
def test_a_read_only_folder_is_a_warning(folder):
    folder.mkdir()
    folder.chmod(0o500)
    with pytest.warns(UserWarning, match="disk cache cannot write"):
        assert not was_found()


def test_a_read_only_folder_can_still_be_read(folder, monkeypatch):
    stages_of_a_first_call()

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(os, "replace", refuse)
    assert was_found()


def test_an_executable_that_cannot_be_serialised_is_a_warning(folder, monkeypatch):
    def refuse(loaded):
        raise jk.errors.JaxRuntimeError("UNIMPLEMENTED: not on this platform")

    monkeypatch.setattr(runtime, "serialize", refuse)
    with pytest.warns(UserWarning, match=r"disk cache cannot write to .*UNIMPLEMENTED"):
        assert not was_found()


def test_the_home_directory_may_be_abbreviated(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    with config.override(compilation_cache_dir="~/jitkit-cache"):
        stages_of_a_first_call()
    assert files(tmp_path / "jitkit-cache")


# --- size -------------------------------------------------------------------------------------------------------


def compile_one(i):
    jk.jit(lambda x: x * float(i) + 1)(1.0)


def test_the_files_that_were_not_used_for_longest_go_first(folder):
    compile_one(0)
    (first,) = files(folder)
    size = first.stat().st_size
    now = time.time()
    os.utime(first, (now - 100, now - 100))
    with config.override(compilation_cache_max_size=int(size * 3.5)):
        for i in (1, 2):
            compile_one(i)
        assert len(files(folder)) == 3
        for age, path in enumerate(set(files(folder)) - {first}, start=1):
            os.utime(path, (now - 200 * age, now - 200 * age))
        oldest = min(files(folder), key=lambda path: path.stat().st_mtime)
        compile_one(3)
        assert len(files(folder)) == 3
        assert oldest not in files(folder)
        assert first in files(folder)


def test_a_hit_makes_a_file_young(folder):
    f = jk.jit(lambda x: x * 17.0)
    f(1.0)
    (path,) = files(folder)
    os.utime(path, (1000, 1000))
    jk.clear_caches()
    f(1.0)
    assert path.stat().st_mtime > time.time() - 60


def test_a_program_larger_than_the_whole_folder_may_be_is_not_written(folder):
    with config.override(compilation_cache_max_size=10):
        with pytest.warns(
            UserWarning, match=r"leaves out a program of \d+ bytes: all of them may take 10 \(JITKIT_CACHE_MAX"
        ):
            compile_one(1)
        assert not folder.exists()


@pytest.mark.parametrize(("limit", "kept"), [(-1, 3), (0, 0)])
def test_as_in_jax_minus_one_sets_no_limit_and_zero_turns_the_folder_off(folder, limit, kept):
    with config.override(compilation_cache_max_size=limit):
        for i in range(3):
            compile_one(i)
    assert len(files(folder)) == kept


def test_the_folder_never_holds_more_than_it_may(folder, monkeypatch):
    compile_one(1)
    size = files(folder)[0].stat().st_size
    held = []
    write = whole_file.write_whole

    def counted(*args, **kwargs):
        write(*args, **kwargs)
        held.append(len(files(folder)))

    monkeypatch.setattr(whole_file, "write_whole", counted)
    with config.override(compilation_cache_max_size=int(size * 1.5)):
        for i in (2, 3):
            compile_one(i)
            assert sum(path.stat().st_size for path in files(folder)) <= size * 1.5
    assert held == [1, 1], "room is made before the new one comes"


def test_leftovers_of_dead_writers_are_removed(folder):
    folder.mkdir()
    old = [folder / "abandoned.tmp", folder / f".abandoned{whole_file.PART}"]
    new = folder / f".being-written{whole_file.PART}"
    for path in (*old, new):
        path.write_bytes(b"half")
    for path in old:
        os.utime(path, (1000, 1000))
    compile_one(1)
    assert [path.exists() for path in (*old, new)] == [False, False, True]


# --- programs that are not for another process ------------------------------------------------------------------


def test_programs_with_large_constants_are_kept_without_them(folder):
    def make(value):
        table = jnp.full(50_000, value)
        return jk.jit(lambda x: (table * x).sum())

    assert float(make(1.0)(1.0)) == 50_000.0
    jk.clear_caches()
    with stage_log.listen() as events:
        assert float(make(2.0)(1.0)) == 100_000.0  # the same text, other constants
    assert "disk cache hit" in [e.stage for e in events]
    assert all(path.stat().st_size < 200_000 for path in files(folder))


def test_donation_survives_the_disk(folder):
    def run_once():
        jk.clear_caches()
        f = jk.jit(lambda x: x * 3 + 1, donate_argnums=0)
        x = jnp.ones(5) * 1
        out = f(x)
        return x.is_deleted(), out.tolist()

    assert run_once() == run_once() == (True, [4.0] * 5)


def test_eager_operations_are_kept_too(folder):
    jk.clear_caches()
    jnp.sin(ARGUMENT)
    jk.clear_caches()
    with stage_log.listen() as events:
        np.testing.assert_allclose(jnp.sin(ARGUMENT), np.sin(ARGUMENT), rtol=1e-6)
    assert "disk cache hit" in [e.stage for e in events]


def test_the_cache_is_silent(folder, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stages_of_a_first_call()
        assert was_found()
    assert capfd.readouterr() == ("", "")
