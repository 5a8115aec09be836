"""The interface of an object to a C program: functions by name, with a signature for each instruction set, and error codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from ...errors import CompileError
from ...runtime.signature import ArrayParam, Param, Signature, is_symbol
from ..targets import Target


class Status(IntEnum):
    """The status of a checked entry."""

    OK = 0
    NULL_POINTER = 1
    MISALIGNED = 2
    BAD_SIZE = 3
    ARENA_TOO_SMALL = 4
    OVERLAP = 5
    UNSUPPORTED_CPU = 6
    OUT_OF_BOUNDS = 7
    NO_MEMORY = 8
    NO_WEIGHTS = 9


MESSAGES = {
    Status.OK: "no error",
    Status.NULL_POINTER: "a pointer to an array with elements, or to the arena, is null",
    Status.MISALIGNED: "an array is not aligned to its elements, or the arena not to 64 bytes",
    Status.BAD_SIZE: "a size is negative, out of its bounds, makes another one negative, or makes an array too large",
    Status.ARENA_TOO_SMALL: "the arena has fewer bytes than the function says that it needs",
    Status.OVERLAP: "an array that is written overlaps another array or the arena",
    Status.UNSUPPORTED_CPU: "the processor lacks instructions that the object was compiled for",
    Status.OUT_OF_BOUNDS: "an index is outside of its array",
    Status.NO_MEMORY: "there is no memory for a local array",
    Status.NO_WEIGHTS: "the weights have not been given, or are those of another object",
}

ARENA_ALIGNMENT = 64


@dataclass(frozen=True)
class Export:
    """A function of C.

    Attributes:
        name: in the module.
        symbol: in C, distinct from the program's names.
        signatures: for each level, in order; they differ in temporaries, derived sizes and the arena alone.
        takes_threads: of a kernel: whether the caller says on how many threads it runs.
    """

    name: str
    symbol: str
    signatures: tuple[Signature, ...]
    takes_threads: bool = False

    @property
    def signature(self) -> Signature:
        """The properties common to all levels."""
        return self.signatures[0]

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel: it has no arena."""
        return self.signature.is_kernel

    @cached_property
    def arrays(self) -> tuple[Param, ...]:
        """Parameters and results, in the order of C."""
        return (*self.signature.params, *self.signature.results)

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes that a caller passes; others follow from them."""
        return free_sizes(self.signature)

    @property
    def arena_symbol(self) -> str:
        """The function that says how large the arena is."""
        return f"{self.symbol}_arena_size"

    @cached_property
    def is_static(self) -> bool:
        """Whether no call passes a size."""
        return not self.sizes

    @cached_property
    def arena_bytes(self) -> int:
        """The arena of any level, where no call passes a size."""
        return max(
            _round(s.arena_bytes) + sum(_round(t.size * t.np_dtype.itemsize) for t in s.temporaries) for s in self.signatures
        )

    def spelled(self, param: ArrayParam) -> tuple[list[str], list[str] | None]:
        """The sizes and strides of an array, as expressions of the caller's sizes."""
        meaning = meanings(self.signature)
        sizes = [_spell(dim.symbol, dim.constant, meaning) for dim in param.dims]
        if param.strides is None:
            return sizes, None
        return sizes, [_spell(dim.symbol, dim.constant, meaning) for dim in param.strides]


def free_sizes(signature: Signature) -> tuple[str, ...]:
    """The names of the symbols that are no expressions of others."""
    if not signature.meant:
        return signature.symbols
    return tuple([size.symbols[0].name for size in signature.meant_sizes if is_symbol(size)])


def meanings(signature: Signature) -> tuple[str, ...]:
    """Each symbol as an expression of the free ones."""
    return tuple([str(size) for size in signature.meant_sizes]) if signature.meant else signature.symbols


def _spell(symbol: int | None, constant: int, meaning: Sequence[str]) -> str:
    if symbol is None:
        return str(constant)
    sign = f" {'+' if constant > 0 else '-'} {abs(constant)}" if constant else ""
    return f"{meaning[symbol]}{sign}"


def _round(size: int) -> int:
    return -(-size // ARENA_ALIGNMENT) * ARENA_ALIGNMENT


@dataclass(frozen=True)
class Interface:
    """All of an object.

    Attributes:
        prefix: of its names in C.
        exports: its functions.
        targets: its levels, the best first.
    """

    prefix: str
    exports: tuple[Export, ...]
    targets: tuple[Target, ...]

    @property
    def strerror(self) -> str:
        """The function that returns the meaning of a status."""
        return f"{self.prefix}_strerror"

    @property
    def metadata_symbol(self) -> str:
        """The constant that describes the object to loaders."""
        return f"{self.prefix}_lamina_metadata"

    @property
    def isa(self) -> str:
        """The function that says which level runs."""
        return f"{self.prefix}_isa"

    @property
    def weights(self) -> str:
        """The function that takes weights which stand in a file of their own."""
        return f"{self.prefix}_set_weights"

    @property
    def symbols(self) -> list[str]:
        """The definitions of the object."""
        entries = [e.symbol for e in self.exports]
        arenas = [e.arena_symbol for e in self.exports if not e.is_kernel]
        return [*entries, *arenas, self.strerror, self.isa, self.metadata_symbol]


C_WORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr continue decltype
    default delete do double else enum explicit export extern false float for friend goto if inline int long mutable namespace
    new noexcept not not_eq nullptr operator or or_eq private protected public register restrict return short signed sizeof
    static static_assert struct switch template this throw true try typedef typeid typename typeof union unsigned using virtual
    void volatile wchar_t while xor xor_eq linux unix
    """.split()
)
"""Words of C and C++ that cannot name a function or a parameter, and macros of compilers on Linux."""

_LIBRARY = frozenset(
    """
    main _start abort abs accept acos acosh asctime asin asinh atan atan2 atanh atof atoi atol atoll bind bsearch calloc cbrt
    ceil clearerr clock close connect copysign cos cosh ctime difftime div erf erfc exit exp exp2 expm1 fabs fclose fdim feof
    ferror fflush fgetc fgets floor fma fmax fmin fmod fopen fork fprintf fputc fputs fread free freopen frexp fscanf fseek
    ftell fwrite getc getchar getenv gets gmtime hypot index ilogb isalnum isalpha isdigit islower isspace isupper kill labs
    ldexp lgamma link listen llabs localtime log log10 log1p log2 logb longjmp lrint lround malloc memchr memcmp memcpy memmove
    memset mktime modf nan nearbyint nextafter open perror pipe poll pow printf putc putchar puts qsort raise rand random read
    realloc recv remainder remove rename rewind rint round scalbn scanf select send setbuf setjmp signal sin sinh sleep socket
    sprintf sqrt srand sscanf stat stderr stdin stdout strcat strchr strcmp strcpy strcspn strdup strerror strlen strncmp
    strncpy strstr strtod strtok strtol sync system tan tanh tgamma time tmpfile tolower toupper trunc ungetc unlink wait write
    y0 y1 yn j0 j1 jn gamma environ errno
    """.split()
)
"""Names of the C library: a program that is linked with an object which defines one would call it instead, without a word."""


def c_name(name: str, taken: set[str]) -> str:
    """A valid name in C, not in `taken`, as close as possible to the one in the IR."""
    name = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    if not name or name[0].isdigit() or name in C_WORDS:
        name = f"_{name}" if name[:1].isdigit() or not name else f"{name}_"
    found, k = name, 1
    while found in taken:
        found, k = f"{name}_{k}", k + 1
    taken.add(found)
    return found


def checked_prefix(prefix: str) -> str:
    """A prefix that was given, if C takes it.

    Raises:
        CompileError: it is no identifier, or names in C that begin with it are reserved.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", prefix, re.ASCII):
        raise CompileError(f"prefix '{prefix}' is no identifier of C")
    if prefix in C_WORDS or prefix in _LIBRARY or re.match(r"_[A-Z_]|lamina_", prefix):
        raise CompileError(f"prefix '{prefix}' is a name of C itself: take another one")
    return prefix


def default_prefix(name: str) -> str:
    """The prefix for an object that is called so: `exp.o` must not define `exp`.

    >>> default_prefix("mlp"), default_prefix("exp"), default_prefix("double"), default_prefix("2d-conv")
    ('mlp', 'exp_', 'double_', '_2d_conv')
    """
    found = c_name(name, set())
    while found in _LIBRARY or re.match(r"_[A-Z_]|lamina_", found):
        found = f"m{found}" if re.match(r"_[A-Z_]|lamina_", found) else f"{found}_"
    return found


def symbols_for(prefix: str, names: Iterable[str]) -> dict[str, str]:
    """The name in C of each function: `@main` is the prefix alone, and so is a function called like it.

    >>> symbols_for("mlp", ["main", "train", "mlp"])
    {'main': 'mlp', 'train': 'mlp_train', 'mlp': 'mlp_mlp'}
    >>> symbols_for("saxpy", ["saxpy"])
    {'saxpy': 'saxpy'}
    """
    names = list(names)
    bare = "main" if "main" in names else prefix
    taken = {f"{prefix}_{word}" for word in ("strerror", "isa", "set_weights", "lamina_metadata")}
    found: dict[str, str] = {}
    for name in names:
        symbol = c_name(prefix if name == bare else f"{prefix}_{name}", taken)
        while f"{symbol}_arena_size" in taken:
            symbol = c_name(symbol, taken)
        taken.add(f"{symbol}_arena_size")
        found[name] = symbol
    return found
