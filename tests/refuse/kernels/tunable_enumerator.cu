// tunable: ELEMENT=tilepost::DType::f64
#include <tilepost/mark.cuh>
constexpr tilepost::DType kElement = tilepost::tunable("ELEMENT", tilepost::DType::bf16);
__global__ void gemm(float* c) {
  tilepost::out(c, int(kElement), 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// expect: 3:38: error: tunable 'ELEMENT' is of type 'tilepost::DType' here, which 'tilepost::DType::f64' is no value of
