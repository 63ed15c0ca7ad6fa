"""`dualgap.state.replace` is `dataclasses.replace`, but for the time it takes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import pytest

from dualgap.algorithms import AdaBPD, Newton
from dualgap.state import Incumbent, State, replace


@dataclass(frozen=True, eq=False)
class Plain:
    a: int
    b: tuple[int, ...] = ()
    kind: ClassVar[str] = "plain"


@dataclass(frozen=True, eq=False)
class Derived(Plain):
    c: float = 1.0


@dataclass(frozen=True)
class Checked:
    a: int

    def __post_init__(self):
        if self.a < 0:
            raise ValueError("a must not be negative")


@dataclass(frozen=True)
class Remembering:
    a: int

    @cached_property
    def double(self):
        return 2 * self.a


@dataclass(frozen=True, slots=True)
class Slotted:
    a: int


@dataclass
class Counted:
    a: int
    made: list[int] = field(default_factory=list, init=False)


@pytest.mark.parametrize("value", [Plain(1, (2,)), Derived(1, (2,), 3.0), Checked(1), Slotted(1)])
def test_it_replaces_what_is_asked_and_nothing_else(value):
    new = replace(value, a=5)
    assert type(new) is type(value) and value.a == 1
    assert dataclasses.asdict(new) == {**dataclasses.asdict(value), "a": 5}


def test_states():
    best = Incumbent(primal=2.0)
    s = State("newton", 0, 0.0, *[None] * 4, primal=1.0, dual=0.0, incumbent=best)
    new = replace(s, t=3)
    assert vars(new) == {**vars(s), "t": 3} and s.t == 0
    assert new.incumbent is best and replace(best, dual=1.0).primal == 2.0


def test_values_are_still_checked():
    with pytest.raises(ValueError, match="negative"):
        replace(Checked(1), a=-1)
    assert replace(Newton(), tol=0.5) == Newton(tol=0.5)
    with pytest.raises(TypeError, match="schedule"):
        replace(AdaBPD(), schedule=3)


def test_what_was_computed_from_old_values_is_not_kept():
    old = Remembering(1)
    assert old.double == 2
    assert replace(old, a=4).double == 8


def test_fields_that_init_does_not_take_are_made_anew():
    old = Counted(1)
    old.made.append(1)
    assert replace(old, a=2).made == []


@pytest.mark.parametrize("value", [Plain(1), Checked(1), Slotted(1), Incumbent()])
@pytest.mark.parametrize("name", ["other", "kind"])
def test_unknown_fields_are_refused(value, name):
    with pytest.raises(TypeError, match=name):
        replace(value, **{name: 1})
