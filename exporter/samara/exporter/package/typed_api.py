# SPDX-License-Identifier: Apache-2.0
"""C functions made for one model: declarations, definitions and an example.

They are written with the prefix samara_, which the single file then replaces by the model's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from samara.exporter.package.ports import Port, Signature, c_word, macros

_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class _Call:
    """A function of the model with the names of its C functions."""

    signature: Signature
    prefix: str  # samara_, or samara_<function>_ for all but the first

    @property
    def table(self) -> str:
        return f"{self.prefix.replace('samara_', 'net_', 1)}function"

    @property
    def is_fixed(self) -> bool:
        ports = (*self.signature.inputs, *self.signature.outputs)
        return all(port.size is not None for port in ports)

    def room(self, port: Port) -> bool:
        """Whether an output's parameter is followed by its capacity in elements."""
        return port.size is None and not port.is_late

    def parameters(self) -> list[str]:
        found = ["samara_net *net"]
        found += [f"int64_t {word}" for _, word in self.signature.symbols]
        for port in self.signature.inputs:
            found.append(f"const {port.ctype} {_array(self, port)}")
        for port in self.signature.outputs:
            if port.is_late:
                found.append(f"samara_tensor *{port.word}")
            else:
                found.append(f"{port.ctype} {_array(self, port)}")
            if self.room(port):
                found.append(f"size_t {port.word}_size")
        return found

    def run(self) -> str:
        return f"samara_status {self.prefix}run({', '.join(self.parameters())})"


def _array(call: _Call, port: Port) -> str:
    """`name[SIZE]`, which tells readers and compilers more than a pointer."""
    if not port.size:  # unknown, or an empty tensor
        return f"*{port.word}"
    return f"{port.word}[{call.prefix.upper()}{port.macro}_SIZE]"


class TypedApi:
    """`taken` are public functions, whose names the model's functions must not have."""

    def __init__(
        self,
        functions: Sequence[Signature],
        *,
        embed: bool,
        taken: Collection[str],
        ops: Sequence[str] = (),
    ) -> None:
        self._embed = embed
        self._ops = ops
        self._calls: list[_Call] = []
        names: set[str] = set(taken)
        for i, signature in enumerate(functions):
            prefix = "samara_"
            while i > 0 and (prefix == "samara_" or f"{prefix}run" in names):
                word = c_word(signature.name)
                prefix = f"samara_{word}_" if prefix == "samara_" else f"{prefix}fn_"
            names.add(f"{prefix}run")
            self._calls.append(_Call(signature, prefix))

    def exported(self) -> set[str]:
        """The functions that the definitions make visible."""
        shared = {"samara_close", "samara_message", "samara_net_session"}
        if self._has_state:
            shared.add("samara_forget")
        openers = ("open", "open_with") if self._embed else ("open", "open_memory", "open_with")
        return shared | {
            f"{call.prefix}{verb}" for call in self._calls for verb in (*openers, "run")
        }

    def calls(self) -> list[str]:
        """The prototypes of the functions that run the model, one per line."""
        return [call.run() for call in self._calls]

    @property
    def _has_state(self) -> bool:
        return any(call.signature.has_state for call in self._calls)

    # ---- declarations ----

    def header(self) -> str:
        """The declarations in the header for the model."""
        out = ["/* ---- the model ---- */\n"]
        out += [
            "/* The model, opened for one of its functions. One thread at a time; open it again for",
            " * another one. */",
            "typedef struct samara_net samara_net;\n",
        ]
        for call in self._calls:
            out += self._declare(call)
        out += [
            "/* Free it. NULL is a no-op. */",
            "SAMARA_API void samara_close(samara_net *net);",
            '/* What the last failure of a run was; "" if there was none. Valid until the next run. */',
            "SAMARA_API const char *samara_message(const samara_net *net);",
            "/* Its session, for all that the functions above do not offer. Lives as long as `net`. */",
            "SAMARA_API samara_session *samara_net_session(samara_net *net);",
        ]
        if self._has_state:
            out += [
                "/* Back to the state that the model begins with: what it keeps between runs. */",
                "SAMARA_API samara_status samara_forget(samara_net *net);",
            ]
        return "\n".join(out) + "\n"

    def _declare(self, call: _Call) -> Iterator[str]:
        signature, prefix = call.signature, call.prefix
        if len(self._calls) > 1:
            yield f"/* ---- function '{_comment(signature.name)}' ---- */\n"
        yield macros(signature, prefix.upper())
        if self._embed:
            yield "/* Open the model, which is part of this program. Allocates all that runs need. On failure"
            yield " * *out is NULL and *error (may be NULL) says why. */"
        else:
            yield "/* Open the model, a file or memory that stays valid and constant until close. Allocates all"
            yield " * that runs need. A model with other inputs or outputs than this header's is refused. On"
            yield " * failure *out is NULL and *error (may be NULL) says why. */"
        with_options, *openers = self._openers(call)
        yield from (f"SAMARA_API {each};" for each in openers)
        yield "/* The same with options: an allocator that serves everything, instruction sets, limits. The"
        yield " * options' function is not looked at; they are copied, what they point at is not. */"
        yield f"SAMARA_API {with_options};"
        yield from self._run_comment(call)
        yield f"SAMARA_API {call.run()};\n"

    def _run_comment(self, call: _Call) -> Iterator[str]:
        yield "/* Run. Buffers are dense, the last axis is the fastest; they are not kept."
        if call.is_fixed:
            yield " * Allocates nothing."
        else:
            yield " * Allocates only when sizes change to larger ones than ever before."
        if any(call.room(port) for port in call.signature.outputs):
            yield " * An output's _size is the number of elements it has room for."
        if any(port.is_late for port in call.signature.outputs):
            yield " * A samara_tensor receives data and shape of an output whose size depends on the data; it"
            yield " * is valid until the next run."
        if call.signature.has_state:
            yield " * What the model remembers goes from run to run (samara_forget)."
        yield " */"

    def _given(self, kind: str) -> str:
        if self._embed:
            return ""
        return "const char *path, " if kind == "path" else "const void *data, size_t size_bytes, "

    # ---- definitions ----

    def source(self) -> str:
        """The definitions, to be compiled after single_file/net.c."""
        out = ['#include "base/fp.h"', '#include "net.h"']
        out += [macros(call.signature, call.prefix.upper()) for call in self._calls]
        out += [f"SAMARA_API {prototype};" for prototype in self._prototypes()]
        if self._ops:
            named = ", ".join(f"&{name}" for name in self._ops)
            out.append(f"static const samara_custom_op *const net_ops[] = {{{named}}};")
        for call in self._calls:
            out += self._define(call)
        if self._has_state:
            out += [
                "samara_status samara_forget(samara_net *net) {",
                "  return net != NULL ? samara_session_reset(samara_net_session(net))"
                " : SAMARA_BAD_ARGUMENT;",
                "}",
            ]
        return "\n".join(out) + "\n"

    def _prototypes(self) -> Iterator[str]:
        if self._has_state:
            yield "samara_status samara_forget(samara_net *net)"
        for call in self._calls:
            yield from self._openers(call)
            yield call.run()

    def _openers(self, call: _Call) -> list[str]:
        last = "samara_net **out, samara_error *error"
        options = f"const samara_session_options *options, {last}"
        memory = self._given("memory")
        found = [f"samara_status {call.prefix}open_with({memory}{options})"]
        found.append(f"samara_status {call.prefix}open({self._given('path')}{last})")
        if not self._embed:
            found.append(f"samara_status {call.prefix}open_memory({memory}{last})")
        return found

    def _define(self, call: _Call) -> Iterator[str]:
        signature, table = call.signature, call.table
        ports = "NULL, NULL"
        if not self._embed:
            for kind, each in (("inputs", signature.inputs), ("outputs", signature.outputs)):
                if each:
                    yield f"static const struct smr_net_port {table}_{kind}[] = {{"
                    yield from (f"  {_port_row(port)}," for port in each)
                    yield "};"
            # C has no empty arrays: without elements pass any array, which is not read.
            ins = f"{table}_inputs" if signature.inputs else f"{table}_outputs"
            outs = f"{table}_outputs" if signature.outputs else f"{table}_inputs"
            ports = f"{ins}, {outs}"
        ops = f"net_ops, {len(self._ops)}" if self._ops else "NULL, 0"
        counts = f"{len(signature.inputs)}, {len(signature.outputs)}"
        yield f"static const struct smr_net_function {table} = {{"
        yield f"  {_string(signature.name)}, {ports}, {counts}, {ops}}};"
        image = (
            "smr_model_image, smr_model_image_bytes, true"
            if self._embed
            else "data, size_bytes, false"
        )
        given = {
            "open_with": (f"NULL, {image}", "options"),
            "open": (f"NULL, {image}" if self._embed else "path, NULL, 0, false", "NULL"),
            "open_memory": (f"NULL, {image}", "NULL"),
        }
        for prototype in self._openers(call):
            verb = prototype.split("(")[0].removeprefix(f"samara_status {call.prefix}")
            source, options = given[verb]
            yield f"{prototype} {{"
            yield f"  const struct smr_net_source source = {{{source}}};"
            yield f"  return smr_net_open(&{table}, &source, {options}, out, error);"
            yield "}"
        yield from self._define_run(call)

    def _define_run(self, call: _Call) -> Iterator[str]:
        signature = call.signature
        yield f"{call.run()} {{"
        shapes, room = "NULL", "NULL"
        if signature.symbols:
            words = dict(signature.symbols)
            for i, port in enumerate(signature.inputs):
                dims = [words.get(str(dim), str(dim)) for dim in port.shape]
                yield f"  const int64_t shape{i}[] = {{{', '.join(dims) or '0'}}};"
            listed = ", ".join(f"shape{i}" for i in range(len(signature.inputs)))
            yield f"  const int64_t *const shapes[] = {{{listed}}};"
            shapes = "shapes"
        inputs = ", ".join(port.word for port in signature.inputs)
        yield f"  const void *const inputs[] = {{{inputs or 'NULL'}}};"
        outputs = ", ".join("NULL" if p.is_late else p.word for p in signature.outputs)
        yield f"  void *const outputs[] = {{{outputs or 'NULL'}}};"
        if any(call.room(port) for port in signature.outputs):
            sizes = ", ".join(
                f"{p.word}_size * sizeof *{p.word}" if call.room(p) else "SIZE_MAX"
                for p in signature.outputs
            )
            yield f"  const size_t room[] = {{{sizes}}};"
            room = "room"
        run = f"smr_net_run(net, &{call.table}, {shapes}, inputs, outputs, {room})"
        late = [(i, port) for i, port in enumerate(signature.outputs) if port.is_late]
        if not late:
            yield f"  return {run};"
        else:
            yield f"  samara_status status = {run};"
            for i, port in late:
                yield f"  if (status == SAMARA_OK && {port.word} != NULL)"
                yield (
                    f"    status = samara_session_output(samara_net_session(net), {i}, {port.word});"
                )
            yield "  return status;"
        yield "}"

    # ---- the example ----

    def example(self, value: int) -> str:
        """A program that runs the model once on zeros; its header is HEADER. All symbols have `value`."""
        call = self._calls[0]
        signature = call.signature
        symbols = {name: value for name, _ in signature.symbols}
        out = [
            "/* SPDX-License-Identifier: Apache-2.0 */",
            "/* Runs the model once, on zeros, and prints the beginning of every output. */",
            "#include HEADER",
            "",
            "#include <stdio.h>",
            "",
        ]
        argument = "void" if self._embed else "int argc, char **argv"
        for port in (*signature.inputs, *signature.outputs):
            if not port.is_late:
                count = max(port.elements(symbols), 1)
                macro = f"SAMARA_{port.macro}_SIZE"
                out.append(f"static {port.ctype} {port.word}[{macro if port.size else count}];")
        out += ["", f"int main({argument}) {{"]
        if not self._embed:
            out += [
                "  if (argc != 2) {",
                '    fprintf(stderr, "usage: %s MODEL.samara\\n", argv[0]);',
                "    return 2;",
                "  }",
            ]
        out += [
            "  samara_net *net;",
            "  samara_error error;",
            f"  if (samara_open({'' if self._embed else 'argv[1], '}&net, &error) != SAMARA_OK) {{",
            '    fprintf(stderr, "%s\\n", error.text);',
            "    return 1;",
            "  }",
        ]
        out += [f"  samara_tensor {port.word};" for port in signature.outputs if port.is_late]
        arguments = ["net", *(str(value) for _ in signature.symbols)]
        arguments += [port.word for port in signature.inputs]
        for port in signature.outputs:
            arguments.append(f"&{port.word}" if port.is_late else port.word)
            if call.room(port):
                arguments.append(f"sizeof {port.word} / sizeof *{port.word}")
        out += [
            f"  if (samara_run({', '.join(arguments)}) != SAMARA_OK) {{",
            '    fprintf(stderr, "%s\\n", samara_message(net));',
            "    samara_close(net);",
            "    return 1;",
            "  }",
        ]
        for port in signature.outputs:
            out += _print(port)
        out += ["  samara_close(net);", "  return 0;", "}"]
        return "\n".join(out) + "\n"


def _print(port: Port) -> Iterator[str]:
    name = _comment(port.name).replace("\\", "").replace('"', "").replace("%", "%%")
    if port.is_late:
        yield f'  printf("{name}: %zu bytes\\n", {port.word}.size_bytes);'
        return
    yield f'  printf("{name}:");'
    yield f"  for (size_t i = 0; i < sizeof {port.word} / sizeof *{port.word} && i < 10; i++)"
    yield f'    printf(" %g", (double){port.word}[i]);'
    yield '  printf("\\n");'


def _port_row(port: Port) -> str:
    dims = ", ".join(str(dim.as_int()) if dim.is_static else "-1" for dim in port.shape)
    return f"{{{port.enumerator}, {len(port.shape)}, {{{dims or '0'}}}}}"


def _comment(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text).replace("*/", "* /")


def _string(text: str) -> str:
    """`text` as a C string literal in UTF-8."""
    plain = "".join(
        chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in text.encode()
    )
    return f'"{plain}"'


def wrapped(text: str) -> str:
    """`text` with long lines broken after commas and before operators."""
    out = []
    for line in text.split("\n"):
        if line.startswith(("#", " *", "/*")):
            out.append(line)
            continue
        indent = len(line) - len(line.lstrip()) + 4
        while len(line) > _COLUMNS:
            cut = max(line.rfind(", ", indent, _COLUMNS) + 1, line.rfind(" && ", indent, _COLUMNS))
            if cut <= indent:
                break
            out.append(line[:cut])
            line = " " * indent + line[cut:].lstrip()
        out.append(line)
    return "\n".join(out)


def joined(header: str, typed: str, about: str) -> str:
    """The public header with the model's declarations at its end, and a description at its top."""
    first, rest = header.split("\n", 1)
    tail = "\n#ifdef __cplusplus\n}\n#endif\n"
    before, after = rest.rsplit(tail, 1)
    return f"{first}\n{about}{before}\n{typed}{tail}{after}"
