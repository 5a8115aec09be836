// RUN: lamina-opt %s > %t && lamina-opt %t | diff %t - && lamina-opt %t --print-op-generic | lamina-opt | diff %t -
// RUN: lamina-opt %s | filecheck %s

/// Loops of every kind; bounds and subscripts are affine in the loops around them.
// CHECK-LABEL: loop.kernel @loops(%x: memref<32x64xf32>, %n: index)
//       CHECK:   loop.for parallel %i = 0 to 32 {
//  CHECK-NEXT:     loop.alloc stack : memref<8x16xf32>
//  CHECK-NEXT:     %sum = loop.for reduce<add> %k = %i + 1 to %n init %zero : f32 {
//  CHECK-NEXT:       %a = loop.load %x[%i * 2 - 1, %k] : memref<32x64xf32>
//  CHECK-NEXT:       loop.yield %a : f32
//       CHECK:     loop.for seq %t = 0 to (%n floordiv 8) * 8 step 2 carry %acc = %sum : f32 {
//       CHECK:     loop.if %{{.*}} -> f32 {
//       CHECK:     } else {
//       CHECK:     loop.for unroll %u = 0 to 4 {
loop.kernel @loops(%x: memref<32x64xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 32 {
    %b = loop.alloc stack : memref<8x16xf32>
    %sum = loop.for reduce<add> %k = %i + 1 to %n init %zero : f32 {
      %a = loop.load %x[%i * 2 - 1, %k] : memref<32x64xf32>
      loop.yield %a : f32
    }
    %last = loop.for seq %t = 0 to (%n floordiv 8) * 8 step 2 carry %acc = %sum : f32 {
      %next = arith.addf %acc, %acc : f32
      loop.yield %next : f32
    }
    %c = arith.cmpf olt, %last, %zero : f32
    %r = loop.if %c -> f32 {
      loop.yield %last : f32
    } else {
      loop.yield %zero : f32
    }
    loop.for unroll %u = 0 to 4 {
      loop.store %r, %x[%i, %u] : memref<32x64xf32>
    }
    loop.if %c {
    } else {
      loop.store %r, %x[%i, 0] : memref<32x64xf32>
    }
  }
}

/// Vectors move along one dim, the last unless said otherwise; masked lanes are not touched.
// CHECK-LABEL: loop.kernel @vectors
//       CHECK:   loop.for vector %j = 0 to 64 step 8 {
//  CHECK-NEXT:     loop.load %x[0, %j] : memref<32x64xf32>, vector<8xf32>
//  CHECK-NEXT:     loop.load %x[%j, 3] along 0 step 2 mask %m : memref<32x64xf32>, vector<8xf32>
//  CHECK-NEXT:     loop.store %{{.*}}, %y[1, %j] mask %m : memref<32x64xf32>, vector<8xf32>
//  CHECK-NEXT:     loop.reduce_lanes<max> %{{.*}} : vector<8xf32>
loop.kernel @vectors(%x: memref<32x64xf32>, %y: memref<32x64xf32>) {
  %m = arith.constant dense<[true, true, true, false, false, false, false, false]> : vector<8xi1>
  loop.for vector %j = 0 to 64 step 8 {
    %a = loop.load %x[0, %j] : memref<32x64xf32>, vector<8xf32>
    %b = loop.load %x[%j, 3] along 0 step 2 mask %m : memref<32x64xf32>, vector<8xf32>
    loop.store %b, %y[1, %j] mask %m : memref<32x64xf32>, vector<8xf32>
    %s = loop.reduce_lanes<max> %a : vector<8xf32>
  }
}

// CHECK-LABEL: program.func @host
//       CHECK:   loop.launch @vectors(%x, %y) : (memref<32x64xf32>, memref<32x64xf32>)
program.func @host(%x: memref<32x64xf32>, %y: memref<32x64xf32>) -> () {
  loop.launch @vectors(%x, %y) : (memref<32x64xf32>, memref<32x64xf32>)
}

/// What a kernel says of itself beside its loops; names and texts may be any.
// CHECK-LABEL: loop.kernel @facts(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N])
//  CHECK-SAME:   in_place(%y over %x) scheduled checks("dim 0 of x", "a {{.*}}b{{.*}} c") fallbacks("no strategy") attributes {note} {
loop.kernel @facts(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N])
    in_place(%y over %x) scheduled checks("dim 0 of x", "a \"b\" \\ c") fallbacks("no strategy") attributes {note} {
}
// CHECK-LABEL: program.func @launches
//       CHECK:   loop.launch @facts(%x, %y, %n) scratch 64 : (memref<8xf32>, memref<8xf32>, index)
program.func @launches(%x: memref<8xf32>) -> (%y: memref<8xf32>) {
  %n = arith.constant 8 : index
  loop.launch @facts(%x, %y, %n) scratch 64 : (memref<8xf32>, memref<8xf32>, index)
}

/// Effects, and calls of functions with symbolic sizes.
// CHECK-LABEL: program.func private @turn
//       CHECK:   loop.callback print "x = {0}" read(%x) into() : (memref<?xf32>)
//       CHECK:   loop.callback callback "f" read(%x) into(%y) : (memref<?xf32>, memref<?xf32>)
// CHECK-LABEL: program.func @turns
//       CHECK:   loop.repeat @turn count 3 index(%i) consts() carry(%y) spare(%z) over() into() temporaries() sizes(%n) counts [0, 1] : (memref<i64>, memref<?xf32>, memref<?xf32>, index)
program.func private @turn(%i: memref<i64>, %x: memref<?xf32>) -> (%y: memref<?xf32>) sizes(%n: index) shapes(%x[%n], %y[%n]) {
  loop.callback print "x = {0}" read(%x) into() : (memref<?xf32>)
  loop.callback callback "f" read(%x) into(%y) : (memref<?xf32>, memref<?xf32>)
}
program.func @turns(%x: memref<?xf32>) -> (%y: memref<?xf32>) sizes(%n: index) shapes(%x[%n], %y[%n]) {
  %i = memref.alloc() : memref<i64>
  %z = memref.alloc(%n) : memref<?xf32>
  "memref.copy"(%x, %y) : (memref<?xf32>, memref<?xf32>) -> ()
  loop.repeat @turn count 3 index(%i) consts() carry(%y) spare(%z) over() into() temporaries() sizes(%n) counts [0, 1] : (memref<i64>, memref<?xf32>, memref<?xf32>, index)
}
