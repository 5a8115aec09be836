"""`from_torch`: a module or an exported program as a function of arrays."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...api import Tracer, is_traced
from ...api.functions import jit
from .errors import TorchError
from .run import run_graph
from .sizes import dynamic_sizes
from .tensors import as_numpy, is_tensor, numpy_dtype


class TorchFunction:
    """A program of torch as a function: call it with arrays or tensors, as the module is called.

    A call is compiled for the shapes of its arguments; dims that the program leaves open are symbolic, so that one compilation
    serves all of their sizes. Within `jit`, `grad` and `vmap` the function takes part as one that is written in Python.

    Attributes:
        inputs: names of the arrays that a call takes, in their order.
        parameters: the parameters of floats, by the module's names; `apply` takes others.
        buffers: the buffers and constants, by name.
        mutated: buffers that a call changes. If there are some, a call returns its results and a dict of their new values.
    """

    def __init__(self, program: Any, name: str):
        self.program, self.__name__ = program, name
        signature = program.graph_signature
        self._parameters_of = dict(signature.inputs_to_parameters)
        self._buffers_of = {**signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
        held = {**dict(program.state_dict), **{k: v for k, v in program.constants.items() if is_tensor(v)}}
        # copies: what a program is compiled for stays what it was when it was read
        self.parameters = {n: np.array(as_numpy(held[n])) for n in self._parameters_of.values()}
        self.buffers = {n: np.array(as_numpy(held[n])) for n in self._buffers_of.values()}
        placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
        self._placeholders = [n.name for n in placeholders]
        self._tokens = {spec.arg.name for spec in signature.input_specs if spec.kind.name == "TOKEN"}
        """Inputs that order checks of the exporter, which are not run."""
        others = {*self._parameters_of, *self._buffers_of, *self._tokens}
        user = [n for n in placeholders if n.name not in others]
        self.inputs = [n.name for n in user]
        self._specs = [n.meta.get("val") for n in user]
        self._structure, self._results_structure = program.call_spec.in_spec, program.call_spec.out_spec
        self._outputs = [(spec.kind.name, spec.target, spec.arg) for spec in signature.output_specs]
        self.mutated = [target for kind, target, _ in self._outputs if kind.endswith("MUTATION")]
        self._arrays = [i for i, v in enumerate(self._specs) if hasattr(v, "dtype")]
        names = [self.inputs[i] for i in self._arrays]
        dynamic = dynamic_sizes({self.inputs[i]: self._specs[i] for i in self._arrays}, program.range_constraints)

        def program_of_arrays(*arrays: Any) -> Any:
            return tuple(self._evaluated(self._filled(arrays), {}))

        program_of_arrays.__name__ = program_of_arrays.__qualname__ = name
        parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names]
        program_of_arrays.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
        self._compiled = jit(program_of_arrays, dynamic=dynamic or None, capture="trace")

    def __repr__(self) -> str:
        shown = [f"{n}: {self._shown(v)}" for n, v in zip(self.inputs, self._specs, strict=True)]
        return f"<TorchFunction {self.__name__}({', '.join(shown)})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arrays = self._bound(args, kwargs)
        return self._results(self._evaluated(self._filled(arrays), {}) if is_traced(arrays) else self._compiled(*arrays))

    def apply(self, state: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The function with other parameters and buffers, which may be traced: for derivatives by them.

        Args:
            state: arrays by name; parameters and buffers that are not among them keep their values.

        Raises:
            TorchError: a name is none of `parameters` and `buffers`.
        """
        unknown = state.keys() - self.parameters.keys() - self.buffers.keys()
        if unknown:
            raise TorchError(f"{self.__name__} has no parameters or buffers {sorted(unknown)}")
        return self._results(self._evaluated(self._filled(self._bound(args, kwargs)), state))

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """The graph of the program for arrays or `TensorSpec`s, as `jit(f).lower`."""
        return self._compiled.lower(*self._bound(args, kwargs, checked=False))

    # ----------------------------------------------------------------------------------------------------------------

    @staticmethod
    def _shown(v: Any) -> str:
        if not hasattr(v, "dtype"):
            return repr(v)
        return f"{numpy_dtype(v.dtype).name}[{', '.join(map(str, v.shape))}]"

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any], checked: bool = True) -> list[Any]:
        """The arrays of a call, in the order of the inputs."""
        from torch.utils import _pytree as pytree

        wanted = self._structure.child(1).context if self._structure.num_children == 2 else []
        if set(wanted) == set(kwargs):
            kwargs = {k: kwargs[k] for k in wanted}  # the order of keywords is part of the structure
        leaves, structure = pytree.tree_flatten((tuple(args), dict(kwargs)))
        if structure != self._structure:
            raise TorchError(f"{self.__name__} takes arguments of the structure {self._structure}, got {structure}")
        arrays = []
        for name, spec, x in zip(self.inputs, self._specs, leaves, strict=True):
            if not hasattr(spec, "dtype"):
                if x is not spec and x != spec:
                    raise TorchError(f"{self.__name__} was exported for {name} = {spec!r}, got {x!r}")
                continue
            arrays.append(self._checked(name, spec, x) if checked else x)
        return arrays

    def _checked(self, name: str, spec: Any, x: Any) -> Any:
        """An argument as the program's input: of its element type and number of dims."""
        if is_tensor(x):
            x = as_numpy(x)
        dtype = numpy_dtype(spec.dtype)
        if not isinstance(x, Tracer):
            held = x if isinstance(x, np.ndarray) else np.asarray(x)
            if held.dtype != dtype:
                if hasattr(x, "dtype") and not np.can_cast(held.dtype, dtype, "safe"):
                    raise TorchError(f"{self.__name__} takes {name}: {self._shown(spec)}, got dtype {held.dtype.name}")
                held = held.astype(dtype)
            x = held
        elif x.dtype != dtype:
            raise TorchError(f"{self.__name__} takes {name}: {self._shown(spec)}, got dtype {np.dtype(x.dtype).name}")
        fits = len(x.shape) == len(spec.shape)
        for n, wanted in zip(x.shape, spec.shape, strict=False):
            fits = fits and (not isinstance(wanted, int) or not isinstance(n, int) or n == wanted)
        if not fits:
            raise TorchError(f"{self.__name__} takes {name}: {self._shown(spec)}, got shape {list(x.shape)}")
        return x

    def _filled(self, arrays: Sequence[Any]) -> dict[str, Any]:
        """Values of all user inputs, those that are no arrays among them."""
        values: dict[str, Any] = dict(zip(self.inputs, self._specs, strict=True))
        values.update({self.inputs[i]: x for i, x in zip(self._arrays, arrays, strict=True)})
        return values

    def _evaluated(self, values: Mapping[str, Any], state: Mapping[str, Any]) -> list[Any]:
        given = []
        for name in self._placeholders:
            of = self._parameters_of.get(name) or self._buffers_of.get(name)
            if of is None:
                given.append(None if name in self._tokens else values[name])
            else:
                given.append(state[of] if of in state else self.parameters.get(of, self.buffers.get(of)))
        return run_graph(self.program.graph_module, given)

    def _results(self, values: Sequence[Any]) -> Any:
        """The results in torch's structure, and what the call changes."""
        from torch.utils import _pytree as pytree

        results, changed = [], {}
        for (kind, target, arg), value in zip(self._outputs, values, strict=True):
            if kind.endswith("MUTATION"):
                changed[target] = value
            elif kind == "USER_OUTPUT":
                results.append(getattr(arg, "value", None) if value is None else value)
        made = pytree.tree_unflatten(results, self._results_structure)
        return (made, changed) if self.mutated else made


def from_torch(source: Any, *args: Any, dynamic_shapes: Any = None, kwargs: Mapping[str, Any] | None = None) -> TorchFunction:
    """A module or exported program of PyTorch as a function of arrays.

    Args:
        source: a `torch.nn.Module` with example arguments, which `torch.export.export` makes a program of; or such a program.
        args: the example arguments of a module, tensors or arrays.
        dynamic_shapes: for a module, which dims stay open, as `torch.export.export` takes them.
        kwargs: example arguments by name.

    Returns:
        A function of the module's arguments. It may be called, and used in `jit`, `grad`, `vmap` and `lower`, as any other.
        Its parameters are constants; those that the module has later are not seen.

    Raises:
        TorchError: torch is missing, or the program has tensors or ops that are not supported; ops are read when the function
            is traced, so errors in them come with the first call.

    >>> import torch, numpy as np, lamina as lm
    >>> f = lm.from_torch(torch.nn.ReLU(), torch.zeros(3))
    >>> f(np.float32([1, -2, 3]))
    array([1., 0., 3.], dtype=float32)
    """
    try:
        import torch
    except ImportError:
        raise TorchError("from_torch needs torch: pip install 'lamina[torch]'") from None
    if isinstance(source, torch.export.ExportedProgram):
        if args or kwargs or dynamic_shapes:
            raise TorchError("an exported program has its example arguments and shapes: give it alone")
        program, name = source, type(source.graph_module).__name__
    elif isinstance(source, torch.nn.Module):
        from torch.utils import _pytree as pytree

        examples = pytree.tree_map(_as_example, tuple(args))
        named = pytree.tree_map(_as_example, dict(kwargs or {}))
        program = torch.export.export(source, examples, named, dynamic_shapes=dynamic_shapes)
        name = type(source).__name__
    else:
        raise TorchError(f"from_torch takes a torch.nn.Module or an ExportedProgram, got {type(source).__name__}")
    return TorchFunction(program.run_decompositions(), name if name.isidentifier() else "model")


def _as_example(x: Any) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(x)) if isinstance(x, np.ndarray) else x
