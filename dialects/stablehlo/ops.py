"""The ops of StableHLO and CHLO: one class for each name, all of one shape; their meaning is the importer's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

from xdsl.ir import Attribute, Operation
from xdsl.irdl import traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ...errors import is_interruption
from ..foreign.attribute_text import structured, value_of
from . import syntax


class HloOp(Operation):
    """An op that another compiler defines: any operands, results, regions and attributes."""

    traits = traits_def()

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute as a Python value (`attribute_text.value_of`), wherever it stands; `default` if it is missing."""
        found = self.properties.get(name, self.attributes.get(name))
        return default if found is None else value_of(found)

    def verify_(self) -> None:
        """What an op means decides what is valid: the conversion says so."""


class ReadOp(HloOp):
    """An op with a custom form that is read; it is printed in the generic one."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return syntax.parse(cls, parser)


class SyntaxOp(ReadOp):
    """An op with a custom form that is read and printed: its properties must be such as that form says."""

    def verify_(self) -> None:
        try:
            syntax.words_of(self)
        except Exception as error:  # attributes of any kind where lists, numbers or words are expected
            if is_interruption(error):
                raise
            shown = ", ".join(f"{name} = {value}" for name, value in self.properties.items())[:200]
            raise VerifyException(f"'{self.name}' op does not take the attributes {shown}") from None

    def print(self, printer: Printer) -> None:
        syntax.print_custom(self, printer)


class MeshOp(HloOp):
    """`sdy.mesh @name = <...>`: devices, which a program of one device does not read."""

    name: ClassVar[str] = "sdy.mesh"
    traits = traits_def(SymbolOpInterface())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        parser.parse_punctuation("=")
        body = syntax.balanced(parser)
        attributes: dict[str, Attribute] = dict(parser.parse_optional_attr_dict())
        return cls.create(properties={"sym_name": name, "mesh": structured("sdy.mesh", body)}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        mesh: Any = self.properties["mesh"]
        name: Any = self.properties["sym_name"]
        printer.print_string(f" @{name.data} = <{mesh.value.data}>")
        printer.print_op_attributes(self.attributes)


PURE = """
    abs add and atan2 bitcast_convert broadcast broadcast_in_dim cbrt ceil cholesky clamp compare complex concatenate constant
    convert convolution cosine count_leading_zeros create_token divide dot dot_general dynamic_broadcast_in_dim
    dynamic_conv dynamic_gather dynamic_iota dynamic_pad dynamic_reshape dynamic_slice dynamic_update_slice einsum exponential
    exponential_minus_one fft floor gather get_dimension_size get_tuple_element imag iota is_finite log log_plus_one logistic
    maximum minimum multiply negate not optimization_barrier or pad partition_id popcnt power real real_dynamic_slice
    reduce_precision remainder replica_id reshape reverse round_nearest_afz round_nearest_even rsqrt select set_dimension_size
    shift_left shift_right_arithmetic shift_right_logical sign sine slice sqrt subtract tan tanh torch_index_select transpose
    triangular_solve tuple unary_einsum uniform_dequantize uniform_quantize xor after_all rng_bit_generator
    batch_norm_grad batch_norm_inference batch_norm_training
""".split()
"""Ops without regions and effects."""
OTHERS = """
    all_gather all_reduce all_to_all case collective_broadcast collective_permute composite custom_call if infeed map outfeed
    recv reduce reduce_scatter reduce_window rng scatter select_and_scatter send sort while
""".split()
CHLO = """
    acos acosh asin asin_acos_kernel asinh atan atanh bessel_i1e broadcast_add broadcast_and broadcast_atan2 broadcast_compare
    broadcast_complex broadcast_divide broadcast_maximum broadcast_minimum broadcast_multiply broadcast_next_after broadcast_or
    broadcast_polygamma broadcast_power broadcast_remainder broadcast_select broadcast_shift_left
    broadcast_shift_right_arithmetic broadcast_shift_right_logical broadcast_subtract broadcast_xor broadcast_zeta conj constant
    constant_like cosh digamma erf erf_inv erfc is_inf is_neg_inf is_pos_inf lgamma mulhi next_after polygamma ragged_dot scan
    sinh square tan top_k zeta
""".split()


def _named(dialect: str, names: Iterable[str], *traits: Any) -> tuple[type[HloOp], ...]:
    """A class for each name."""
    made = []
    for name in names:
        full = f"{dialect}.{name}"
        base = SyntaxOp if syntax.is_printed(full) else ReadOp if syntax.is_read(full) else HloOp
        title = "".join(part.capitalize() for part in name.split("_"))
        body = {"name": full, "traits": traits_def(*traits), "__doc__": f"`{full}`"}
        made.append(type(f"{title}Op", (base,), body))
    return tuple(made)


STABLEHLO_OPS = (
    *_named("stablehlo", PURE, Pure()),
    *_named("stablehlo", OTHERS),
    *_named("stablehlo", ("return",), IsTerminator()),
)
CHLO_OPS = _named("chlo", CHLO, Pure())
CHECK_OPS = _named("check", ("expect_eq", "expect_eq_const", "expect_almost_eq", "expect_almost_eq_const", "expect_close"))
SHARDING_OPS = (MeshOp,)
