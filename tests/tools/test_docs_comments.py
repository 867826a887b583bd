# SPDX-License-Identifier: Apache-2.0
"""The scanner of comments in C, Java and Swift."""

from __future__ import annotations

from pathlib import Path

from tools import docs_comments, docs_reference

_C = """/* SPDX-License-Identifier: Apache-2.0 */
/* What the header is for. */
#ifndef X_H_
#define X_H_

/* ==== 1. Opening ====
 */

/* Open *path*; see docs/guides/gpu.md.
 *
 *   open(a);
 *
 *  - one
 *  - two, over
 *    two lines */
SAMARA_API int samara_open(const char *path,
                           int flags);
SAMARA_API int samara_close(void);

struct samara_options {
  int a; /* one */
};

static int hidden;
#endif
"""

_JAVA = """package x;

/**
 * Runs {@code f}, see {@link Other#call}.
 *
 * <pre>{@code
 * while (x) {
 *   run();
 * }
 * }</pre>
 *
 * @throws Wrong always
 */
public final class Session implements Closeable {
  private int hidden;

  /** Runs it. */
  public long run(
      @NonNull String name, int count) {
    if (count > 0) { hidden(); }
    return 0;
  }

  @Override
  public void close() {}

  void packaged() {}
}
"""

_SWIFT = """/// Runs it.
///
///     let x = Session()
public final class Session {
  /// One.
  public let one: Int = 1
  var hidden = { 2 }

  /// Runs.
  public func run(
    _ x: [Int: String], then: () -> Void = {}
  ) throws -> Int { 0 }
}

extension Session {
  /// Stops.
  public func stop() {}
  func inner() {}
}
"""


def _written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_c_header(tmp_path: Path) -> None:
    intro, items = docs_comments.c_header(_written(tmp_path, "x.h", _C))
    assert intro == ["What the header is for."]
    assert [item.name for item in items] == ["1. Opening", "samara_open", "samara_options"]
    assert items[1].code == [
        "int samara_open(const char *path,",
        "                int flags);",
        "int samara_close(void);",
    ]
    page = docs_comments.rendered(items[1], "c", 3)
    assert "Open \\*path\\*; see [guides/gpu.md](../../guides/gpu.md)." in page
    assert "```c\nopen(a);\n```" in page
    assert "- one\n- two, over\n  two lines" in page


def test_a_java_class(tmp_path: Path) -> None:
    (item,) = docs_comments.declarations(_written(tmp_path, "Session.java", _JAVA), "java")
    assert item.code == ["public final class Session implements Closeable"]
    assert [member.code[0] for member in item.inside] == [
        "public long run(String name, int count)",
        "public void close()",
    ]
    page = docs_comments.rendered(item, "java", 2)
    assert "Runs `f`, see `Other.call`." in page
    assert "- `throws` Wrong always" in page
    assert "```java\nwhile (x) {\n  run();\n}\n```" in page


def test_a_swift_class_and_its_extension(tmp_path: Path) -> None:
    types = docs_comments.declarations(_written(tmp_path, "Session.swift", _SWIFT), "swift")
    (item,) = docs_reference._merged(types)
    assert [member.code[0] for member in item.inside] == [
        "public let one: Int = 1",
        "public func run(_ x: [Int: String], then: () -> Void = {}) throws -> Int",
        "public func stop()",
    ]
    assert "```swift\nlet x = Session()\n```" in docs_comments.rendered(item, "swift", 2)
