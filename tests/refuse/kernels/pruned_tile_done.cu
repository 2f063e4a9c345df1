#include <tilepost/mark.cuh>
constexpr bool kSignal = tilepost::tunable("SIGNAL", false);
__global__ void gemm(float* c) {
  tilepost::out(c, 0, 0, 1) = 1;
  if constexpr (kSignal) tilepost::tile_done({}, tilepost::BlockStores{});
}
// expect: 3:17: error: kernel 'gemm' reaches no tilepost::tile_done
