"""graph to loop, buffers, loop to LLVM IR text."""
