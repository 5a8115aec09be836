"""The documentation of passes, ops and dialects as text: for `lamina-opt --help-pass` and its kin, and for pages of docs."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..dialects.hints import syntax_of
from .arguments import UsageError

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass

_WIDTH = 50
_SILENT = "(it says nothing of itself)"


@dataclass(frozen=True)
class Option:
    """An option of a pass.

    Attributes:
        type: as the field says.
        default: as it is written in a pipeline; None: it must be given.
        about: a sentence; empty where nothing is known.
    """

    name: str
    type: str
    default: str | None
    about: str


# Passes


def pass_lines() -> str:
    """All passes by name with their summaries, options and statistics, as `mlir-opt --list-passes` prints them.

    The text is kept in the object cache: to import all passes, xDSL's too, takes 3 s.
    """
    from .. import passes
    from ..codegen import cache
    from ..codegen.version import frontend_version, version

    names = passes.all_names()
    key = cache.key_of("list of passes", version(), frontend_version(), *names)
    kept = cache.get(key)
    if kept is not None and isinstance(text := kept.meta.get("text"), str):
        return text
    text = _pass_lines(names)
    cache.put(key, b"", {"text": text})
    return text


def _pass_lines(names: Sequence[str]) -> str:
    from .. import passes

    known = passes.infos()
    lines: list[str] = []
    for name in names:
        cls = passes.find_pass(name)
        lines.append(_row(f"  --{name}", known[name].summary if name in known else f"(xDSL) {_summary(cls)}".strip(), "  "))
        lines += [_row(f"    --{o.name}=<{o.type}>", _with_default(o)) for o in options_of(cls)]
        lines += [_row(f"    (S) {name}", about) for name, about in statistics_of(cls).items()]
    return "\n".join(lines) + "\n"


def _row(name: str, text: str, indent: str = "") -> str:
    return f"{name:{_WIDTH}} - {indent}{text}".rstrip(" -")


def _with_default(option: Option) -> str:
    if option.default is None:
        return f"{option.about} (required)".strip()
    return f"{option.about} (default: {option.default})".strip() if option.default else option.about


def _own_doc(cls: type) -> str:
    """The docstring of a class, never that of a base."""
    return inspect.cleandoc(vars(cls).get("__doc__") or "").strip()


def _summary(cls: type) -> str:
    return _own_doc(cls).partition("\n")[0]


def options_of(cls: type[ModulePass]) -> list[Option]:
    """The options of a pass, with the docstrings of its class or fields."""
    found: list[Option] = []
    said = _said_of_fields(cls)
    for field in dataclasses.fields(cls):
        if field.name == "name" or not field.init:
            continue
        default = None
        if field.default is not dataclasses.MISSING:
            default = "" if field.default is None else _shown(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            default = _shown(field.default_factory())
        type_ = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
        found.append(Option(field.name.replace("_", "-"), type_, default, said.get(field.name, "")))
    return found


def _shown(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ",".join(map(_shown, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _said_of_fields(cls: type) -> Mapping[str, str]:
    """A sentence for each field: from `Attributes:` of the docstrings of the class and its bases, or the string behind it."""
    import ast

    found: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        if each.__module__ in ("builtins", "abc", "xdsl.passes", "xdsl.utils.arg_spec"):
            continue
        section = re.search(r"^(?:Attributes|Args):\n((?:[ \t]+.*\n?|\n)+)", inspect.getdoc(each) or "", re.MULTILINE)
        for item in re.finditer(r"^    (\w+):\s*((?:.*\n?)(?:^     +.*\n?)*)", section[1] if section else "", re.MULTILINE):
            found[item[1]] = " ".join(item[2].split()).rstrip(".")
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
        except (OSError, TypeError, SyntaxError):
            continue
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, doc in pairwise(statements):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(doc, ast.Expr):
                if isinstance(doc.value, ast.Constant) and isinstance(doc.value.value, str):
                    found.setdefault(field.target.id, " ".join(doc.value.value.split()).rstrip("."))
    return found


def statistics_of(cls: type[ModulePass]) -> Mapping[str, str]:
    """The statistics of a pass: names, each with its meaning."""
    return getattr(cls, "statistics", {})


def pass_page(name: str) -> str:
    """All about a pass.

    Raises:
        UnknownPassError: there is none of that name.
    """
    from .. import passes

    cls = passes.find_pass(name)
    module = inspect.getdoc(inspect.getmodule(cls)) if name in passes.infos() else None
    text = module or _own_doc(cls) or _SILENT
    lines = [f"{name} ({cls.__name__})", "", text.strip(), "", "Options:"]
    options = options_of(cls)
    lines += [_row(f"  {o.name}: {o.type}", _with_default(o)) for o in options] or ["  none"]
    if statistics := statistics_of(cls):
        lines += ["", "Statistics:", *(_row(f"  {key}", about) for key, about in statistics.items())]
    numerics = getattr(cls, "numerics", None)
    if numerics is not None:
        lines += ["", f"Numerics: {numerics}"]
    needed = " ".join(f"{o.name}=<{o.type}>" for o in options if o.default is None)
    lines += ["", f"Use: lamina-opt FILE --{name}" + (f"='{needed}'" if needed else "")]
    return "\n".join(lines) + "\n"


# Ops and dialects


def op_page(name: str, ctx: Context) -> str:
    """The page of an op: its docstring, syntax, operands, results, properties, regions and traits.

    Raises:
        UsageError: there is none of that name.
    """
    cls = ctx.get_optional_op(name)
    if cls is None:
        raise UsageError(f"there is no op '{name}'" + _hint(name, _op_names(name, ctx)))
    lines = [cls.name, "", _own_doc(cls) or _SILENT]
    if syntax := syntax_of(cls):
        lines += ["", "Syntax:", textwrap.indent(syntax, "  ")]
    for title, rows in _parts(cls):
        lines += ["", f"{title}:", *rows]
    return "\n".join(lines) + "\n"


def _parts(cls: Any) -> Iterator[tuple[str, list[str]]]:
    """Titles, each with a line for every operand, result and so on."""
    if not hasattr(cls, "get_irdl_definition"):
        return
    definition = cls.get_irdl_definition()
    for title, found in (
        ("Operands", definition.operands),
        ("Results", definition.results),
        ("Properties", definition.properties.items()),
        ("Attributes", definition.attributes.items()),
        ("Regions", definition.regions),
    ):
        rows = [f"  {name}{_arity(one)}: {_constraint(getattr(one, 'constr', None))}".rstrip(": ") for name, one in found]
        if title == "Properties":
            rows = [row + _left_out(cls, name) for row, (name, _) in zip(rows, found, strict=True)]
        if rows:
            yield title, rows
    traits = sorted(name for trait in cls.traits.traits if not (name := type(trait).__name__).startswith("_"))
    if traits:
        yield "Traits", [f"  {', '.join(traits)}"]


def _left_out(cls: Any, name: str) -> str:
    default = getattr(cls, "text_defaults", {}).get(name)
    return f" (where it is left out: {default.about})" if default else ""


def _arity(definition: object) -> str:
    name = type(definition).__name__
    return " (any number)" if name.startswith("Var") else " (optional)" if name.startswith("Opt") else ""


def _constraint(constraint: Any) -> str:
    """A constraint in words, where it is one of the usual ones."""
    kind = type(constraint).__name__
    inner = getattr(constraint, "constr", None)
    if constraint is None or kind in ("AnyAttr", "AnyInt"):
        return ""
    if kind == "BaseAttr":
        return constraint.attr.name
    if kind == "EqAttrConstraint":
        return str(constraint.attr)
    if kind == "AnyOf":
        return " or ".join(_alternatives(constraint.attr_constrs))
    if kind == "AllOf":
        return " and ".join(filter(None, map(_constraint, constraint.attr_constrs)))
    if kind == "VarConstraint":
        return f"{_constraint(constraint.constraint)} (the same wherever it says {constraint.name})".strip()
    if kind in ("RangeOf", "SingleOf", "RangeLengthConstraint"):
        return _constraint(inner or constraint.constraint)
    if kind == "ParamAttrConstraint":
        inside = ", ".join(filter(None, map(_constraint, constraint.param_constrs)))
        return constraint.base_attr.name + (f" of {inside}" if inside else "")
    return kind


def _alternatives(constraints: Sequence[Any]) -> Sequence[str]:
    """Constraints of which one holds; all types of floats are one word."""
    from xdsl.dialects.builtin import AnyFloatConstr

    found = list(filter(None, map(_constraint, constraints)))
    floats: Any = AnyFloatConstr
    names = [_constraint(one) for one in floats.attr_constrs]
    if len(found) >= len(names) and set(names) <= set(found):
        return ["float", *(word for word in found if word not in names)]
    return found


def dialect_page(name: str, ctx: Context) -> str:
    """All about a dialect: its ops and types, each with a line.

    Raises:
        UsageError: there is none of that name.
    """
    dialect = _dialect(name, ctx)
    ops = sorted(dialect.operations, key=lambda op: op.name)
    lines = [f"{name}: a dialect of {len(ops)} ops", "", "Ops:"]
    lines += [_row(f"  {op.name}", _summary(op)) for op in ops]
    attributes = sorted(dialect.attributes, key=lambda one: one.name)
    if attributes:
        lines += ["", "Types and attributes:", *(_row(f"  {one.name}", _summary(one)) for one in attributes)]
    return "\n".join([*lines, "", "lamina-opt --help-op OP says all about one."]) + "\n"


def _dialect(name: str, ctx: Context) -> Dialect:
    found = ctx.get_optional_dialect(name)
    if found is None:
        raise UsageError(f"there is no dialect '{name}'" + _hint(name, list(ctx.registered_dialect_names)))
    return found


def _op_names(name: str, ctx: Context) -> list[str]:
    """The ops of the dialect that a name begins with, or of ours."""
    prefix = name.partition(".")[0]
    known = [prefix] if prefix in ctx.registered_dialect_names else ["graph", "loop", "program"]
    return [op.name for each in known for op in _dialect(each, ctx).operations]


def _hint(name: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, 3)
    return f", did you mean {' or '.join(close)}?" if close else ""
