// RUN: lamina-opt %s %validate -p 'loop-set-layout{buffer=t order=1,0 pad=4}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-set-layout{buffer=t order=1,0 pad=4}' --split-input-file 2>/dev/null | filecheck %s
// RUN: not lamina-opt %s -p 'loop-set-layout{buffer=t order=1,0 pad=3 dim=0}' --split-input-file 2>/dev/null | filecheck %s --check-prefix=DIM
// RUN: not lamina-opt %s -p 'loop-set-layout{buffer=t order=1,0 pad=3 dim=2}' --split-input-file 2>&1 | filecheck %s --check-prefix=NO-DIM

/// Lanes go along the dim they went along, wherever that is now.
// CHECK-LABEL: loop.kernel @transposed
//       CHECK:   %t = loop.alloc stack : memref<16x10xf32>
//       CHECK:   loop.store %{{.+}}, %t[%j, %i] : memref<16x10xf32>
//       CHECK:   loop.load %t[0, %i] along 0 : memref<16x10xf32>, vector<16xf32>
//       CHECK:   loop.load %t[%j, 0] : memref<16x10xf32>, vector<4xf32>
// DIM-LABEL: loop.kernel @transposed
//       DIM:   %t = loop.alloc stack : memref<19x6xf32>
//    NO-DIM: loop-set-layout{buffer=t pad=3 dim=2}: t has no dim 2: memref<6x16xf32>
loop.kernel @transposed(%x: memref<6x16xf32>) {
  %t = loop.alloc stack : memref<6x16xf32>
  loop.for seq %i = 0 to 6 {
    loop.for seq %j = 0 to 16 {
      %a = loop.load %x[%i, %j] : memref<6x16xf32>
      loop.store %a, %t[%i, %j] : memref<6x16xf32>
      %b = loop.load %t[%i, 0] : memref<6x16xf32>, vector<16xf32>
      %c = loop.load %t[0, %j] along 0 : memref<6x16xf32>, vector<4xf32>
    }
  }
}

// -----

// expected-error@+1 {{t is an argument of the kernel: its layout is the caller's}}
loop.kernel @argument(%t: memref<6x16xf32>) {
}
