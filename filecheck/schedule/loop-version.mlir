// RUN: lamina-opt %s %validate -p 'loop-version{loop=i most=32}' --split-input-file --verify-diagnostics
// RUN: not lamina-opt %s -p 'loop-version{loop=i most=32}' --split-input-file 2>/dev/null | filecheck %s
// RUN: not lamina-opt %s -p 'loop-version{loop=i most=1 exact=true}' --split-input-file 2>/dev/null | filecheck %s --check-prefix ONE

/// The nest is copied under a condition on the bound; with one iteration, its body takes the place of the loop.
// CHECK-LABEL: loop.kernel @rows
//       CHECK:   %[[MOST:.+]] = arith.constant 32 : index
//  CHECK-NEXT:   %[[FEW:.+]] = arith.cmpi sle, %N, %[[MOST]] : index
//  CHECK-NEXT:   loop.if %[[FEW]] {
//  CHECK-NEXT:     loop.for parallel %j_few = 0 to 8 {
//  CHECK-NEXT:       loop.for parallel %i_few = 0 to %N {
//  CHECK-NEXT:         %{{.+}} = loop.load %x[%i_few, %j_few]
//       CHECK:   } else {
//  CHECK-NEXT:     loop.for parallel %j = 0 to 8 {
//  CHECK-NEXT:       loop.for parallel %i = 0 to %N {
//   ONE-LABEL: loop.kernel @rows
//         ONE:   %[[ONE:.+]] = arith.constant 1 : index
//    ONE-NEXT:   %[[IS_ONE:.+]] = arith.cmpi eq, %N, %[[ONE]] : index
//    ONE-NEXT:   loop.if %[[IS_ONE]] {
//    ONE-NEXT:     loop.for parallel %j_few = 0 to 8 {
//    ONE-NEXT:       %{{.+}} = loop.load %x[0, %j_few]
//     ONE-NOT:       loop.for
//         ONE:   } else {
loop.kernel @rows(%x: memref<?x8xf32>, %N: index) shapes(%x[%N, 8]) {
  loop.for parallel %j = 0 to 8 {
    loop.for parallel %i = 0 to %N {
      %a = loop.load %x[%i, %j] : memref<?x8xf32>
      loop.store %a, %x[%i, %j] : memref<?x8xf32>
    }
  }
}

// -----

/// The condition stands where the bound is known: inside the loop that it depends on.
// CHECK-LABEL: loop.kernel @triangle
//       CHECK:   loop.for parallel %j = 0 to 64 {
//       CHECK:     arith.cmpi sle, %j, %{{.+}} : index
//  CHECK-NEXT:     loop.if
//  CHECK-NEXT:       loop.for parallel %i_few = 0 to %j {
loop.kernel @triangle(%x: memref<64x64xf32>) {
  loop.for parallel %j = 0 to 64 {
    loop.for parallel %i = 0 to %j {
      %a = loop.load %x[%i, %j] : memref<64x64xf32>
      loop.store %a, %x[%i, %j] : memref<64x64xf32>
    }
  }
}

// -----

/// A known number of iterations is no question.
loop.kernel @no_known_size(%x: memref<64xf32>) {
  // expected-error @below {{i does not run from 0 by steps of 1 to one symbolic expression}}
  loop.for parallel %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    loop.store %a, %x[%i] : memref<64xf32>
  }
}

// -----

/// Values that a loop carries would have to leave the condition.
loop.kernel @no_carried(%x: memref<?x8xf32>, %y: memref<1xf32>, %N: index) shapes(%x[%N, 8]) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for seq %j = 0 to 8 carry %t = %zero : f32 {
    // expected-error @below {{a loop around i, or that loop, carries values}}
    loop.for parallel %i = 0 to %N {
      loop.store %zero, %x[%i, %j] : memref<?x8xf32>
    }
    loop.yield %t : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}
