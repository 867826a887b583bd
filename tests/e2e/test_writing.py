# SPDX-License-Identifier: Apache-2.0
"""Files on disks that are full, read-only or written by processes that are killed at any moment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.killed_writers import stateful

from samara.exporter.measure.machine import program_beside_library

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that kills a process which preloads it, at its n-th change of a file system."""
    if not sys.platform.startswith("linux") or shutil.which("cc") is None:
        pytest.skip("NOT RUN: preloading needs Linux and a C compiler")
    out = tmp_path_factory.mktemp("faults") / "faults.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(out), str(HERE / "faults.c"), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return out


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a thousand syncs take a while on a disk."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}


def _report(command: list[str], **environment: str) -> Any:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=_environment(**environment)
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_whoever_is_killed_leaves_the_old_or_the_new(faults: Path, quick_folder: Path) -> None:
    script = str(HERE / "killed_writers.py")
    found = _report([sys.executable, script, str(quick_folder)], LD_PRELOAD=str(faults))
    assert set(found) == {
        *("export", "save", "state", "outputs.npz", "text", "recipe", "folder", "dist", "beside")
    }
    for name, each in found.items():
        assert each["faults"] == [], name
        # The creation is not counted; a write, a sync, a renaming and the folder's sync are.
        assert all(calls >= 4 for calls in each["calls"]), name
    # Of two files in a folder that stays, the renames follow one another.
    assert found["beside"]["mixed"] == 1


@pytest.fixture
def samara_run() -> Path:
    program = program_beside_library("samara-run")
    if program is None:
        pytest.skip("NOT RUN: samara-run is not built (make build)")
    return program


def test_the_c_program_is_killed(faults: Path, samara_run: Path, quick_folder: Path) -> None:
    model, out = quick_folder / "m.samara", quick_folder / "out"
    stateful(model)
    out.mkdir()
    targets = {"--save-state": out / "state", "--profile": out / "trace.json", "--output": out}
    for option, path in targets.items():
        file = out / "total.npy" if path == out else path
        command = [str(samara_run), str(model), "--threads", "1", option, str(path)]
        subprocess.run([*command, "--seed", "1"], check=True, capture_output=True)
        for number in range(40):
            before = file.read_bytes()
            environment = _environment(LD_PRELOAD=str(faults), FAULT_AT=str(number))
            done = subprocess.run([*command, "--seed", "2"], env=environment, capture_output=True)
            after = file.read_bytes()
            if done.returncode == 0:
                assert after != before or option == "--profile"
                break
            assert done.returncode == -9
            subprocess.run([*command, "--seed", "2"], check=True, capture_output=True)
            whole = file.read_bytes()
            assert option == "--profile" or after in (before, whole)
            if option == "--profile":
                json.loads(after)
            subprocess.run([*command, "--seed", "1"], check=True, capture_output=True)
        else:
            pytest.fail(f"{option}: it never ends")
        assert number >= 3
        assert not list(out.glob("*.saving"))


def test_the_c_program_keeps_links_and_permissions(samara_run: Path, tmp_path: Path) -> None:
    model, real, link = tmp_path / "m.samara", tmp_path / "real", tmp_path / "link"
    stateful(model)
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    run = [str(samara_run), str(model), "--save-state"]
    subprocess.run([*run, str(link)], check=True, capture_output=True)
    assert link.is_symlink()
    assert (real.stat().st_mode & 0o777, real.read_bytes()[8:9]) == (0o640, b"{")
    subprocess.run([*run, "/dev/null"], check=True, capture_output=True)
    assert Path("/dev/null").is_char_device()
    done = subprocess.run([*run, "/dev/full"], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "cannot write /dev/full: No space left on device" in done.stderr
    done = subprocess.run([*run, str(tmp_path)], check=False, capture_output=True, text=True)
    assert "it is a folder" in done.stderr


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What writers said on a full and on a read-only file system."""
    private = ["unshare", "--mount", "--propagation", "private"]
    folder = tmp_path_factory.mktemp("refused") / "disk"
    folder.mkdir()
    try:
        mount = [*private, "mount", "-t", "tmpfs", "none", str(folder)]
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("NOT RUN: mounting in a namespace of its own needs root on Linux")
    script = str(HERE / "refused_writers.py")
    return _report([*private, sys.executable, script, str(folder)])


def test_compilers_that_find_no_room(refused: Any) -> None:
    """Their own words would be a page of them."""
    temporary, link = (refused["full"][f"cli {name}"]["text"] for name in ("temporary", "link"))
    assert (
        "/disk cannot be written: the disk is full\n  fix: make room there, or set TMPDIR"
        in temporary
    )
    assert "/room/dist cannot be written: the disk is full" in link
    assert "No space left" not in temporary + link


@pytest.mark.parametrize(
    ("kind", "why", "number"),
    [("full", "the disk is full", 28), ("read-only", "the file system is read-only", 30)],
)
def test_a_disk_that_refuses(refused: Any, kind: str, why: str, number: int) -> None:
    for name, said in refused[kind].items():
        text = said["text"]
        assert "cannot be written: " + why in text, (name, text)
        assert "\n  fix: " in text, name
        assert "Traceback" not in text, name
        if name.startswith("cli"):
            assert (said["code"], said["raised"]) == (1, False), name
            assert text.startswith("samara: ") or "samara: " in text, name
        else:
            assert (said["os"], said["number"]) == (True, number), name
        assert ".building" not in text, name
    assert refused[f"{kind} unchanged"]
    left = set(refused[f"{kind} left"]) - {"fill", "old.samara", "sub"}
    assert left == set()
