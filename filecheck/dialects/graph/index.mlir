// RUN: lamina-opt %s > %t && lamina-opt %t | diff %t - && lamina-opt %t --print-op-generic | lamina-opt | diff %t -
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt %s -p graph-decompose,graph-dce,graph-fuse,graph-collapse-dims,convert-graph-to-loop | filecheck %s --check-prefix=LOOP

/// Without a window a place is one element of each addressed dim, and these dims are dropped.
// CHECK-LABEL: @places
//  CHECK-NEXT:   graph.gather %x, %i at [0] : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
//  CHECK-NEXT:   graph.gather %x, %r, %r at [0, 1] window [2, 3] : (tensor<9x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
//  CHECK-NEXT:   graph.gather %x, %k at [1] batch [0] : (tensor<9x4xf32>, tensor<9xi64>) -> tensor<9xf32>
func.func @places(%x: tensor<9x4xf32>, %i: tensor<5xi64>, %r: tensor<i32>, %k: tensor<9xi64>) {
  %0 = graph.gather %x, %i at [0] : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  %1 = graph.gather %x, %r, %r at [0, 1] window [2, 3] : (tensor<9x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  %2 = graph.gather %x, %k at [1] batch [0] : (tensor<9x4xf32>, tensor<9xi64>) -> tensor<9xf32>
  return
}

// CHECK-LABEL: @updates
//  CHECK-NEXT:   graph.scatter max %x, %u, %i at [0] : (tensor<9x4xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<9x4xf32>
func.func @updates(%x: tensor<9x4xf32>, %u: tensor<5x4xf32>, %i: tensor<5xi64>) {
  %0 = graph.scatter max %x, %u, %i at [0] : (tensor<9x4xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<9x4xf32>
  return
}

/// An embedding bag is one kernel: the sum runs over the rows that the ids name, moved inside of the table.
// LOOP-LABEL: program.func @bag
//  LOOP-NEXT:   loop.launch @gather_reduce(%table, %ids, %result)
//  LOOP-NEXT: }
func.func @bag(%ids: tensor<8x5xi64>, %table: tensor<100x64xf32>) -> tensor<8x64xf32> {
  %rows = graph.embedding %ids, %table : (tensor<8x5xi64>, tensor<100x64xf32>) -> tensor<8x5x64xf32>
  %y = graph.reduce add %rows over [1] : tensor<8x5x64xf32> -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

/// What a value of one use held is changed where it is; the zeros are made in the result.
// LOOP-LABEL: program.func @segment_sum
//  LOOP-NEXT:   program.reinterpret_cast %result
//  LOOP-NEXT:   loop.launch @broadcast(
//  LOOP-NEXT:   loop.launch @scatter(%u, %i, %result)
//  LOOP-NEXT: }
func.func @segment_sum(%u: tensor<5x4xf32>, %i: tensor<5xi64>) -> tensor<9x4xf32> {
  %zero = graph.const dense<0.0> : tensor<f32>
  %zeros = graph.broadcast %zero to [] : tensor<f32> -> tensor<9x4xf32>
  %y = graph.scatter add %zeros, %u, %i at [0] : (tensor<9x4xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<9x4xf32>
  return %y : tensor<9x4xf32>
}

/// An argument keeps its contents, also where the updates are the operand itself.
// LOOP-LABEL: program.func @of_argument
//  LOOP-NEXT:   "memref.copy"(%x, %result)
//  LOOP-NEXT:   loop.launch @scatter_1(%x, %i, %result)
//  LOOP-NEXT: }
func.func @of_argument(%x: tensor<5x4xf32>, %i: tensor<5xi64>) -> tensor<5x4xf32> {
  %y = graph.scatter set %x, %x, %i at [0] : (tensor<5x4xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

/// The bag's kernel: one place for each id, known before the columns.
// LOOP-LABEL: loop.kernel @gather_reduce
//       LOOP:   loop.for parallel %i = 0 to 8 {
//  LOOP-NEXT:     loop.for parallel %j = 0 to 64 {
//  LOOP-NEXT:       loop.for reduce<add> %k = 0 to 5 init
//  LOOP-NEXT:         loop.load %ids[%i, %k] : memref<8x5xi64>
//  LOOP-NEXT:         arith.index_cast
//  LOOP-NEXT:         arith.maxsi
//  LOOP-NEXT:         %[[AT:.+]] = arith.minsi
//  LOOP-NEXT:         loop.load %table[%[[AT]], %j] : memref<100x64xf32>

/// A place that is not inside is left out.
// LOOP-LABEL: loop.kernel @scatter(
//       LOOP:     arith.cmpi sge
//  LOOP-NEXT:     arith.cmpi sle
//  LOOP-NEXT:     %[[INSIDE:.+]] = arith.andi
//  LOOP-NEXT:     loop.if %[[INSIDE]] {

/// A running sum carries it from element to element.
// CHECK-LABEL: @running
//  CHECK-NEXT:   graph.scan add %x along 0 reverse exclusive : tensor<7x4xf32>
//  CHECK-NEXT:   graph.recurrence %x, %{{.*}} along 1 forward : (tensor<7x4xf32>, tensor<7x4xf32>) -> tensor<7x4xf32>
// LOOP-LABEL: loop.kernel @scan
//       LOOP:   loop.for parallel %[[J:.+]] = 0 to 4 {
//  LOOP-NEXT:     loop.for seq %[[K:.+]] = 0 to 7 carry %[[SUM:.+]] = %{{.+}} : f32 {
//  LOOP-NEXT:       %[[X:.+]] = loop.load %x[-%[[K]] + 6, %[[J]]]
//  LOOP-NEXT:       %[[NEXT:.+]] = arith.addf %[[SUM]], %[[X]] : f32
//  LOOP-NEXT:       loop.store %[[SUM]], %out[-%[[K]] + 6, %[[J]]]
//  LOOP-NEXT:       loop.yield %[[NEXT]] : f32
func.func @running(%x: tensor<7x4xf32>) -> tensor<7x4xf32> {
  %0 = graph.scan add %x along 0 reverse exclusive : tensor<7x4xf32>
  %1 = graph.recurrence %x, %0 along 1 forward : (tensor<7x4xf32>, tensor<7x4xf32>) -> tensor<7x4xf32>
  return %1 : tensor<7x4xf32>
}
