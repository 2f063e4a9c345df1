#include <tilepost/mark.cuh>
__global__ void gemm(int* c) {
  const tilepost::Tile tile{};
  *c = tilepost::out_coord({}, tile, 0, 0).x;
  tilepost::tile_done(tile, tilepost::BulkStores{});
}
// exchanges
// expect: 2:17: error: kernel 'gemm' reaches no tilepost::open_exchange: other ranks may still read what its stores overwrite; call it in each thread that stores, before its first store
// expect: 2:17: error: kernel 'gemm' reaches no tilepost::num_places or no tilepost::out_place: its TMA stores go to the memory of several ranks; store each box once for every place
// expect: 2:17: error: kernel 'gemm' reaches no tilepost::part_stored: nothing tells other ranks that its part of a tile has come; call it after the part's last store
// expect: 2:17: error: kernel 'gemm' reaches no tilepost::exchange_tiles: the plan leaves it to warps of each CTA to add up what other ranks store; call it in warps that have nothing else to do
