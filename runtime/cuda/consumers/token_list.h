// Makes the list of the tile rows of a run whose tokens go to experts, from the tables of a
// routing. The kernel makes the same list as list_token_tiles (tilepost/host/token_list.h). Where
// ranks push tokens (RunPath::pushes_tokens), other blocks of it store this rank's tokens in the
// memory of all other ranks.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "runtime/cuda/consumers/row_pushes.h"
#include "runtime/cuda/consumers/rows_bound.h"
#include "tilepost/internal/token_tiles.h"

namespace tilepost::cuda {

struct TokenListArguments {
  const int32_t* expert_ends;
  const int32_t* row_tokens;
  int experts;
  int m;  // rows at most in this run
  int tile_m;
  int most;  // tile rows at most in any run that uses the memory
  TokenGroups groups;
  RowsBound bound;
  void* memory;      // token_list_bytes(most), zeroed before the first launch; the list is at its
                     // beginning
  RowPushes pushes;  // without groups if the kernel pushes nothing
};

cudaError_t preload_token_list();
// There are at most `sms` blocks that list tile rows, and as many that push.
cudaError_t launch_token_list(const TokenListArguments& arguments, int sms, cudaStream_t stream);

}  // namespace tilepost::cuda
