// RUN: lamina-opt %s --compile-to=loop | filecheck %s
// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=scheduled | filecheck %s --check-prefix=TILES

/// Attention works on blocks of 64 queries and 64 keys. A block of queries is transposed once, no more scores are held than
/// those of a block, and the blocks of keys end where the last query of the block does.

// CHECK-LABEL: loop.kernel @attention
//       CHECK: loop.for parallel %i = 0 to 2 {
//       CHECK:   loop.for parallel %j = 0 to 256 step 64 {
//   CHECK-DAG:     %q_block = loop.alloc scratch : memref<32x64xf32>
//   CHECK-DAG:     %scores = loop.alloc scratch : memref<64x64xf32>
//   CHECK-DAG:     %sums = loop.alloc scratch : memref<64x32xf32>
//       CHECK:     loop.for seq %[[KEY:.+]] = 0 to min(256, %j + 64) step 64 {

/// At the diagonal the keys that come after a query get a score of -inf.

//       CHECK:       loop.if
//       CHECK:         loop.for parallel %[[ROW:.+]] = 0 to 64 {
//       CHECK:           loop.for parallel %{{.+}} = 0 to min(64, -%j + %[[KEY]] + %[[ROW]]) {

/// Both products of a block have sums in registers: four rows of two vectors. What masks is widened, too.

// TILES-LABEL: loop.kernel @attention
//       TILES: loop.for seq
//       TILES:   loop.for parallel %{{.+}} = 0 to 64 step 4 {
//       TILES:     loop.for vector %{{.+}} = 0 to 64 step 16 {
//       TILES:       %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} = loop.for reduce<add> %{{.+}} = 0 to 32 init {{.*}} : vector<16xf32>
//       TILES:   loop.if
//       TILES:     loop.for vector %{{.+}} = 0 to min(64, {{.*}}) step 8 {
//       TILES:   loop.for parallel %{{.+}} = 0 to 64 step 4 {
//       TILES:     loop.for vector %{{.+}} = 0 to 32 step 16 {
//       TILES:       %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} = loop.for reduce<add> %{{.+}} = 0 to 64 init {{.*}} : vector<16xf32>
func.func @main(%q: tensor<2x256x32xf32>, %k: tensor<2x256x32xf32>, %v: tensor<2x256x32xf32>) -> tensor<2x256x32xf32> {
  %y = graph.attention %q, %k, %v mask causal scale 0.125 : f64
    : (tensor<2x256x32xf32>, tensor<2x256x32xf32>, tensor<2x256x32xf32>) -> tensor<2x256x32xf32>
  return %y : tensor<2x256x32xf32>
}
