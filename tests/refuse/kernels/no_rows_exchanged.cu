#include <tilepost/mark.cuh>
__global__ void gemm(int* c) {
  const tilepost::Tile tile{};
  *c = tilepost::out_coord({}, tile, 0, 0).x;
  tilepost::tile_done(tile, tilepost::BulkStores{});
}
// gathers
// expect: 2:17: error: kernel 'gemm' reaches no tilepost::open_input: nothing says where idle warps of each CTA tell which rows of A have come; call it in one thread, before the first barrier of the CTA
// expect: 2:17: error: kernel 'gemm' reaches no tilepost::in_map: this rank's rows of A and those that arrive lie in different memory, each with a tensor map of its own; take the map from it
// expect: 2:17: error: kernel 'gemm' reaches no tilepost::exchange_rows: the plan leaves it to warps of each CTA to store rows of A with other ranks; call it in warps that have nothing else to do
