# SPDX-License-Identifier: Apache-2.0
"""Write (or with --check compare) the JavaScript of web packages, web/package/, from web/source/.

Needs node and esbuild: npm install --prefix build/web esbuild@VERSION, with the version below. Names that begin with
`_` are internal and become short; comments `/*! part NAME */ … /*! end */` stay, because `samara build` leaves out what
a model has no use of (package/web_script.py).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ESBUILD = "0.28.2"
FILES = ("samara.js", "samara-remote.js", "samara-worker.js")
_BANNER = """\
// SPDX-License-Identifier: Apache-2.0
// What web/source/ has, for packages; tools/gen_web.py writes it."""
_FLAGS = (
    *("--bundle", "--format=esm", "--minify", "--target=es2022", "--log-level=warning"),
    *("--legal-comments=inline", "--external:./samara-remote.js"),
    *("--mangle-props=^_[a-z]", "--reserve-props=^_initialize$"),
    f"--banner:js={_BANNER}",
)


def generated(esbuild: Path) -> dict[str, str]:
    """Text by path of every file. CalledProcessError if esbuild refuses a source."""
    with tempfile.TemporaryDirectory() as scratch:
        texts = {}
        for name in FILES:
            out = Path(scratch) / name
            # Files that call each other's internal names share their short forms.
            names = f"--mangle-cache={Path(scratch) / 'names.json'}"
            command = [
                str(esbuild),
                *_FLAGS,
                names,
                str(ROOT / "web/source" / name),
                f"--outfile={out}",
            ]
            subprocess.run(command, check=True, cwd=ROOT)
            texts[f"web/package/{name}"] = out.read_text(encoding="utf-8")
    return texts


def main(*arguments: str) -> int:
    esbuild = ROOT / "build/web/node_modules/.bin/esbuild"
    if not esbuild.exists():
        print(f"no esbuild: npm install --prefix build/web esbuild@{ESBUILD}")
        return 1
    stale = 0
    for path, text in generated(esbuild).items():
        file = ROOT / path
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if "--check" in arguments:
            print(f"{path} is not what web/source makes: run python tools/gen_web.py")
        else:
            file.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
    return int("--check" in arguments and stale > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
