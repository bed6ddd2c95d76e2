"""Device numbers of a real driver, as an H200 with driver 580.159.04 shows them, and odd ones."""

from __future__ import annotations

import os

import pytest

from gpudash.probe import devices, handles
from gpudash.probe.devices import Devices

H200 = {
    "/proc/devices": b"""Character devices:
  1 mem
195 nvidia
195 nvidiactl
238 nvidia-uvm
239 nvidia-nvswitch
240 nvidia-nvlink
241 nvidia-caps
242 nvidia-caps-imex-channels

Block devices:
195 nvidia
""",
    "/proc/driver/nvidia/gpus/0000:00:06.0/information": b"""Model: \t\t NVIDIA H200
Bus Location: \t 0000:00:06.0
Device Minor: \t 3
GPU Excluded:\t No
""",
}
FOLDERS = {"/proc/driver/nvidia/gpus": ["0000:00:06.0"]}


def devices_of(
    patch: pytest.MonkeyPatch, files: dict[str, bytes], folders: dict[str, list[str]]
) -> Devices:
    patch.setattr(devices, "read_file", files.get)
    patch.setattr(devices, "_names", lambda folder: folders.get(folder, []))
    return Devices({})


@pytest.mark.parametrize(
    ("major", "minor", "found"),
    [
        (195, 3, ("gpu", "00000000:00:06.0")),
        (195, 0, ("gpu", "index-0")),
        (195, 255, ("control", None)),
        (195, 254, ("modeset", None)),
        (238, 0, ("uvm", None)),
        (238, 1, ("other", None)),
        (239, 0, ("other", None)),
        (241, 2, ("other", None)),
        (1, 7, None),
        (0, 0, None),
    ],
)
def test_a_driver(
    monkeypatch: pytest.MonkeyPatch, major: int, minor: int, found: tuple[str, str | None] | None
) -> None:
    known = devices_of(monkeypatch, H200, FOLDERS)
    assert known.of(os.makedev(major, minor)) == found
    assert known.notes == []


def test_an_older_driver_without_folders_numbers_gpus_by_minor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    older = {"/proc/devices": b"Character devices:\n195 nvidia-frontend\n510 nvidia-uvm\n"}
    known = devices_of(monkeypatch, older, {})
    assert known.of(os.makedev(195, 2)) == ("gpu", "index-2")
    assert known.of(os.makedev(510, 0)) == ("uvm", None)
    assert known.notes == ["GPU numbers taken from device minors"]


def test_no_driver_has_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    known = devices_of(monkeypatch, {}, {})
    assert known.of(os.makedev(195, 0)) is None
    assert known.notes == []


def test_stand_ins_take_the_place_of_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "read_file", H200.get)
    known = Devices({"devices": [[1, 7, "gpu", 4], [1, 9, "uvm", 0]]})
    assert known.of(os.makedev(1, 7)) == ("gpu", "index-4")
    assert known.of(os.makedev(1, 9)) == ("uvm", None)
    assert known.of(os.makedev(195, 0)) is None


def test_servers_are_not_asked_about_files(monkeypatch: pytest.MonkeyPatch) -> None:
    table = (
        b"22 1 8:1 / / rw - ext4 /dev/sda rw\n"
        b"30 22 0:40 / /home rw,relatime shared:5 - nfs4 server:/home rw\n"
        b"31 22 0:41 / /mnt/my\\040data rw - fuse.sshfs me: rw\n"
        b"32 22 0:42 / /dev rw - devtmpfs dev rw\n"
    )
    monkeypatch.setattr(handles, "read_file", lambda path, limit: table)
    assert handles._remote_places(1) == ["/home", "/mnt/my data"]
