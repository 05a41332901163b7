"""The compilers of the targets, kept for all tests; without the extras, every test here fails and says how to get them."""

from __future__ import annotations

import pytest

from jitkit.targets import Compilers


@pytest.fixture(scope="session")
def compilers():
    with Compilers() as started:
        yield started
