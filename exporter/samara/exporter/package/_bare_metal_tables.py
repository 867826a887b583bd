# SPDX-License-Identifier: Apache-2.0
"""Write the C tables of a bare-metal model that is laid out at build time. Their types are in
runtime_c/bare_metal/bare_steps.h."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from samara.exporter.package._bare_metal_layout import (
    NULL,
    NotLaidOutError,
    Place,
    Row,
    Word,
    is_nameable,
)

_ROW_BYTES = 64  # unit of the model's file that is kept or left out, and its alignment
_MOST_VALUES = 0xFFFF  # operands have 16 bits
_HOMES = ("none", "constant", "input", "output", "arena", "own")  # enum smr_home
_OP_FIELDS = (
    "name", "code", "min_inputs", "max_inputs", "min_outputs", "max_outputs", "attr_count",
    "attr_first", "flags", "dtypes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tables:
    """`text` is appended to the model's file. `image` replaces the file's bytes in it: with SMR_LAID_OUT the
    tables and the constants that they refer to, else the complete file."""

    text: str
    image: str


def tables(rows: Sequence[Row], data: bytes) -> Tables:
    """The tables of a model whose file is `data`. NotLaidOutError if it has something that tables cannot
    express."""
    return _Writer(rows, data).tables()


@dataclass(slots=True)
class _Node:
    op: Row
    attrs: list[Row]
    operands: list[int]  # inputs, then outputs
    inputs: int
    derived: list[tuple[int, int, Row]]  # input, layout, copy
    state: int | None
    row: Row


@dataclass(slots=True)
class _Writer:
    rows: Sequence[Row]
    data: bytes
    out: list[str] = field(default_factory=list)
    extents: list[tuple[int, int]] = field(default_factory=list)  # used ranges of the image
    known: list[tuple[int, int]] = field(default_factory=list)  # ranges of constants
    kept: list[int] = field(default_factory=list)  # kept rows of the image
    memory: dict[int, int] = field(default_factory=dict)  # block -> its offset
    memory_bytes: int = 0
    alignment: int = 8
    by_kind: dict[str, list[Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.rows:
            self.by_kind.setdefault(row.kind, []).append(row)

    def tables(self) -> Tables:
        image = self._of("image")[0].fields
        self.alignment = _number(image[2])
        nodes = list(self._nodes())
        values = {_number(row.fields[0]): row for row in self._of("value")}
        outputs = [_number(row.fields[0]) for row in self._of("output")]
        used = sorted({v for node in nodes for v in node.operands if v >= 0} | set(outputs))
        if len(used) >= _MOST_VALUES:
            raise NotLaidOutError(f"it has {len(used)} tensors")
        numbers = {value: i for i, value in enumerate(used)}
        self._find_extents()
        # Write twice: the used ranges of the image are complete only after the first time.
        for _ in range(2):
            self.out, self.memory, self.memory_bytes = [], {}, 0
            self._write(nodes, [values[each] for each in used], numbers, outputs)
            self._keep_rows()
        text = "\n".join(["#if SMR_LAID_OUT", *self.out, "#endif", ""])
        return Tables(text, self._image())

    def _of(self, kind: str) -> list[Row]:
        return self.by_kind.get(kind, [])

    def _nodes(self) -> Iterator[_Node]:
        op: Row | None = None
        attrs: list[Row] = []
        operands: list[int] = []
        derived: list[tuple[int, int]] = []
        copies: list[Row] = []
        inputs, state, states = 0, None, 0
        for row in self.rows:
            if row.kind == "op":
                op, attrs, operands, derived, copies, state = row, [], [], [], [], None
            elif row.kind == "attr":
                attrs.append(row)
            elif row.kind in ("inputs", "outputs"):
                operands += [_number(each) for each in row.fields]
                inputs = len(operands) if row.kind == "inputs" else inputs
            elif row.kind == "derived":
                derived.append((_number(row.fields[0]), _number(row.fields[1])))
            elif row.kind == "copy":
                copies.append(row)
            elif row.kind == "state":
                state, states = states, states + 1
            elif row.kind == "node" and op is not None:
                all_derived = [(i, n, c) for (i, n), c in zip(derived, copies, strict=True)]
                yield _Node(op, attrs, operands, inputs, all_derived, state, row)

    # ---- the model's file ----

    def _find_extents(self) -> None:
        for row in self._of("constant"):
            self._know(row.fields[0], _number(row.fields[1]))
        for row in self._of("quant"):
            for pointer in row.fields[3:5]:
                self._know(pointer, 4 * _number(row.fields[1]))
        self.known.sort()

    def _know(self, place: object, size: int) -> None:
        if isinstance(place, Place) and place.kind == "image":
            self.known.append((place.offset, place.offset + size))

    def _use(self, offset: int) -> int:
        """The offset of byte `offset` of the file among the kept rows."""
        for last in (0, 1):
            for begin, end in self.known:
                if begin <= offset < end + last:
                    if (begin, end) not in self.extents:
                        self.extents.append((begin, end))
                    return self._moved(offset)
        raise NotLaidOutError(
            f"a pointer refers to byte {offset} of its file, which is not a constant"
        )

    def _moved(self, offset: int) -> int:
        row, rest = divmod(offset, _ROW_BYTES)
        return sum(each < row for each in self.kept) * _ROW_BYTES + rest

    def _keep_rows(self) -> None:
        kept = {0} if not self.extents else set[int]()
        for begin, end in self.extents:
            kept.update(range(begin // _ROW_BYTES, (end - 1) // _ROW_BYTES + 1))
        self.kept = sorted(kept)

    def _image(self) -> str:
        kept = set(self.kept)
        padded = self.data + bytes(-len(self.data) % _ROW_BYTES)
        lines: list[str] = []
        inside = True
        for i in range(len(padded) // _ROW_BYTES):
            if (i in kept) != inside:
                inside = not inside
                lines.append("#endif" if inside else "#if !SMR_LAID_OUT")
            words = struct.unpack_from("<8Q", padded, i * _ROW_BYTES)
            lines.append(",".join(f"0x{word:x}" for word in words) + ",")
        lines += [] if inside else ["#endif"]
        return "\n".join(
            (
                f"enum {{ smr_model_image_bytes = {len(self.data)} }};",
                "static const _Alignas(64) uint64_t smr_model_image[] = {",
                *lines,
                "};",
            )
        )

    # ---- memory ----

    def _take(self, size: int) -> int:
        at = self.memory_bytes
        self.memory_bytes += -(-size // self.alignment) * self.alignment
        return at

    def _block(self, index: int) -> int:
        if index not in self.memory:
            size = _number(self._of("block")[index].fields[1])
            self.memory[index] = self._take(size)
        return self.memory[index]

    def _arrange_inputs(self) -> tuple[list[str], list[str]]:
        self._block(0)
        variables: list[str] = []
        for row in self._of("variable"):
            size, initial, written = row.fields
            start = self._pointer(_place(initial))
            data = self._take(_number(size))
            spare = f"{self._take(_number(size))}u" if written else "BARE_NO_SCRATCH"
            variables.append(f"{{{start}, {size}, {data}, {spare}}}")
        inputs: list[str] = []
        for row in self._of("input"):
            _, variable, size, alignment = (_number(each) for each in row.fields)
            own = self._take(size) if variable < 0 else 0
            bound = variable if variable >= 0 else "BARE_ABSENT"
            inputs.append(f"{{{own}, {size}, {bound}, {alignment}}}")
        return inputs, variables

    # ---- pointers ----

    def _pointer(self, place: Place) -> str:
        """A constant expression of type const void *, or of a function pointer."""
        at = place.offset
        if place == NULL:
            return "NULL"
        if place.kind == "image":
            return f"BARE_IMAGE({self._use(at)})"
        if place.kind == "string":
            return quoted(place.name)
        if place.kind in ("function", "symbol"):
            if not is_nameable(place.name):
                raise NotLaidOutError(f"it uses {place.name!r}, which is static inside a function")
            name = place.name
            return f"(void (*)(void)){name}" if place.kind == "function" else _address(name, at)
        if place.kind in ("quant", "ints", "state", "copy"):
            names = {"quant": f"bare_quants[{place.index}]", "ints": f"bare_ints_{place.index}"}
            return _address(names.get(place.kind, f"bare_{place.kind}_{place.index}"), at)
        raise NotLaidOutError(f"an operator's state has a pointer to its {place.kind}")

    def _words(self, name: str, words: Sequence[Word]) -> None:
        """A constant made of these words, some of which are pointers."""
        members: list[str] = []
        values: list[str] = []
        at = 0
        while at < len(words):
            word = words[at]
            label = f"w{at}"
            if isinstance(word, Place):
                function = word.kind == "function"
                members.append(f"void (*{label})(void);" if function else f"const void *{label};")
                values.append(self._pointer(word))
                at += 1
                continue
            plain = [word]
            while at + len(plain) < len(words):
                following = words[at + len(plain)]
                if isinstance(following, Place):
                    break
                plain.append(following)
            members.append(f"uint32_t {label}[{len(plain)}];")
            values.append("{" + ",".join(_word(each) for each in plain) + "}")
            at += len(plain)
        kind = " ".join(members)
        self.out.append(f"static const struct {{ _Alignas(16) {kind} }} {name} = {{")
        self.out += [",\n".join(values), "};"]

    # ---- tables ----

    def _write(
        self,
        nodes: Sequence[_Node],
        values: Sequence[Row],
        numbers: dict[int, int],
        outputs: Sequence[int],
    ) -> None:
        self.out.append(
            "#define BARE_IMAGE(n) ((const void *)((const uint8_t *)smr_model_image + (n)))"
        )
        inputs, variables = self._arrange_inputs()
        quants = self._of("quant")
        self._array(
            "struct smr_quant", "bare_quants", (self._quant(row) for row in self._distinct(quants))
        )
        for node in nodes:
            for attr in node.attrs:
                self._ints(attr)
        states = self._of("state")
        for node in nodes:
            for _, _, copy in node.derived:
                self._copy(copy)
        for i, row in enumerate(states):
            self._words(f"bare_state_{i}", row.words)
        ops: dict[tuple[int | str | Place, ...], int] = {}
        for node in nodes:
            ops.setdefault(node.op.fields, len(ops))
        self._array("struct smr_op", "bare_ops", (_op(fields) for fields in ops))
        self._array("struct bare_value", "bare_values", (self._value(row) for row in values))
        for i, node in enumerate(nodes):
            self._array("struct smr_attr", f"bare_attrs_{i}", (self._attr(a) for a in node.attrs))
            ids = (str(numbers[v]) if v >= 0 else "BARE_ABSENT" for v in node.operands)
            self._array("uint16_t", f"bare_operands_{i}", ids)
        steps = (self._step(i, node, ops[node.op.fields]) for i, node in enumerate(nodes))
        self._array("struct bare_step", "bare_steps", steps)
        self._array("struct bare_input", "bare_inputs", inputs)
        self._array("struct bare_variable", "bare_variables", variables)
        rows = zip(outputs, self._of("output"), strict=True)
        self._array("struct bare_output", "bare_outputs", (
            f"{{{numbers[value]}, {row.fields[1] if _number(row.fields[1]) >= 0 else 'BARE_ABSENT'}}}"
            for value, row in rows
        ))  # fmt: skip
        self._plan(nodes, inputs, variables, outputs)

    def _plan(
        self,
        nodes: Sequence[_Node],
        inputs: Sequence[str],
        variables: Sequence[str],
        outputs: Sequence[int],
    ) -> None:
        def table(name: str, items: Sequence[object]) -> str:
            return name if items else "NULL"

        most = max((len(node.operands) for node in nodes), default=0)
        self.out.append(f"""\
static const struct bare_plan *smr_bare_plan(void) {{
static const struct bare_plan plan = {{
.values = bare_values, .steps = {table("bare_steps", nodes)},
.inputs = {table("bare_inputs", inputs)}, .outputs = {table("bare_outputs", outputs)},
.variables = {table("bare_variables", variables)},
.step_count = {len(nodes)}, .input_count = {len(inputs)}, .output_count = {len(outputs)},
.variable_count = {len(variables)}, .most_operands = {most}, .memory_bytes = {self.memory_bytes}}};
return &plan;
}}""")

    def _array(self, kind: str, name: str, items: Iterable[str]) -> None:
        listed = list(items)
        if listed:
            self.out.append(f"static const {kind} {name}[{len(listed)}] = {{")
            self.out += [",\n".join(listed), "};"]

    def _distinct(self, rows: Sequence[Row]) -> list[Row]:
        """Attributes in the order of their indices."""
        found: dict[int, Row] = {}
        for row in rows:
            found.setdefault(_place(row.fields[0]).index, row)
        return [found[i] for i in sorted(found)]

    def _quant(self, row: Row) -> str:
        _, count, axis, scales, zeros = row.fields
        return (
            f"{{.scales = {self._pointer(_place(scales))}, "
            f".zero_points = {self._pointer(_place(zeros))}, .count = {count}, .axis = {axis}}}"
        )

    def _ints(self, attr: Row) -> None:
        place = _place(attr.fields[5])
        name = f"bare_ints_{place.index}"
        head = f"static const int64_t {name}["
        if attr.fields[6] != "ints" or place == NULL or len(attr.fields) == 7:
            return
        if not any(line.startswith(head) for line in self.out):
            self._array("int64_t", name, (_int64(_number(each)) for each in attr.fields[7:]))

    def _copy(self, copy: Row) -> None:
        place = _place(copy.fields[0])
        if place.kind != "copy":
            return
        name = f"bare_copy_{place.index}"
        if any(f" {name} = " in line for line in self.out):
            return
        if any(isinstance(word, Place) for word in copy.words):
            raise NotLaidOutError("a copy of its weights has pointers")
        self._words(name, copy.words)

    def _attr(self, row: Row) -> str:
        i, f, count, present, varies, pointer, kind, *items = row.fields
        text = f"{{.i = {_int64(_number(i))}, .f = {_float(_number(f))}, .count = {count}, "
        text += f".present = {present}, .varies = {varies}"
        numbers = [_number(each) for each in items]
        if kind == "ints" and numbers:
            text += f", .ints = bare_ints_{_place(pointer).index}"
        elif kind == "floats" and numbers:
            listed = ", ".join(_float(each) for each in numbers)
            text += f", .floats = (const float[]){{{listed}}}"
        elif kind == "text":
            text += f", .text = {quoted(bytes(numbers).decode('latin-1'))}"
        return text + "}"

    def _value(self, row: Row) -> str:
        (_, home, root, output, data, distance, _, _, dtype, rank, layout, padded, opened, constant,
         stride, size, quant, name, *dims) = row.fields  # fmt: skip
        place = _place(data)
        kind = _HOMES[_number(home)]
        fields = ["BARE_MEMORY", 0, 0]
        own = ""
        if kind == "constant":
            fields = ["BARE_CONSTANT", 0, 0]
            own = f".data = (void *){self._pointer(place)}, " if place != NULL else ""
        elif kind in ("input", "output"):
            if _number(distance) < 0:
                raise NotLaidOutError(
                    f"tensor {name!r} is not inside the tensor that it is a view of"
                )
            index = self._input(_number(root)) if kind == "input" else self._spare(_number(output))
            home_name = "BARE_INPUT" if kind == "input" else "BARE_SPARE"
            fields = [home_name, _number(distance), index]
        elif place.kind == "block":
            fields[1] = self._block(place.index) + place.offset
        else:
            raise NotLaidOutError(f"tensor {name!r} has no place in memory")
        quant_at = f"&bare_quants[{_place(quant).index}]" if quant != NULL else "NULL"
        extent = ", ".join(str(each) for each in dims[: max(_number(rank), 1)])
        return (
            f"{{.tensor = {{{own}.dims = {{{extent}}}, .pixel_stride = {stride}, "
            f".size_bytes = {size}, .quant = {quant_at}, .name = {quoted(str(name))}, "
            f".constant = {constant}, .dtype = {dtype}, .rank = {rank}, .layout = {layout}, "
            f".padded = {padded}, .open = {opened}}}, "
            f".home = {fields[0]}, .offset = {fields[1]}, .index = {fields[2]}}}"
        )

    def _input(self, value: int) -> int:
        """The position of a value among the inputs."""
        for i, row in enumerate(self._of("input")):
            if row.fields[0] == value:
                return i
        raise NotLaidOutError("a tensor is a view of something that is not an input")

    def _spare(self, output: int) -> int:
        return _number(self._of("output")[output].fields[1])

    def _step(self, i: int, node: _Node, op: int) -> str:
        (name, function, file, line, isa, threads, strict, bfloat16, vary, tiles, first, second,
         phase, scratch, thread_scratch, at) = node.row.fields  # fmt: skip
        source = f", {file}:{line}" if file else ""
        where = f"function '{function}', node '{name}' ({node.op.fields[0]}{source}): "
        run = _place(node.op.fields[10])
        if run.kind != "function" or not is_nameable(run.name):
            raise NotLaidOutError(f"operator {node.op.fields[0]} has no function of its own")
        place = _place(at)
        held = place.kind == "block"
        offset = f"{self._block(place.index) + place.offset}u" if held else "BARE_NO_SCRATCH"
        attrs = f".attrs = bare_attrs_{i}, " if node.attrs else ""
        state = f".state = (void *)&bare_state_{node.state}, " if node.state is not None else ""
        return (
            f"{{.job = {{.op = &bare_ops[{op}], .name = {quoted(str(name))}, {attrs}{state}"
            f".input_count = {node.inputs}, .output_count = {len(node.operands) - node.inputs}, "
            f".isa = {isa}u, .threads = {threads}, .strict = {strict}, .bfloat16 = {bfloat16}, "
            f".dims_vary = {vary}, .tiles = {tiles}u, .barriers = {{{first}u, {second}u}}, "
            f'.phase_tiles = {phase}u, .scratch_bytes = {scratch}u, .kernel = "", '
            f".thread_scratch_bytes = {thread_scratch}u, .derived = {{{self._derived(node)}}}}}, "
            f".run = {run.name}, .operands = bare_operands_{i}, .scratch = {offset}, "
            f".where = {quoted(where)}}}"
        )

    def _derived(self, node: _Node) -> str:
        listed = []
        for number, layout, copy in node.derived:
            data = self._pointer(_place(copy.fields[0]))
            listed.append(
                f"{{.input = {number}, .layout = {layout}u, .size_bytes = {copy.fields[1]}u, "
                f".data = {data}}}"
            )
        return ", ".join([*listed, *["{.input = -1}"] * (4 - len(listed))])


def _op(fields: Sequence[int | str | Place]) -> str:
    named = zip(_OP_FIELDS, fields, strict=False)
    return "{" + ", ".join(
        f".{name} = {quoted(value) if isinstance(value, str) else f'{value}u'}" for name, value in named
    ) + "}"  # fmt: skip


def _address(name: str, offset: int) -> str:
    return f"(const void *)((const uint8_t *)&{name} + {offset})"


def quoted(text: str) -> str:
    """A C string."""
    out = '"'
    for byte in text.encode("utf-8", "surrogateescape"):
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
        out += chr(byte) if plain else f"\\{byte:03o}"
    return out + '"'


def _word(value: int) -> str:
    return str(value) if value < 10 else f"0x{value:x}"


def _int64(value: int) -> str:
    if -(2**31) < value < 2**31:
        return str(value)
    return f"INT64_C({value})" if value > -(2**63) else "(-INT64_C(9223372036854775807) - 1)"


def _float(bits: int) -> str:
    """A float32, given as bits, as a C constant of the same value."""
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return f"{value.hex()}f" if value else ("-0.0f" if bits else "0.0f")


def _number(value: object) -> int:
    assert isinstance(value, int), value
    return value


def _place(value: object) -> Place:
    assert isinstance(value, Place), value
    return value
