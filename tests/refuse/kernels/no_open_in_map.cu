#include <tilepost/mark.cuh>
__global__ void gemm(float* c) {
  const float* map = tilepost::in_map(c, {});
  tilepost::input_ready({}, tilepost::BulkLoads{});
  tilepost::helper_warp({}, tilepost::DType::bf16, 1);
  tilepost::out(c, 0, 0, 1) = *map;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// waits
// tasks
// expect: 2:17: error: kernel 'gemm' reaches no tilepost::open_in_map: a tensor map that it loads with lies in global memory, of which TMA may remember an older one; call it in the thread that loads, before its first load
