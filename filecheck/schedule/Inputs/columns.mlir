loop.kernel @columns(%x: memref<256x8xf32>, %m: memref<8xf32>, %y: memref<8xf32>) {
  %z = arith.constant 0.0 : f32
  loop.for parallel %j = 0 to 8 {
    %c = loop.load %m[%j] : memref<8xf32>
    %s = loop.for reduce<add> %i = 0 to 256 init %z : f32 {
      %a = loop.load %x[%i, %j] : memref<256x8xf32>
      %d = arith.subf %a, %c : f32
      loop.yield %d : f32
    }
    loop.store %s, %y[%j] : memref<8xf32>
  }
}
