"""Prepares all tests: a clean state before and after each, a check of every traced jaxpr, counts of stages, and no silent
skips.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import os
import signal
import sys
import threading

# Options in the environment must not change what is tested. They are removed before jitkit and jax are imported, which read
# them.
FUZZ_EXAMPLES = os.environ.get("JITKIT_FUZZ_EXAMPLES")
PLATFORMS = os.environ.get("TEST_PLATFORMS", "cpu")  # "cuda,cpu": on an accelerator of this machine
for _name in [name for name in os.environ if name.startswith(("JITKIT_", "JAX_"))]:
    if _name not in ("JITKIT_FUZZ_EXAMPLES", "TEST_PLATFORMS"):  # pytest-xdist's workers inherit these two
        del os.environ[_name]
os.environ["JAX_PLATFORMS"] = PLATFORMS
# With this option, each process that a test starts would compile jitkit's source again, which takes half a second.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

from importlib.metadata import version
from typing import ClassVar

import hypothesis
import jaxlib._jax
import pytest
import tails
import wording

from jitkit import core
from jitkit.base import config, stage_log
from jitkit.interpreters import partial_eval
from jitkit.jaxpr.check import check_jaxpr
from jitkit.targets import process

# Draw the same random programs every time, so that a test that failed fails again; `make fuzz` draws new ones, and more of
# them.
hypothesis.settings.register_profile("project", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.register_profile(
    "fuzz", deadline=None, max_examples=int(FUZZ_EXAMPLES or 0) or 2000, print_blob=True
)
hypothesis.settings.load_profile("fuzz" if FUZZ_EXAMPLES else "project")

# Why a test may be skipped: something that a machine can lack. A skip for any other reason is a failure.
ACCEPTED_SKIPS = (
    "needs several devices",
    "needs a GPU",
    "needs POSIX",
    "needs Linux",
    "needs /proc",
    "needs a network",
    "needs jax >=",
    "needs jax <",
    "needs nbgrader",
    "needs Dask",
    "needs a browser",
    "needs bubblewrap",
)


# `make test` and `make test-rest` leave the tails out, and let XLA compile in a fraction of its time: what a program computes is
# compared, not how well it is optimised. `make test-all` has everything, and compiles as users do.
CHEAP_COMPILES = (
    "--xla_backend_optimization_level=0",
    "--xla_cpu_parallel_codegen_split_count=1",  # otherwise LLVM gets several modules for each program
    "--xla_llvm_disable_expensive_passes=true",
    *(["--xla_cpu_use_fusion_emitters=false"] if version("jaxlib") < "0.11" else []),  # later versions end at this name
)


# Files with tests of half a minute and more.
LONGEST = ("test_grader_ladder.py", "test_grader_compiler.py", "test_grader.py", "test_grader_shapes.py")


def pytest_configure(config):
    """Register the markers. If the run leaves out the tails, set XLA's options in the environment, before XLA starts; processes that
    tests start inherit them. If it leaves out the tests of words, do not compare words.
    """
    config.addinivalue_line("markers", "tail: takes long for what it finds; in `make test-all`")
    config.addinivalue_line("markers", "rest: decides about a commit, too, but not in `make test`; in `make test-rest`")
    config.addinivalue_line(
        "markers", "words: judges the words of an error; not in an export, whose words are a learner's"
    )
    if wording.WITHOUT in config.option.markexpr:
        wording.compared = False
    if tails.WITHOUT_TAILS in config.option.markexpr:
        tails.with_tails = False
        os.environ["XLA_FLAGS"] = " ".join(CHEAP_COMPILES)


def is_of_make(config):
    """Return whether this run has only tests that decide about a commit: without the tails."""
    return config.option.markexpr in (tails.WITHOUT_TAILS, tails.MAKE_TEST, tails.MAKE_TEST_REST)


def compile_once(client):
    """Make XLA's client compile each program only once in a process, unless the program calls Python functions: a fifth of all
    programs were compiled for an earlier test already. The counts of stages do not change, since stages are counted before the client
    is called.
    """
    compile_and_load = client.compile_and_load
    known = {}

    def once(self, module, *args, **kwargs):
        if len(args) + len(kwargs) > 2:  # the program calls Python functions of this process
            return compile_and_load(self, module, *args, **kwargs)
        devices, options = [*args, *kwargs.values()]
        key = str(module), str(devices), options.SerializeAsString()
        if key not in known:
            known[key] = compile_and_load(self, module, *args, **kwargs)
        return known[key]

    client.compile_and_load = once


def reuse_contexts(mlir):
    """Make JAX use each MLIR context for ten programs of a thread, as it does by itself from release 0.12 on. Making a context takes a
    tenth of the time of an eager operation of JAX.
    """
    make = mlir.make_ir_context
    if version("jax") >= "0.12":
        return
    of_thread = threading.local()

    def make_or_reuse():
        if next(getattr(of_thread, "rest", iter(())), None) is None:
            of_thread.context, of_thread.rest = make(), iter(range(9))
        return of_thread.context

    mlir.make_ir_context = make_or_reuse


class KeptCompilers(process.Compilers):
    """Keeps compiler processes for later tests. Starting one takes a third of a second, and most of the Explorer's pages that
    tests make need one for a single small program.
    """

    idle: ClassVar = collections.defaultdict(list)  # (what is run, platform) -> processes that wait for a program

    def compile(self, name, text, target, options=()):
        """Compile for a target, in a process that an earlier test has left if there is one."""
        waiting = self.idle[(*process.PROGRAM, target.platform)]
        if target.platform not in self._workers and waiting:
            self._workers[target.platform] = waiting.pop()
        return super().compile(name, text, target, options)

    def __exit__(self, *error):
        if self._abandoned or any(error):  # a process may have been killed, or still be at work
            super().__exit__(*error)
        while self._workers:
            platform, worker = self._workers.popitem()
            self.idle[(*process.PROGRAM, platform)].append(worker)


def pytest_sessionfinish():
    """End the processes of compilers that were kept."""
    for workers in KeptCompilers.idle.values():
        while workers:
            workers.pop().stop()


def pytest_collection_finish(session):
    """Exclude modules and tests from garbage collection: each collection, and each search for what holds a leaked tracer, would walk
    over all of them. If the run leaves out the tails, let XLA reuse programs, JAX reuse contexts, and the Explorer reuse compilers.
    """
    if is_of_make(session.config):
        compile_once(jaxlib._jax.Client)
        if "jax" in sys.modules:
            reuse_contexts(sys.modules["jax"]._src.interpreters.mlir)
        if "jitkit.explorer.compiling" in sys.modules:
            sys.modules["jitkit.explorer.compiling"].Compilers = KeptCompilers
    gc.collect()
    gc.freeze()


_entered = set()


def pytest_runtest_setup(item):
    """Before the first test of a file, exclude the objects of earlier files, such as JAX, from garbage collection. Tests that measure
    collect garbage before they start the clock; with all these objects, this took longer than the rest of the test.
    """
    if item.path not in _entered:
        _entered.add(item.path)
        gc.freeze()


def pytest_terminal_summary(terminalreporter, config):
    """Say which tests this run left out: the tails, or the tails and the rest (see `tails` and `rest`)."""
    if config.option.markexpr == tails.MAKE_TEST:
        terminalreporter.write_line("Without the rest, which decides about a commit, too: `make test-rest`.")
    if tails.WITHOUT_TAILS in config.option.markexpr:
        terminalreporter.write_line("Without the tails: `make test-all` has them, with programs that XLA optimises.")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    """Mark rows as the tail or as the rest, before pytest leaves these out. After hypothesis has marked its tests, set how many random
    examples each draws. Put the longest files first: one that begins last keeps one core busy while the others wait. Raise UsageError if
    the name of a test has an address, which differs from process to process.
    """
    tails.leave_out(items)
    yield
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))
    names = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if names:
        raise pytest.UsageError(f"names of tests must be the same in every process: {names}")
    for item in items:
        if item.get_closest_marker("hypothesis"):
            usual = item.obj._hypothesis_internal_use_settings
            count = usual.max_examples  # a number that a test sets itself is meant for `make test-all`
            if FUZZ_EXAMPLES:
                count = int(FUZZ_EXAMPLES)
            elif is_of_make(config):
                count = max(25, count // 8)
            item.obj._hypothesis_internal_use_settings = hypothesis.settings(usual, max_examples=count)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Turn a skip into a failure, unless its reason is one of ACCEPTED_SKIPS."""
    outcome = yield
    test_report = outcome.get_result()
    if test_report.skipped and not hasattr(test_report, "wasxfail"):
        reason = str(test_report.longrepr[2] if isinstance(test_report.longrepr, tuple) else test_report.longrepr)
        if not reason.removeprefix("Skipped: ").startswith(ACCEPTED_SKIPS):
            test_report.outcome = "failed"
            test_report.longrepr = f"{item.nodeid} was skipped, and its reason is none of {ACCEPTED_SKIPS}: {reason}"


@pytest.fixture
def nothing_old_to_walk():
    """Exclude objects that are older than the test from garbage collection. The search for what holds a leaked tracer walks over
    all other objects, several times for each trace. Without this, such a test takes twenty seconds at the end of a long run.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def every_traced_jaxpr_is_checked(monkeypatch):
    """Run `check_jaxpr` on whatever is traced, in every test, by every thread."""
    trace_to_jaxpr = partial_eval.trace_to_jaxpr

    @functools.wraps(trace_to_jaxpr)  # generated tables show its signature
    def trace_and_check(*args, **kwargs):
        jaxpr = trace_to_jaxpr(*args, **kwargs)
        check_jaxpr(jaxpr)
        return jaxpr

    monkeypatch.setattr(partial_eval, "trace_to_jaxpr", trace_and_check)


@pytest.fixture(autouse=True)
def the_thread_is_left_as_it_was():
    """Check that no test, and no error in one, leaves a trace open or an option overridden."""
    before = config.describe()
    yield
    assert core.trace_state_clean(), "the test left a trace open"
    assert config.local.state.overrides == {}, "the test left options overridden"
    assert config.describe() == before, "the test left a global option changed"


class Count:
    """Counts how often each stage ran while a block ran: for one function, or for all if `function` is None."""

    def __init__(self, events, function):
        self._events = events
        self._function = function

    def _of(self, stage):
        return sum(e.stage == stage and self._function in (None, e.function) for e in self._events)

    @property
    def traces(self):
        """How many times Python ran the function on tracers."""
        return self._of("tracing")

    @property
    def lowerings(self):
        """How many modules were written. Those of eager operations count, too, unless a function is named."""
        return self._of("lowering")

    @property
    def compiles(self):
        """How many programs XLA compiled, or the disk cache gave."""
        return self._of("compilation")

    def __repr__(self):
        return f"Count(traces={self.traces}, lowerings={self.lowerings}, compiles={self.compiles})"


@pytest.fixture
def heard_interrupts():
    """Let SIGINT raise KeyboardInterrupt, even if the tests were started by a background shell, whose processes ignore
    SIGINT.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def count():
    """Count stages: `with count("f") as n: ...; assert n.traces == 1 and n.compiles == 1`. `count()` counts every
    function.
    """

    @contextlib.contextmanager
    def counting(function=None):
        with stage_log.listen() as events:
            yield Count(events, function)

    return counting
