"""Showing the IR around passes: `--mlir-print-ir-before` and `-after`, to standard error or into a tree of files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import UsageError
from .group import Group

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from .driver import Driver

UPSTREAM_NAMES = {
    "canonicalize": "Canonicalizer",
    "cse": "CSE",
    "loop-invariant-code-motion": "LoopInvariantCodeMotion",
    "symbol-dce": "SymbolDCE",
}
"""How mlir-opt calls the passes that xDSL has, too; others are called by their class."""


def shown_name(one: Any) -> str:
    """The name of a pass in reports and banners."""
    known = UPSTREAM_NAMES.get(one.name)
    return known or (type(one).__name__ if hasattr(type(one), "apply") else one.name)


class Printing(Group):
    """Prints IR before and after passes."""

    title = "printing"

    def add(self, add: Callable[..., Any]) -> None:
        once: dict[str, Any] = {"action": "append", "default": [], "metavar": "PASS,..."}
        add("--mlir-print-ir-before", **once, help="print the IR before passes (to stderr)")
        add("--mlir-print-ir-after", "--print-ir-after", **once, help="print the IR after passes (to stderr)")
        add("--mlir-print-ir-before-all", action="store_true", help="print the IR before every pass")
        add("--mlir-print-ir-after-all", "--print-ir-after-all", action="store_true", help="print the IR after every pass")
        add("--mlir-print-ir-after-change", action="store_true", help="print the IR after passes only where it has changed")
        add("--mlir-print-ir-after-failure", action="store_true", help="print the IR after a pass only if it failed")
        add("--mlir-print-ir-module-scope", action="store_true", help="print the whole module also for passes on parts of it")
        add("--mlir-print-ir-tree-dir", metavar="FOLDER", help="print into files of this folder, one for each pass and op")
        _add_text_options(add)

    def start(self, driver: Driver) -> None:
        options = driver.options
        self.chosen_before = _names(options.mlir_print_ir_before)
        self.chosen_after = _names(options.mlir_print_ir_after)
        self.before_all, self.after_all = options.mlir_print_ir_before_all, options.mlir_print_ir_after_all
        self.only_changed, self.only_failed = options.mlir_print_ir_after_change, options.mlir_print_ir_after_failure
        self.module_scope, self.folder = options.mlir_print_ir_module_scope, options.mlir_print_ir_tree_dir
        self.last: dict[Operation, str] = {}
        self.counts: dict[str, int] = {}

    def before(self, one: Any, op: Operation, driver: Driver) -> None:
        if self.only_changed and self._is_chosen_after(one):
            self.last[op] = driver.ir_text.of(op)
        if self.before_all or one.name in self.chosen_before:
            self._show("Before", one, op, driver)

    def after(self, one: Any, op: Operation, seconds: float, driver: Driver) -> None:
        if not self._is_chosen_after(one) or self.only_failed:
            return
        if not self.only_changed or self.last.pop(op, None) != driver.ir_text.of(op):
            self._show("After", one, op, driver)

    def failed(self, one: Any, op: Operation, error: BaseException, driver: Driver) -> None:
        if self.only_failed or self._is_chosen_after(one):
            self._show("After", one, op, driver, " Failed")

    def _is_chosen_after(self, one: Any) -> bool:
        return self.after_all or one.name in self.chosen_after

    def _show(self, when: str, one: Any, op: Operation, driver: Driver, failed: str = "") -> None:
        shown, where = op, ""
        if self.module_scope and op.parent_op() is not None:
            where = f" ('{op.name}' operation" + (f": @{name}" if (name := _symbol(op)) else "") + ")"
            while (parent := shown.parent_op()) is not None:
                shown = parent
        banner = f"// -----// IR Dump {when} {shown_name(one)}{failed} ({one.name}){where} //----- //"
        text = f"{banner}\n{driver.ir_text.of(shown)}\n"
        if self.folder is None:
            print(text, end="\n\n" if shown.parent_op() is None else "\n", file=sys.stderr, flush=True)
        else:
            self._write(one, op, text)

    def _write(self, one: Any, op: Operation, text: str) -> None:
        """Into a file as mlir-opt names it: a folder for each op around, and the number of the pass at each level."""
        folders: list[str] = []
        around: Operation | None = op
        while around is not None:
            folders.append(f"{around.name.replace('.', '_')}_{_symbol(around) or 'no-symbol-name'}")
            around = around.parent_op()
        folder = Path(self.folder, *reversed(folders))
        numbers: list[str] = []
        for k in range(len(folders) - 1):
            outer = "/".join(reversed(folders[len(folders) - 1 - k :]))
            numbers.append(str(self.counts.get(outer, 0)))
        own = "/".join(reversed(folders))
        numbers.append(str(self.counts.get(own, 0)))
        self.counts[own] = self.counts.get(own, 0) + 1
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{'_'.join(numbers)}_{one.name}.mlir").write_text(text)
        except OSError as error:
            raise UsageError(f"--mlir-print-ir-tree-dir: cannot write {folder}: {error.strerror}") from None


def _names(lists: list[str]) -> set[str]:
    """The passes that an option names, which must exist."""
    from ... import passes

    found = {name for text in lists for name in text.split(",") if name}
    for name in found:
        if not passes.exists(name):
            passes.find_pass(name)  # raises, with the name that was probably meant
    return found


def _symbol(op: Operation) -> str | None:
    name = op.properties.get("sym_name", op.attributes.get("sym_name"))
    return getattr(name, "data", None)


def _add_text_options(add: Callable[..., Any]) -> None:
    """The options that say how IR is printed, wherever it is."""
    add("--mlir-print-op-generic", "--print-op-generic", action="store_true", help="print in generic syntax")
    add("--mlir-print-debuginfo", "--print-debuginfo", action="store_true", help="print locations")
    add("--mlir-pretty-debuginfo", action="store_true", help="print locations for people, as file:line:column")
    add("--mlir-print-assume-verified", action="store_true", help="accepted for mlir-opt's sake: printing never verifies")
    add("--mlir-print-local-scope", action="store_true", help="print locations where they are used, without names")
    add("--mlir-print-value-users", action="store_true", help="say behind each op who uses its results")
    add("--mlir-print-skip-regions", action="store_true", help="print {...} for regions")
    add("--mlir-print-unique-ssa-ids", action="store_true", help="no name of a value is used twice, in no two functions")
    add("--mlir-use-nameloc-as-prefix", action="store_true", help='call a value as its location does, loc("name")')
    add("--mlir-elide-elementsattrs-if-larger", type=int, metavar="N", help="leave out constants of more than N elements")
    add("--mlir-print-elementsattrs-with-hex-if-larger", type=int, metavar="N", help="print those as hexadecimal digits")
    add("--mlir-elide-resource-strings-if-larger", type=int, metavar="N", help="leave out resources of more than N characters")
