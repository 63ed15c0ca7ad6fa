"""The developer front door; needs Python >= 3.11 and nothing else.

usage: python3 dev.py COMMAND [ARGS]

  demo   run the demonstration (ARGS go to ``dualgap demo``)
  test   run every check: lint, types, pytest with coverage, wheel
         (with --fast: lint, and one case of each test function; what follows
         goes to pytest. With other ARGS: only pytest, with these arguments)
  lint   ruff check and ruff format --check
  types  mypy on src
  wheel  build the wheel into dist/ and import it in a fresh environment

The first run creates .venv and installs the project there; later runs start at
once, until pyproject.toml changes.
"""

import hashlib
import os
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
PIP = ("-m", "pip", "-qq", "--disable-pip-version-check")


def run(title: str, *command: object, cwd: Path = ROOT, **env: str) -> None:
    """Announce and run one step; if it fails, exit with its code."""
    print(f"==> {title}", flush=True)
    code = subprocess.run([str(c) for c in command], cwd=cwd, env={**os.environ, **env}).returncode
    if code:
        print(f"dev.py: failed with exit code {code}: {title}", file=sys.stderr)
        sys.exit(code)


def venv_works() -> bool:
    probe = f"import sys, pip; sys.exit(sys.version_info < {MIN_PYTHON})"
    try:
        done = subprocess.run([str(PYTHON), "-I", "-c", probe], stderr=subprocess.DEVNULL)
    except OSError:
        return False
    return done.returncode == 0


def install(extras: str) -> None:
    """Make .venv hold the project, editable, with these extras."""
    if not venv_works():
        run("create .venv", sys.executable, "-m", "venv", "--clear", VENV)

    # The path is hashed too: an editable install does not survive moving the clone.
    key = hashlib.sha256(str(ROOT).encode() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    # One stamp, of the last install; the extra "test" covers what every command needs.
    if STAMP.exists() and STAMP.read_text() in (f"{extras} {key}", f"test {key}"):
        return
    STAMP.unlink(missing_ok=True)
    run(f"install .[{extras}] into .venv", PYTHON, *PIP, "install", "-e", f".[{extras}]")
    if extras == "test":
        shutil.rmtree(WHEELHOUSE, ignore_errors=True)
        run("keep the dependencies' wheels", PYTHON, *PIP, "wheel", "-w", WHEELHOUSE, ".")
    STAMP.write_text(f"{extras} {key}")


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
    # Two workers with one BLAS thread each, so that they do not fight for the cores.
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    run("pytest", PYTHON, "-m", "pytest", "-n", "2", *args, **one)


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


COMMANDS = {f.__name__: f for f in (demo, test, lint, types, wheel)}
TAKES_ARGS = (demo, test)


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
