"""Compiled kernels are kept on disk: a second process compiles nothing."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import dualgap
from dualgap.compiled import cache as kernel_cache

SOURCES = Path(dualgap.__file__).parent

SOLVE = """
import numpy as np, scipy.sparse as sp
import dualgap
from dualgap.kernels import epoch

rng = np.random.default_rng(0)
A = rng.standard_normal((30, 4))
b = np.where(A[:, 0] > 0, 1.0, -1.0)
for data in (A, sp.csr_array(A)):
    for algorithm in ("spdc", "adf-spdc"):
        dualgap.solve(data, b, loss="logistic", l2=0.1, algorithm=algorithm)
for kind in ("cache_misses", "cache_hits"):
    print(sum(getattr(epoch.run_epoch.stats, kind).values()))
"""


def misses_and_hits(cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    out = subprocess.run(
        [sys.executable, "-c", SOLVE], env=environment, capture_output=True, text=True, check=True
    )
    return tuple(int(v) for v in out.stdout.split())


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path):
    assert misses_and_hits(tmp_path) == (2, 0)
    assert misses_and_hits(tmp_path) == (0, 2)


def test_an_edited_source_file_of_kernels_changes_the_key_of_the_cache(tmp_path, monkeypatch):
    from dualgap.compiled import jit

    files = {
        "kernels/a.py": "from dualgap.compiled.jit import kernel\n",
        "kernels/constants.py": "x = 1\n",
        "estimators/b.py": "x = 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(jit, "SOURCES", tmp_path)
    before = jit.sources_digest()
    (tmp_path / "estimators/b.py").write_text("x = 2\n")
    assert jit.sources_digest() == before
    (tmp_path / "kernels/constants.py").write_text("x = 2\n")
    assert jit.sources_digest() != before


def test_kernels_take_what_they_use_from_folders_that_the_key_covers():
    from dualgap.compiled import jit

    texts = {path: path.read_bytes() for path in jit.SOURCES.rglob("*.py")}
    with_kernels = [path for path, text in texts.items() if jit.MARK in text]
    covered = {path.parent for path in with_kernels}
    assert {path.name for path in covered} >= {"kernels", "enclosures", "datasets"}
    taken = re.compile(r"^\s*(?:from|import) dualgap\.(\w+)", re.MULTILINE)
    for path in with_kernels:
        rooms = {jit.SOURCES / room for room in taken.findall(texts[path].decode())}
        assert rooms - {jit.SOURCES / "_types"} <= covered, path  # types are for people


# ---- folders that cannot be written to ----

MIRROR = """
import warnings
import numpy as np
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    from dualgap.linalg import compiled_gram as gram, compiled_descent
H = np.tril(np.arange(9.0).reshape(3, 3))
gram.mirror(H)
assert (H == H.T).all()
print(len(gram.mirror.stats.cache_misses), len(gram.mirror.stats.cache_hits))
print(gram.mirror.stats.cache_path)
print(*[f"{w.category.__name__}: {w.message}" for w in said], sep="\\n")
"""


@pytest.fixture
def nowhere(tmp_path):
    """A copy of the package, and an environment, in which numba finds no folder to write to.

    Where a folder would have to be there is a regular file, which stops even root.
    """
    package = tmp_path / "installed" / "dualgap"
    shutil.copytree(SOURCES, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (package, *(p for p in package.iterdir() if p.is_dir())):
        (folder / "__pycache__").write_text("no folder")
    file = tmp_path / "file"
    file.write_text("no folder")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    homes = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"), str(file))
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    return {**keep, **homes, **places, "PYTHONPATH": str(package.parent)}, temporary


def run_mirror(environment):
    command = [sys.executable, "-B", "-c", MIRROR]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    counts, path, *said = done.stdout.splitlines()
    return tuple(int(c) for c in counts.split()), path, [line for line in said if line]


@pytest.mark.slow
def test_without_a_folder_kernels_are_kept_in_a_temporary_one(nowhere):
    environment, temporary = nowhere
    counts, path, said = run_mirror(environment)
    assert counts == (1, 0) and Path(path).is_relative_to(temporary)
    (warning,) = said  # one for the dozens of functions in two modules
    assert warning.startswith("RuntimeWarning: dualgap can keep its compiled kernels neither")
    assert f"kept in {temporary}" in warning and "Set NUMBA_CACHE_DIR" in warning
    (folder,) = temporary.iterdir()
    if hasattr(os, "getuid"):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert run_mirror(environment)[0] == (0, 1)

    # Where there is none of that name, either, nothing is kept, and all works.
    shutil.rmtree(folder)
    folder.write_text("no folder")
    counts, path, said = run_mirror(environment)
    assert path == "None"
    (warning,) = said
    assert "compiled anew by every process" in warning and "NUMBA_CACHE_DIR" in warning


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owners here")
def test_a_temporary_folder_of_others_is_not_used(tmp_path, monkeypatch):
    """What is kept there is executed: nobody else may have put it there."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = kernel_cache.own_temporary_folder("x")
    assert folder is not None and folder == kernel_cache.own_temporary_folder("x")
    folder.chmod(0o777)
    assert kernel_cache.own_temporary_folder("x") is None
    folder.chmod(0o700)
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    (tmp_path / f"dualgap-{os.getuid()}-x").mkdir()  # made by another than its name says
    assert kernel_cache.own_temporary_folder("x") is None
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert kernel_cache.own_temporary_folder("x") is None


# ---- files that broke off ----


def emptied(content):
    return b""


def cut(content):
    return content[: len(content) // 2]


def without_its_end(content):
    return content[:-1]


def zeroed(content):
    """The right length and no content: what a machine that went down may leave."""
    return bytes(len(content))


def zeroed_at_the_end(content):
    return content[:-100] + bytes(100)


def with_other_names(content):
    return content.replace(b"numba", b"nubma")


DAMAGES = [emptied, cut, without_its_end, zeroed, zeroed_at_the_end, with_other_names]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Files as numba leaves them: an index and the code of one signature."""
    cache = tmp_path_factory.mktemp("cache")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    assert run_mirror(environment)[0] == (1, 0)
    (index,) = cache.rglob("compiled_gram.mirror-*.nbi")
    (data,) = cache.rglob("compiled_gram.mirror-*.nbc")
    return environment, index, data


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_file_is_removed(whole, tmp_path, damage, suffix):
    _, index, data = whole
    for path in (index, data):
        shutil.copy(path, tmp_path)
    (tmp_path / "compiled_grammar.other-1.py311.1.nbc").write_bytes(b"of another module")
    assert kernel_cache.remove_broken_files(tmp_path, "compiled_gram") == []
    path = tmp_path / {".nbi": index, ".nbc": data}[suffix].name
    path.write_bytes(damage(path.read_bytes()))
    assert kernel_cache.remove_broken_files(tmp_path, "compiled_gram") == [path]
    assert not path.exists() and len(list(tmp_path.iterdir())) == 2


@pytest.mark.slow
def test_truncated_files_are_compiled_again(whole):
    """numba itself gives up at such a file, with an EOFError or an UnpicklingError."""
    environment, index, data = whole
    for path in (index, data):
        path.write_bytes(cut(path.read_bytes()))
        assert run_mirror(environment)[0] == (1, 0)
    assert run_mirror(environment)[0] == (0, 1)
