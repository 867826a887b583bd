# SPDX-License-Identifier: Apache-2.0
"""Put the site of `make docs` into a folder of all versions: `python -m tools.docs_publish SITE`.

Each version has a folder of its own. SITE/versions.js lists them for the menu in the sidebar, newest first, and
SITE/index.html leads to the newest. A version that is there already is replaced.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path

import samara

ROOT = Path(__file__).resolve().parents[1]
_VERSION = re.compile(r"\d+\.\d+\.\d+")


def versions(site: Path) -> list[str]:
    """The versions that have a folder with a first page in the site, newest first."""
    found = [
        page.parent.name
        for page in site.glob("*/index.html")
        if _VERSION.fullmatch(page.parent.name)
    ]
    return sorted(found, key=lambda name: [int(part) for part in name.split(".")], reverse=True)


def publish(built: Path, site: Path, version: str) -> None:
    """Copy a built site to SITE/VERSION, then write what leads to it. FileNotFoundError if nothing was built."""
    if not (built / "index.html").is_file():
        raise FileNotFoundError(f"{built} has no index.html: run make docs first")
    shutil.rmtree(site / version, ignore_errors=True)
    shutil.copytree(built, site / version)
    listed = versions(site)
    (site / "versions.js").write_text(
        f"window.samaraVersions = {json.dumps(listed)};\n", encoding="utf-8"
    )
    (site / "index.html").write_text(
        f'<!DOCTYPE html>\n<meta charset="utf-8">\n<title>samara</title>\n'
        f'<meta http-equiv="refresh" content="0; url={listed[0]}/index.html">\n'
        f'<a href="{listed[0]}/index.html">samara {listed[0]}</a>\n',
        encoding="utf-8",
    )


def main() -> None:
    """Publish the site of this checkout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path, help="the folder of all versions")
    args = parser.parse_args()
    try:
        publish(ROOT / "build" / "docs" / "html", args.site, samara.__version__)
    except OSError as error:
        parser.exit(1, f"{error}\n")
    print(args.site / "index.html")


if __name__ == "__main__":
    main()
