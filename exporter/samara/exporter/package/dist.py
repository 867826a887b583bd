# SPDX-License-Identifier: Apache-2.0
"""Texts in the folder of a build (pkg-config, CMake, the header of custom operators), and replacing the
folder as a whole.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from samara.exporter.package.selection import MAGIC
from samara.exporter.package.targets import Target, series
from samara.pybridge import SamaraError
from samara.pybridge.atomic import put, replacing_folder
from samara.pybridge.files import read_text

MANIFEST = "ops.txt"
CUSTOM_HEADER = "samara_custom_ops.h"

_CUSTOM_OP = re.compile(r"^(?:SAMARA_API\s+)?const\s+samara_custom_op\s+(\w+)\s*=", re.MULTILINE)
_LOCAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def whole_folder(out: Path) -> contextlib.AbstractContextManager[Path]:
    """Yield a new folder to fill. It becomes `out` when the block ends, and is removed if the block raises.

    An earlier build at `out` is replaced; FileError for anything else there.
    """
    return replacing_folder(out, ours=_foreign)


def _foreign(out: Path) -> str | None:
    """Why `out` is not an earlier build; None if it is."""
    with contextlib.suppress(OSError), (out / MANIFEST).open("rb") as file:
        if file.readline().strip() == MAGIC.encode():
            return None
    return "is not a folder that samara build made"


def pkg_config(version: str, libraries: Sequence[str]) -> str:
    """lib/pkgconfig/samara.pc, which still works after the folder is moved."""
    return f"""\
prefix=${{pcfiledir}}/../..
libdir=${{prefix}}/lib
includedir=${{prefix}}/include

Name: samara
Description: Runs neural networks from .samara files
Version: {version}
Cflags: -I${{includedir}}
Libs: -L${{libdir}} -lsamara
Libs.private: {" ".join(libraries)}
""".replace("Libs.private: \n", "")


def cmake_config(target: Target, version: str, libraries: Sequence[str]) -> str:
    """lib/cmake/samara/samaraConfig.cmake: the imported targets samara::samara (shared if there is a shared
    library) and samara::static.
    """
    shared = target.shared_file(version)
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        f"# samara for {target.name}: samara::static, and samara::samara, which is "
        + ("the shared library." if shared else "the same."),
        'get_filename_component(_samara_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)',
        "",
        *_imported("samara::static", "STATIC", "libsamara.a"),
    ]
    if libraries:
        names = ";".join(library.removeprefix("-l") for library in libraries)
        lines += [
            "set_target_properties(samara::static PROPERTIES",
            f'  INTERFACE_LINK_LIBRARIES "{names}")',
        ]
    if shared is None:
        lines += [
            "if(NOT TARGET samara::samara)",
            "  add_library(samara::samara ALIAS samara::static)",
            "endif()",
        ]
    else:
        lines += _imported("samara::samara", "SHARED", shared)
    if shared is not None and target.system == "windows":
        lines += [
            "set_target_properties(samara::samara PROPERTIES",
            '  IMPORTED_IMPLIB "${_samara_root}/lib/libsamara.dll.a")',
        ]
    elif shared is not None and target.is_elf:
        lines += [f"set_target_properties(samara::samara PROPERTIES IMPORTED_SONAME {shared})"]
    return "\n".join([*lines, "unset(_samara_root)", ""])


def _imported(name: str, kind: str, file: str) -> list[str]:
    return [
        f"if(NOT TARGET {name})",
        f"  add_library({name} {kind} IMPORTED)",
        "endif()",
        f"set_target_properties({name} PROPERTIES",
        f'  IMPORTED_LOCATION "${{_samara_root}}/lib/{file}"',
        '  INTERFACE_INCLUDE_DIRECTORIES "${_samara_root}/include")',
    ]


def cmake_version(version: str) -> str:
    """samaraConfigVersion.cmake: compatible within a minor version before 1.0, within a major after."""
    return f"""\
# SPDX-License-Identifier: Apache-2.0
set(PACKAGE_VERSION "{version}")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION
   OR NOT "${{PACKAGE_FIND_VERSION}}." MATCHES "^{series(version).replace(".", "[.]")}[.]")
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
"""


def cmake_lists(version: str, sources: Sequence[str], threads: bool, devices: bool = False) -> str:
    """The CMakeLists.txt that compiles src/ in another project, with its compiler and flags.

    devices: whether the runtime loads drivers of devices.
    """
    loader = " ${CMAKE_DL_LIBS}" if devices else ""
    found = "find_package(Threads REQUIRED)\n" if threads else ""
    linked = "$<$<AND:$<BOOL:${UNIX}>,$<NOT:$<BOOL:${APPLE}>>>:m>"
    return f"""\
# SPDX-License-Identifier: Apache-2.0
# The runtime from source, for add_subdirectory: the targets samara::samara and samara::static are
# one library, static unless BUILD_SHARED_LIBS is on.
cmake_minimum_required(VERSION 3.13)
project(samara VERSION {version} LANGUAGES C)
{found}
add_library(samara {" ".join(sources)})
add_library(samara::samara ALIAS samara)
add_library(samara::static ALIAS samara)
target_include_directories(samara PUBLIC "${{CMAKE_CURRENT_SOURCE_DIR}}/include")
# Whether any of these is needed depends on the optimisation.
target_link_libraries(samara PUBLIC {"Threads::Threads " if threads else ""}{linked}{loader})
set_target_properties(samara PROPERTIES VERSION {version} SOVERSION {series(version)}
  C_STANDARD 11 C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  # Also where the app is not optimised: kernels would be fifty times slower.
  target_compile_options(samara PRIVATE $<$<OR:$<CONFIG:Debug>,$<CONFIG:>>:-Os>)
endif()
"""


def custom_names(sources: Sequence[Path]) -> list[str]:
    """The custom operators that C files define. SamaraError for a file without one."""
    names: list[str] = []
    for source in sources:
        found = _CUSTOM_OP.findall(read_text(source))
        if not found:
            raise SamaraError(
                f"{source} defines no custom operator",
                fix="define one at file scope: const samara_custom_op my_op = {.struct_size = …};",
            )
        names += found
    return names


def custom_header(sources: Sequence[Path]) -> tuple[str, list[str]]:
    """A header that declares the custom operators of `sources`, and their names. SamaraError as in
    custom_names().
    """
    names = custom_names(sources)
    declared = ", ".join(names)
    text = f"""\
/* SPDX-License-Identifier: Apache-2.0 */
/* The custom operators in this library. A session takes them by its options:
 *   .custom_ops = ops, .custom_op_count = sizeof ops / sizeof *ops
 * with   const samara_custom_op ops[] = {{SAMARA_CUSTOM_OPS}}; */
#ifndef SAMARA_CUSTOM_OPS_H_
#define SAMARA_CUSTOM_OPS_H_

#include <samara/samara.h>

#ifdef __cplusplus
extern "C" {{
#endif

extern const samara_custom_op {declared};
#define SAMARA_CUSTOM_OPS {declared}

#ifdef __cplusplus
}}
#endif

#endif
"""
    return text, names


def copy_sources(sources: Sequence[Path], folder: Path) -> list[str]:
    """Copy C sources, and the headers beside them that they include; returns their new names.

    SamaraError if two files would get the same name.
    """
    origin: dict[str, Path] = {}
    waiting = [(source.name, source) for source in sources]
    while waiting:
        name, path = waiting.pop(0)
        if origin.setdefault(name, path.resolve()) != path.resolve():
            raise SamaraError(
                f"two files are called {name}: {origin[name]}, {path}", fix="rename one of them"
            )
        text = read_text(path)
        put(folder / name, text)
        for included in _LOCAL_INCLUDE.findall(text):
            header = path.parent / included
            inside = os.path.normpath(os.path.join(os.path.dirname(name), included))
            if header.is_file() and not inside.startswith("..") and inside not in origin:
                waiting.append((inside, header))
    return [source.name for source in sources]
