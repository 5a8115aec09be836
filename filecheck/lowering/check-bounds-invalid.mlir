// RUN: lamina-opt %s -p check-bounds --split-input-file --verify-diagnostics

loop.kernel @outside(%x: memref<8xf32>) {
  loop.for seq %i = 0 to 4 {
    // expected-error@+1 {{'loop.load' op index of dim 0 of x, memref<8xf32>, is out of bounds in every iteration}}
    %a = loop.load %x[%i + 8] : memref<8xf32>
    loop.store %a, %x[%i] : memref<8xf32>
  }
}

// -----

program.func @main(%x: memref<8xf32>, %at: memref<4xi64>) -> (%y: memref<4xf32>) {
  loop.launch @pick(%x, %at, %y) : (memref<8xf32>, memref<4xi64>, memref<4xf32>)
}
loop.kernel @pick(%x: memref<8xf32>, %at: memref<4xi64>, %y: memref<4xf32>) {
  loop.for seq %i = 0 to 4 {
    %k = loop.load %at[%i] : memref<4xi64>
    %p = arith.index_cast %k : i64 to index
    // expected-error@+1 {{index of dim 0 of x, memref<8xf32>, is not proved to be in bounds, and @pick is launched by a function, which cannot stop: clamp it with arith.maxsi and arith.minsi, or put the access under a loop.if}}
    %a = loop.load %x[%p] : memref<8xf32>
    loop.store %a, %y[%i] : memref<4xf32>
  }
}

// -----

loop.kernel @size(%at: memref<4xi64>) {
  %k = loop.load %at[0] : memref<4xi64>
  %p = arith.index_cast %k : i64 to index
  // expected-error@+1 {{'loop.alloc' op of memref<?xf32>: its sizes must be proved to be at least 0 and less than 2^48}}
  %t = loop.alloc scratch(%p) : memref<?xf32>
}

// -----

/// Arithmetic that may wrap around proves nothing.
loop.kernel @wraps(%x: memref<8xf32>, %at: memref<4xi64>, %y: memref<4xf32>) {
  loop.for seq %i = 0 to 4 {
    // expected-error@+1 {{index of dim 0 of x, memref<8xf32>, is not proved to be in bounds, and 3 lanes cannot be checked: their number must be 2^k}}
    %a = loop.load %x[%i * 6148914691236517206] : memref<8xf32>, vector<3xf32>
  }
}
