"""Lowering: from graph ops to loops and buffers, and from loops to the text of LLVM IR."""
