#include <tilepost/mark.cuh>
__global__ void gemm(int* c) {
  const tilepost::Tile tile{};
  *tilepost::out_map(c, tile);
  *c = tilepost::out_coord({}, tile, 0, 0).x;
  tilepost::tile_done(tile, tilepost::BulkStores{});
}
// stores
// expect: 2:17: error: kernel 'gemm' reaches no tilepost::open_out_maps: the tensor maps it stores with lie in global memory, of which TMA may remember older ones; call it in each thread that stores, before its first store
