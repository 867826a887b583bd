# SPDX-License-Identifier: Apache-2.0
"""What every page and every report in a notebook must be: whole, without handlers or outside resources."""

from __future__ import annotations

from html.parser import HTMLParser

EVIL = "<script>alert(1)</script><b>\"'&"
_VOID = {"meta", "br"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert tag not in ("script", "link", "img", "iframe", "object"), tag
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name != "src"
            assert name != "href" or (value or "").startswith("#"), value
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.texts.append(data)


def read(html: str) -> list[str]:
    """The texts of a part of a page, which is checked on the way."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert "url(" not in html
    assert "://" not in html.replace("http://www.w3.org/2000/svg", "")
    return reader.texts
