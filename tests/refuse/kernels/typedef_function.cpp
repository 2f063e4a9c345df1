#include <tilepost/mark.cuh>
using Helper = void(float*);
Helper store;
void gemm(float* c) {
  store(c);
  tilepost::tile_done({}, tilepost::BlockStores{});
}
void store(float* c) { tilepost::out(c, 0, 0, 1) = 1; }
// expect: 3:8: error: the parameters of 'store' are not written here, so none can be added; declare it with a parameter list
