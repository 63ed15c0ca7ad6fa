"""The only file that imports numba.

Kernels are compiled once and kept on disk. None takes a function or a class instance as argument,
and none is a closure: those defeat the cache. A kernel releases the interpreter lock.
"""

from __future__ import annotations

import hashlib
import os
import platform
import warnings
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from dualgap.compiled import clock as compiling
from dualgap.compiled.cache import own_temporary_folder, remove_broken_files

with compiling.counted():  # numba takes a second to import
    import numba
    from llvmlite import binding as llvm
    from llvmlite import ir
    from numba.core import event
    from numba.extending import intrinsic, overload

SOURCES = Path(__file__).parents[1]
"""The folder of the package."""
MARK = b"dualgap.compiled.jit"
"""A file with kernels has this in its imports."""


def sources_digest() -> str:
    """A hash of the source files that kernels are made of: all in the folders that have kernels.

    Kernels take functions and constants from these folders alone (a test sees to it), so that an
    edit of any other file leaves them as they are.
    """
    texts = {path: path.read_bytes() for path in sorted(SOURCES.rglob("*.py"))}
    folders = {path.parent for path, text in texts.items() if MARK in text}
    digest = hashlib.sha256()
    for path, text in texts.items():
        if path.parent in folders:
            digest.update(text)
    return digest.hexdigest()[:16]


def _use_development_cache() -> None:
    """In a source checkout, key the cache by the sources of the kernels.

    Numba notices an edit of the file a kernel is in, but not of a file whose functions it inlines:
    an installed package never changes, a checkout does.
    """
    checkout = SOURCES.parents[1]
    if (checkout / "pyproject.toml").is_file() and not os.environ.get("NUMBA_CACHE_DIR"):
        _keep_kernels_in(checkout / ".numba_cache" / sources_digest())


def _keep_kernels_in(folder: Path) -> None:
    """Of those that are decorated from now on."""
    setattr(numba.config, "CACHE_DIR", str(folder))  # noqa: B010 - made at run time, so untyped


_use_development_cache()


class _Clock(event.Listener):
    """Counts the time of compiling, and of loading from the cache: both hold this lock."""

    def on_start(self, event: Any) -> None:
        """In this thread."""
        compiling.begin()

    def on_end(self, event: Any) -> None:
        """In this thread."""
        compiling.end()


class _Herald(event.Listener):
    """Says that kernels of ours are compiled; loading is not worth a word."""

    def on_start(self, event: Any) -> None:
        """Before the first one is."""
        dispatcher = event.data["dispatcher"]  # anybody's: it may be of a kind we know nothing of
        home = getattr(getattr(dispatcher, "py_func", None), "__module__", None) or ""
        if home.startswith("dualgap."):
            compiling.say_once(dispatcher.stats.cache_path)

    def on_end(self, event: Any) -> None:
        """Nothing."""


_register: Any = event.register  # untyped
_register("numba:compiler_lock", _Clock())
_register("numba:compile", _Herald())

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
R = TypeVar("R", covariant=True)

# Sums may be reordered, so that they use vector registers; NaN and infinity keep their meaning.
# Iterates may rest on this, a certificate never does.
_REORDERED = {"reassoc", "contract"}


_SEEN: set[tuple[str, str]] = set()
"""Folders and modules whose files were looked at."""
_SAID: list[str] = []
"""Where kernels are kept, if numba found no place: it is said once."""


def kernel(function: F) -> F:
    """Compile a kernel whose sums may be reordered."""
    return _compiled(function, fastmath=_REORDERED)


def scalar(function: F) -> F:
    """Compile a formula of scalars, to be inlined into kernels; nothing is reordered."""
    return _compiled(function)


def exact(function: F) -> F:
    """Compile a kernel of sums that a proof follows rounding by rounding: nothing is reordered."""
    return _compiled(function)


def inlined(function: F) -> F:
    """As `scalar`, and copied into every caller: for what is done once per entry of the data."""
    return _compiled(function, inline="always")


class ByKind(Protocol[R]):
    """A function with a body for each kind of its first argument, a NamedTuple."""

    def __call__(self, first: Any, /, *rest: Any) -> R:
        """The body for the kind of the first argument; arguments are given by position."""

    def of(self, kind: type) -> Callable[[F], F]:
        """Make a function the body for a kind."""


def by_kind(function: Callable[..., R]) -> ByKind[R]:
    """A function whose body is chosen by the class of its first argument, a NamedTuple.

    As with `functools.singledispatch`, ``@function.of(Kind)`` gives the body for a kind, and the
    function's own serves all others. Where a kernel calls it, the choice is made when the kernel
    is compiled, and the body becomes part of the kernel and of what is kept on disk; in plain
    Python it is made at every call. Arguments are given by position. Two things save seconds of
    compiling: to call it from kernels alone or from such functions alone, for it is compiled for
    either; and loops where arrays are copied, for numba's own copies check shapes at length.
    """
    bodies: dict[type, Callable[..., Any]] = {}

    @wraps(function)
    def chosen(first: Any, *rest: Any) -> Any:
        body: Callable[..., Any] = bodies.get(type(first), function)
        return body(first, *rest)

    def choose(first: Any, *rest: Any) -> Callable[..., Any]:  # first is a type of numba
        return bodies.get(getattr(first, "instance_class", type(None)), function)

    def of(kind: type) -> Callable[[F], F]:
        def keep(body: F) -> F:
            bodies[kind] = body
            return body

        return keep

    options: Any = {
        "fastmath": _REORDERED,
        "nogil": True,
        "error_model": "numpy",
        "forceinline": True,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }
    setattr(chosen, "of", of)  # noqa: B010 - functions have no such attribute for mypy
    overload(chosen, jit_options=options, strict=False)(choose)
    return cast(ByKind[R], chosen)


def _compiled(function: F, **options: Any) -> F:
    """As numba compiles it, kept wherever that can be."""
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no folder to write to
        compiled = _compiled_elsewhere(function, options)
    folder = getattr(getattr(compiled, "stats", None), "cache_path", None)
    module = Path(function.__code__.co_filename).stem
    if folder is not None and (folder, module) not in _SEEN:
        _SEEN.add((folder, module))
        remove_broken_files(Path(folder), module)
    return cast(F, compiled)


@cache
def _temporary_folder() -> Path | None:
    """For these sources: others would inline other functions."""
    return own_temporary_folder(sources_digest())


def _compiled_elsewhere(function: F, options: dict[str, Any]) -> Any:
    """Kept in a temporary folder, which later kernels are told of, or not at all."""
    folder = _temporary_folder()
    where = f"they are kept in {folder}"
    try:
        if folder is None:
            raise RuntimeError("there is no such folder")
        _keep_kernels_in(folder)
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:
        compiled = numba.njit(**options)(function)
        where = "they are compiled anew by every process, which takes a while"
    if not _SAID:
        _SAID.append(where)
        warnings.warn(
            "dualgap can keep its compiled kernels neither beside the package nor in the home "
            f"folder; {where}. Set NUMBA_CACHE_DIR to a folder that can be written to.",
            RuntimeWarning,
            stacklevel=4,
        )
    return compiled


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, values[0])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = builder.mul(values[1], builder.extract_value(view.strides, 0))
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        name = "llvm.prefetch.p0"
        called = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        address = builder.gep(builder.bitcast(view.data, byte), [place])
        builder.call(called, [address, word(0), word(3), word(1)])  # for reading, into every level

    return numba.types.void(array, numba.types.intp), generate


def _fused(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fma(*values)

    return numba.types.float64(a, b, c), generate


def _has_fused() -> bool:
    """Whether this processor multiplies and adds in one rounding, and numba compiles for it."""
    if getattr(numba.config, "CPU_NAME", None) or getattr(numba.config, "CPU_FEATURES", None):
        return False  # it was told to compile for another one
    if platform.machine().lower() in ("aarch64", "arm64"):
        return True
    return bool(llvm.get_host_cpu_features().get("fma", False))


def _unowned(typing_context: Any, value: Any) -> Any:
    def without_owner(context: Any, builder: Any, kind: Any, given: Any) -> Any:
        if isinstance(kind, numba.types.Array):
            array = context.make_array(kind)(context, builder, given)
            array.meminfo = ir.Constant(array.meminfo.type, None)
            return array._getvalue()
        if isinstance(kind, numba.types.BaseTuple):
            members: Any = kind
            for place, member in enumerate(members):
                part = builder.extract_value(given, place)
                part = without_owner(context, builder, member, part)
                given = builder.insert_value(given, part, place)
        return given

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return without_owner(context, builder, signature.args[0], values[0])

    return value(value), generate


def _intrinsic(generate: Callable[..., Any], in_python: Callable[..., Any]) -> Any:
    """One that plain Python may call, too, as numba's own may not be."""
    made: Any = intrinsic(generate)
    members = {"__call__": lambda self, *arguments: in_python(*arguments)}
    made.__class__ = type("Intrinsic", (type(made),), members)
    return made


borrowed: Any = _intrinsic(_unowned, lambda value: value)
"""borrowed(value): the same tuple of arrays and numbers, without a count of who refers to them.

Who calls a kernel holds its arguments. A kernel that says so at its start need not count at every
call of a helper, which takes longer than the arithmetic of a short row.
"""
fused: Any = intrinsic(_fused)
"""fused(a, b, c): a b + c with one rounding. To be called only where `HAS_FUSED`."""
HAS_FUSED = _has_fused()
"""Else `fused` would be a function of the C library, which is slow and nobody vouches for."""

prefetch: Any = _intrinsic(_prefetch, lambda array, i: None)
"""prefetch(array, i): ask for the cache line where array[i] begins, and do not wait for it."""
