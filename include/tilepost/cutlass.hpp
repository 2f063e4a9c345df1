// CUTLASS 3 kernels for Hopper whose tiles overlap with communication. docs/cutlass.md explains
// them.
//
// A kernel of type cutlass::gemm::kernel::GemmUniversal takes the last two of these template
// arguments from tilepost:
//
//   using Gemm = cutlass::gemm::kernel::GemmUniversal<
//       cute::Shape<int, int, int>, Mainloop, tilepost::cutlass::Epilogue<CollectiveEpilogue>,
//       tilepost::cutlass::Scheduler>;
//
// The user brings CUTLASS's headers. tilepost neither has nor links them.
#ifndef TILEPOST_CUTLASS_HPP
#define TILEPOST_CUTLASS_HPP

#include "tilepost/cutlass/epilogue.hpp"
#include "tilepost/cutlass/launch.hpp"
#include "tilepost/cutlass/schedule.h"
#include "tilepost/cutlass/tile_scheduler.hpp"

#endif  // TILEPOST_CUTLASS_HPP
