"""loop IR to LLVM IR text."""
