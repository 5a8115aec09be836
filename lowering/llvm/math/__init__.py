"""Elementary functions as LLVM IR: range reduction plus polynomial, any vector width."""
