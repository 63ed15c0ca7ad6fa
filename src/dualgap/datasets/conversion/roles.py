"""What the columns of a table are: features, categories, targets, weights, offsets."""

from __future__ import annotations

from dataclasses import dataclass

from dualgap.datasets._errors import DataError
from dualgap.datasets.tables import column_of


@dataclass(frozen=True)
class Wanted:
    """Columns as users name them."""

    target: str | int | None
    weights: str | int | None
    offset: str | int | None
    categories: tuple[str | int, ...]


@dataclass(frozen=True)
class Roles:
    """Columns by number, each of which has one role."""

    source: str
    names: list[str] | None
    vectors: dict[str, int]
    """Those of "b", "weights" and "offset"."""
    categories: tuple[int, ...]
    numbers: tuple[int, ...]
    """All others: features that are numbers."""

    @classmethod
    def of(cls, source: str, wanted: Wanted, width: int, names: list[str] | None) -> Roles:
        """The roles in a table of so many columns."""

        def column(option: str, name: str | int) -> int:
            return column_of(source, option, name, width, names)

        target = width - 1 if wanted.target is None else column("target", wanted.target)
        vectors = {"b": target}
        for role in ("weights", "offset"):
            name = getattr(wanted, role)
            if name is not None:
                vectors[role] = column(role, name)
        categories = tuple(sorted({column("categories", name) for name in wanted.categories}))
        taken = [*vectors.values(), *categories]
        if len(set(taken)) < len(taken):
            twice = next(k for k in taken if taken.count(k) > 1)
            label = repr(names[twice]) if names else str(twice)
            raise DataError(f"{source}: column {label} cannot have two roles.")
        numbers = tuple(k for k in range(width) if k not in taken)
        if not numbers and not categories:
            raise DataError(f"{source} has no column left that is a feature.")
        return cls(source, names, vectors, categories, numbers)

    def called(self, column: int) -> str:
        """A column, for messages."""
        return f"column {column}" if self.names is None else f"column {self.names[column]!r}"

    def name(self, column: int) -> str:
        """What a column is called in the names of what is made of it."""
        return str(column) if self.names is None else self.names[column]

    def refuse_text(self, column: int, example: str = "") -> DataError:
        """What to raise for text where a number is expected."""
        shown = f", such as {example[:40]!r}" if example else ""
        return DataError(
            f"{self.source}: {self.called(column)} holds text{shown}. Say "
            f"categories=[{self.name(column)!r}] (--category {self.name(column)} on the command "
            "line) to make a column of each of its values, or leave it out of the file."
        )
