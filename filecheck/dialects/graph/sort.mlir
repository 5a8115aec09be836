// RUN: lamina-opt %s > %t && lamina-opt %t | diff %t - && lamina-opt %t --print-op-generic | lamina-opt | diff %t -
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt %s -p convert-graph-to-loop | filecheck %s --check-prefix=LOOP
// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=llvmir > %t.ll

// CHECK-LABEL: @sorted
//  CHECK-NEXT:   graph.sort %x keys 1 : tensor<2x9xf32> -> tensor<2x9xf32>
//  CHECK-NEXT:   graph.sort %x, %i keys 1 : (tensor<2x9xf32>, tensor<2x9xi64>) -> (tensor<2x9xf32>, tensor<2x9xi64>)
//  CHECK-NEXT:   graph.argsort %x : tensor<2x9xf32> -> tensor<2x9xi64>
//  CHECK-NEXT:   graph.argsort %x, %i : (tensor<2x9xf32>, tensor<2x9xi64>) -> tensor<2x9xi64>
//  CHECK-NEXT:   graph.top_k %x first 3 : tensor<2x9xf32> -> (tensor<2x3xf32>, tensor<2x3xi64>)
func.func @sorted(%x: tensor<2x9xf32>, %i: tensor<2x9xi64>) {
  %0 = graph.sort %x keys 1 : tensor<2x9xf32> -> tensor<2x9xf32>
  %1, %2 = graph.sort %x, %i keys 1 : (tensor<2x9xf32>, tensor<2x9xi64>) -> (tensor<2x9xf32>, tensor<2x9xi64>)
  %p = graph.argsort %x : tensor<2x9xf32> -> tensor<2x9xi64>
  %q = graph.argsort %x, %i : (tensor<2x9xf32>, tensor<2x9xi64>) -> tensor<2x9xi64>
  %3, %4 = graph.top_k %x first 3 : tensor<2x9xf32> -> (tensor<2x3xf32>, tensor<2x3xi64>)
  return
}

func.func @short(%x: tensor<7x9xi32>) -> tensor<7x9xi32> {
  %y = graph.sort %x keys 1 : tensor<7x9xi32> -> tensor<7x9xi32>
  return %y : tensor<7x9xi32>
}

func.func @many(%x: tensor<100x9xi32>) -> tensor<100x9xi64> {
  %y = graph.argsort %x : tensor<100x9xi32> -> tensor<100x9xi64>
  return %y : tensor<100x9xi64>
}

func.func @long(%x: tensor<70000xi8>) -> tensor<70000xi8> {
  %y = graph.sort %x keys 1 : tensor<70000xi8> -> tensor<70000xi8>
  return %y : tensor<70000xi8>
}

/// A short row: what comes before an element, of smaller keys or equal ones in front of it, is counted; there it goes.
// LOOP-LABEL: loop.kernel @sort{{[_0-9]*}}(%x: memref<7x9xi32>
//       LOOP:   %[[KEYS:.*]] = loop.alloc stack : memref<9xui32>
//       LOOP:   arith.bitcast %{{.*}} : i32 to ui32
//       LOOP:   %[[RANKS:.*]] = loop.alloc stack : memref<9xi32>
//       LOOP:   %[[RANK:.*]] = loop.for reduce<add>
//       LOOP:     arith.cmpi slt
//       LOOP:     arith.cmpi eq
//       LOOP:     arith.cmpi ult
//       LOOP:   loop.store %[[RANK]],

/// Many rows: keys and places, of whole fours, are sorted by four in registers, then merged: from the middle outwards, at half the
/// distance until that is four, and by four again.
// LOOP-LABEL: loop.kernel @argsort{{[_0-9]*}}(%x: memref<100x9xi32>
//       LOOP:   loop.for parallel %i = 0 to 100 {
//       LOOP:     %[[KEYS:.*]] = loop.alloc scratch : memref<12xui32>
//       LOOP:     %[[PLACES:.*]] = loop.alloc scratch : memref<12xi32>
//       LOOP:     loop.for parallel %{{.*}} = 0 to 3 {
//       LOOP:       loop.load %keys[%{{.*}} * 4 + 3]
//       LOOP:       arith.cmpi slt
//       LOOP:       arith.cmpi eq
//       LOOP:       arith.cmpi ult
//       LOOP:       arith.select
//       LOOP:     loop.for seq %[[MERGE:.*]] = 0 to 2 {
//       LOOP:       loop.for seq %{{.*}} = 0 to %[[MERGE]] {
//       LOOP:       loop.for parallel %{{.*}} = 0 to 3 {

/// A long row, here of one digit: two blocks are counted, their places follow from running sums, two blocks are moved.
// LOOP-LABEL: loop.kernel @sort{{[_0-9]*}}(%x: memref<70000xi8>
//       LOOP:   %counts = loop.alloc scratch : memref<2x256xi32>
//       LOOP:   loop.for parallel %{{.*}} = 0 to 2 {
//       LOOP:     loop.for seq %{{.*}} = 0 to min(35000, {{.*}}) {
//       LOOP:       arith.xori
//       LOOP:       loop.store %{{.*}}, %counts
//       LOOP:   loop.for seq %{{.*}} = 0 to 256 carry
//       LOOP:     loop.for seq %{{.*}} = 0 to 2 carry
//       LOOP:   loop.for parallel %{{.*}} = 0 to 2 {
//       LOOP:     loop.for seq %{{.*}} = 0 to min(35000, {{.*}}) {
//       LOOP:       loop.store %{{.*}}, %out
