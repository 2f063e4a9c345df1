#include <tilepost/mark.cuh>
struct Sum {
  float value;
};
__device__ void operator>>(Sum sum, float* c) { tilepost::out(c, 0, 0, 1) = sum.value; }
__global__ void gemm(float* c) {
  Sum{1} >> c;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// expect: 5:49: error: the mark 'out' is used in an overloaded operator, where the weaver cannot add a parameter; move it to a function with a name
