"""LLVM IR text to optimized IR, assembly or an object file.

Most input is vector code that needs no heavy optimizer, so the pipeline is light: 0.1 ms where LLVM's O2 takes 10. Functions
with scalar loops are marked (`text.OPTIMIZED`): a module with one of them gets O2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import string_at
from typing import Any

from ..errors import CompileError
from ._llvm import llvm, llvm_with_all_targets, unlocked
from .targets import Target, host
from .text import OPTIMIZED

# always_inliner first: helper functions written as such disappear before anything else looks at them. No value numbering:
# values are folded and shared when they are written; instruction selection finds the rest in a block
_FIRST, _LAST = ("always_inliner", "sroa"), ("global_dead_code_eliminate",)

_COMBINING = ("instruction_combine", "simplify_cfg")
"""For code that compares, chooses and moves bits: a twentieth of the instructions of a sort, for a tenth of LLVM's time."""

_CHOICES = re.compile(r" = (?:select|[if]cmp|xor|shl|lshr|ashr|and|or) (?!i1\b|i64 )")
_MANY_CHOICES = 0.05
"""Of the lines. Products, convolutions and their like have less."""


def compile_object(text: str, target: Target | None = None, *, isolated: bool = False) -> bytes:
    """Compile LLVM IR to a relocatable object file.

    Args:
        text: An LLVM IR module.
        target: the machine to compile for; the host if not given.
        isolated: Run LLVM in a child process. LLVM may abort the process on text that parses and verifies (and does so
            for some cross targets), hence use this for text that the compiler did not write itself.

    Raises:
        CompileError: The text is not valid IR (with the line), or LLVM refuses or aborts.
    """
    target = target or host()
    if isolated:
        return _in_child("object", text, target)
    with _prepared(text, target) as (machine, module):
        try:
            return _emit_object(machine, module)
        except RuntimeError as error:
            raise CompileError(f"LLVM cannot emit an object for target '{target}': {error}") from None


def emit_asm(text: str, target: Target | None = None, *, isolated: bool = False) -> str:
    """Compile LLVM IR to assembly text; arguments and errors as `compile_object`."""
    target = target or host()
    if isolated:
        return _in_child("asm", text, target).decode()
    with _prepared(text, target) as (machine, module):
        try:
            return machine.emit_assembly(module)
        except RuntimeError as error:
            raise CompileError(f"LLVM cannot emit assembly for target '{target}': {error}") from None


def optimized_llvm(text: str, target: Target | None = None, *, isolated: bool = False) -> str:
    """The LLVM IR after the optimizer, as text; arguments and errors as `compile_object`."""
    target = target or host()
    if isolated:
        return _in_child("optimized", text, target).decode()
    with _prepared(text, target) as (_, module):
        return str(module)


def verify_llvm(text: str) -> None:
    """Raise `CompileError` unless `text` is a valid module."""
    with _parsed(text):
        pass


def external_names(text: str) -> list[str]:
    """The functions and variables that a module names and does not define, as LLVM reads their names.

    >>> external_names('declare i32 @"\\73in"(i32)')
    ['sin']
    """
    with _parsed(text) as module:
        return [one.name for one in (*module.functions, *module.global_variables) if one.is_declaration]


_STRING = re.compile(r'\bc"[^"\n]*"')
_ASSEMBLY = re.compile(r'(?:\basm (?:sideeffect |alignstack |inteldialect |unwind )*|^module asm )"([^"\n]*)"', re.MULTILINE)


def inline_assembly(text: str) -> list[str]:
    """The assembly that a module has in functions or beside them.

    >>> inline_assembly('module asm "nop"')
    ['nop']
    """
    with _parsed(text) as module:
        return _ASSEMBLY.findall(_STRING.sub("", str(module)))


def _in_child(what: str, text: str, target: Target) -> bytes:
    from .isolated import run_in_child

    return run_in_child(what, text, target)


@contextmanager
def _prepared(text: str, target: Target) -> Iterator[tuple[Any, Any]]:
    """The target machine and the optimized module."""
    machine = target_machine(target, level=1 if computes(text) else 0)
    with _parsed(_tuned(text, target)) as module:
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        _optimize(module, machine, None if OPTIMIZED in text else _passes(text))
        yield machine, module


# begins with text: found seven times as fast as by ^
_DEFINITION = re.compile(r'(\ndefine [^\n]*\)(?: [a-z_]+| "[a-z-]+")*) \{(?=\n)')


def _tuned(text: str, target: Target) -> str:
    """The text with the processor that its functions are tuned for; functions with other attributes stay as they are."""
    return _DEFINITION.sub(rf'\1 "tune-cpu"="{target.tune}" {{', "\n" + text)[1:] if target.tune else text


_COMPUTES = re.compile(r" = (?!getelementptr|load (?:ptr|i64)\b|alloca|icmp|(?:tail )?call|private|external)")
"""Where LLVM IR does more than to call others with addresses. A host function of a hundred layers is of thousands of calls with
dozens of addresses each: to find them the best registers takes LLVM five times as long as to take any, and gains nothing."""


def computes(text: str) -> bool:
    """Whether LLVM IR does more than call others with addresses; other code uses the fast register allocator."""
    return _COMPUTES.search(text) is not None


def target_machine(target: Target, level: int = 1) -> Any:
    """A fresh llvmlite `TargetMachine`."""
    binding = llvm()
    native = binding.get_process_triple().split("-")[0] == target.triple.split("-")[0]
    if not native:
        binding = llvm_with_all_targets()
    # the default code model of llvmlite means `large`: a 64-bit constant for each address
    # level 1 omits a pass of level 2 that out-of-order processors do not need: scheduling after register allocation
    try:
        return binding.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu, features=target.features, opt=level, reloc="pic", codemodel="small"
        )
    except RuntimeError as error:
        raise CompileError(f"LLVM has no target '{target.name}' ({target.triple}): {error}") from None


def _passes(text: str) -> tuple[str, ...]:
    """The passes over LLVM IR before code generation."""
    is_of_choices = len(_CHOICES.findall(text)) > _MANY_CHOICES * text.count("\n")
    return (*_FIRST, *(_COMBINING if is_of_choices else ()), *_LAST)


def _optimize(module: Any, machine: Any, passes: Sequence[str] | None) -> None:
    """Run the passes, or those of O2; other threads may use LLVM meanwhile."""
    binding = llvm()
    # both are made anew for every run: running a manager twice aborts the process
    options = binding.create_pipeline_tuning_options(speed_level=2)
    options.slp_vectorization = True
    builder = binding.create_pass_builder(machine, options)
    manager = builder.getModulePassManager() if passes is None else binding.create_new_module_pass_manager()
    for name in passes or ():
        getattr(manager, f"add_{name}_pass")()
    unlocked("LLVMPY_RunNewModulePassManager", manager, module, builder)


def _emit_object(machine: Any, module: Any) -> bytes:
    """`machine.emit_object(module)`; other threads may use LLVM meanwhile."""
    ffi = llvm().ffi
    with ffi.OutputString() as error:
        buffer = unlocked("LLVMPY_TargetMachineEmitToMemory", machine, module, 1, error)
        if not buffer:
            raise RuntimeError(str(error))
    try:
        return string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


# Errors

_PARSE_ERROR = re.compile(r"<string>:(\d+):(\d+): error: (.*)")


@contextmanager
def _parsed(text: str) -> Iterator[Any]:
    """The module of a text, in a context of its own: threads share none, and LLVM's data in it is freed with the module."""
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise CompileError(f"LLVM IR line {line}: NUL character in the text")
    binding = llvm()
    with binding.create_context() as context:
        try:
            module = binding.parse_assembly(text, context)
        except RuntimeError as error:
            raise CompileError(_explain_parse_error(str(error), text)) from None
        with module:  # closed before its context: the collector of garbage would take them in any order
            try:
                module.verify()
            except RuntimeError as error:
                raise CompileError(_explain_verify_error(str(error), text)) from None
            yield module


def _explain_parse_error(message: str, text: str) -> str:
    found = _PARSE_ERROR.search(message)
    if found is None:
        return f"LLVM IR is not valid: {message.strip()}"
    line, column = int(found[1]), int(found[2])
    return _quote(text, line, column, found[3])


def _explain_verify_error(message: str, text: str) -> str:
    """LLVM's verifier names the instruction but not its line: look the instruction up in the text."""
    rule, *facts = [line.strip() for line in message.strip().splitlines()]
    lines = [line.split(";")[0].strip() for line in text.splitlines()]
    for fact in reversed(facts):
        if fact and fact in lines:
            return _quote(text, lines.index(fact) + 1, 0, rule.rstrip("!"))
    return f"LLVM IR is not valid: {' '.join([rule, *facts])}"


def _quote(text: str, line: int, column: int, what: str) -> str:
    source = text.splitlines()
    shown = source[line - 1].replace("\t", " ") if 0 < line <= len(source) else ""
    message = f"LLVM IR line {line}: {what}\n  {shown}"
    return message + (f"\n  {' ' * (column - 1)}^" if column else "")
