"""Translation of loop IR to the text of LLVM IR."""
