# SPDX-License-Identifier: Apache-2.0
"""Where Swift runs: on this machine, or in a folder with a Debian 13 that has it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_OWN = "usr/libexec/swift/bin"  # of Debian's package
_LONGEST = 900  # seconds of a command: what takes longer hangs


class NoSwift(Exception):
    """Why there is none."""


@dataclass(frozen=True)
class SwiftHome:
    """A machine with Swift. `work` is a folder to write to, which it calls `inside`."""

    root: Path | None
    work: Path

    @property
    def inside(self) -> Path:
        """`work`, as programs there call it."""
        return self.work if self.root is None else Path("/") / self.work.relative_to(self.root)

    def seen(self, path: Path) -> str:
        """A path below `work`, as programs there call it."""
        return str(self.inside / path.relative_to(self.work))

    def call(
        self, folder: Path, *command: str, env: Mapping[str, str] | None = None, fails: bool = False
    ) -> str:
        """What a command in a folder below `work` prints; it must end well, unless it `fails`."""
        # SwiftPM leaves folders in TMPDIR.
        given = {"TMPDIR": str(self.inside), **(env or {})}
        line = ["env", "-C", self.seen(folder), *(f"{k}={v}" for k, v in given.items())]
        if self.root is not None:
            path = f"/{_OWN}:/usr/bin:/bin"
            start = ["chroot", str(self.root), "env", "-i", f"PATH={path}", "HOME=/root"]
            line = [*start, "LANG=C.UTF-8", *line]
        done = subprocess.run(
            [*line, *command], capture_output=True, text=True, check=False, timeout=_LONGEST
        )
        text = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, f"{command}\n{text}"
        return text


@contextmanager
def swift_home(repo: Path) -> Iterator[SwiftHome]:
    """The machine; NoSwift where there is none. SAMARA_DEBIAN13 names the folder, else build/debian13."""
    if shutil.which("swiftc") is not None:
        with tempfile.TemporaryDirectory(prefix="samara-swift-") as work:
            yield SwiftHome(None, Path(work).resolve())
        return
    root = Path(os.environ.get("SAMARA_DEBIAN13", repo / "build" / "debian13")).resolve()
    if not (root / _OWN / "swift").exists():
        raise NoSwift(f"neither this machine nor a Debian 13 in {root} has it")
    if os.geteuid() != 0:
        raise NoSwift(f"only root may enter {root}")
    mounted = os.path.ismount(root / "proc")
    if not mounted:
        subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
    try:
        with tempfile.TemporaryDirectory(prefix="samara-swift-", dir=root / "tmp") as work:
            yield SwiftHome(root, Path(work))
    finally:
        if not mounted:
            subprocess.run(["umount", root / "proc"], check=False)
