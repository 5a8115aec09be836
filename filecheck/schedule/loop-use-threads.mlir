// RUN: lamina-opt %s -p 'loop-use-threads{kernel=plain loop=i},loop-use-threads{kernel=panels loop=jo collapse=2},loop-use-threads{kernel=segments loop=do interchange=true align=true}' | filecheck %s
// RUN: lamina-opt %s -p 'loop-use-threads{kernel=plain loop=i},loop-use-threads{kernel=panels loop=jo collapse=2},loop-use-threads{kernel=segments loop=do interchange=true align=true}' | lamina-opt --target=x86-64-v3 --compile-to=llvmir | filecheck %s --check-prefix=LLVM
// RUN: lamina-opt %s %validate -p 'loop-use-threads{kernel=no_sequence loop=i}' --verify-diagnostics
// RUN: lamina-opt %s --target=x86-64-v3 --compile-to=scheduled | filecheck %s --check-prefix=AUTO

/// What a schedule says is kept: of a loop that is too small to be worth threads, too.
//  CHECK-LABEL: loop.kernel @plain
//        CHECK:   loop.for parallel %i = 0 to 64 threads {
//         LLVM: define {{.*}} @plain
//         LLVM:   call void @lamina_parallel(ptr @"plain.parallel0", ptr %{{.+}}, i64 64,
//   AUTO-LABEL: loop.kernel @plain
//     AUTO-NOT:   threads
loop.kernel @plain(%x: memref<64xf32>, %y: memref<64xf32>) {
  loop.for parallel %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    loop.store %a, %y[%i] : memref<64xf32>
  }
}

/// Chunks are numbered through both loops; each thread computes what the second one reads.
//  CHECK-LABEL: loop.kernel @panels
//        CHECK:   loop.for parallel %jo = 0 to 12 threads(collapse 2) {
//        CHECK:     loop.for parallel %io = 0 to 22 {
//         LLVM: define {{.*}} @panels
//         LLVM:   call void @lamina_parallel(ptr @"panels.parallel{{[0-9]+}}", ptr %{{.+}}, i64 264,
loop.kernel @panels(%x: memref<12xf32>, %y: memref<12x22xf32>) {
  loop.for parallel %jo = 0 to 12 {
    %t = loop.alloc stack : memref<1xf32>
    %a = loop.load %x[%jo] : memref<12xf32>
    loop.store %a, %t[0] : memref<1xf32>
    loop.for parallel %io = 0 to 22 {
      %b = loop.load %t[0] : memref<1xf32>
      loop.store %b, %y[%jo, %io] : memref<12x22xf32>
    }
  }
}

/// A thread with several parts of the columns goes through the rows once, and begins at a cache line.
//  CHECK-LABEL: loop.kernel @segments
//        CHECK:   loop.for parallel %do = 0 to %D step 32 threads(interchange, align) {
//         LLVM: define {{.*}} @segments
//         LLVM:   define internal void @"segments.parallel{{[0-9]+}}.body"
//         LLVM:   ptrtoint ptr
//         LLVM:   label %single
//   AUTO-LABEL: loop.kernel @segments
//         AUTO:   loop.for parallel %do = 0 to %D step 32 threads(interchange, align) {
loop.kernel @segments(%x: memref<?x?xf32>, %p: memref<?xi64>, %out: memref<?x?xf32>, %E: index, %D: index, %N: index)
    shapes(%x[%E, %D], %p[%E], %out[%N + 1, %D]) {
  %size = arith.constant 32 : index
  %zero = arith.constant 0 : index
  loop.for parallel %do = 0 to %D step 32 {
    loop.for seq %e = 0 to %E {
      %rest = arith.subi %D, %do : index
      %n = arith.minsi %size, %rest : index
      loop.for vector %di = 0 to 32 step 32 {
        %m = vector.create_mask %n : vector<32xi1>
        %at = loop.load %p[%e] : memref<?xi64>
        %wanted = arith.index_cast %at : i64 to index
        %first = arith.maxsi %wanted, %zero : index
        %row = arith.minsi %first, %N : index
        %a = loop.load %x[%e, %do + %di] mask %m : memref<?x?xf32>, vector<32xf32>
        %b = loop.load %out[%row, %do + %di] mask %m : memref<?x?xf32>, vector<32xf32>
        %c = arith.addf %a, %b : vector<32xf32>
        loop.store %c, %out[%row, %do + %di] mask %m : memref<?x?xf32>, vector<32xf32>
      }
    }
  }
}

/// Only loops whose iterations are independent.
loop.kernel @no_sequence(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error@+1 {{loop-use-threads{kernel=no_sequence loop=i}: 'i' is seq: parallelize it first}}
  loop.for seq %i = 0 to 8 {
    %a = loop.load %x[%i] : memref<8xf32>
    loop.store %a, %y[%i] : memref<8xf32>
  }
}
