"""Arrays in files: parts are what was written, held as long as anybody likes, and never a crash."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time

import numpy as np
import pytest

import dualgap
from dualgap.designs import BlockDesign
from dualgap.designs.files import FileArray, Watched, watched
from tests.folders.data import folder

NUMBERS = np.arange(60_000.0).reshape(20_000, 3)


def file_array(path, values=NUMBERS, begin=128):
    path.write_bytes(bytes(begin) + values.tobytes())
    return FileArray(path, values.dtype, values.shape, begin)


def test_parts_are_those_of_the_array(tmp_path):
    array = file_array(tmp_path / "a")
    for at in (slice(3, 9), slice(None), slice(-5, None), slice(7, 7), slice(19_990, 30_000)):
        assert np.array_equal(array[at], NUMBERS[at])
    for at in (5, slice(0, 100, 7), np.array([3, 1]), NUMBERS[:, 0] > 9.0):
        assert np.array_equal(array[at], NUMBERS[at])
    assert np.array_equal(np.asarray(array, np.float32), NUMBERS.astype(np.float32))
    assert (len(array), array.ndim, array.size, array.nbytes) == (20_000, 2, 60_000, 480_000)
    assert np.array_equal(NUMBERS[:, 0] == array[:, 0], np.ones(20_000, dtype=bool))
    with pytest.raises(ValueError, match="a copy"):
        array.__array__(copy=False)


def test_a_part_is_not_written_over_while_anybody_holds_a_view_of_it(tmp_path):
    """Memory is used again, but only when it is free."""
    array = file_array(tmp_path / "a")
    held = [array[start : start + 4000][::2, 1:] for start in range(0, 20_000, 4000)]
    for start, part in zip(range(0, 20_000, 4000), held, strict=True):
        assert np.array_equal(part, NUMBERS[start : start + 4000][::2, 1:])
    del held, part
    one = array[:4000]
    place = one.ctypes.data
    del one
    assert array[4000:8000].ctypes.data == place


def test_the_file_that_was_opened_is_read_whatever_takes_its_name(tmp_path):
    array = file_array(tmp_path / "a")
    first = array[:5]
    other = file_array(tmp_path / "b", -NUMBERS)
    other.path.replace(array.path)
    assert np.array_equal(array[:5], first)
    assert np.array_equal(pickle.loads(pickle.dumps(array))[:5], -first)


def test_maps_are_read_from_their_file_if_it_is_theirs(tmp_path):
    path = tmp_path / "m"
    NUMBERS.tofile(path)
    mapped = np.memmap(path, np.float64, "r", shape=NUMBERS.shape)
    for values in (mapped, mapped[50:900], np.asarray(mapped)[7:]):
        found = watched(values)
        if sys.platform == "linux":
            assert isinstance(found, FileArray)
        assert np.array_equal(found[:20], values[:20])
    later = np.memmap(path, np.float64, "r", 24 * 100, shape=(50, 3))
    assert np.array_equal(watched(later)[:2], NUMBERS[100:102])
    private = np.memmap(path, np.float64, "c", shape=NUMBERS.shape)
    private[0] = -1.0  # which is not in the file
    written = np.memmap(path, np.float64, "r+", shape=NUMBERS.shape)
    written[1] = 7.0  # which is, for all who look
    assert watched(private)[:1].tolist() == [[-1.0] * 3]
    assert watched(written)[1:2].tolist() == [[7.0] * 3]
    assert isinstance(watched(mapped[:, :2]), Watched)
    (tmp_path / "n").write_bytes(path.read_bytes())
    (tmp_path / "n").replace(path)  # another file of this name and size
    assert isinstance(watched(mapped), Watched)
    path.unlink()
    assert np.array_equal(watched(mapped)[5:9], NUMBERS[5:9])
    assert watched(NUMBERS) is NUMBERS


def cut(chunk, path, at):
    """A task that takes away the end of the file, chunk and all, before it looks at the rows."""
    if chunk.rows.start == at:
        with path.open("r+b") as file:
            file.truncate(200)
    return (chunk.matvec(np.ones(3)).sum(),)


@pytest.mark.parametrize("mapped", [False, True], ids=["folder", "memory map"])
def test_a_chunk_is_whole_though_its_file_is_cut_under_it(tmp_path, mapped):
    """A map would end the process here: its pages are gone."""
    opened = folder(tmp_path / "f", NUMBERS, np.ones(20_000))
    path = tmp_path / "f" / "A.npy"
    design = opened.design
    if mapped:
        design = BlockDesign(np.load(path, mmap_mode="r"), rows_per_chunk=5000)
    design = design.arranged(cuts=dualgap.designs.Cuts((0, 20_000), 5000))
    (total,) = design.reduce(cut, path, 15_000)
    assert total == NUMBERS.sum()
    with pytest.raises(ValueError, match=r"A\.npy has become shorter"):
        design.reduce(cut, path, 0)


@pytest.mark.parametrize("name", ["b", "weights", "offset"])
def test_targets_that_are_cut_are_named(tmp_path, name):
    rows = NUMBERS[:, 0] / 1e5 + 1.0
    opened = folder(tmp_path / "f", NUMBERS / 1e5, rows, rows, rows)
    path = tmp_path / "f" / f"{name}.npy"
    both = (opened, dualgap.open(tmp_path / "f", holds_rows=False))
    with path.open("r+b") as file:
        file.truncate(1000)
    for data in both:
        with pytest.raises(ValueError, match=rf"{name}\.npy has become shorter"):
            dualgap.solve(data, l2=0.1)


CHILD = """
import sys, numpy as np, dualgap
for name in sys.argv[2:]:
    data = dualgap.open(name, holds_rows=sys.argv[1] == "held")
    print("fit", flush=True)
    sys.stdin.readline()
    try:
        x = dualgap.solve(data, loss="logistic", l2=1e-4, fit_intercept=True, n_threads=2).x
        print(x.tobytes().hex(), flush=True)
    except ValueError as error:
        print(error, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("held", ["held", "not held"])
@pytest.mark.parametrize("stored", ["dense", "sparse"])
def test_a_fit_ends_well_or_with_a_sentence_whenever_its_file_is_cut(tmp_path, held, stored):
    """In a process of its own, for a signal would end it; every time a little later."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    A = rng.standard_normal((30_000, 20))
    b = np.sign(A @ rng.standard_normal(20) + rng.standard_normal(len(A)))
    rows, name = (A, "A") if stored == "dense" else (sp.csr_array(A), "indices")
    cuts = 12
    folders = [folder(tmp_path / str(k), rows, b).path for k in range(cuts + 2)]
    command = [sys.executable, "-c", CHILD, held, *map(str, folders)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said, lasted = [], 0.0
    for k, path in enumerate(folders):
        assert child.stdout.readline() == "fit\n"
        file = path / f"{name}.npy"
        began = time.monotonic()
        child.stdin.write("\n")
        child.stdin.flush()
        if k > 1:  # the first two are left alone: one compiles, one is timed
            time.sleep(lasted * (k - 2) / cuts)
            with file.open("r+b") as handle:
                handle.truncate(file.stat().st_size // 3)
        said.append(child.stdout.readline().strip())
        lasted = time.monotonic() - began if k == 1 else lasted
    assert child.wait() == 0
    child.stdin.close()
    child.stdout.close()
    right = said[0]
    assert len(right) == 2 * 8 * 20
    assert said[1] == right
    for text in said[2:]:
        assert text == right or f"{name}.npy has become shorter" in text, text
