// RUN: lamina-opt %s | lamina-opt | filecheck %s
// RUN: lamina-opt %s --print-op-generic | lamina-opt | filecheck %s
// REQUIRES: mlir-opt
// RUN: lamina-opt %s | mlir-opt | lamina-opt | filecheck %s

/// Hexadecimal floats are bits: infinities and NaNs with their payload survive a round trip.
// CHECK-LABEL: @nonfinite
//  CHECK-NEXT:   dense<0xFF800000> : tensor<4xf32>
//  CHECK-NEXT:   dense<[0x7FC00001, 0x7F800000]> : tensor<2xf32>
//  CHECK-NEXT:   dense<0x7FF8000000000000> : tensor<2xf64>
//  CHECK-NEXT:   dense<0x7C00> : tensor<2xf16>
func.func @nonfinite() {
  %0 = arith.constant dense<0xFF800000> : tensor<4xf32>
  %1 = arith.constant dense<[0x7FC00001, 0x7F800000]> : tensor<2xf32>
  %2 = arith.constant dense<0x7FF8000000000000> : tensor<2xf64>
  %3 = arith.constant dense<0x7C00> : tensor<2xf16>
  return
}

/// A negative zero is not a zero: this is no splat.
// CHECK-LABEL: @signed_zeros
//  CHECK-NEXT:   dense<[0.000000e+00, -0.000000e+00]> : tensor<2xf32>
//  CHECK-NEXT:   dense<-0.000000e+00> : tensor<2xf32>
func.func @signed_zeros() {
  %0 = arith.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %1 = arith.constant dense<-0.0> : tensor<2xf32>
  return
}

/// Truth values print as words.
// CHECK-LABEL: @booleans
//  CHECK-NEXT:   dense<[true, false]> : tensor<2xi1>
//  CHECK-NEXT:   dense<true> : tensor<3xi1>
func.func @booleans() {
  %0 = arith.constant dense<[true, false]> : tensor<2xi1>
  %1 = arith.constant dense<true> : tensor<3xi1>
  return
}
