"""The named data sets: where they live, and by what they are known.

A checksum is pinned where one is published for the file of the public home; which one, and by whom,
is said beside it. All sets are known by their shape, too: what has another shape is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"


@dataclass(frozen=True)
class Content:
    """What a set is known by, whatever file it comes in."""

    rows: int
    columns: int
    entries: int | None
    """Values that are not 0, where they have been counted."""
    targets: tuple[float, float]
    """The least and the largest target, as the file has them."""
    two_labels: bool = False
    """Whether these are the only two; they become -1 and +1."""


@dataclass(frozen=True)
class NamedSet:
    """A data set, and its public home."""

    name: str
    stem: str
    """The name of its file, without endings."""
    content: Content
    url: str | None
    largest: int
    """Bytes that a download may have."""
    checksum: str | None = None
    """``algorithm:hexadecimal digest`` of the file at ``url``."""
    stand_in: str | None = None
    """Another set that may serve in its place, under its own name."""


NAMED_SETS = {
    s.name: s
    for s in (
        NamedSet(
            "cpuact",
            "cpuact",
            Content(8192, 21, 140540, (0.0, 99.0)),
            # OpenML's data set 197, cpu_act. No checksum of it was found published.
            url="https://api.openml.org/data/v1/download/3634/cpu_act.arff",
            largest=5_000_000,
        ),
        NamedSet(
            "cpusmall",
            "cpusmall_scale",
            Content(8192, 12, 98304, (0.0, 99.0)),
            url=LIBSVM + "regression/cpusmall_scale",  # no checksum of it was found published
            largest=5_000_000,
        ),
        NamedSet(
            "rcv1",
            "rcv1_train.binary",
            Content(20242, 47236, None, (-1.0, 1.0), two_labels=True),
            url=LIBSVM + "binary/rcv1_train.binary.bz2",
            largest=50_000_000,
            # as the public repository epfml/pax pins it
            checksum="md5:1aeda848408e621468c0fe6944d9382f",
            stand_in="rcv1_sub",
        ),
        NamedSet(
            "rcv1_sub",
            "rcv1_sub",
            Content(23749, 47236, 1783774, (-1.0, 1.0), two_labels=True),
            url=None,
            largest=0,
        ),
        NamedSet(
            "a9a",
            "a9a",
            Content(32561, 123, 451592, (-1.0, 1.0), two_labels=True),
            url=LIBSVM + "binary/a9a",
            largest=10_000_000,
            # as several public repositories state it for LIBSVM's file
            checksum="sha256:f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
        ),
        NamedSet(
            "mushrooms",
            "mushrooms",
            Content(8124, 112, 170604, (1.0, 2.0), two_labels=True),
            url=LIBSVM + "binary/mushrooms",
            largest=5_000_000,
            # as a public pooch registry pins it for LIBSVM's file
            checksum="sha256:f39a4eb628dc61a7d43760815b061c9e497aa728ce1ad8bde57a09ef6043b538",
        ),
    )
}
