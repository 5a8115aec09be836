// RUN: lamina-opt --compile-to=optimized %s | lamina-opt --compile-to=loop | filecheck %s --check-prefix=LOOP
// RUN: lamina-opt --compile-to=loop %s | lamina-opt --compile-to=scheduled | filecheck %s --check-prefix=SCHEDULED
// RUN: lamina-opt --compile-to=scheduled %s | lamina-opt --compile-to=program | filecheck %s --check-prefix=PROGRAM
// RUN: lamina-opt --compile-to=loop %s | lamina-opt --compile-to=llvmir | filecheck %s --check-prefix=LLVM
// RUN: lamina-opt --compile-to=program %s | lamina-opt --compile-to=llvmir | filecheck %s --check-prefix=LLVM
// RUN: lamina-opt --compile-to=program %s | lamina-run - --interpret --args ones:3x8xf32 '[-2, -1, 0, 1, 2, 3, 4, 5]' | filecheck %s --check-prefix=RESULT
// RUN: lamina-opt --compile-to=loop %s | lamina-run - --args ones:3x8xf32 '[-2, -1, 0, 1, 2, 3, 4, 5]' | filecheck %s --check-prefix=RESULT

/// What a phase prints is text that the next phase takes; where the pipeline is cut changes nothing.

// LOOP: func.func @main
// LOOP: loop.launch
// LOOP: loop.kernel
// LOOP-NOT: graph.

// SCHEDULED: func.func @main
// SCHEDULED: loop.kernel
// SCHEDULED: vector<

// PROGRAM: func.func @main
// PROGRAM-SAME: lamina.arena
// PROGRAM: loop.kernel

// LLVM: define {{.*}}@main
// LLVM: ret void

// RESULT: result 0: float32 3
// RESULT: [21. 21. 21.]

func.func @main(%x: tensor<3x8xf32>, %b: tensor<8xf32>) -> tensor<3xf32> {
  %bb = graph.broadcast %b to [1] : tensor<8xf32> -> tensor<3x8xf32>
  %s = graph.add %x, %bb : tensor<3x8xf32>
  %y = graph.relu %s : tensor<3x8xf32>
  %r = graph.reduce add %y over [1] : tensor<3x8xf32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}
