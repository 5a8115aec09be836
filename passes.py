"""Finding passes by name, and running them: times, IR after each, verification, one message on failure.

A pass is a file: `transforms/graph_fuse.py` holds the pass `graph-fuse`, `lowering/schedule/tile.py` holds `loop-tile`. There
is no list to keep: names come from the files, a file is imported when its pass is used. xDSL's passes keep their names, and
other packages register theirs.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass, get_pass_option_infos
from xdsl.utils.arg_spec import ArgSpec
from xdsl.utils.exceptions import DiagnosticException

from . import extensions, pass_text
from .dialects.module_rules import require_single_blocks
from .dialects.symbols import forget_symbols
from .errors import CompileError, ExtensionError, InternalError, LaminaError, about, is_interruption, placed
from .pass_text import Element

if TYPE_CHECKING:
    from .dialects.loop.loops import KernelOp

FOLDERS = ("transforms", "transforms/target", "lowering", "lowering/schedule", "interop/stablehlo")
"""Where passes live. In `lowering/schedule/` the pass of `tile.py` is `loop-tile`: a primitive's name is its verb."""


class UnknownPassError(LaminaError):
    """A pass or a pass option that does not exist, with the names that come close."""


@dataclass(frozen=True)
class PassInfo:
    """A pass that exists, not imported yet."""

    name: str
    module: str
    """Relative to the package, e.g. `transforms.graph_fuse`; of a registered pass the whole name."""
    summary: str


@cache
def _files() -> Mapping[str, str]:
    """Module of every file that may hold a pass, by the pass's name."""
    root, found = Path(__file__).parent, {}
    for folder in FOLDERS:
        prefix = "loop-" if folder.endswith("schedule") else ""
        for info in pkgutil.iter_modules([str(root / folder)]):
            if not info.ispkg:
                found.setdefault(prefix + info.name.replace("_", "-"), f"{folder.replace('/', '.')}.{info.name}")
    return found


def our_passes() -> Mapping[str, PassInfo]:
    """Every pass of this package by name, read from its file without importing it."""
    return {name: info for name in sorted(_files()) if (info := _info(name)) is not None}


@cache
def _info(name: str) -> PassInfo | None:
    """The pass of this package of a name; None if there is none."""
    module = _files().get(name)
    if module is None:
        return None
    text = (Path(__file__).parent / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8")
    if not re.search(rf'^    name(?:: [^=\n]+)? = "{re.escape(name)}"', text, re.MULTILINE):
        return None
    return PassInfo(name, module, (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0])


@cache
def _xdsl_passes() -> Mapping[str, Callable[[], type[ModulePass]]]:
    from xdsl.transforms import get_all_passes

    return get_all_passes()


_registered: dict[str, type[ModulePass]] = {}


def register_pass(cls: type[ModulePass]) -> type[ModulePass]:
    """Make a pass of another package known by its name, to `run_passes` and to the tools. Use it as a decorator.

    Args:
        cls: a frozen dataclass that derives from xDSL's `ModulePass`; its fields are the options, and the first line of its
            docstring is what `lamina-opt --list-passes` prints.

    Raises:
        ExtensionError: it is no such class, or the name is taken.
    """
    if not (isinstance(cls, type) and issubclass(cls, ModulePass) and dataclasses.is_dataclass(cls)):
        raise ExtensionError(f"register_pass: {cls!r} must be a frozen dataclass that derives from ModulePass")
    name = vars(cls).get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise ExtensionError(
            f"register_pass: {cls.__name__} needs a name of words with dashes, as name = 'graph-mine', got {name!r}"
        )
    if _info(name) is not None or name in _xdsl_passes():
        raise ExtensionError(f"register_pass: there is a pass '{name}' already, {cls.__name__} needs another name")
    extensions.add("pass", name, cls.__module__)
    _registered[name] = cls
    return cls


def registered_passes() -> Mapping[str, type[ModulePass]]:
    """The passes of other packages by name."""
    extensions.load()
    return _registered


def infos() -> Mapping[str, PassInfo]:
    """Every pass but xDSL's by name: those of this package, then registered ones."""
    others = {
        name: PassInfo(name, cls.__module__, (cls.__doc__ or "").partition("\n")[0])
        for name, cls in registered_passes().items()
    }
    return {**our_passes(), **dict(sorted(others.items()))}


def all_names() -> list[str]:
    """The names of all passes, xDSL's last."""
    known = list(infos())
    return known + sorted(set(_xdsl_passes()) - set(known))


def exists(name: str) -> bool:
    """Whether there is a pass of a name."""
    return _info(name) is not None or name in registered_passes() or name in _xdsl_passes()


def find_pass(name: str) -> type[ModulePass]:
    """The class of a pass.

    Raises:
        UnknownPassError: no pass has that name.
    """
    module = _files().get(name)
    if module is not None:
        loaded = importlib.import_module(f".{module}", __package__)
        for value in vars(loaded).values():
            if isinstance(value, type) and issubclass(value, ModulePass) and getattr(value, "name", None) == name:
                return value
    if name in registered_passes():
        return _registered[name]
    if name in _xdsl_passes():
        return _xdsl_passes()[name]()
    close = difflib.get_close_matches(name, all_names(), 3)
    hint = f", did you mean {' or '.join(close)}?" if close else "; --list-passes shows all"
    raise UnknownPassError(f"unknown pass '{name}'{hint}")


def make_pass(name: str, options: Mapping[str, Any] | None = None) -> ModulePass:
    """A pass with options by field name; a value may be a tuple."""
    values = {key: value if isinstance(value, tuple) else (value,) for key, value in (options or {}).items()}
    return _from_spec(ArgSpec(name, values))


def _from_spec(spec: ArgSpec) -> ModulePass:
    cls = find_pass(spec.name)
    spec = spec.normalize_parameter_names()
    known = {field.name for field in dataclasses.fields(cls)} - {"name"}
    for option in spec.parameters:
        if option not in known:
            names = sorted(name.replace("_", "-") for name in known)
            given = option.replace("_", "-")
            close = difflib.get_close_matches(given, names, 1)
            hint = f"did you mean {close[0]}?" if close else f"it has: {', '.join(names) or 'none'}"
            raise UnknownPassError(f"pass '{spec.name}' has no option '{given}', {hint}")
    flags = {field.name for field in dataclasses.fields(cls) if field.type in (bool, "bool")}
    spec = ArgSpec(spec.name, {key: values or ((True,) if key in flags else ()) for key, values in spec.parameters.items()})
    try:
        return cls.from_spec(spec)
    except Exception as error:
        wants = "; ".join(f"{o.name}: {o.expected_type}" for o in get_pass_option_infos(cls))
        raise UnknownPassError(f"pass '{spec.name}': {_first_line(error)} (options: {wants})") from error


def parse_passes(text: str) -> list[ModulePass]:
    """The passes of a pipeline text, `a,b{x=1 names=p,q}`, which may stand in `builtin.module(...)`.

    Raises:
        UnknownPassError: the text is malformed, names a pass or option that does not exist, or has other anchors, which
            `pass_manager.py` runs.
    """
    elements = parse_elements(text)
    if len(elements) == 1 and elements[0].name == "builtin.module" and elements[0].inner is not None:
        elements = list(elements[0].inner)
    for element in elements:
        if element.inner is not None:
            raise UnknownPassError(f"passes for each '{element.name}' need lamina.pass_manager.parse_pipeline")
    return [pass_of(element) for element in elements]


def parse_elements(text: str) -> list[Element]:
    """The elements of a pipeline text, as `pass_text.parse`.

    Raises:
        UnknownPassError: the text is malformed.
    """
    try:
        return pass_text.parse(text)
    except pass_text.PipelineTextError as error:
        raise UnknownPassError(str(error)) from None


def pass_of(element: Element) -> ModulePass:
    """The pass that an element of a pipeline text stands for.

    Raises:
        UnknownPassError: it does not exist, or has no such options.
    """
    return _from_spec(ArgSpec(element.name, element.options))


def run_passes(
    module: ModuleOp,
    ctx: Context,
    passes: str | Sequence[ModulePass | tuple[str, Mapping[str, Any]]],
    *,
    verify_each: bool = False,
    after: Callable[[str, ModuleOp, float], None] | None = None,
) -> None:
    """Run passes over a module, in place.

    Args:
        passes: pipeline text, or passes, or pairs of name and options.
        verify_each: verify the module after every pass (30 us an op).
        after: called after every pass with its name, the module and the seconds it took.

    Raises:
        UnknownPassError: a pass or option does not exist.
        LaminaError, DiagnosticException: a pass cannot proceed and says why.
        InternalError: a pass failed otherwise, or left IR that does not verify.
    """
    for one in parse_passes(passes) if isinstance(passes, str) else passes:
        run_pass(module, ctx, make_pass(*one) if isinstance(one, tuple) else one, verify=verify_each, after=after)


def run_pass(
    module: ModuleOp,
    ctx: Context,
    one: ModulePass,
    *,
    verify: bool = False,
    after: Callable[[str, ModuleOp, float], None] | None = None,
) -> None:
    """Run one pass; see `run_passes`."""
    start = time.perf_counter()
    forget_symbols(module)
    try:
        with about(module):
            if _is_ours(one):
                require_single_blocks(module)
            one.apply(ctx, module)
    except (LaminaError, DiagnosticException, InternalError, RecursionError):
        raise
    except Exception as error:
        if is_interruption(error):
            raise
        fault = InternalError(f"pass '{one.name}' failed: {type(error).__name__}: {_first_line(error)}")
        raise placed(fault, getattr(error, "op", module)) from error
    seconds = time.perf_counter() - start
    if not _is_ours(one):
        fill_locations(module)
    if verify:
        check(module, f"pass '{one.name}' left invalid IR: ")
    if after is not None:
        after(one.name, module, seconds)


def _is_ours(one: ModulePass) -> bool:
    return type(one).__module__.startswith(f"{__package__}.")


def check(module: Operation, what: str) -> None:
    """Verify a module, or an op in one, that the compiler made: an error is a fault of the compiler."""
    from .dialects.dominance import errors_in

    for invalid in errors_in(module):
        error = InternalError(f"{what}{invalid}")
        error.location = invalid.location
        raise error


def fill_locations(module: ModuleOp) -> None:
    """Give ops that a foreign pass made without a location the location of their user, else of the op around them."""
    for op in module.walk():
        if op.location is UNKNOWN_LOC or op.location == UNKNOWN_LOC:
            for near in _neighbours(op):
                if near.location != UNKNOWN_LOC:
                    op.location = near.location
                    break


def _neighbours(op: Any) -> Iterator[Any]:
    for result in op.results:
        for use in result.uses:
            yield use.operation
    if (parent := op.parent_op()) is not None:
        yield parent


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


# --------------------------------------------------------------------------------------------------------------------
# Schedules as text


def replay_tuned(module: ModuleOp) -> None:
    """Take the steps that `tune` found for kernels that nobody has scheduled; where a step fails, none is taken."""
    from .codegen.tuned import state
    from .dialects.loop.loops import KernelOp
    from .lowering.fallbacks import Fallback, record
    from .lowering.tuned_schedules import kept_steps

    if not state():
        return
    for kernel in [op for op in module.body.block.ops if isinstance(op, KernelOp) and not op.is_scheduled]:
        steps = kept_steps(kernel)
        if steps is None:
            continue
        scheduled = kernel.clone()
        try:
            replay(scheduled, steps)
        except Exception as error:
            if is_interruption(error):
                raise
            record(Fallback(kernel.sym_name.data, "the tuned schedule", None, error), kernel)
            continue
        scheduled.mark_scheduled()
        block = kernel.parent
        assert block is not None
        block.insert_op_before(scheduled, kernel)
        kernel.detach()
        kernel.erase()


def replay(kernel: KernelOp, steps: str) -> None:
    """Take the steps of a pipeline text on a kernel.

    Raises:
        CompileError: a step is no schedule primitive, or not legal.
    """
    from .lowering.schedule.base import Primitive

    try:
        for step in parse_passes(steps):
            if not isinstance(step, Primitive):
                raise CompileError(f"'{step.name}' is no step of a schedule")
            step.run(kernel)
    except LaminaError as error:
        raise CompileError(str(error)) from None
