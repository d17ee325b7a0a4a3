"""Names of a package that are others for a while."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from sim_runtime.package_names import added_names, replaced_names

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def modules() -> Iterator[list[ModuleType]]:
    made = [ModuleType(name) for name in ("parcel", "parcel.inner", "parcels")]
    sys.modules.update({module.__name__: module for module in made})
    yield made
    for module in made:
        del sys.modules[module.__name__]


def test_every_module_of_the_package_has_the_added_names(modules: list[ModuleType]) -> None:
    modules[0].set = "its own"
    with added_names(("parcel",), {"set": list, "frozenset": tuple}):
        assert [getattr(module, "set", None) for module in modules] == ["its own", list, None]
        assert modules[0].frozenset is tuple
    assert modules[0].set == "its own"
    assert not hasattr(modules[1], "set")
    assert not hasattr(modules[0], "frozenset")


def test_names_that_are_bound_to_an_object_are_bound_to_another(modules: list[ModuleType]) -> None:
    modules[0].now = modules[1].also_now = modules[2].now = old = object()
    with replaced_names(("parcel",), {old: "new"}):
        assert (modules[0].now, modules[1].also_now, modules[2].now) == ("new", "new", old)
    assert modules[0].now is modules[1].also_now is old
