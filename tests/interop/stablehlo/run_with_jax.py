"""A child process with jax: compiles and runs StableHLO texts.

python run_with_jax.py INPUT.npz OUTPUT.npz
"""

from __future__ import annotations

import json
import sys

import numpy as np


def main(source: str, output: str) -> None:
    """Write results by `name:number`, and errors."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from jax._src import xla_bridge
    from jax._src.lib import xla_client
    from jaxlib import lapack

    lapack.prepare_lapack_call("getrf_ffi", np.dtype(np.float32))  # loads the functions of SciPy that custom calls name

    backend = xla_bridge.get_backend("cpu")
    devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
    arrays, errors = dict[str, np.ndarray](), dict[str, str]()
    with np.load(source) as archive:
        for name, text in json.loads(str(archive["texts"])).items():
            given = []
            while f"{name}:{len(given)}" in archive:
                given.append(jax.device_put(archive[f"{name}:{len(given)}"]))
            try:
                compiled = backend.compile_and_load(text.encode(), devices, xla_client.CompileOptions())
                found = compiled.execute_sharded(given).disassemble_into_single_device_arrays()
                arrays |= {f"{name}:{k}": np.asarray(one[0]) for k, one in enumerate(found)}
            except Exception as error:
                errors[name] = str(error)
    np.savez(output, errors=np.array(json.dumps(errors)), **arrays)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
