# SPDX-License-Identifier: Apache-2.0
"""Pages: data that cannot end its element, a policy that lets only the page's own script run, whole assets."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files

import pytest

from samara.exporter.inspect.page import asset, page


def _policy(text: str) -> str:
    (found,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    return str(found)


def test_a_page_without_a_script_allows_none() -> None:
    text = page("<t>", ["<p>here</p>"])
    assert "<title>&lt;t&gt;</title>" in text
    assert "<p>here</p>" in text
    assert "<script" not in text
    assert "script-src" not in _policy(text)
    assert _policy(text).startswith("default-src 'none'; ")


def test_the_policy_names_the_script_that_the_page_holds() -> None:
    text = page("t", [], scripts=("layout.js", "tables.js"))
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert asset("layout.js") in script
    assert asset("tables.js") in script
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in _policy(text)


@pytest.mark.parametrize(
    "evil", ["</script><script>alert(1)</script>", "<!--", "\u2028 ]]>", "\ud800"]
)
def test_data_is_json_that_cannot_end_its_element(evil: str) -> None:
    text = page("t", [], scripts=("tables.js",), data={"name": evil, evil: [1, 2.5, None]})
    (held,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert "<" not in held
    assert json.loads(held) == {"name": evil, evil: [1, 2.5, None]}
    assert text.count("</script>") == 2
    text.encode()


def test_data_has_no_numbers_that_json_does_not_know() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        page("t", [], data={"x": float("nan")})


def test_scripts_need_nothing_from_outside_and_end_no_element() -> None:
    names = [f.name for f in files("samara.exporter.inspect").joinpath("assets").iterdir()]
    assert {"page.css", "layout.js", "graph.js", "tables.js", "flame.js"} <= set(names)
    for name in names:
        text = asset(name)
        assert "</" not in text
        assert "://" not in text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"\binnerHTML\b|\beval\b|\bFunction\(|@import|url\(", text), name
