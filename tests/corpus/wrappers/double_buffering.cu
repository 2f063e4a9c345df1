// What the author's other headers have in front of it.
#include <algorithm>

constexpr int WARPSIZE = 32;

#include "12_kernel_double_buffering.cuh"
