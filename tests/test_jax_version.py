"""jitkit follows the installed JAX where releases differ. Other tests compare it with the installed release; here both
behaviours are tested, whichever release is installed.
"""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util

import jax
import numpy as np
import pytest

import jitkit
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.base import jax_version

ROW = np.arange(3, dtype=np.float32)


@pytest.fixture
def following(monkeypatch):
    """Return a function that chooses the release to follow from then on: `following(0, 10)`."""

    def follow(*version):
        monkeypatch.setattr(jax_version, "followed", lambda: version)
        jitkit.clear_caches()  # caches have programs of the other release

    yield follow
    monkeypatch.undo()
    jitkit.clear_caches()


def test_the_installed_release_is_followed():
    assert jax_version.followed() == jax.__version_info__[:2]


@pytest.fixture
def asked_anew(monkeypatch):
    """Let jitkit look the version up at each call, within one test."""
    monkeypatch.setattr(jax_version, "text", jax_version.text.__wrapped__)


def no_metadata(package):
    raise importlib.metadata.PackageNotFoundError(package)


def test_without_jax_the_newest_known_release_is_followed(asked_anew, monkeypatch):
    monkeypatch.setattr(importlib.machinery.PathFinder, "find_spec", lambda name: None)
    monkeypatch.setattr(importlib.metadata, "version", no_metadata)
    assert jax_version.followed.__wrapped__() == jax_version.NEWEST_KNOWN >= jax.__version_info__[:2]


def test_where_nothing_is_written_beside_jax_its_metadata_are_asked(asked_anew, monkeypatch, tmp_path):
    (tmp_path / "jax").mkdir()
    spec = importlib.util.spec_from_file_location("jax", tmp_path / "jax" / "__init__.py")
    monkeypatch.setattr(importlib.machinery.PathFinder, "find_spec", lambda name: spec)
    monkeypatch.setattr(importlib.metadata, "version", lambda package: "0.11.3.dev4+g123")
    assert jax_version.followed.__wrapped__() == (0, 11)


def test_releases_are_compared_as_numbers(following):
    following(0, 9)
    assert not jax_version.since(0, 10)
    following(1, 0)
    assert jax_version.since(0, 12)


def texts(following, program, *args):
    """Return the jaxpr as it is printed for 0.10 and for 0.12, on one line each."""
    found = []
    for version in ((0, 10), (0, 12)):
        following(*version)
        found.append(" ".join(str(jitkit.make_jaxpr(lambda *xs: program(*xs))(*args)).split()))
    return found


def test_a_scan_has_numbers_and_later_trees(following):
    old, new = texts(following, lambda x: lax.scan(lambda c, a: (c + a * x[0], (a, c)), 0.0, x), ROW)
    assert "num_carry=1 num_consts=1" in old
    assert "ft_in" not in old
    assert (
        "ft_in=((None,), (None,), (None,)) ft_out=((None,), (RightsOnly(Left(None)), RightsOnly(Right(None))))" in new
    )
    assert "num_c" not in new


def test_reductions_and_top_k_have_more_parameters_later(following):
    old, new = texts(following, lambda x: (x.max(), lax.top_k(x, 2)), ROW)
    assert "reduce_max[axes=(0,)]" in old
    assert "top_k[axis=0 k=2]" in old
    assert "reduce_max[axes=(0,) out_sharding=None]" in new
    assert "top_k[axis=0 is_stable=True k=2]" in new


def test_iteration_is_one_operation_later(following):
    old, new = texts(following, lambda x: list(x), ROW)
    assert old.count("slice[") == 3
    assert new.count("unstack[axis=0]") == 1
    assert "slice[" not in new


def test_inline_is_done_while_lowering_later(following):
    following(0, 10)
    doubled = jitkit.jit(lambda x: x * 2, inline=True)
    assert "jit[" not in str(jitkit.make_jaxpr(doubled)(ROW))
    following(0, 12)
    late = jitkit.jit(lambda x: x * 2, inline=True)
    assert "jit[" in str(jitkit.make_jaxpr(late)(ROW))
    text = jitkit.jit(lambda x: late(x) + jitkit.jit(lambda y: y * 3)(x)).lower(ROW).as_text()
    assert text.count("func.func private") == 1
    np.testing.assert_array_equal(jitkit.jit(lambda x: late(x) + 1)(ROW), ROW * 2 + 1)


def test_an_unknown_way_to_inline_is_refused():
    with pytest.raises(ValueError, match="Invalid inline option: 'late'"):
        jitkit.jit(lambda x: x, inline="late")


def test_the_points_of_linspace_are_computed_in_another_order_later(following):
    old, new = texts(following, lambda x: jnp.linspace(0.0, x, 4), 1.0)
    assert old.count(" div ") == 2
    assert new.count(" div ") == 3


def test_sequences_of_arrays_are_tuples_later(following):
    following(0, 10)
    assert [type(f(ROW, ROW)) for f in (jnp.broadcast_arrays, jnp.meshgrid, jnp.atleast_1d)] == [list] * 3
    following(0, 12)
    assert [type(f(ROW, ROW)) for f in (jnp.broadcast_arrays, jnp.meshgrid)] == [tuple] * 2
