"""The libraries compared: how each is told the number of threads, compiles a case, and hands out a NumPy array.

Inputs are converted beforehand, outside of what is timed; results are NumPy arrays, as a user gets them. Each peer lives in a
process of its own (`worker.py`), with its default way of waiting for work: sessions let its threads fall asleep before the
next peer's turn.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from .case import Case

Call = Callable[[], Any]


class NotSupported(Exception):
    """A peer, or lamina so far, lacks a feature that a case needs; the message names it."""


class Peer:
    """A library in this process. Made after `environment` was set, before anything of the library was imported."""

    name: ClassVar[str]
    method: ClassVar[str]
    """The method of a case that is for this peer."""
    needs: ClassVar[tuple[str, ...]]
    """Distributions that must be installed; the first one's version is shown."""

    def __init__(self, threads: int):
        self.threads = threads

    @classmethod
    def environment(cls, threads: int, cache: Path) -> dict[str, str]:
        """Variables that the process of the peer gets; `cache` is a folder for what it compiles."""
        return {}

    @classmethod
    def version(cls) -> str | None:
        """The installed version, or None."""
        try:
            versions = [metadata.version(name) for name in cls.needs]
        except metadata.PackageNotFoundError:
            return None
        return versions[0]

    def forget(self) -> None:
        """Give back memory that is kept for later calls, so that the next call shows what it needs."""

    def prepare(self, case: Case, inputs: list[np.ndarray]) -> tuple[Call, Call]:
        """Compile a case. Two functions: for the first call, and for those that follow.

        Raises:
            NotSupported: it cannot be said with this library.
        """
        raise NotImplementedError


class NumPy(Peer):
    name, method, needs = "NumPy", "numpy", ("numpy",)

    @classmethod
    def environment(cls, threads: int, cache: Path) -> dict[str, str]:
        return {"OPENBLAS_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}

    def prepare(self, case: Case, inputs: list[np.ndarray]) -> tuple[Call, Call]:
        call = lambda: case.numpy(*inputs)  # noqa: E731
        return call, call


class Lamina(Peer):
    name, method, needs = "lamina", "lamina", ("lamina",)

    @classmethod
    def environment(cls, threads: int, cache: Path) -> dict[str, str]:
        return {"LAMINA_NUM_THREADS": str(threads), "LAMINA_CACHE_DIR": str(cache / "lamina")}

    def __init__(self, threads: int):
        super().__init__(threads)
        import lamina as lm

        lm.jit(lambda x: x * x + 1)(np.ones(3, np.float32))  # the compiler is imported before the first row

    def forget(self) -> None:
        import lamina as lm

        limit = lm.get_result_pool().limit_bytes
        lm.set_result_pool(limit_bytes=0)
        lm.set_result_pool(limit_bytes=limit)

    @staticmethod
    def function(case: Case) -> Callable[..., Any]:
        """The callable for arrays: a jitted function, or a kernel with its result array."""
        import lamina as lm

        return case.kernel if case.as_kernel else case.lamina if case.as_written else lm.jit(case.lamina)

    def prepare(self, case: Case, inputs: list[np.ndarray]) -> tuple[Call, Call]:
        function = self.function(case)
        call = lambda: function(*inputs)  # noqa: E731
        if case.as_kernel or case.as_written:
            return call, call
        # the first call in two steps, so that the memory of the run is measured without that of the compiler
        try:
            compiled = function.lower(*inputs).compile()
        except AttributeError as error:
            raise NotSupported(f"not built: {error}") from error
        return lambda: compiled(*inputs), call


class Before(Lamina):
    """Another checkout, or the same one in another environment, that lamina is compared with (`--against`)."""

    name = "before"

    @classmethod
    def environment(cls, threads: int, cache: Path) -> dict[str, str]:
        return {**super().environment(threads, cache), "LAMINA_CACHE_DIR": str(cache / "before")}


class Jax(Peer):
    name, method, needs = "jax.jit", "jax", ("jax",)

    @classmethod
    def environment(cls, threads: int, cache: Path) -> dict[str, str]:
        # several threads: XLA makes as many as the process may use processors
        flags = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"} if threads == 1 else {}
        return {"JAX_PLATFORMS": "cpu", **flags}

    def __init__(self, threads: int):
        super().__init__(threads)
        import jax

        jax.config.update("jax_enable_x64", True)

    def prepare(self, case: Case, inputs: list[np.ndarray]) -> tuple[Call, Call]:
        import jax

        arrays = [jax.device_put(x) for x in inputs]
        compiled: Any = case.jax if case.as_written else jax.jit(case.jax).lower(*arrays).compile()
        call = lambda: np.asarray(compiled(*arrays))  # noqa: E731
        return call, call


class Torch(Peer):
    name, method, needs = "torch", "torch", ("torch",)

    def __init__(self, threads: int):
        super().__init__(threads)
        import torch

        torch.set_num_threads(threads)

    def function(self, case: Case) -> Callable[..., Any]:
        """The callable for tensors."""
        return case.torch

    def prepare(self, case: Case, inputs: list[np.ndarray]) -> tuple[Call, Call]:
        import torch

        # torch takes no bfloat16 from NumPy: its bits pass as int16, without a copy
        is_half = [x.dtype == ml_dtypes.bfloat16 for x in inputs]
        tensors = [
            torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) if half else torch.from_numpy(x)
            for x, half in zip(inputs, is_half, strict=True)
        ]
        function = self.function(case)

        def call() -> np.ndarray:
            with torch.inference_mode():
                y = function(*tensors)
                return y.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if y.dtype == torch.bfloat16 else y.numpy()

        return call, call


class TorchCompile(Torch):
    name, method = "torch.compile", "torch"

    @classmethod
    def environment(cls, threads: int, cache: Path) -> dict[str, str]:
        return {"TORCHINDUCTOR_CACHE_DIR": str(cache / f"torch-{threads}"), "TORCHINDUCTOR_FREEZING": "1"}

    def function(self, case: Case) -> Callable[..., Any]:
        import torch

        torch.compiler.reset()
        return torch.compile(case.torch)


class Numba(Peer):
    name, method, needs = "numba", "numba", ("numba",)

    @classmethod
    def environment(cls, threads: int, cache: Path) -> dict[str, str]:
        return {"NUMBA_NUM_THREADS": str(threads), "NUMBA_CACHE_DIR": str(cache / "numba")}

    def prepare(self, case: Case, inputs: list[np.ndarray]) -> tuple[Call, Call]:
        call = lambda: case.numba(*inputs)  # noqa: E731
        return call, call


class OnnxRuntime(Peer):
    name, method, needs = "onnxruntime", "onnx", ("onnxruntime", "onnx")

    def prepare(self, case: Case, inputs: list[np.ndarray]) -> tuple[Call, Call]:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        model, feed = onnx_model(case, inputs)
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        call = lambda: session.run(None, feed)[0]  # noqa: E731
        return call, call


class OnnxGraph:
    """Collects the nodes of an ONNX graph; values are known by their names."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node; the name of its (first) result."""
        from onnx import helper

        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def constant(self, array: Any) -> str:
        """Add a constant; its name."""
        from onnx import numpy_helper

        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name


def onnx_model(case: Case, inputs: list[np.ndarray]) -> tuple[bytes, dict[str, np.ndarray]]:
    """A serialized model of the case, with its weights in it, and the other inputs by name."""
    from onnx import ValueInfoProto, helper

    graph = OnnxGraph()
    names, feed = [], {}
    for k, array in enumerate(inputs):
        if k in case.weights:
            names.append(graph.constant(array))
        else:
            names.append(f"x{k}")
            feed[f"x{k}"] = array
    result = case.onnx(graph, *names)
    kind = lambda dtype: helper.np_dtype_to_tensor_dtype(np.dtype(dtype))  # noqa: E731
    given = [helper.make_tensor_value_info(name, kind(x.dtype), x.shape) for name, x in feed.items()]
    whole = helper.make_graph(graph.nodes, "case", given, [ValueInfoProto(name=result)], graph.initializers)
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(whole, opset_imports=opsets, ir_version=11).SerializeToString(), feed


class Iree(Peer):
    """IREE, given the StableHLO that jax makes of the case."""

    name, method, needs = "IREE", "jax", ("iree-base-compiler", "iree-base-runtime", "jax")
    flags = (
        "--iree-llvmcpu-target-cpu=host",
        "--iree-opt-level=O3",
        "--iree-input-demote-f64-to-f32=false",
        "--iree-input-demote-i64-to-i32=false",
    )

    @classmethod
    def environment(cls, threads: int, cache: Path) -> dict[str, str]:
        return {"JAX_PLATFORMS": "cpu", "BENCHMARK_IREE_CACHE": str(cache / "iree")}

    def __init__(self, threads: int):
        super().__init__(threads)
        import iree.runtime as runtime
        import jax

        jax.config.update("jax_enable_x64", True)
        runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
        self.config = runtime.Config("local-task" if threads > 1 else "local-sync")

    def prepare(self, case: Case, inputs: list[np.ndarray]) -> tuple[Call, Call]:
        import iree.runtime as runtime
        import jax

        text = jax.jit(case.jax).lower(*inputs).as_text()
        context = runtime.SystemContext(config=self.config)
        context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, self.compiled(text)))
        (module,) = (m for name, m in context.modules.items() if name.startswith("jit_"))
        arrays = [runtime.asdevicearray(self.config.device, x) for x in inputs]
        call = lambda: np.asarray(module.main(*arrays))  # noqa: E731
        return call, call

    def compiled(self, text: str) -> bytes:
        """The module for the virtual machine, kept on disk."""
        import iree.compiler as compiler

        key = hashlib.sha256(f"{text}{self.flags}{self.version()}".encode()).hexdigest()
        path = Path(os.environ["BENCHMARK_IREE_CACHE"]) / f"{key}.vmfb"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = list(self.flags)
            code = compiler.compile_str(text, input_type="stablehlo", target_backends=["llvm-cpu"], extra_args=flags)
            path.write_bytes(code)
        return path.read_bytes()


class Machine(Peer):
    """No library: the limit of the machine that a case stands against, measured like a peer, in turn."""

    name, method, needs = "machine", "numpy", ("lamina",)

    def prepare(self, case: Case, inputs: list[np.ndarray]) -> tuple[Call, Call]:
        from lamina.codegen import machine

        if case.flops:
            probe = machine.FmaProbe(case.element, self.threads)
            work = case.flops
        elif case.bytes:
            probe = machine.TriadProbe(self.threads)
            work = case.bytes
        else:
            raise NotSupported("no limit")
        call = lambda: work / probe.rate()  # noqa: E731
        return call, call


PEERS: dict[str, type[Peer]] = {
    peer.name: peer for peer in (Lamina, Before, NumPy, Jax, Torch, TorchCompile, Numba, OnnxRuntime, Iree, Machine)
}
OURS = ("lamina", "before", "machine")
"""The measurements that take turns and are no peers."""
