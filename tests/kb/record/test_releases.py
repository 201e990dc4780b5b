import pytest
from packaging.version import Version

from kb.record.package_index import RemoteFile
from kb.record.packages import Package
from kb.record.ranges import VersionRange, decode, encode, version_ranges
from kb.record.releases import minor_releases


def file(name, *, yanked=False):
    return RemoteFile(name, "", yanked, "", None)


def test_the_last_patch_of_each_minor_version_is_read_and_no_pre_release():
    names = ["p-1.0.0.tar.gz", "p-1.0.1.tar.gz", "p-1.1.0rc1.tar.gz", "p-1.1.0.tar.gz", "p-0.9.tar.gz"]
    found = minor_releases(Package("p", ("p",), "1.0"), map(file, names))
    assert [release.version for release in found] == [Version("1.0.1"), Version("1.1.0")]


def test_a_withdrawn_release_is_left_out():
    found = minor_releases(Package("p", ("p",)), [file("p-1.0.0.tar.gz"), file("p-1.0.1.tar.gz", yanked=True)])
    assert [str(release.version) for release in found] == ["1.0.0"]


def test_pure_wheels_come_first_and_those_with_cuda_late():
    names = [
        "p-1.0.tar.gz",
        "p-1.0-cp310-cp310-manylinux_2_28_x86_64.whl",
        "p-1.0-cp310-none-macosx_11_0_arm64.whl",
        "p-1.0-py3-none-any.whl",
    ]
    (release,) = minor_releases(Package("p", ("p",)), map(file, names))
    assert [f.filename for f in release.files] == [names[3], names[2], names[1], names[0]]


@pytest.mark.parametrize("mask", [0, 1, 0b1011, 0b1111, 0b1000, 0b0110])
def test_ranges_are_read_as_they_were_written(mask):
    assert decode(encode(mask, 4), 4) == mask


def test_ranges_are_written_for_people():
    assert version_ranges(0b1011, ["1.0", "1.1", "1.2", "1.3"]) == (
        VersionRange("1.0", "1.1", "1.2", True),
        VersionRange("1.3", "1.3", "", False),
    )
