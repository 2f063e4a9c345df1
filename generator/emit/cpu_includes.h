// Which headers a kernel of the user's own is compiled with on the CPU.
#pragma once

#include "generator/own/own_kernel.h"
#include "generator/weave/weave.h"

namespace tilepost {

// Takes away the inclusions of headers that only the CUDA Toolkit has, as cuBLAS's, and for which
// the CPU has no stand-in. Only the parts of the kernel's file that the kernel needs are kept, and
// mostly these need no such header: the file's host code does.
void leave_out_cudas_headers(const OwnKernel& own, WovenKernel& kernel);

}  // namespace tilepost
