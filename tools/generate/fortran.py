"""Writes couplet_constants.f90 and couplet_binding.f90: the C interface as Fortran sees it.

Only pointers and scalars cross: no array descriptor of a compiler reaches the library. How a C parameter becomes a
Fortran one is decided by its type; what the type does not tell is in the two tables below.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from header import Constant, Function, Header, Struct, Variable

MAX_COLUMNS = 120
NOTE = "! Written by tools/generate from the headers in include/couplet: do not edit (make generate)."
KINDS = {"int32_t": "c_int32_t", "couplet_status": "c_int32_t", "couplet_type": "c_int32_t", "int64_t": "c_int64_t"}
KINDS |= {"couplet_operation": "c_int32_t"}
KINDS |= {"uint32_t": "c_int32_t"}
KINDS |= {"uint64_t": "c_int64_t", "uint8_t": "c_int8_t", "size_t": "c_size_t", "double": "c_double"}
# Fortran names the kinds of reals by their bits.
RENAMED = {"couplet_float": "couplet_real32", "couplet_double": "couplet_real64"}
RENAMED |= {"couplet_complex_float": "couplet_complex32", "couplet_complex_double": "couplet_complex64"}
# Outputs that are arrays, and an output that may be NULL and is therefore passed as an address.
ARRAYS = {"couplet_waitall": {"requests", "statuses", "messages"}, "couplet_waitany": {"requests"}}
ARRAYS |= {"couplet_grid_box": {"start", "stop"}}
ARRAYS |= {"couplet_task_waitany": {"tasks"}, "couplet_series_claim_arrays": {"data"}}
NULLABLE = {("couplet_tasks_submit", "task"), ("couplet_series_read_at", "outs")}
NULLABLE |= {("couplet_series_create", "start"), ("couplet_series_create", "stop")}
NULLABLE |= {
    (f"couplet_{what}_{way}_box", "stride_bytes") for what in ("exchange", "coalesce") for way in ("send", "receive")
}
# Arrays of collective calls that some members do not need.
NULLABLE_NAMES = {"counts", "offsets", "result_counts", "result_offsets"}
# Functions that take a C function: Fortran has no use for them.
LEFT_OUT = {"couplet_set_interrupt_check", "couplet_operation_create", "couplet_group_create_filtered"}
# Members that are C functions.
CALLBACKS = {f"couplet_coalesce_{name}" for name in ("callback", "give", "take")}


def constants(headers: list[Header]) -> str:
    """The module couplet_constants."""
    found = [each for header in headers for each in header.constants]
    types = [each for each in headers[0].constants if each.name != "COUPLET_MAX_DIMENSIONS"]
    lines = [
        "! The constants of the C interface: status codes, element types, modes. Every other module here uses them.",
        NOTE,
        "module couplet_constants_module",
        "  use, intrinsic :: iso_c_binding, only: c_int32_t",
        "  implicit none",
        "  public",
    ]
    group = ""
    for constant in found:
        if constant.group != group:
            group = constant.group
            lines += ["", f"  ! {group}"]
        kind = "integer(c_int32_t)" if constant in types else "integer"
        lines += [f"  {line}" for line in parameter(kind, constant)]
    return "\n".join([*lines, "end module", ""])


def parameter(kind: str, constant: Constant) -> Iterator[str]:
    declaration = f"{kind}, parameter :: {constant_name(constant.name)} = {constant.value}"
    if constant.comment and len(declaration) + len(constant.comment) + 6 <= MAX_COLUMNS:
        yield f"{declaration}  ! {constant.comment}"
        return
    if constant.comment:
        yield from (f"! {line}" for line in textwrap.wrap(constant.comment, MAX_COLUMNS - 4))
    yield declaration


def constant_name(name: str) -> str:
    return RENAMED.get(name.lower(), name.lower())


def binding(headers: list[Header]) -> str:
    """The module couplet_binding."""
    lines = [
        "! The structs and functions of the C interface, one to one, for the modules here. User code uses couplet.",
        "! Only pointers and scalars cross: no array descriptor of a compiler reaches C. Tests: tests/languages.",
        NOTE,
        "module couplet_binding_module",
        "  use, intrinsic :: iso_c_binding",
        "  use couplet_constants_module",
        "  use couplet_texts_module",
        "  implicit none",
        "  public",
    ]
    for header in headers:
        for struct in header.structs:
            if struct.members:
                lines += ["", *derived_type(struct)]
    lines += ["", "  interface"]
    for header in headers:
        for function in header.functions:
            if function.name not in LEFT_OUT:
                lines += [f"    {line}" for line in interface(function, headers)]
    return "\n".join([*lines, "  end interface", "end module", ""])


def derived_type(struct: Struct) -> Iterator[str]:
    yield f"  type, bind(c) :: {short(struct.name)}"
    for member in struct.members:
        length = f"({member.length.lower()})" if member.length else ""
        yield f"    {member_type(member)} :: {member.name}{length}"
    yield "  end type"


def member_type(member: Variable) -> str:
    if member.base in CALLBACKS:
        return "type(c_funptr)"
    return "type(c_ptr)" if member.stars else scalar(member.base)


def scalar(base: str) -> str:
    return f"real({KINDS[base]})" if base == "double" else f"integer({KINDS[base]})"


def interface(function: Function, headers: list[Header]) -> list[str]:
    structs = {struct.name for header in headers for struct in header.structs if struct.members}
    names = [each.name for each in function.parameters]
    returned = result_of(function)
    kind = "function" if returned else "subroutine"
    parts = [f"{kind} {short(function.name)}({', '.join(names)})", f'bind(c, name="{function.name}")']
    declared = [declaration(function, each, structs) for each in function.parameters]
    if returned:
        name, type_of = returned
        parts.append(f"result({name})")
        declared.append(f"{type_of} :: {name}")
    lines = [*continued(parts), *imports(declared), *(f"  {line}" for line in declared)]
    return [*lines, f"end {kind}"]


def result_of(function: Function) -> tuple[str, str] | None:
    returned = function.returns
    if returned.stars:
        return "text", "type(c_ptr)"
    if returned.base == "void":
        return None
    return ("status" if returned.base == "couplet_status" else "bytes"), scalar(returned.base)


def declaration(function: Function, parameter: Variable, structs: set[str]) -> str:
    """How Fortran declares a parameter: by value, as input, or as a variable that C may change."""
    array = parameter.name in ARRAYS.get(function.name, set())
    is_address = parameter.base in ("void", "char") or parameter.base.startswith("couplet_")
    known = parameter.base in structs or parameter.base in KINDS
    collective = any(each.base == "couplet_collective_options" for each in function.parameters)
    if (function.name, parameter.name) in NULLABLE or (collective and parameter.name in NULLABLE_NAMES):
        return f"type(c_ptr), value :: {parameter.name}"
    if parameter.stars == 0:
        return f"{scalar(parameter.base)}, value :: {parameter.name}"
    if is_address and not known:
        intent = "value" if parameter.stars == 1 else "intent(inout)"
        return f"type(c_ptr), {intent} :: {parameter.name}{'(*)' if array else ''}"
    type_of = f"type({short(parameter.base)})" if parameter.base in structs else scalar(parameter.base)
    if parameter.is_const:
        array = parameter.base not in structs or counted(function, parameter)
        return f"{type_of}, intent(in) :: {parameter.name}{'(*)' if array else ''}"
    intent = "out" if function.name.endswith("_init") else "inout"
    return f"{type_of}, intent({intent}) :: {parameter.name}{'(*)' if array else ''}"


def counted(function: Function, parameter: Variable) -> bool:
    """Whether another parameter says how many of them there are."""
    return f"{parameter.name.removesuffix('s')}_count" in {each.name for each in function.parameters}


def continued(parts: list[str]) -> Iterator[str]:
    """The head of a function, on as many lines as it needs."""
    line = ""
    indent = ""
    for part in parts:
        if line and len(indent) + len(line) + len(part) + 8 > MAX_COLUMNS:
            yield f"{indent}{line} &"
            line, indent = part, "    "
        else:
            line = f"{line} {part}".strip()
    yield f"{indent}{line}"


def imports(declared: list[str]) -> Iterator[str]:
    words = {word for line in declared for word in line.replace("(", " ").replace(")", " ").replace(",", " ").split()}
    yield f"  import :: {', '.join(sorted(word for word in words if word.startswith('c_')))}"


def short(name: str) -> str:
    """The name on the Fortran side: c_ in place of couplet_."""
    return name.replace("couplet_", "c_", 1)
