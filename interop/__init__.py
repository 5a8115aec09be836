"""Programs of other systems, in and out: StableHLO, ONNX. The functions are in `lamina` itself."""
