"""The only file that imports numba.

Kernels are compiled once and kept on disk. None takes a function or a class instance as argument,
and none is a closure: those defeat the cache. A kernel releases the interpreter lock.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import event
from numba.extending import intrinsic

from dualgap import _compiling

SOURCES = Path(__file__).parent


def sources_digest() -> str:
    """A hash of all source files of the package."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _use_development_cache() -> None:
    """In a source checkout, key the cache by the sources.

    Numba notices an edit of the file a kernel is in, but not of a file whose functions it inlines:
    an installed package never changes, a checkout does.
    """
    checkout = SOURCES.parents[1]
    if (checkout / "pyproject.toml").is_file() and not os.environ.get("NUMBA_CACHE_DIR"):
        home = str(checkout / ".numba_cache" / sources_digest())
        setattr(numba.config, "CACHE_DIR", home)  # noqa: B010 - made at run time, so untyped


_use_development_cache()


class _Clock(event.Listener):
    """Counts the time of compiling, and of loading from the cache: both hold this lock."""

    def on_start(self, event: Any) -> None:
        """In this thread."""
        _compiling.begin()

    def on_end(self, event: Any) -> None:
        """In this thread."""
        _compiling.end()


class _Herald(event.Listener):
    """Says that kernels of ours are compiled; loading is not worth a word."""

    def on_start(self, event: Any) -> None:
        """Before the first one is."""
        dispatcher = event.data["dispatcher"]  # anybody's: it may be of a kind we know nothing of
        home = getattr(getattr(dispatcher, "py_func", None), "__module__", None) or ""
        if home.startswith("dualgap."):
            _compiling.say_once(dispatcher.stats.cache_path)

    def on_end(self, event: Any) -> None:
        """Nothing."""


_register: Any = event.register  # untyped
_register("numba:compiler_lock", _Clock())
_register("numba:compile", _Herald())

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reordered, so that they use vector registers; NaN and infinity keep their meaning.
# Iterates may rest on this, a certificate never does.
_REORDERED = {"reassoc", "contract"}


def kernel(function: F) -> F:
    """Compile a kernel whose sums may be reordered."""
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDERED)(
        function
    )
    return cast(F, compiled)


def scalar(function: F) -> F:
    """Compile a formula of scalars, to be inlined into kernels; nothing is reordered."""
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return cast(F, compiled)


def inlined(function: F) -> F:
    """As `scalar`, and copied into every caller: for what is done once per entry of the data."""
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(
        function
    )
    return cast(F, compiled)


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, values[0])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        name = "llvm.prefetch.p0"
        llvm = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        address = builder.bitcast(builder.gep(view.data, [values[1]]), byte)
        builder.call(llvm, [address, word(0), word(3), word(1)])  # for reading, into every level

    return numba.types.void(array, numba.types.intp), generate


prefetch: Any = intrinsic(_prefetch)
"""prefetch(array, i): ask for the cache line of array[i], and do not wait for it."""
