"""The grader beyond one machine: a scheduler of Dask's and its workers, one of which is killed in the middle."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time

import pytest
from grader_catalogue import RIGHT, THEMES, points_of, write

from grading.__main__ import main
from grading.grader.bubblewrap import JailError
from grading.grader.selftest import self_test
from grading.grader.standing import Standing
from grading.grader.store import Store
from grading.shared import ROOT

pytest.importorskip("distributed", reason="needs Dask: pip install -e '.[dask]'")

ROWS = [r for rows in THEMES.values() for r in rows if r.points is not None][:12]


@pytest.fixture(scope="session")
def jail():
    try:
        assert self_test() == []
    except JailError as error:
        pytest.skip(f"needs bubblewrap: {error}")


@contextlib.contextmanager
def started(*words):
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def cluster():
    """Yield the address of a scheduler, and its process with those of two workers, by name."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with contextlib.ExitStack() as stack:
        scheduler = stack.enter_context(started("dask_scheduler", "--host", address, "--no-dashboard", "--no-show"))
        worker = ("dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
        workers = {f"worker {i}": stack.enter_context(started(*worker)) for i in range(2)}
        yield address, {"scheduler": scheduler, **workers}


def records(out):
    with Store(out) as store:
        rows = list(store.grades())
        assert len({(g.student, g.submission, g.exercise) for g in rows}) == len(rows), "nothing is doubled"
        return {r.grade.student: (points_of(r), r.grade.outcome) for r in Standing.of(store).records}


@pytest.mark.usefixtures("jail")
def test_a_worker_that_is_killed_loses_nothing_and_doubles_nothing(tmp_path, cluster):
    address, processes = cluster
    rows = [r._replace(name=f"{i:02} {r.name}") for i, r in enumerate(ROWS)]
    write(tmp_path / "in", rows)
    words = [
        "grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--lab", "00", "--quiet", "--scheduler", address,
    ]  # fmt: skip
    codes = []
    grader = threading.Thread(target=lambda: codes.append(main(words)))
    grader.start()
    for _ in range(1200):
        time.sleep(0.1)
        with contextlib.suppress(Exception):
            if records(tmp_path / "out"):
                break
    processes["worker 0"].kill()
    grader.join(300)
    assert codes == [0]
    found = records(tmp_path / "out")
    assert found == {r.name: (r.points, r.outcome) for r in rows}
    assert main([*words[:-2]]) == 0, "here, without the scheduler"
    assert records(tmp_path / "out") == found


def test_a_scheduler_that_is_not_there_is_a_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("grading.grader.commands.self_test", lambda *_: [])
    monkeypatch.setattr("grading.grader.batch.PATIENCE", 1)
    (tmp_path / "in" / "ann" / "00_hello").mkdir(parents=True)
    (tmp_path / "in" / "ann" / "00_hello" / "exercises.py").write_text(RIGHT, encoding="utf-8")
    words = ["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--scheduler", "tcp://127.0.0.1:1"]
    assert main(words) == 1
    assert "no scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.usefixtures("jail")
def test_a_scheduler_that_is_killed_ends_the_batch_and_loses_nothing(tmp_path, cluster, capsys):
    address, processes = cluster
    rows = [r._replace(name=f"{i:02} {r.name}") for i, r in enumerate(ROWS[:6])]
    write(tmp_path / "in", rows)
    words = ["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--lab", "00", "--quiet"]
    codes = []
    grader = threading.Thread(target=lambda: codes.append(main([*words, "--scheduler", address])))
    grader.start()
    for _ in range(1200):
        time.sleep(0.1)
        with contextlib.suppress(Exception):
            if records(tmp_path / "out"):
                break
    processes["scheduler"].kill()
    grader.join(120)
    assert not grader.is_alive(), "it does not wait for a scheduler that is gone"
    assert codes == [1]
    told = capsys.readouterr().err
    lost = {r.name for r in rows if f"INFRA {r.name}: its task was lost" in told}
    before = records(tmp_path / "out")
    assert before, "what had come stays"
    assert lost, "the scheduler was killed in the middle"
    assert lost | before.keys() == {r.name for r in rows}, "each has come, or is told"
    assert main(words) == 0, "here, without the scheduler"
    after = records(tmp_path / "out")
    assert before.items() <= after.items()
    assert after == {r.name: (r.points, r.outcome) for r in rows}
