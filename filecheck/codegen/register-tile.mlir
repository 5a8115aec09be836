// A register tile of a matrix product, scheduled with the public primitives, on each target: the shape is data.

// RUN: lamina-opt %s --target=x86-64-v2 -p 'loop-reorder{loops=k,i,j kernel=tile_v2},loop-accumulate{buffer=C at=k kernel=tile_v2},loop-vectorize{loop=j lanes=4 kernel=tile_v2},loop-vectorize{loop=j_in lanes=4 kernel=tile_v2},loop-vectorize{loop=j_out lanes=4 kernel=tile_v2},loop-unroll{loop=j kernel=tile_v2},loop-unroll{loop=j_in kernel=tile_v2},loop-unroll{loop=j_out kernel=tile_v2},loop-unroll{loop=i kernel=tile_v2},loop-unroll{loop=i_in kernel=tile_v2},loop-unroll{loop=i_out kernel=tile_v2}' --compile-to=asm | filecheck %s --check-prefix=V2
// RUN: lamina-opt %s --target=x86-64-v3 -p 'loop-reorder{loops=k,i,j kernel=tile_v3},loop-accumulate{buffer=C at=k kernel=tile_v3},loop-vectorize{loop=j lanes=8 kernel=tile_v3},loop-vectorize{loop=j_in lanes=8 kernel=tile_v3},loop-vectorize{loop=j_out lanes=8 kernel=tile_v3},loop-unroll{loop=j kernel=tile_v3},loop-unroll{loop=j_in kernel=tile_v3},loop-unroll{loop=j_out kernel=tile_v3},loop-unroll{loop=i kernel=tile_v3},loop-unroll{loop=i_in kernel=tile_v3},loop-unroll{loop=i_out kernel=tile_v3}' --compile-to=asm | filecheck %s --check-prefix=V3
// RUN: lamina-opt %s --target=x86-64-v4 -p 'loop-reorder{loops=k,i,j kernel=tile_v4},loop-accumulate{buffer=C at=k kernel=tile_v4},loop-vectorize{loop=j lanes=16 kernel=tile_v4},loop-vectorize{loop=j_in lanes=16 kernel=tile_v4},loop-vectorize{loop=j_out lanes=16 kernel=tile_v4},loop-unroll{loop=j kernel=tile_v4},loop-unroll{loop=j_in kernel=tile_v4},loop-unroll{loop=j_out kernel=tile_v4},loop-unroll{loop=i kernel=tile_v4},loop-unroll{loop=i_in kernel=tile_v4},loop-unroll{loop=i_out kernel=tile_v4}' --compile-to=asm | filecheck %s --check-prefix=V4
// RUN: lamina-opt %s --target=aarch64 -p 'loop-reorder{loops=k,i,j kernel=tile_neon},loop-accumulate{buffer=C at=k kernel=tile_neon},loop-vectorize{loop=j lanes=4 kernel=tile_neon},loop-vectorize{loop=j_in lanes=4 kernel=tile_neon},loop-vectorize{loop=j_out lanes=4 kernel=tile_neon},loop-unroll{loop=j kernel=tile_neon},loop-unroll{loop=j_in kernel=tile_neon},loop-unroll{loop=j_out kernel=tile_neon},loop-unroll{loop=i kernel=tile_neon},loop-unroll{loop=i_in kernel=tile_neon},loop-unroll{loop=i_out kernel=tile_neon}' --compile-to=asm | filecheck %s --check-prefix=NEON

loop.kernel @tile_v2(%A: memref<4x?xf32>, %B: memref<?x8xf32>, %C: memref<4x8xf32>, %K: index)
    shapes(%A[4, %K], %B[%K, 8]) {
  loop.for seq %i = 0 to 4 {
    loop.for seq %j = 0 to 8 {
      loop.for seq %k = 0 to %K {
        %c = loop.load %C[%i, %j] : memref<4x8xf32>
        %a = loop.load %A[%i, %k] : memref<4x?xf32>
        %b = loop.load %B[%k, %j] : memref<?x8xf32>
        %s = math.fma %a, %b, %c : f32
        loop.store %s, %C[%i, %j] : memref<4x8xf32>
      }
    }
  }
}

loop.kernel @tile_v3(%A: memref<6x?xf32>, %B: memref<?x16xf32>, %C: memref<6x16xf32>, %K: index)
    shapes(%A[6, %K], %B[%K, 16]) {
  loop.for seq %i = 0 to 6 {
    loop.for seq %j = 0 to 16 {
      loop.for seq %k = 0 to %K {
        %c = loop.load %C[%i, %j] : memref<6x16xf32>
        %a = loop.load %A[%i, %k] : memref<6x?xf32>
        %b = loop.load %B[%k, %j] : memref<?x16xf32>
        %s = math.fma %a, %b, %c : f32
        loop.store %s, %C[%i, %j] : memref<6x16xf32>
      }
    }
  }
}

loop.kernel @tile_v4(%A: memref<8x?xf32>, %B: memref<?x48xf32>, %C: memref<8x48xf32>, %K: index)
    shapes(%A[8, %K], %B[%K, 48]) {
  loop.for seq %i = 0 to 8 {
    loop.for seq %j = 0 to 48 {
      loop.for seq %k = 0 to %K {
        %c = loop.load %C[%i, %j] : memref<8x48xf32>
        %a = loop.load %A[%i, %k] : memref<8x?xf32>
        %b = loop.load %B[%k, %j] : memref<?x48xf32>
        %s = math.fma %a, %b, %c : f32
        loop.store %s, %C[%i, %j] : memref<8x48xf32>
      }
    }
  }
}

loop.kernel @tile_neon(%A: memref<8x?xf32>, %B: memref<?x12xf32>, %C: memref<8x12xf32>, %K: index)
    shapes(%A[8, %K], %B[%K, 12]) {
  loop.for seq %i = 0 to 8 {
    loop.for seq %j = 0 to 12 {
      loop.for seq %k = 0 to %K {
        %c = loop.load %C[%i, %j] : memref<8x12xf32>
        %a = loop.load %A[%i, %k] : memref<8x?xf32>
        %b = loop.load %B[%k, %j] : memref<?x12xf32>
        %s = math.fma %a, %b, %c : f32
        loop.store %s, %C[%i, %j] : memref<8x12xf32>
      }
    }
  }
}

// The sums of a product stay in registers: multiplied and added, never stored in the loop over k.

// V2-LABEL: tile_v2:
// V2: mulps {{.*}}%xmm
// V2: addps {{.*}}%xmm

// V3-LABEL: tile_v3:
// V3-COUNT-12: vfmadd231ps {{.*}}%ymm
// V3: j{{[a-z]+}}

// V4-LABEL: tile_v4:
// V4-COUNT-24: vfmadd231ps {{.*}}%zmm
// V4: j{{[a-z]+}}

// NEON-LABEL: tile_neon:
// NEON-COUNT-24: fmla v{{[0-9]+}}.4s
