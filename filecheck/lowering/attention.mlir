// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=loop | filecheck %s
// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=loop | lamina-opt - -p 'loop-auto{verbose=true}' 2>&1 >/dev/null | filecheck %s --check-prefix=STEPS
// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=scheduled | filecheck %s --check-prefix=TILES

/// The loops read like the definition: of a query the products with the keys, their largest, the weights and their sum, and the
/// average of the values. 64 neighbouring queries have weights of equally many keys.

// CHECK-LABEL: loop.kernel @attention
//       CHECK: loop.for parallel %i = 0 to 2 {
//       CHECK:   loop.for parallel %j = 0 to 256 {
//   CHECK-DAG:     %query = loop.alloc scratch : memref<32xf32>
//   CHECK-DAG:     %weights = loop.alloc scratch : memref<256xf32>
//       CHECK:     loop.for parallel %[[KEY:.+]] = 0 to min(256, (%j + ((%j mod 64) * -1)) + 64) {
//       CHECK:       loop.for reduce<add> %{{.+}} = 0 to 32
//       CHECK:       arith.cmpi sle, %[[KEY]], %j
//       CHECK:     loop.for reduce<max>
//       CHECK:     loop.for reduce<add>
//       CHECK:       math.exp
//       CHECK:     loop.for parallel %{{.+}} = 0 to 32 {
//       CHECK:       loop.for reduce<add>
//       CHECK:       arith.divf
//       CHECK:       loop.store %{{.+}}, %out[%i, %j, %{{.+}}]

/// 64 queries take each step together, side by side; both products get register tiles.

//      STEPS: loop-split{loop=j size=64}
// STEPS-NEXT: loop-hoist{buffer=query}
// STEPS-NEXT: loop-hoist{buffer=weights}
// STEPS-NEXT: loop-expand{loop=o at=jo}
// STEPS-NEXT: loop-fission{loop=ji after=k}
// STEPS-NEXT: loop-fission{loop=ji3 after=l}
// STEPS-NEXT: loop-reorder{loops=l,ji3}
// STEPS-NEXT: loop-set-layout{buffer=query}
// STEPS-NEXT: loop-set-layout{buffer=weights}
// STEPS-NEXT: loop-vectorize{loop=ji3 lanes=16}
// STEPS-NEXT: loop-unroll-and-jam{loop=l factor=4}
// STEPS-NEXT: loop-vectorize{loop=p lanes=16}
// STEPS-NEXT: loop-unroll-and-jam{loop=ji2 factor=4}

/// No query of a block sees keys beyond the end of the block.

// TILES-LABEL: loop.kernel @attention
//       TILES: loop.for parallel %jo = 0 to 256 step 64 {
//   TILES-DAG:   %query = loop.alloc scratch : memref<32x64xf32>
//   TILES-DAG:   %weights = loop.alloc scratch : memref<256x64xf32>
//       TILES:   loop.for parallel %lo = 0 to %jo + 64 step 4 {
//       TILES:     loop.for vector %{{.+}} = 0 to 64 step 16 {
//       TILES:       %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} = loop.for reduce<add> %{{.+}} = 0 to 32 init {{.*}} : vector<16xf32>
//       TILES:   loop.for parallel %{{.+}} = 0 to 64 step 4 {
//       TILES:     loop.for vector %{{.+}} = 0 to 32 step 16 {
//       TILES:       %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} = loop.for reduce<add> %{{.+}} = 0 to %jo + 64 init {{.*}} : vector<16xf32>
func.func @main(%q: tensor<2x256x32xf32>, %k: tensor<2x256x32xf32>, %v: tensor<2x256x32xf32>) -> tensor<2x256x32xf32> {
  %y = graph.attention %q, %k, %v mask causal scale 0.125 : f64
    : (tensor<2x256x32xf32>, tensor<2x256x32xf32>, tensor<2x256x32xf32>) -> tensor<2x256x32xf32>
  return %y : tensor<2x256x32xf32>
}
