# SPDX-License-Identifier: Apache-2.0
"""Features: groups of public functions that a runtime has or lacks, and headers that declare them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from types import MappingProxyType

from samara.pybridge import SamaraError
from samara.pybridge.image_planes import FORMATS


@dataclass(frozen=True, slots=True)
class Feature:
    """Public functions that belong together.

    `parts` are the parts of the runtime (base/parts.inc) that they need in addition to those of the
    models. `implies` are features that are added with it.
    """

    doc: str
    functions: tuple[str, ...]
    parts: tuple[str, ...] = ()
    implies: tuple[str, ...] = ()


def _named(prefix: str, names: str) -> tuple[str, ...]:
    return tuple(f"samara_{prefix}{name}" for name in names.split())


_CORE = (
    _named("", "status_text version abi isa manifest")
    + _named("model_", "open_memory close function_count function_name is_growing")
    + _named("model_", "input_count output_count input_info output_info verify verified")
    + _named("session_", "create destroy resize run run_with cancel error arena_bytes total_bytes")
    + _named("session_", "set_input bind_input input output output_shape")
)

FEATURES = MappingProxyType(
    {
        "core": Feature(
            "models from memory, sessions, runs, errors: always there", _CORE, ("verify",)
        ),
        "files": Feature("models from a path or a descriptor", _named("model_open_", "path fd")),
        "names": Feature(
            "inputs and outputs by name",
            _named("session_", "run_named input_index output_index"),
        ),
        "callbacks": Feature("models through the caller's reader", _named("model_open_", "callbacks")),
        "metadata": Feature("keys and values stored in a model", _named("model_", "metadata metadata_count")),
        "selftest": Feature(
            "golden inputs and outputs", _named("model_", "selftest"), ("selftest",)
        ),
        "threads": Feature("pools of threads", _named("pool_", "create destroy threads"), ("threads",)),
        "state": Feature(
            "a session's variables", _named("session_", "reset")
            + _named("session_state_", "count name info read write"),
        ),
        "checkpoints": Feature(
            "all variables as a file",
            _named("session_state_", "save load save_memory load_memory"),
        ),
        "bind": Feature(
            "outputs computed into the caller's memory", _named("session_", "bind_output"), ("bind",)
        ),
        "keep": Feature("tensors inside of a run", _named("session_", "kept watch"), ("keep",)),
        "profile": Feature(
            "the time of every node",
            _named("session_", "profile profile_trace set_profiling"),
            ("profile",),
        ),
        "choices": Feature(
            "the algorithm of every node, and choices by measurement (samara_experimental.h)",
            _named("", "session_algorithms session_choices tuned_header"),
            ("choices",),
        ),
        "async": Feature(
            "runs in a thread of the session's own",
            _named("session_", "run_async wait"),
            ("async",),
        ),
        "images": Feature(
            "pictures as inputs, by records of the models (samara_media.h)",
            _named("", "model_image_record session_set_image preprocess preprocess_shape"),
            ("image",),
        ),
        **{
            f"image_{name}": Feature(
                f"pictures in the format {name}", (), (f"image_from_{name}",), implies=("images",)
            )
            for name in FORMATS
        },
        "audio": Feature(
            "sound as inputs, by records of the models (samara_media.h)",
            _named("", "session_push_audio session_end_audio model_audio_record preprocess_audio"),
            ("audio",),
        ),
        "answers": Feature(
            "what outputs mean, by records of the models (samara_media.h)",
            _named("", "session_answer model_answer_kind model_label"),
            ("answer",),
        ),
        "text": Feature(
            "tokenizers and samplers of language models (samara_text.h)",
            _named("tokenizer_", "open of_model table close")
            + _named("tokenizer_", "encode decode normalize vocabulary token id")
            + _named("text_stream_", "create push finish destroy")
            + _named("sampler_", "create next accept reset destroy")
            + _named("text_model_", "create destroy error context tokenizer session put prompt tokens")
            + _named("text_model_", "logits begin step cancel")
            + _named("text_state_", "save load"),
            ("text",),
        ),
        "backends": Feature(
            "devices beside the CPU (samara_backend.h)",
            _named("backend_", "open close device")
            + _named("session_", "placement backend_report"),
            ("backends",),
        ),
        "backend_auto": Feature(
            "sessions that go over to devices by themselves, where that pays",
            (),
            ("backends_auto",),
            implies=("backends",),
        ),
        "opencl": Feature(
            "GPUs and others by OpenCL, whose driver is loaded when a device is opened",
            (),
            ("backend_opencl",),
            implies=("backends",),
        ),
    }
)  # fmt: skip


BACKENDS = ("opencl",)
"""Features that are a backend: their kernels are parts that the models need."""


IMAGE_FORMATS = tuple(f"image_{name}" for name in FORMATS)
"""Features that are a format of pictures; where none of them is named, `images` brings all."""


def closed(features: Iterable[str]) -> tuple[str, ...]:
    """These features and those that they imply, in the order of FEATURES."""
    names = dict.fromkeys(features)
    _of(names)
    names |= dict.fromkeys(each for name in names for each in FEATURES[name].implies)
    if "images" in names and names.keys().isdisjoint(IMAGE_FORMATS):
        names |= dict.fromkeys(IMAGE_FORMATS)
    return tuple(name for name in FEATURES if name in names)


def _of(features: Iterable[str]) -> list[Feature]:
    unknown = [name for name in features if name not in FEATURES]
    if unknown:
        raise SamaraError(
            f"there is no feature {', '.join(unknown)}", fix=f"give one of {', '.join(FEATURES)}"
        )
    return [FEATURES[name] for name in dict.fromkeys(("core", *features))]


def _whole(features: Iterable[str]) -> list[Feature]:
    return _of(closed(features))


def functions(features: Collection[str]) -> frozenset[str]:
    """The public functions of these features and of the core."""
    return frozenset(name for feature in _whole(features) for name in feature.functions)


def parts(features: Collection[str]) -> frozenset[str]:
    """The parts of the runtime that these features need."""
    return frozenset(name for feature in _whole(features) for name in feature.parts)


_PIECE = re.compile(
    r"(?P<comment>^/\*(?:(?!\*/).)*\*/\n)|(?P<declared>^SAMARA_API [^;]*?\b(?P<name>samara_\w+)\([^;]*;\n)",
    re.MULTILINE | re.DOTALL,
)
# The program at the top of the header; it is kept if all its functions are declared.
_EXAMPLE = re.compile(r"^ \* In twelve lines.*?^ \*   \}\n \*\n", re.MULTILINE | re.DOTALL)
_VERSION = re.compile(r"^#define SAMARA_VERSION .*\n", re.MULTILINE)


def declared(text: str) -> frozenset[str]:
    """The public functions that a header declares."""
    return frozenset(match["name"] for match in _PIECE.finditer(text) if match["name"])


_INSIDE = re.compile(r'extern "C" \{\n#endif\n(.*)\n#ifdef __cplusplus\n\}', re.DOTALL)


def declarations_of(header: str) -> str:
    """The text between the guards of a public header, "" for an empty one."""
    inside = _INSIDE.search(header)
    return inside[1] if inside else ""


def public_header(text: str, exports: Collection[str]) -> str:
    """A public header, `text`, with only the declarations of the functions `exports`.

    A reduced samara.h defines SAMARA_SELECTIVE, and SAMARA_WITH_<FEATURE> for every complete feature.
    """
    out: list[str] = []
    comment, at, kept, dropped = "", 0, False, False
    for match in [*_PIECE.finditer(text), None]:
        between = text[at : match.start() if match else len(text)]
        if between or match is None or match["comment"]:
            # A comment stays unless all declarations that it covers were dropped.
            out.append(comment * (kept or not dropped))
            comment, kept, dropped = "", False, False
            out.append(between)
        if match is None:
            break
        at = match.end()
        if match["comment"]:
            comment = match[0]
        elif match["name"] in exports:
            out.append(comment + match[0])
            comment, kept = "", True
        else:
            dropped = True
    cut = re.sub(r"\n{3,}", "\n\n", "".join(out))
    # samara.h has the macros for all headers: it may be complete although another header was cut.
    if cut == text and (not _VERSION.search(text) or functions(FEATURES) <= set(exports)):
        return text
    example = _EXAMPLE.search(cut)
    if example and not set(re.findall(r"\b(samara_\w+)\(", example[0])) <= set(exports):
        cut = cut.replace(example[0], "")
    whole = [
        name
        for name, feature in FEATURES.items()
        if feature.functions and set(feature.functions) <= set(exports)
    ]
    macros = ["SELECTIVE", *(f"WITH_{name.upper()}" for name in whole if name != "core")]
    says = "".join(f"#define SAMARA_{name} 1\n" for name in macros)
    says = f"\n/* What this runtime has beside its core: other functions are not in it. */\n{says}"
    return _VERSION.sub(lambda match: match[0] + says, cut, count=1)
