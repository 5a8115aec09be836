// The instructions that each target should run in the loop of a vectorized saxpy.

// RUN: lamina-opt %s --target=x86-64-v2 -p 'loop-vectorize{loop=i lanes=4}' --compile-to=asm | filecheck %s --check-prefix=V2
// RUN: lamina-opt %s --target=x86-64-v3 -p 'loop-vectorize{loop=i lanes=8}' --compile-to=asm | filecheck %s --check-prefix=V3
// RUN: lamina-opt %s --target=x86-64-v4 -p 'loop-vectorize{loop=i lanes=16}' --compile-to=asm | filecheck %s --check-prefix=V4
// RUN: lamina-opt %s --target=aarch64 -p 'loop-vectorize{loop=i lanes=4}' --compile-to=asm | filecheck %s --check-prefix=NEON
// RUN: lamina-opt %s --target=riscv64 -p 'loop-vectorize{loop=i lanes=4}' --compile-to=asm | filecheck %s --check-prefix=RVV

loop.kernel @saxpy(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  loop.for seq %i = 0 to %N {
    %old = loop.load %y[%i] : memref<?xf32>
    %v = loop.load %x[%i] : memref<?xf32>
    %new = math.fma %a, %v, %old : f32
    loop.store %new, %y[%i] : memref<?xf32>
  }
}

// V2-LABEL: saxpy:
// V2: mulps {{.*}}%xmm
// V2: addps {{.*}}%xmm
// V2-NOT: vfmadd

// V3-LABEL: saxpy:
// V3: vfmadd{{(132|213|231)}}ps {{.*}}%ymm

// V4-LABEL: saxpy:
// V4: vfmadd{{(132|213|231)}}ps {{.*}}%zmm

// NEON-LABEL: saxpy:
// NEON: fmla v{{[0-9]+}}.4s

// RVV-LABEL: saxpy:
// RVV: vsetivli zero, 4, e32
// RVV: vfma{{(cc|dd)}}.v{{[fv]}}
