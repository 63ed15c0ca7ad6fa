"""Files are written wholly or not at all."""

import os
import threading

import pytest

from dualgap._files import check_writable, replacing


def test_the_new_file_takes_the_place_of_the_old_one(tmp_path):
    target = tmp_path / "a"
    target.write_text("old")
    with replacing(target) as part:
        part.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
def test_a_fault_leaves_the_old_file(tmp_path, fault):
    target = tmp_path / "a"
    target.write_text("old")
    with pytest.raises(fault), replacing(target) as part:
        part.write_text("half")
        raise fault
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "link").symlink_to("a")
    with replacing(tmp_path / "link") as part:
        part.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_text() == "new"


def test_a_pipe_is_written_to(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    with replacing(pipe) as part:
        part.write_text("through")
    reader.join()
    assert got == ["through"]
    assert pipe.is_fifo()


def test_what_cannot_be_written_is_refused_before(tmp_path):
    with pytest.raises(ValueError, match="is a directory"):
        check_writable("--out", tmp_path)
    with pytest.raises(ValueError, match="make it first"):
        check_writable("--out", tmp_path / "none" / "a")
    check_writable("--out", tmp_path / "a")
    assert os.listdir(tmp_path) == []
