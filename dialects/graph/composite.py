"""Composites: ops with a name worth keeping and a stable decomposition into primitives."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DTypeError, ShapeError
from ..facts import OpFacts, Rounding
from ..functions import erfc, sech2
from ..sizes.polynomial import positive
from ..text_defaults import LAST_DIM, constant
from ..types import COMPLEX, INDICES, compatible, element_of, is_float, numpy_dtype, shape_of, show_shape, spelled, tensor
from .base import CompositeOp, Custom, Elementwise, GraphOp, Props, Types, graph_op, integer, ints, normalize_dims, word
from .batching import all_batched, along
from .elementwise import require_domain
from .reduce import kept_dims, restore

if TYPE_CHECKING:
    from .builder import GraphBuilder

_INTS = DenseArrayBase.constr(i64)


def _finite_or_zero(b: GraphBuilder, m: SSAValue) -> SSAValue:
    """A maximum to subtract: 0 where it is infinite, since inf - inf would be NaN."""
    inf, zero = b.full_like(m, math.inf), b.full_like(m, 0)
    return b.select(b.cmp(b.abs(m), inf, predicate="eq"), zero, m)


# --------------------------------------------------------------------------------------------------------------------
# Elementwise


class UnaryComposite(CompositeOp, ABC):
    """Base of elementwise composites of one operand."""

    x = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$x"
    types = "same"
    domain = "float"
    batching = "elementwise"

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_domain(cls.domain, operands[0])  # C1
        return (operands[0],)


def _jvp_relu(b: GraphBuilder, op: GraphOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    (dx,) = tangents
    x = op.operands[0]
    # a choice, not a product by 0 or 1: where the slope is 0 an infinite tangent must not become NaN
    return [b.select(b.cmp(x, b.full_like(x, 0), predicate="gt"), dx, b.zeros_like(dx))]


@graph_op
class ReluOp(UnaryComposite):
    """`max(x, 0)`; NaN stays NaN. The derivative at 0 is 0.

    ```mlir
    %y = graph.relu %x : tensor<4xf32>
    ```

    (C1) The element type is an integer or a float.
    """

    name = "graph.relu"
    facts = OpFacts(rounding=Rounding.NONE)
    domain = "number"
    derivative = Custom(_jvp_relu)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        return b.max(operands[0], b.full_like(operands[0], 0))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.maximum(operands[0], operands[0].dtype.type(0)),)


@graph_op
class SigmoidOp(UnaryComposite):
    """`1 / (1 + exp(-x))`, without overflow.

    ```mlir
    %y = graph.sigmoid %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.sigmoid"
    derivative = Elementwise(lambda b, x, y: b.sigmoid_slope(x))

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        one = b.full_like(operands[0], 1)
        return b.div(one, b.add(one, b.exp(b.neg(operands[0]))))  # exp overflows to inf, and 1 / inf is the 0 wanted

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            return (np.asarray(1 / (1 + np.exp(-operands[0])), dtype=operands[0].dtype),)


@graph_op
class SigmoidSlopeOp(UnaryComposite):
    """The derivative of sigmoid, `exp(-x) / (1 + exp(-x))^2`: accurate also where sigmoid rounds to 1, where `y (1 - y)` is 0.

    ```mlir
    %y = graph.sigmoid_slope %x : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    """

    name = "graph.sigmoid_slope"
    derivative = Elementwise(lambda b, x, y: b.neg(b.mul(y, b.tanh(b.mul(b.full_like(x, 0.5), x)))))

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        (x,) = operands
        # the exponential and the quotient are those of sigmoid; of infinity and 0 the product would be NaN
        e, y = b.exp(b.neg(x)), b.sigmoid(x)
        return b.mul(b.mul(b.min(e, b.full_like(x, _largest(x))), y), y)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        x = operands[0]
        return ((0.25 * sech2(x.astype(np.float64) / 2)).astype(x.dtype),)


def _largest(x: SSAValue) -> float:
    return float(np.finfo(numpy_dtype(element_of(x))).max)


def _jvp_gelu(b: GraphBuilder, op: GraphOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    (dx,) = tangents
    x = op.operands[0]
    end = b.full_like(x, 64)  # far out, where the other factor is 0 and must not be multiplied by infinity
    near = b.max(b.min(x, end), b.neg(end))
    if word(op.properties["approximate"]) == "none":
        # cdf(x) + x pdf(x); exp(-x^2 / 2) as a square, since x / 2 is exact
        root = b.gauss(b.mul(b.full_like(x, 0.5), x))
        pdf = b.mul(b.full_like(x, 1 / math.sqrt(2 * math.pi)), b.mul(root, root))
        cdf = b.mul(b.full_like(x, 0.5), b.erfc(b.mul(x, b.full_like(x, -math.sqrt(0.5)))))
        return [b.mul(dx, b.add(cdf, b.mul(near, pdf)))]
    # of x s(z), with the sigmoid s: s(z) + x z' s'(z)
    z = _gelu_argument(b, x)
    linear, cubic = (b.full_like(x, 2 * math.sqrt(2 / math.pi) * factor) for factor in (1, 3 * 0.044715))
    rise = b.mul(near, b.add(linear, b.mul(cubic, b.mul(near, near))))
    return [b.mul(dx, b.add(b.sigmoid(z), b.mul(rise, b.sigmoid_slope(z))))]


def _gelu_argument(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """`2 u`, of which `(1 + tanh(u)) / 2` is the sigmoid."""
    linear, cubic = (b.full_like(x, 2 * math.sqrt(2 / math.pi) * factor) for factor in (1, 0.044715))
    return b.mul(x, b.add(linear, b.mul(cubic, b.mul(x, x))))


@graph_op
class GeluOp(UnaryComposite):
    """Gaussian error linear unit, `x * cdf(x)` of the normal distribution; exact, or its tanh approximation.

    Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.

    ```mlir
    %y = graph.gelu %x approximate none : tensor<4xf32>
    ```

    (C1) The element type is f32 or f64.
    (C2) `approximate` is none or tanh.
    """

    name = "graph.gelu"
    approximate = prop_def(StringAttr)
    syntax = "$x (approximate <approximate>)?"
    text_defaults = {"approximate": constant("none")}
    derivative = Custom(_jvp_gelu)

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_domain("float", operands[0])  # C1
        approximate = word(props["approximate"])
        if approximate not in ("none", "tanh"):  # C2
            raise DTypeError(f"approximate must be none or tanh, got {approximate}")
        return (operands[0],)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        (x,) = operands
        one = b.full_like(x, 1)
        if word(props["approximate"]) == "none":
            # erfc, and not 1 + erf, which is 0 to rounding where x is negative
            return b.mul(b.mul(b.full_like(x, 0.5), x), b.erfc(b.mul(x, b.full_like(x, -math.sqrt(0.5)))))
        # (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)): cheaper than tanh, and nothing cancels where x is negative
        return b.div(x, b.add(one, b.exp(b.neg(_gelu_argument(b, x)))))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        x = operands[0]
        wide = x.astype(np.float64)
        with np.errstate(all="ignore"):
            if self.approximate.data == "none":
                return ((0.5 * wide * erfc(wide * -math.sqrt(0.5))).astype(x.dtype),)
            inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)
            return ((0.5 * wide * (1 + np.tanh(inner))).astype(x.dtype),)


# --------------------------------------------------------------------------------------------------------------------
# Along dims


class AlongDims(CompositeOp, ABC):
    """Base of composites over a float operand along some dims, keeping the shape."""

    x = operand_def(TensorType)
    dims = prop_def(_INTS)
    y = result_def(TensorType)
    syntax = "$x over [dims]"
    types = "same"
    reduces = False
    batching = along("dims")

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_domain("float", operands[0])  # C1
        shape, dims = operands[0].get_shape(), ints(props["dims"])
        normalize_dims(dims, len(shape), "normalized")  # C2
        if not cls.reduces:
            return (operands[0],)
        return (tensor(operands[0].element_type, [shape[d] for d in kept_dims(len(shape), dims)]),)


def _minus_average(b: GraphBuilder, weights: SSAValue, dx: SSAValue, dims: Sequence[int]) -> SSAValue:
    """`dx - sum(weights * dx)` for weights whose sum is 1, computed in two steps.

    A weight that was rounded to 1 lacks the weight of the others: the first difference cancels there, and the average of the
    remainder, which is 0 but for rounding, restores it.
    """
    for _ in range(2):
        dx = b.sub(dx, restore(b, b.reduce(b.mul(weights, dx), kind="add", dims=dims), dims, shape_of(dx)))
    return dx


def _jvp_softmax(b: GraphBuilder, op: GraphOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    (dx,) = tangents
    y = op.results[0]
    return [b.mul(y, _minus_average(b, y, dx, ints(op.properties["dims"])))]


def _exp_shifted(b: GraphBuilder, x: SSAValue, dims: Sequence[int]) -> tuple[SSAValue, SSAValue, SSAValue]:
    """(x - max, exp of it, the sum of that), the maximum taken over `dims`."""
    m = _finite_or_zero(b, b.reduce(x, kind="max", dims=dims))
    shifted = b.sub(x, restore(b, m, dims, shape_of(x)))
    e = b.exp(shifted)
    return shifted, e, b.reduce(e, kind="add", dims=dims)


def _np_shifted(x: np.ndarray, dims: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    m = np.max(x, axis=dims, keepdims=True, initial=-np.inf)
    m = np.where(np.isinf(m), 0, m).astype(x.dtype)
    e = np.exp(x - m)
    return m, e, np.sum(e, axis=dims, keepdims=True)


@graph_op
class SoftmaxOp(AlongDims):
    """`exp(x) / sum(exp(x))` over some dims, computed from `x - max(x)`.

    ```mlir
    %y = graph.softmax %x over [1] : tensor<2x3xf32>
    ```

    (C1) The element type is f32 or f64.
    (C2) Dims are distinct and within the rank.
    """

    name = "graph.softmax"
    syntax = "$x (over [dims])?"
    text_defaults = {"dims": LAST_DIM}
    derivative = Custom(_jvp_softmax)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        dims = ints(props["dims"])
        _, e, total = _exp_shifted(b, operands[0], dims)
        # one division for each row: a sum is at least 1, or what is not finite about it shows in the product as in the quotient
        return b.mul(e, restore(b, b.div(b.full_like(total, 1), total), dims, shape_of(operands[0])))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            _, e, total = _np_shifted(operands[0], ints(self.dims))
            return (e / total,)


def _jvp_log_softmax(b: GraphBuilder, op: GraphOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    (dx,) = tangents
    return [_minus_average(b, b.exp(op.results[0]), dx, ints(op.properties["dims"]))]


@graph_op
class LogSoftmaxOp(AlongDims):
    """`x - logsumexp(x)` over some dims.

    ```mlir
    %y = graph.log_softmax %x over [1] : tensor<2x3xf32>
    ```

    (C1) The element type is f32 or f64.
    (C2) Dims are distinct and within the rank.
    """

    name = "graph.log_softmax"
    syntax = "$x (over [dims])?"
    text_defaults = {"dims": LAST_DIM}
    derivative = Custom(_jvp_log_softmax)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        dims = ints(props["dims"])
        shifted, _, total = _exp_shifted(b, operands[0], dims)
        return b.sub(shifted, restore(b, b.log(total), dims, shape_of(operands[0])))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            m, _, total = _np_shifted(operands[0], ints(self.dims))
            return (operands[0] - m - np.log(total),)


def _jvp_logsumexp(b: GraphBuilder, op: GraphOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    (dx,) = tangents
    x, dims = op.operands[0], ints(op.properties["dims"])
    weights = b.softmax(x, dims=dims)
    return [b.reduce(b.mul(weights, dx), kind="add", dims=dims)]


@graph_op
class LogsumexpOp(AlongDims):
    """`log(sum(exp(x)))` over some dims, without overflow.

    ```mlir
    %y = graph.logsumexp %x over [1] : tensor<2x3xf32> -> tensor<2xf32>
    ```

    (C1) The element type is f32 or f64.
    (C2) Dims are distinct and within the rank.
    """

    name = "graph.logsumexp"
    types = "arrow"
    reduces = True
    derivative = Custom(_jvp_logsumexp)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        dims = ints(props["dims"])
        m = _finite_or_zero(b, b.reduce(operands[0], kind="max", dims=dims))
        e = b.exp(b.sub(operands[0], restore(b, m, dims, shape_of(operands[0]))))
        return b.add(b.log(b.reduce(e, kind="add", dims=dims)), m)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        dims = ints(self.dims)
        with np.errstate(all="ignore"):
            m, _, total = _np_shifted(operands[0], dims)
            return (np.asarray(np.squeeze(np.log(total) + m, axis=dims)),)


def _count(shape: Sequence[int], dims: Sequence[int]) -> int:
    return math.prod(shape[d] for d in dims)


@graph_op
class MeanOp(AlongDims):
    """Arithmetic mean over some dims; NaN over no elements.

    ```mlir
    %y = graph.mean %x over [1] : tensor<2x3xf32> -> tensor<2xf32>
    ```

    (C1) The element type is f32 or f64.
    (C2) Dims are distinct and within the rank.
    """

    name = "graph.mean"
    facts = OpFacts(stores=COMPLEX, on_parts="each")
    types = "arrow"
    reduces = True
    derivative = None

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        dims = ints(props["dims"])
        total = b.reduce(operands[0], kind="add", dims=dims)
        return b.div(total, b.full_like(total, _count(shape_of(operands[0]), dims)))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            total = np.add.reduce(operands[0], axis=ints(self.dims), dtype=operands[0].dtype)
            return (np.asarray(total / operands[0].dtype.type(_count(operands[0].shape, ints(self.dims)))),)


@graph_op
class VarOp(AlongDims):
    """Mean squared distance from the mean over some dims, divided by `count - correction`.

    ```mlir
    %y = graph.var %x over [1] correction 0 : tensor<2x3xf32> -> tensor<2xf32>
    ```

    (C1) The element type is f32 or f64.
    (C2) Dims are distinct and within the rank.
    """

    name = "graph.var"
    correction = prop_def(IntegerAttr)
    syntax = "$x over [dims] (correction #correction)?"
    text_defaults = {"correction": constant(0)}
    types = "arrow"
    reduces = True
    derivative = None

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        x, dims = operands[0], ints(props["dims"])
        count = _count(shape_of(x), dims)
        correction = integer(props["correction"])
        total = b.reduce(x, kind="add", dims=dims)
        mean = b.div(total, b.full_like(total, count))
        distance = b.sub(x, restore(b, mean, dims, shape_of(x)))
        squares = b.reduce(b.mul(distance, distance), kind="add", dims=dims)
        return b.div(squares, b.full_like(squares, positive(count - correction)))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        x, dims = operands[0], ints(self.dims)
        count = _count(x.shape, dims)
        with np.errstate(all="ignore"):
            mean = np.add.reduce(x, axis=dims, keepdims=True, dtype=x.dtype) / x.dtype.type(count)
            squares = np.add.reduce((x - mean) ** 2, axis=dims, dtype=x.dtype)
            return (np.asarray(squares / x.dtype.type(max(count - self.correction.value.data, 0))),)


def _jvp_cross_entropy(b: GraphBuilder, op: GraphOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
    dx = tangents[0]
    logits, labels = op.operands
    # (softmax - one_hot) / rows; 0 in rows whose label is outside, since they add nothing to the loss
    weights = b.softmax(logits, dims=(1,))
    hit = _one_hot(b, logits, labels)
    zero = b.zeros_like(weights)
    slope = b.sub(weights, b.select(hit, b.full_like(weights, 1), zero))
    classes = b.full_like(labels, shape_of(logits)[1])
    inside = b.and_(b.cmp(labels, b.zeros_like(labels), predicate="ge"), b.cmp(labels, classes, predicate="lt"))
    slope = b.select(b.broadcast(inside, (0,), shape_of(logits)), slope, zero)
    rows = b.full_like(slope, shape_of(logits)[0])
    return [b.reduce(b.mul(dx, b.div(slope, rows)), kind="add", dims=(0, 1))]


def _one_hot(b: GraphBuilder, logits: SSAValue, labels: SSAValue) -> SSAValue:
    shape = shape_of(logits)
    element = element_of(labels)
    classes = b.iota(dim=1, result=tensor(element, shape))
    return b.cmp(classes, b.broadcast(labels, (0,), shape), predicate="eq")


def _batch_cross_entropy(
    b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]
) -> Sequence[SSAValue]:
    logits, labels = all_batched(b, operands, batched)
    shape = shape_of(logits)
    element = element_of(labels)
    scores = b.log_softmax(logits, dims=(2,))
    hit = b.cmp(b.iota(dim=2, result=tensor(element, shape)), b.broadcast(labels, (0, 1), shape), predicate="eq")
    picked = b.select(hit, scores, b.full_like(scores, 0))
    return [b.neg(b.mean(b.reduce(picked, kind="add", dims=(2,)), dims=(1,)))]


@graph_op
class CrossEntropyOp(CompositeOp):
    """Mean over rows of `-log_softmax(logits)[row, label]`. A label outside `0 .. classes-1` adds 0 for its row.

    ```mlir
    %loss = graph.cross_entropy %logits, %labels : (tensor<8x10xf32>, tensor<8xi64>) -> tensor<f32>
    ```

    (C1) Logits are f32 or f64 of rank 2, labels i32 or i64 of rank 1.
    (C2) There is one label for each row.
    """

    name = "graph.cross_entropy"
    logits = operand_def(TensorType)
    labels = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$logits, $labels"
    derivative = Custom(_jvp_cross_entropy)
    batching = _batch_cross_entropy

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        logits, labels = operands
        rows = logits.get_shape()
        if not is_float(logits.element_type) or len(rows) != 2 or len(labels.get_shape()) != 1:  # C1
            raise DTypeError(f"needs float logits of rank 2 and integer labels of rank 1, got {logits} and {labels}")
        if labels.element_type not in INDICES:  # C1
            raise DTypeError(f"labels must be {spelled(INDICES)}, got {labels.element_type}")
        if not compatible(rows[0], labels.get_shape()[0]):  # C2
            raise ShapeError(
                f"needs one label for each row, logits are {show_shape(rows)}, labels {show_shape(labels.get_shape())}"
            )
        return (tensor(logits.element_type, ()),)

    @classmethod
    def decompose(cls, b: GraphBuilder, props: Props, *operands: SSAValue) -> SSAValue:
        logits, labels = operands
        scores = b.log_softmax(logits, dims=(1,))
        picked = b.select(_one_hot(b, logits, labels), scores, b.full_like(scores, 0))
        total = b.reduce(picked, kind="add", dims=(0, 1))
        return b.neg(b.div(total, b.full_like(total, shape_of(logits)[0])))

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        logits, labels = operands
        with np.errstate(all="ignore"):
            m, _, total = _np_shifted(logits, (1,))
            scores = logits - m - np.log(total)
            inside = (labels >= 0) & (labels < logits.shape[1])
            picked = np.where(inside, scores[np.arange(len(labels)), np.where(inside, labels, 0)], 0)
            return (np.asarray(-picked.sum(dtype=logits.dtype) / logits.dtype.type(len(labels)), dtype=logits.dtype),)
