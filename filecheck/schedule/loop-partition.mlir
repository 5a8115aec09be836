// RUN: lamina-opt %s %validate -p 'loop-partition{kernel=pad loop=i},loop-partition{kernel=pad loop=j},loop-partition{kernel=always loop=i},loop-partition{kernel=blocks loop=i},loop-partition{kernel=open loop=i}' | filecheck %s
// RUN: not lamina-opt %s -p 'loop-partition{kernel=no_condition loop=i}' 2>&1 | filecheck %s --check-prefix=CONDITION
// RUN: not lamina-opt %s -p 'loop-partition{kernel=no_iteration loop=i}' 2>&1 | filecheck %s --check-prefix=ITERATION
// RUN: not lamina-opt %s -p 'loop-partition{kernel=no_range loop=i}' 2>&1 | filecheck %s --check-prefix=RANGE
// RUN: not lamina-opt %s -p 'loop-partition{kernel=no_bounds loop=i}' 2>&1 | filecheck %s --check-prefix=BOUNDS
// RUN: not lamina-opt %s -p 'loop-partition{kernel=no_carried loop=i}' 2>&1 | filecheck %s --check-prefix=CARRIED

/// Rows of padding first; of the others the padding at both ends. What decided is gone.
// CHECK-LABEL: loop.kernel @pad
// CHECK: loop.for parallel %i_start = 0 to 1 {
// CHECK-NEXT: loop.for parallel %j_start = 0 to 8 {
// CHECK-NEXT: loop.store %zero, %y[%i_start, %j_start] : memref<4x8xf32>
// CHECK: loop.for parallel %i = 1 to 4 {
// CHECK-NEXT: loop.for parallel %j_start2 = 0 to 2 {
// CHECK-NEXT: loop.store %zero, %y[%i, %j_start2] : memref<4x8xf32>
// CHECK: loop.for parallel %j = 2 to 7 {
// CHECK-NEXT: [[A:%.*]] = loop.load %x[%i - 1, %j - 2] : memref<3x5xf32>
// CHECK-NEXT: loop.store [[A]], %y[%i, %j] : memref<4x8xf32>
// CHECK: loop.for parallel %j_end = 7 to 8 {
// CHECK-NEXT: loop.store %zero, %y[%i, %j_end] : memref<4x8xf32>
// CHECK-NOT: loop.if
loop.kernel @pad(%x: memref<3x5xf32>, %y: memref<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %seven = arith.constant 7 : index
  loop.for parallel %i = 0 to 4 {
    loop.for parallel %j = 0 to 8 {
      %a = arith.cmpi sge, %i, %one : index
      %b = arith.cmpi sle, %two, %j : index
      %c = arith.cmpi slt, %j, %seven : index
      %ab = arith.andi %a, %b : i1
      %abc = arith.andi %ab, %c : i1
      %v = loop.if %abc -> f32 {
        %w = loop.load %x[%i - 1, %j - 2] : memref<3x5xf32>
        loop.yield %w : f32
      } else {
        loop.yield %zero : f32
      }
      loop.store %v, %y[%i, %j] : memref<4x8xf32>
    }
  }
}

/// Where the conditions hold depends on the block: some blocks are all padding.
// CHECK-LABEL: loop.kernel @blocks
// CHECK: loop.for parallel %io = 0 to 12 step 4 {
// CHECK-NEXT: loop.for parallel %i_start = 0 to min(4, -%io + 2) {
// CHECK-NEXT: loop.store %zero, %y[%io + %i_start] : memref<12xf32>
// CHECK: loop.for parallel %i = max(0, -%io + 2) to min(4, -%io + 7) {
// CHECK-NEXT: [[A:%.*]] = loop.load %x[%io + %i - 2] : memref<5xf32>
// CHECK-NEXT: loop.store [[A]], %y[%io + %i] : memref<12xf32>
// CHECK: loop.for parallel %i_end = max(0, -%io + 7) to 4 {
// CHECK-NEXT: loop.store %zero, %y[%io + %i_end] : memref<12xf32>
// CHECK-NOT: loop.if
loop.kernel @blocks(%x: memref<5xf32>, %y: memref<12xf32>) {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2 : index
  %seven = arith.constant 7 : index
  loop.for parallel %io = 0 to 12 step 4 {
    loop.for parallel %i = 0 to 4 {
      %at = arith.addi %io, %i : index
      %a = arith.cmpi sge, %at, %two : index
      %b = arith.cmpi slt, %at, %seven : index
      %ab = arith.andi %a, %b : i1
      %v = loop.if %ab -> f32 {
        %w = loop.load %x[%io + %i - 2] : memref<5xf32>
        loop.yield %w : f32
      } else {
        loop.yield %zero : f32
      }
      loop.store %v, %y[%io + %i] : memref<12xf32>
    }
  }
}

/// A condition that holds in all iterations goes, and what does not run.
// CHECK-LABEL: loop.kernel @always
// CHECK: loop.for seq %i = 0 to 4 {
// CHECK-NEXT: loop.store %zero, %y[%i] : memref<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
loop.kernel @always(%y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %four = arith.constant 4 : index
  loop.for seq %i = 0 to 4 {
    %a = arith.muli %i, %four : index
    %b = arith.cmpi slt, %a, %four : index
    %c = arith.cmpi sgt, %four, %i : index
    loop.if %c {
      loop.store %zero, %y[%i] : memref<4xf32>
    }
  }
}

// CONDITION: loop-partition{kernel=no_condition loop=i}: no condition in i depends on its index alone
loop.kernel @no_condition(%x: memref<4xindex>, %y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 4 {
    %k = loop.load %x[%i] : memref<4xindex>
    %a = arith.cmpi slt, %k, %i : index
    loop.if %a {
      loop.store %zero, %y[%i] : memref<4xf32>
    }
  }
}

// ITERATION: loop-partition{kernel=no_iteration loop=i}: the conditions in i hold in none of its iterations together
loop.kernel @no_iteration(%y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2 : index
  loop.for parallel %i = 0 to 4 {
    %a = arith.cmpi slt, %i, %two : index
    %b = arith.cmpi sgt, %i, %two : index
    %c = arith.andi %a, %b : i1
    loop.if %c {
      loop.store %zero, %y[%i] : memref<4xf32>
    }
  }
}

// BOUNDS: loop-partition{kernel=no_bounds loop=i}: i needs step 1
loop.kernel @no_bounds(%y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 4 step 2 {
    loop.store %zero, %y[%i] : memref<4xf32>
  }
}

// CARRIED: loop-partition{kernel=no_carried loop=i}: i carries values from one iteration to the next
loop.kernel @no_carried(%x: memref<4xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to 4 init %zero : f32 {
    %a = loop.load %x[%i] : memref<4xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}

/// From one of the two numbers on that is greater: which one that is is not known.
// RANGE: loop-partition{kernel=no_range loop=i}: the conditions in i are not known to hold from one place up to another
loop.kernel @no_range(%y: memref<4xf32>, %N: index, %M: index) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel %i = 0 to 4 {
    %a = arith.cmpi sge, %i, %N : index
    %b = arith.cmpi sge, %i, %M : index
    %ab = arith.andi %a, %b : i1
    loop.if %ab {
      loop.store %zero, %y[%i] : memref<4xf32>
    }
  }
}

/// Bounds that are no numbers: comparisons with values whose differences are numbers.
// CHECK-LABEL: loop.kernel @open
//       CHECK:   loop.for seq %i_start = 0 to min({{%N, 1|1, %N}}) {
//       CHECK:     loop.if
//       CHECK:   loop.for seq %i = 1 to %N - 1 {
//   CHECK-NOT:     loop.if
//       CHECK:   loop.for seq %i_end = max({{.*}}) to %N {
//       CHECK:     loop.if
loop.kernel @open(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %nothing = arith.constant 0.0 : f32
  loop.for seq %i = 0 to %N {
    %before = arith.subi %i, %one : index
    %after = arith.addi %i, %one : index
    %a = arith.cmpi sge, %before, %zero : index
    %b = arith.cmpi slt, %after, %N : index
    %in = arith.andi %a, %b : i1
    %v = loop.if %in -> f32 {
      %u = loop.load %x[%i - 1] : memref<?xf32>
      %w = loop.load %x[%i + 1] : memref<?xf32>
      %s = arith.addf %u, %w : f32
      loop.yield %s : f32
    } else {
      loop.yield %nothing : f32
    }
    loop.store %v, %y[%i] : memref<?xf32>
  }
}
