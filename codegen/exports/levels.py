"""LLVM IR of one instruction set, made ready to stand in a module beside others: names and attributes of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..targets import Target

_DEFINED = re.compile(r'^(?:define [^@\n]*)?@(?:"([^"\n]*)"|([\w.$-]+))(?=\(| = )', re.MULTILINE)
_NAME = re.compile(r'c"[^"]*"|@"[^"\n]*"|@[\w.$-]+')
_DECLARE = re.compile(r"^declare [^\n]*\n?", re.MULTILINE)
_CONSTANT = re.compile(r"^@(\S+) = (private unnamed_addr constant .*)\n?", re.MULTILINE)
_HEAD = re.compile(r"^define (?:internal |weak )?((?:[^\n]|\n(?!define))*?) \{$", re.MULTILINE)


@dataclass(frozen=True)
class Level:
    """The code of a module for one target.

    Attributes:
        target: the target it is compiled for.
        text: LLVM IR, with external symbols only for definitions of others.
    """

    target: Target
    text: str


def merged(levels: Sequence[Level]) -> str:
    """One module of the code for several targets: functions get the target's name as a suffix and its attributes; a constant
    that is the same for all stands there once.

    >>> from lamina.codegen.targets.x86_64_v3 import TARGET
    >>> text = "declare void @g()\\ndefine void @f(ptr %x) nounwind {\\nentry:\\n  call void @g()\\n  ret void\\n}\\n"
    >>> print(merged([Level(TARGET, text)]))
    define internal void @"f.x86-64-v3"(ptr %x) nounwind #0 {
    entry:
      call void @g()
      ret void
    }
    <BLANKLINE>
    declare void @g()
    attributes #0 = { "target-cpu"="x86-64-v3" }
    """
    constants: dict[str, str] = {}
    declared: dict[str, None] = {}
    texts: list[str] = []
    groups: list[str] = []
    for number, level in enumerate(levels):
        text = level.text
        names = {found[1] or found[2]: own_name(found[1] or found[2], level.target) for found in _DEFINED.finditer(text)}

        def keep(found: re.Match[str], names: dict[str, str] = names) -> str:
            name = found[1].strip('"')
            known = constants.setdefault(f"{name} = {found[2]}", names[name])
            is_new = known == names[name]
            names[name] = known
            return found[0] if is_new else ""

        text = _CONSTANT.sub(keep, text)
        declared.update((line.strip(), None) for line in _DECLARE.findall(text))
        text = _DECLARE.sub("", text)
        text = _HEAD.sub(rf"define internal \1 #{number} {{", text)

        def renamed(found: re.Match[str], names: dict[str, str] = names) -> str:
            if found[0][0] == "c":
                return found[0]
            name = found[0][1:].strip('"')
            return f'@"{names[name]}"' if name in names else found[0]

        texts.append(_NAME.sub(renamed, text).strip() + "\n")
        groups.append(f"attributes #{number} = {{ {attributes(level.target)} }}")
    return "\n".join([*texts, *declared, *groups])


def own_name(name: str, target: Target) -> str:
    """The name of a function or constant of the module in the code for a target."""
    return f"{name}.{target.name}"


def attributes(target: Target) -> str:
    """The attributes that tell LLVM which instructions a function may use, independent of its callers."""
    words = {"target-cpu": target.cpu, "target-features": target.features, "tune-cpu": target.tune}
    return " ".join(f'"{key}"="{value}"' for key, value in words.items() if value)
