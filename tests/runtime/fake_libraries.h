// Stand-ins for CUDA's libraries of kernels.
#pragma once

namespace fakes {

// An image that the stand-ins load. It is told by its first word.
struct Image {
  unsigned magic = kMagic;
  unsigned kernels = 1;

  static constexpr unsigned kMagic = 0x466b496d;
};

// How many libraries are loaded.
int live_libraries();
// How many were loaded and unloaded in a way that would have ended a capture.
int unsafe_calls();

}  // namespace fakes
