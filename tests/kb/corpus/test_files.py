"""Only regular files inside a folder of entries are read, up to a size, as UTF-8."""

import socket

import pytest

from kb.corpus.files import UnreadableFile, entry_files, ledger_files, named_path, read_text


def test_a_text_is_read_with_line_feeds_only(tmp_path):
    path = tmp_path / "a.md"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert read_text(path, tmp_path, 100) == "one\ntwo\nthree\n"


@pytest.mark.parametrize(("size", "read"), [(100, True), (101, False)])
def test_a_file_has_a_largest_size(tmp_path, size, read):
    path = tmp_path / "a.md"
    path.write_bytes(b"x" * size)
    if read:
        assert len(read_text(path, tmp_path, 100)) == size
    else:
        with pytest.raises(UnreadableFile, match="divide it"):
            read_text(path, tmp_path, 100)


def test_a_sparse_file_is_refused_by_its_size(tmp_path):
    path = tmp_path / "a.md"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UnreadableFile, match="divide it"):
        read_text(path, tmp_path, 100)


def test_a_socket_is_refused(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "a.md"))
        with pytest.raises(UnreadableFile, match="is a socket"):
            read_text(tmp_path / "a.md", tmp_path, 100)


def test_what_is_no_utf_8_says_where(tmp_path):
    (tmp_path / "a.md").write_bytes(b"abc\xff")
    with pytest.raises(UnreadableFile, match="at byte 3"):
        read_text(tmp_path / "a.md", tmp_path, 100)


@pytest.mark.parametrize("name", ["missing.md", "a\0b.md"])
def test_a_file_that_cannot_be_opened_says_why(tmp_path, name):
    with pytest.raises(UnreadableFile, match="check the path"):
        read_text(tmp_path / name, tmp_path, 100)


def test_a_link_in_the_path_of_the_folder_itself_is_no_matter(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text("x")
    (tmp_path / "link").symlink_to("real")
    assert read_text(tmp_path / "link" / "a.md", tmp_path / "link", 100) == "x"


def test_entries_are_two_levels_deep_and_in_order(tmp_path):
    for name in ("b/x.md", "a/y.md", "a/b.md", "a/.hidden.md", ".git/x.md", "a/deep/z.md", "top.md", "a/x.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    names = [str(path.relative_to(tmp_path)) for path in entry_files(tmp_path)]
    assert names == ["a/b.md", "a/y.md", "b/x.md"]


@pytest.mark.parametrize("name", ["missing", "file"])
def test_what_is_no_folder_has_no_files(tmp_path, name):
    (tmp_path / "file").write_text("")
    assert entry_files(tmp_path / name) == ledger_files(tmp_path / name) == []


def test_a_named_path_follows_folders_and_not_the_file(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "loop.md").symlink_to("loop.md")
    assert named_path(tmp_path / "link" / "loop.md") == tmp_path / "real" / "loop.md"
    assert named_path(tmp_path / "link" / "..") == tmp_path
