"""The developer front door; needs Python >= 3.11 and nothing else.

usage: python3 dev.py COMMAND [ARGS]

  demo   run the demonstration (ARGS go to ``dualgap demo``)
  test   run every check: lint, types, pytest with coverage, wheel
         (with --fast: lint, and one case of each test function; what follows
         goes to pytest. With other ARGS: only pytest, with these arguments)
  lint   ruff check and ruff format --check
  types  mypy on src
  wheel  build the wheel into dist/ and import it in a fresh environment
  minimum  run the fast tests with Python 3.11 and the oldest versions of the
         dependencies that pyproject.toml allows, in .venv-minimum
         (with ARGS: pytest with these arguments instead)

The first run creates .venv and installs the project there; later runs start at
once, until pyproject.toml changes.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MIN_PYTHON = (3, 11)
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "installed"  # "extras hash" of the last complete install
WHEELHOUSE = VENV / "wheelhouse"  # wheels of the core dependencies, for the wheel check


def python_of(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


PYTHON = python_of(VENV)
MINIMUM = ROOT / ".venv-minimum"
NOT_TESTS = ("mypy", "ruff", "scipy-stubs")  # judge the sources, whatever is installed
PIP = ("-m", "pip", "-qq", "--disable-pip-version-check")


def run(title: str, *command: object, cwd: Path = ROOT, **env: str) -> None:
    """Announce and run one step; if it fails, exit with its code."""
    print(f"==> {title}", flush=True)
    code = subprocess.run([str(c) for c in command], cwd=cwd, env={**os.environ, **env}).returncode
    if code:
        print(f"dev.py: failed with exit code {code}: {title}", file=sys.stderr)
        sys.exit(code)


def venv_works(python: Path) -> bool:
    probe = f"import sys, pip; sys.exit(sys.version_info < {MIN_PYTHON})"
    try:
        done = subprocess.run([str(python), "-I", "-c", probe], stderr=subprocess.DEVNULL)
    except OSError:
        return False
    return done.returncode == 0


def project_key() -> str:
    """Hash of what an environment depends on; the path too, as an editable install holds it."""
    return hashlib.sha256(str(ROOT).encode() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()


def install(extras: str) -> None:
    """Make .venv hold the project, editable, with these extras."""
    if not venv_works(PYTHON):
        run("create .venv", sys.executable, "-m", "venv", "--clear", VENV)

    key = project_key()
    # One stamp, of the last install; the extra "test" covers what every command needs.
    if STAMP.exists() and STAMP.read_text() in (f"{extras} {key}", f"test {key}"):
        return
    STAMP.unlink(missing_ok=True)
    run(f"install .[{extras}] into .venv", PYTHON, *PIP, "install", "-e", f".[{extras}]")
    if extras == "test":
        shutil.rmtree(WHEELHOUSE, ignore_errors=True)
        run("keep the dependencies' wheels", PYTHON, *PIP, "wheel", "-w", WHEELHOUSE, ".")
    STAMP.write_text(f"{extras} {key}")


def lowest(requirement: str) -> str:
    """The oldest version that a requirement of the form ``name>=version`` allows."""
    found = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement)
    if found is None:
        sys.exit(f"dev.py: expected a dependency of the form name>=version, not {requirement!r}")
    return f"{found[1]}=={found[2]}"


def oldest_python() -> str:
    """The interpreter of exactly the oldest Python version, by whatever name it is found."""
    if sys.version_info[:2] == MIN_PYTHON:
        return sys.executable
    name = "python" + ".".join(map(str, MIN_PYTHON))
    found = shutil.which(name)
    if found is None:
        sys.exit(f"dev.py: minimum needs {name}, which was not found")
    return found


def install_minimum() -> None:
    """Make .venv-minimum hold the project with its dependencies at their lower bounds."""
    import tomllib  # not before main: older Pythons lack it, and are told what is needed

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = [lowest(requirement) for requirement in project["dependencies"]]
    extras = [
        requirement
        for requirement in project["optional-dependencies"]["test"]
        if not requirement.startswith(NOT_TESTS)
    ]
    python, stamp = python_of(MINIMUM), MINIMUM / "installed"
    if not venv_works(python):
        run("create .venv-minimum", oldest_python(), "-m", "venv", "--clear", MINIMUM)
    if stamp.exists() and stamp.read_text() == project_key():
        return
    stamp.unlink(missing_ok=True)
    print("\n".join(oldest))
    title = "install the project and its oldest dependencies into .venv-minimum"
    run(title, python, *PIP, "install", "-e", ROOT, *oldest, *extras)
    stamp.write_text(project_key())


def demo(*args: str) -> None:
    install("cli")
    run("dualgap demo", PYTHON, "-m", "dualgap", "demo", *args)


def test(*args: str) -> None:
    if args[:1] == ("--fast",):
        lint()
        pytest("-m", "fast", *args[1:])
    elif args:
        pytest(*args)
    else:
        lint()
        types()
        pytest("--cov")
        wheel()


def lint() -> None:
    install("test")
    run("ruff check", PYTHON, "-m", "ruff", "check", ".")
    run("ruff format --check", PYTHON, "-m", "ruff", "format", "--check", ".")


def types() -> None:
    install("test")
    run("mypy src", PYTHON, "-m", "mypy", "src")


def pytest(*args: str) -> None:
    install("test")
    run_pytest(PYTHON, *args)


def minimum(*args: str) -> None:
    install_minimum()
    # A cache of its own: kernels that another numba compiled are of no use.
    run_pytest(
        python_of(MINIMUM), *(args or ("-m", "fast")), NUMBA_CACHE_DIR=str(MINIMUM / "kernels")
    )


def run_pytest(python: Path, *args: str, **env: str) -> None:
    # Two workers with one BLAS thread each, so that they do not fight for the cores.
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    run("pytest", python, "-m", "pytest", "-n", "2", *args, **one, **env)


def wheel() -> None:
    install("test")
    with tempfile.TemporaryDirectory() as name:
        tmp = Path(name)
        fresh = python_of(tmp / "venv")
        run("build the wheel", PYTHON, "-m", "build", "--wheel", "--no-isolation", "-o", tmp)
        (built,) = tmp.glob("*.whl")
        run("create a fresh environment", PYTHON, "-m", "venv", tmp / "venv")
        offline = ("--no-index", "--find-links", WHEELHOUSE)
        run("install the wheel there", fresh, *PIP, "install", "--no-compile", *offline, built)
        check = "import dualgap; dualgap.show_versions()"
        run("import the installed wheel", fresh, "-I", "-c", check, cwd=tmp)
        (ROOT / "dist").mkdir(exist_ok=True)
        shutil.copy(built, ROOT / "dist")
    print(f"built dist/{built.name}")


COMMANDS = {f.__name__: f for f in (demo, test, lint, types, wheel, minimum)}
TAKES_ARGS = (demo, test, minimum)


def main() -> None:
    if sys.version_info < MIN_PYTHON:
        need, have = (".".join(map(str, v)) for v in (MIN_PYTHON, sys.version_info[:3]))
        sys.exit(f"dev.py: Python {need} or newer is needed, this is {have}")
    name, *args = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        print(__doc__.strip())
        return
    command = COMMANDS.get(name)
    if args[:1] == ["--"]:
        args = args[1:]
    if command is None or (args and command not in TAKES_ARGS):
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    command(*args)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
