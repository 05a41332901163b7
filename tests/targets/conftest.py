"""Starts the compilers of the targets once for all tests. If they are not installed, every test here fails and says how to get them."""

from __future__ import annotations

import pytest

from jitkit.targets import Compilers


@pytest.fixture(scope="session")
def compilers():
    with Compilers() as started:
        yield started
