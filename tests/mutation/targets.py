"""Where a mutation run plants faults: rewrite rules, loop forms, derivatives, batching rules; and how a fault is planted.

A fault is compiled and put into the functions that are already loaded (their code is exchanged), or into the class attribute
that an expression declares, so that nothing is imported anew.
"""

from __future__ import annotations

import ast
import gc
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from operators import Mutant, each_name, mutants_of

ROOT = Path(__file__).parent.parent.parent
GRAPH = ROOT / "dialects" / "graph"
RULES = ("rules", "rules_elementwise", "rules_shape", "rules_contract")
EXPANSIONS = ("_linearize", "_transpose", "_batch", "_for_loops")
"""The passes that apply derivatives and batching rules."""
AREAS = ("rules", "equations", "derivatives", "batching")

ELSEWHERE = {
    "infer_types",
    "evaluate",
    "decompose",
    "nest",
    "plain_nest",
    "make",
    "verify_",
    "print",
    "parse",
    "copied",
    "check",
}
"""Methods that are none of these areas, though helpers may share their names."""
OUTSIDE_RULES = {"document", "ulp", "rule", "rules_by_root"}


@dataclass(frozen=True)
class Target:
    """A function, or the expression of a class attribute, of a file.

    Attributes:
        name: as `Class.function`, or `Class.derivative`.
        node: its tree; of an attribute the expression alone.
    """

    area: str
    path: Path
    name: str
    node: ast.AST

    @property
    def file(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def owner(self) -> str | None:
        """The class that declares the expression."""
        return None if isinstance(self.node, ast.FunctionDef) else self.name.split(".")[0]


@dataclass(frozen=True)
class Fault:
    """One mutant of a target; `key` says which without its line."""

    target: Target
    mutant: Mutant
    ordinal: int

    @property
    def key(self) -> str:
        again = f" #{self.ordinal + 1}" if self.ordinal else ""
        return f"{self.target.file} {self.target.name}: {self.mutant.before} -> {self.mutant.after}{again}"


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Functions and methods by qualified name."""
    found: dict[str, ast.FunctionDef] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            found.update({f"{node.name}.{n.name}": n for n in node.body if isinstance(n, ast.FunctionDef)})
    return found


def _attributes(tree: ast.Module) -> Iterator[tuple[str, str, ast.expr]]:
    """(class, attribute, expression) of what classes, and rows of a family, declare."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name):
            for keyword in node.value.keywords:
                yield node.targets[0].id, keyword.arg or "", keyword.value
        for part in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
                yield node.name, part.targets[0].id, part.value  # type: ignore[union-attr]


def _reached(functions: dict[str, ast.FunctionDef], roots: Sequence[ast.AST]) -> set[str]:
    """Functions of the file that the roots use, themselves or through others."""
    by_last: dict[str, list[str]] = {}
    for name in functions:
        if name.rsplit(".", 1)[-1] not in ELSEWHERE:
            by_last.setdefault(name.rsplit(".", 1)[-1], []).append(name)
    found: set[str] = set()
    work = list(roots)
    while work:
        for name in each_name(work.pop()):
            for reached in by_last.get(name, ()):
                if reached not in found:
                    found.add(reached)
                    work.append(functions[reached])
    return found


def _op_targets(path: Path) -> Iterator[Target]:
    """Loop forms, derivatives and batching rules of a file of ops; a helper of several counts once."""
    tree = _tree(path)
    functions = _functions(tree)
    declared = list(_attributes(tree))
    seen: set[str] = set()
    roots: dict[str, list[ast.AST]] = {"equations": [f for n, f in functions.items() if n.endswith((".equations", ".scalar"))]}
    for area, attribute in (("derivatives", "derivative"), ("batching", "batching")):
        roots[area] = []
        for owner, name, value in declared:
            if name == attribute:
                roots[area].append(value)
                if not isinstance(value, ast.Name | ast.Constant):
                    yield Target(area, path, f"{owner}.{name}", value)
    for area, nodes in roots.items():
        names = _reached(functions, nodes) | {n for n, f in functions.items() if any(f is node for node in nodes)}
        for name in sorted(names - seen, key=lambda n: functions[n].lineno):
            yield Target(area, path, name, functions[name])
        seen |= names


@cache
def targets() -> tuple[Target, ...]:
    """Everything that faults are planted in."""
    found: list[Target] = []
    for name in RULES:
        path = GRAPH / f"{name}.py"
        functions = _functions(_tree(path))
        roots: list[ast.AST] = [f for f in functions.values() if f.decorator_list or name == "rules"]
        names = _reached(functions, [part for f in roots if isinstance(f, ast.FunctionDef) for part in f.body])
        names |= {n for n, f in functions.items() if any(f is r for r in roots)}
        found += [Target("rules", path, n, functions[n]) for n in functions if n in names and n not in OUTSIDE_RULES]
    for path in (*sorted(GRAPH.glob("*.py")), GRAPH.parent / "functions.py"):
        if path.stem not in (*RULES, "base", "builder", "__init__"):
            found += _op_targets(path)
    for path in (GRAPH / "batching.py", *(ROOT / "transforms" / f"{name}.py" for name in EXPANSIONS)):
        for n, f in _functions(_tree(path)).items():
            batches = "batch" in path.stem or "batch" in n
            found.append(Target("batching" if batches else "derivatives", path, n, f))
    return tuple(found)


def faults(target: Target) -> list[Fault]:
    """The mutants of a target."""
    seen: dict[tuple[str, str], int] = {}
    result = []
    for mutant in mutants_of(target.node):
        pair = (mutant.before, mutant.after)
        result.append(Fault(target, mutant, seen.get(pair, 0)))
        seen[pair] = seen.get(pair, 0) + 1
    return result


# Faults in a process


def module_of(path: Path) -> ModuleType:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return importlib.import_module(".".join(("lamina", *parts)))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those inside of it, in order."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _code_of(path: Path, target: Target) -> CodeType:
    """The code of a function as the tree has it now."""
    code = compile(_tree(path), str(path), "exec")
    for part in target.name.split("."):
        first = min([target.node.lineno, *(d.lineno for d in target.node.decorator_list)])  # type: ignore[attr-defined]
        inner = [c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == part]
        code = next((c for c in inner if c.co_firstlineno == first), inner[0])
    return code


@cache
def live_functions() -> tuple[FunctionType, ...]:
    """The functions of the files of all targets that there are in this process."""
    files = {str(target.path) for target in targets()}
    gc.unfreeze()  # frozen objects are not listed, and a session of tests freezes those that it finds
    found = [f for f in gc.get_objects() if isinstance(f, FunctionType)]
    gc.freeze()
    resolved = {name: str(Path(name).resolve()) for name in {f.__code__.co_filename for f in found}}
    return tuple(f for f in found if resolved[f.__code__.co_filename] in files)


@cache
def loaded_codes(target: Target) -> tuple[CodeType, ...]:
    """The code of a function without a fault, and of those inside of it."""
    return tuple(_codes(_code_of(target.path, target)))


def _is_of(function: FunctionType, code: CodeType) -> bool:
    """Whether both come from one file: files may have equal functions on equal lines."""
    return Path(function.__code__.co_filename).resolve() == Path(code.co_filename)


def exchange(pairs: Sequence[tuple[CodeType, CodeType]]) -> Callable[[], None]:
    """Give all functions that have the first code of a pair the second; what is returned takes that back."""
    changed: list[tuple[FunctionType, CodeType]] = []
    for function in live_functions():
        for a, b in pairs:
            if function.__code__ == a and _is_of(function, a) and len(a.co_freevars) == len(b.co_freevars):
                changed.append((function, function.__code__))
                function.__code__ = b
                break
    if not changed:
        raise LookupError(
            f"no function that is loaded has the code of {pairs[0][0].co_qualname}" if pairs else "nothing changes"
        )

    def out() -> None:
        for function, code in changed:
            function.__code__ = code

    return out


def plant(fault: Fault) -> Callable[[], None]:
    """Put a fault into the loaded functions; what is returned takes it out again.

    Raises:
        SyntaxError: where the mutant is no Python.
    """
    target = fault.target
    if not isinstance(target.node, ast.FunctionDef):
        return _declare(fault)
    old = loaded_codes(target)
    undo = fault.mutant.apply()
    try:
        new = tuple(_codes(_code_of(target.path, target)))
    finally:
        undo()
    if len(new) != len(old):  # a function inside is gone: those made before keep their code
        old, new = old[:1], new[:1]
    lost = [(a, [n for n in a.co_freevars if n not in b.co_freevars]) for a, b in zip(old, new, strict=True)]
    if any(names for _, names in lost):  # closures that exist need code with as many free variables
        undo, unbind = fault.mutant.apply(), _mention(target.node, lost)
        new = tuple(_codes(_code_of(target.path, target)))[: len(new)]
        unbind()
        undo()
    return exchange([(a, b) for a, b in zip(old, new, strict=True) if a != b])


def _mention(function: ast.FunctionDef, lost: Sequence[tuple[CodeType, list[str]]]) -> Callable[[], None]:
    """Let inner functions name variables that their code would otherwise not have, where it never runs."""
    changed: list[ast.FunctionDef] = []
    for node in ast.walk(function):
        for code, names in lost:
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name and node.lineno == code.co_firstlineno and names:
                dead = ast.If(ast.Constant(False), [ast.Expr(ast.Name(name, ast.Load())) for name in names], [])
                node.body.insert(0, ast.fix_missing_locations(ast.copy_location(dead, node.body[0])))
                changed.append(node)

    def undo() -> None:
        for node in changed:
            node.body.pop(0)

    return undo


def note_statements(note: Callable[[tuple[str, int]], None]) -> None:
    """Let every statement of all targets call `note` with its file and line before it runs; there is no way back."""
    for target in targets():
        if not isinstance(target.node, ast.FunctionDef):
            continue
        old = loaded_codes(target)
        undo = _instrument(target.node, target.file)
        new = tuple(_codes(_code_of(target.path, target)))
        undo()
        vars(module_of(target.path))[_NOTE] = note
        exchange(list(zip(old, new, strict=True)))


_NOTE = "_note_statement_"


def _instrument(function: ast.FunctionDef, file: str) -> Callable[[], None]:
    """Put a call before every statement of a function."""
    bodies: list[tuple[list[Any], list[Any]]] = []
    for node in list(ast.walk(function)):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                bodies.append((body, list(body)))
                body[:] = [part for statement in body for part in (_call_of_note(statement, file), statement)]

    def undo() -> None:
        for body, before in bodies:
            body[:] = before

    return undo


def _call_of_note(statement: ast.stmt, file: str) -> ast.stmt:
    place = ast.Tuple([ast.Constant(file), ast.Constant(statement.lineno)], ast.Load())
    call = ast.Expr(ast.Call(ast.Name(_NOTE, ast.Load()), [place], []))
    return ast.fix_missing_locations(ast.copy_location(call, statement))


def _declare(fault: Fault) -> Callable[[], None]:
    """A fault in what a class declares: the expression is evaluated anew."""
    target = fault.target
    module = module_of(target.path)
    owner, attribute = target.name.split(".")
    holder = ast.Expression(_attribute_value(target))
    undo = fault.mutant.apply()
    try:
        holder.body = _attribute_value(target)
        value = eval(compile(ast.fix_missing_locations(holder), str(target.path), "eval"), vars(module))
    finally:
        undo()
    cls = getattr(module, owner)
    if isinstance(value, tuple):  # the row of a scalar function, of which an op has been made
        cls, value = _op_of(cls.name, value)
    before = cls.__dict__[attribute]
    setattr(cls, attribute, value)
    return lambda: setattr(cls, attribute, before)


def _op_of(name: str, slopes: tuple[Any, ...]) -> tuple[Any, Any]:
    """The class of the op of a scalar function, and its derivative with these slopes."""
    from lamina.dialects.graph import OPS
    from lamina.dialects.graph.base import Elementwise

    return OPS[name], Elementwise(*slopes)


def _attribute_value(target: Target) -> Any:
    owner, attribute = target.name.split(".")
    return next(v for o, a, v in _attributes(_tree(target.path)) if (o, a) == (owner, attribute))
