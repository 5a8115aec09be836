"""LLVM IR text to machine code: targets, compile, object cache."""
