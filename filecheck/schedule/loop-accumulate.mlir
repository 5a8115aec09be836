// RUN: lamina-opt %s %validate -p 'loop-accumulate{buffer=C at=k}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-accumulate{buffer=C at=k}' --split-input-file 2>/dev/null | filecheck %s

/// The tile has a dim a loop inside that moves the element; what remains of the last tile has the bounds of these loops.
// CHECK-LABEL: loop.kernel @tile
//       CHECK:   loop.for seq %io = 0 to %M step 6 {
//  CHECK-NEXT:     %C_tile = loop.alloc register : memref<6x16xf32>
//  CHECK-NEXT:     loop.for seq %i_in = 0 to min(6, %M - %io) {
//  CHECK-NEXT:       loop.for seq %j_in = 0 to 16 {
//  CHECK-NEXT:         %[[IN:.+]] = loop.load %C[%io + %i_in, %j_in] : memref<?x16xf32>
//  CHECK-NEXT:         loop.store %[[IN]], %C_tile[%i_in, %j_in] : memref<6x16xf32>
//       CHECK:     loop.for seq %k = 0 to %K {
//       CHECK:           %[[C:.+]] = loop.load %C_tile[%i, %j] : memref<6x16xf32>
//  CHECK-NEXT:           %[[S:.+]] = math.fma %{{.+}}, %{{.+}}, %[[C]] : f32
//  CHECK-NEXT:           loop.store %[[S]], %C_tile[%i, %j] : memref<6x16xf32>
//       CHECK:     loop.for seq %i_out = 0 to min(6, %M - %io) {
//  CHECK-NEXT:       loop.for seq %j_out = 0 to 16 {
//  CHECK-NEXT:         %[[OUT:.+]] = loop.load %C_tile[%i_out, %j_out] : memref<6x16xf32>
//  CHECK-NEXT:         loop.store %[[OUT]], %C[%io + %i_out, %j_out] : memref<?x16xf32>
loop.kernel @tile(%A: memref<?x?xf32>, %B: memref<?x16xf32>, %C: memref<?x16xf32>, %M: index, %K: index)
    shapes(%A[%M, %K], %B[%K, 16], %C[%M, 16]) {
  loop.for seq %io = 0 to %M step 6 {
    loop.for seq %k = 0 to %K {
      loop.for seq %i = 0 to min(6, %M - %io) {
        loop.for seq %j = 0 to 16 {
          %a = loop.load %A[%io + %i, %k] : memref<?x?xf32>
          %b = loop.load %B[%k, %j] : memref<?x16xf32>
          %c = loop.load %C[%io + %i, %j] : memref<?x16xf32>
          %s = math.fma %a, %b, %c : f32
          loop.store %s, %C[%io + %i, %j] : memref<?x16xf32>
        }
      }
    }
  }
}

// -----

/// What is stored before it is read is not loaded.
// CHECK-LABEL: loop.kernel @fresh
//       CHECK:   %C_tile = loop.alloc register : memref<4xf32>
//  CHECK-NEXT:   loop.for seq %k = 0 to 8 {
//       CHECK:   loop.for seq %i_out = 0 to 4 {
loop.kernel @fresh(%A: memref<4x8xf32>, %C: memref<4xf32>) {
  loop.for seq %k = 0 to 8 {
    loop.for seq %i = 0 to 4 {
      %a = loop.load %A[%i, %k] : memref<4x8xf32>
      loop.store %a, %C[%i] : memref<4xf32>
    }
  }
}

// -----

/// Another element of the buffer that the loop writes, and that is in the tile when i is 0.
// expected-error@+2 {{loop-accumulate{buffer=C at=k}: another access touches what is kept: iteration}}
loop.kernel @alias(%C: memref<8xf32>) {
  loop.for seq %k = 0 to 8 {
    loop.for seq %i = 0 to 4 {
      %a = loop.load %C[%k] : memref<8xf32>
      loop.store %a, %C[%i] : memref<8xf32>
    }
  }
}

// -----

// expected-error@+2 {{loop k accesses other elements in every iteration of C: [k]}}
loop.kernel @moves(%C: memref<8xf32>) {
  loop.for seq %k = 0 to 8 {
    %a = loop.load %C[%k] : memref<8xf32>
    loop.store %a, %C[%k] : memref<8xf32>
  }
}
