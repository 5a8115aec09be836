// RUN: lamina-opt %s --compile-to=optimized | filecheck %s --check-prefix=OPTIMIZED
// RUN: lamina-opt %s --compile-to=optimized | lamina-opt --compile-to=loop | lamina-opt --compile-to=scheduled | lamina-opt --compile-to=program | filecheck %s --check-prefix=PROGRAM
// RUN: lamina-opt %s --compile-to=llvmir > %t && lamina-opt %s --compile-to=loop | lamina-opt --compile-to=llvmir | diff %t - && filecheck %s --check-prefix=LLVM --input-file %t
// RUN: lamina-opt %s --compile-to=scheduled | lamina-run - --args ones:4x8xf32 | filecheck %s --check-prefix=RESULT
// RUN: lamina-opt %s --compile-to=program | lamina-run - --interpret --args ones:4x8xf32 | filecheck %s --check-prefix=RESULT

/// What a phase prints is fed back in and continued, to the same end.

//    OPTIMIZED: lamina.phase = "optimized"
//    OPTIMIZED: graph.max
//      PROGRAM: lamina.phase = "program"
//      PROGRAM: memref.view
//         LLVM: define void @main(
//       RESULT: result 0: float32 4
//       RESULT: [8. 8. 8. 8.]
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = graph.relu %x : tensor<4x8xf32>
  %1 = graph.reshape %0 : tensor<4x8xf32> -> tensor<8x4xf32>
  %2 = graph.transpose %1 perm [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %3 = graph.reduce add %2 over [1] : tensor<4x8xf32> -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
