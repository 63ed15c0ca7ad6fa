"""Named data sets: in a folder, in the cache, from a local server that may misbehave."""

import hashlib
import lzma
import os
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import dualgap.datasets._download as fetching
from dualgap.datasets import DataError, load, loading
from dualgap.datasets.registry import NAMED_SETS, Content, NamedSet

TEXT = b"2 1:0.5 3:1\n1 2:3\n2 1:1\n"
CONTENT = Content(3, 3, 4, (1.0, 2.0), two_labels=True)
BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
DATA = Path(os.environ.get("DUALGAP_DATA", BESIDE))


class Server(ThreadingHTTPServer):
    """Serves what each test wants it to."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = 0
        self.release = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/tiny"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked += 1
        self.server.answer(self)

    def log_message(self, *args):
        pass

    def send(self, body, length=None):
        self.send_response(200)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server():
    running = Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.release.set()
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DUALGAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DUALGAP_DATA", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def tiny(server, cache, monkeypatch):
    """A named set that lives on the local server."""
    named = NamedSet("tiny", "tiny", CONTENT, url=server.url, largest=1000)
    monkeypatch.setitem(NAMED_SETS, "tiny", named)
    return named


def files(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def good(request):
    request.send(TEXT, len(TEXT))


# ---- the network ----


@pytest.mark.parametrize("length", [None, len(TEXT)])
def test_a_good_answer_is_kept_with_its_checksum(server, cache, tiny, length):
    server.answer = lambda request: request.send(TEXT, length)
    data = load("tiny")
    assert data.A.toarray().tolist() == [[0.5, 0, 1], [0, 3, 0], [1, 0, 0]]
    assert data.b.tolist() == [1, -1, 1]  # labels 1 and 2
    assert files(cache) == ["tiny", "tiny.sha256"]
    assert (cache / "tiny").read_bytes() == TEXT
    assert (cache / "tiny.sha256").read_text() == f"sha256:{hashlib.sha256(TEXT).hexdigest()}\n"
    assert (load("tiny").A != data.A).nnz == 0
    assert server.asked == 1  # the second one came from the cache


def test_compressed_answers(server, cache, tiny):
    server.answer = lambda request: request.send(lzma.compress(TEXT))
    assert load("tiny").A.shape == (3, 3)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda r: r.send_error(404), "Not Found"),
        (lambda r: r.send_error(500), "could not be downloaded"),
        (lambda r: r.send(TEXT[:20], len(TEXT)), "broke off after 20 of 24 bytes"),
        (lambda r: r.send(TEXT[:15]), "is no tiny: .*, line 2: '2' is not of the form"),
        (lambda r: r.send(lzma.compress(TEXT)[:-9]), "break off"),
        (lambda r: r.send(b"<html>busy</html>"), "is no tiny"),
        (lambda r: r.send(TEXT.replace(b"0.5", b"0.0")), "non-zero values"),
        (lambda r: r.send(TEXT + b"1 1:1\n"), "shape"),
        (lambda r: r.send(TEXT.replace(b"\n1 ", b"\n1.5 ")), "range of targets"),
        (lambda r: r.send(b"", 5000), "more than the 1000 bytes"),
        (lambda r: r.send(b"x" * 5000), "more than the 1000 bytes"),
        (lambda r: r.wfile.write(b"nonsense\r\n\r\n"), "could not be downloaded"),
    ],
)
def test_a_bad_answer_leaves_nothing_behind(server, cache, tiny, answer, message):
    server.answer = answer
    with pytest.raises(DataError, match=message) as raised:
        load("tiny")
    assert server.url in str(raised.value)
    assert files(cache) == []
    server.answer = good
    assert load("tiny").A.shape == (3, 3)


def test_a_silent_server_is_not_waited_for(server, cache, tiny, monkeypatch):
    def answer(request):
        request.send(TEXT[:10], len(TEXT))
        request.server.release.wait(30)

    server.answer = answer
    monkeypatch.setitem(fetching.download.__kwdefaults__, "silence", 0.1)
    with pytest.raises(DataError, match="timed out"):
        load("tiny")
    assert files(cache) == []


def test_a_dripping_server_is_not_waited_for(server, cache, tiny, monkeypatch):
    def answer(request):
        request.send(b"", len(TEXT))
        for byte in TEXT:
            if request.server.release.wait(0.02):
                return
            request.wfile.write(bytes([byte]))

    server.answer = answer
    clock = iter(range(0, 100000, 60))
    monkeypatch.setattr(fetching, "time", type("T", (), {"monotonic": lambda: next(clock)}))
    with pytest.raises(DataError, match="took too long"):
        load("tiny")
    assert files(cache) == []


def test_nobody_answers(server, cache, tiny, monkeypatch):
    monkeypatch.setitem(NAMED_SETS, "tiny", replace(tiny, url="http://127.0.0.1:9/tiny"))
    with pytest.raises(DataError, match=r"tiny is not at hand; .*DUALGAP_DATA.*could not be"):
        load("tiny")
    assert files(cache) == []


def test_an_interrupted_download_leaves_nothing_behind(server, cache, tiny, monkeypatch):
    server.answer = good

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(loading, "_verify", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load("tiny")
    assert files(cache) == []


@pytest.mark.parametrize("algorithm", ["md5", "sha256"])
def test_a_published_checksum_must_match(server, cache, tiny, monkeypatch, algorithm):
    server.answer = good
    pinned = f"{algorithm}:{hashlib.new(algorithm, TEXT).hexdigest()}"
    monkeypatch.setitem(NAMED_SETS, "tiny", replace(tiny, checksum=pinned))
    server.answer = lambda request: request.send(TEXT + b"\n")  # the same data, other bytes
    with pytest.raises(DataError, match=f"has the {algorithm} [0-9a-f]+, not the expected"):
        load("tiny")
    assert files(cache) == []
    server.answer = good
    assert load("tiny").A.shape == (3, 3)


def test_a_cached_file_that_changed_is_refused(server, cache, tiny):
    server.answer = good
    load("tiny")
    (cache / "tiny").write_bytes(TEXT + b"\n")
    with pytest.raises(DataError, match=r"delete it to download it again.*sha256"):
        load("tiny")
    (cache / "tiny.sha256").unlink()
    with pytest.raises(DataError, match="has no checksum beside it"):
        load("tiny")


def test_downloads_can_be_forbidden(server, cache, tiny):
    with pytest.raises(DataError, match="not at hand"):
        load("tiny", allow_download=False)
    assert server.asked == 0


def test_an_arff_answer(server, cache, monkeypatch):
    """As OpenML sends cpuact."""
    text = "% note\n@relation r\n@attribute a real\n@DATA\n0.5,0,2\n\n% more\n0,3,1\n"
    named = NamedSet(
        "arff", "arff", Content(2, 2, 2, (1.0, 2.0)), url=server.url + ".arff", largest=1000
    )
    monkeypatch.setitem(NAMED_SETS, "arff", named)
    server.answer = lambda request: request.send(text.encode())
    data = load("arff")
    assert data.A.toarray().tolist() == [[0.5, 0], [0, 3]] and data.b.tolist() == [2, 1]
    server.answer = lambda request: request.send(b"0,1\n")
    (cache / "tiny.arff").unlink()
    with pytest.raises(DataError, match="no line @data"):
        load("arff")


# ---- folders ----


@pytest.mark.parametrize("name", ["tiny.svm.xz", "tiny", "tiny.txt"])
@pytest.mark.parametrize("how", ["argument", "environment"])
def test_a_data_folder_comes_first(server, cache, tiny, tmp_path, monkeypatch, name, how):
    (tmp_path / name).write_bytes(lzma.compress(TEXT) if name.endswith("xz") else TEXT)
    if how == "environment":
        monkeypatch.setenv("DUALGAP_DATA", str(tmp_path))
    data = load("tiny", data_folder=tmp_path if how == "argument" else None)
    assert (data.name, data.source) == ("tiny", str(tmp_path / name))
    assert server.asked == 0


def test_a_stand_in_is_called_by_its_own_name(cache, tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(NAMED_SETS, "big", replace(tiny, name="big", stem="big", stand_in="tiny"))
    (tmp_path / "tiny.svm").write_bytes(TEXT)
    assert load("big", data_folder=tmp_path).name == "tiny"
    (tmp_path / "big.svm").write_bytes(TEXT)
    assert load("big", data_folder=tmp_path).name == "big"


def test_a_file_that_is_not_the_set_is_refused(cache, tiny, tmp_path):
    (tmp_path / "tiny.svm").write_bytes(TEXT[:12])
    with pytest.raises(DataError, match="is no tiny"):
        load("tiny", data_folder=tmp_path)


def test_bad_folders_and_names(cache, tmp_path):
    with pytest.raises(DataError, match="not a directory"):
        load("a9a", data_folder=tmp_path / "none")
    with pytest.raises(DataError, match=r"'a9b' is neither a file nor a known data set .*a9a"):
        load("a9b")
    with pytest.raises(DataError, match="rcv1_sub has no public home"):
        load("rcv1_sub")


def test_a_file_called_like_a_set(cache, tmp_path, monkeypatch):
    (tmp_path / "a9a").write_bytes(TEXT)
    monkeypatch.chdir(tmp_path)
    assert load("./a9a").A.shape == (3, 3)


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/dualgap"),
        ("linux", {"HOME": "/h"}, "/h/.cache/dualgap"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Caches/dualgap"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/dualgap"),
        ("linux", {"DUALGAP_CACHE": "/c"}, "/c"),
    ],
)
def test_cache_folder(monkeypatch, platform, environment, expected):
    for name in ("XDG_CACHE_HOME", "DUALGAP_CACHE", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(fetching.sys, "platform", platform)
    assert fetching.cache_folder() == Path(expected)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no data sets in {DATA}")
@pytest.mark.parametrize("name", ["cpuact", "cpusmall", "rcv1", "a9a", "mushrooms"])
def test_the_real_sets(cache, name):
    data = load(name, data_folder=DATA)
    assert data.name == (name if name != "rcv1" else "rcv1_sub")
    if name in ("rcv1", "a9a", "mushrooms"):
        assert set(data.b.tolist()) == {-1.0, 1.0}


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no data sets in {DATA}")
@pytest.mark.parametrize("name", ["a9a", "mushrooms"])
def test_published_checksums_are_those_of_the_text(name):
    """These files are LIBSVM's, compressed; the registry's checksums come from elsewhere."""
    text = lzma.open(DATA / f"{name}.svm.xz").read()
    assert NAMED_SETS[name].checksum == f"sha256:{hashlib.sha256(text).hexdigest()}"
