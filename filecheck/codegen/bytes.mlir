// Unsigned bytes keep their type down to LLVM IR, where ops alone say what they are; vectors are of bytes.

// RUN: lamina-opt %s --target=x86-64-v4 --compile-to=loop | filecheck %s --check-prefix=LOOP
// RUN: lamina-opt %s --target=x86-64-v4 --compile-to=llvmir | filecheck %s --check-prefix=LLVM
// RUN: lamina-opt %s --target=x86-64-v4 --compile-to=asm | filecheck %s --check-prefix=V4
// RUN: lamina-opt %s --target=x86-64-v4 --compile-to=scheduled | lamina-opt --compile-to=asm | filecheck %s --check-prefix=V4
// RUN: lamina-opt %s --target=aarch64 --compile-to=asm | filecheck %s --check-prefix=NEON

/// The greater of 200 and a sum that wraps.
func.func @greater(%x: tensor<1024xui8>) -> tensor<1024xui8> {
  %c = graph.const dense<200> : tensor<ui8>
  %b = graph.broadcast %c to [] : tensor<ui8> -> tensor<1024xui8>
  %s = graph.add %x, %x : tensor<1024xui8>
  %y = graph.max %s, %b : tensor<1024xui8>
  return %y : tensor<1024xui8>
}

/// Bytes are summed in 32 bits, into which they are extended by zeros.
func.func @total(%x: tensor<1024xui8>) -> tensor<i32> {
  %w = graph.convert %x : tensor<1024xui8> -> tensor<1024xi32>
  %s = graph.reduce add %w over [0] : tensor<1024xi32> -> tensor<i32>
  return %s : tensor<i32>
}

//      LOOP: loop.kernel @{{.*}}add_max(%x: memref<1024xui8>, %out: memref<1024xui8>)
//      LOOP: %[[C:.+]] = arith.constant 200 : ui8
//      LOOP: %[[X:.+]] = loop.load %x[%i] : memref<1024xui8>
// LOOP-NEXT: %[[S:.+]] = arith.addi %[[X]], %[[X]] : ui8
// LOOP-NEXT: arith.maxui %[[S]], %[[C]] : ui8
//      LOOP: loop.kernel @convert_reduce
//      LOOP: arith.extui %{{.+}} : ui8 to i32

// LLVM: call <{{[0-9]+}} x i8> @llvm.umax
// LLVM: zext <64 x i8> %{{.+}} to <64 x i32>

// V4: vpaddb {{.*}}%zmm
// V4: vpmaxub {{.*}}%zmm
// V4: vpmovzxbd {{.*}}%zmm

// NEON: umax v{{[0-9]+}}.16b
