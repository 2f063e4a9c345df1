// Refuses flags of nvcc under which ptxas serialises wgmma or ignores setmaxnreg, which costs much
// of a kernel's speed and changes nothing else. Headers of kernels that use both include this one.
// Only flags that define a macro can be detected here (NVCC documentation, Compilation Macros).
// docs/generated-code.md lists the others.
#ifndef TILEPOST_DEVICE_FAST_WGMMA_CUH
#define TILEPOST_DEVICE_FAST_WGMMA_CUH

#include "tilepost/device/arch.h"

#if TILEPOST_ARCH_SM_90A && !defined(TILEPOST_ALLOW_SLOW_WGMMA)
#ifdef __CUDACC_RDC__
#error \
    "relocatable device code (-rdc=true, -dc, CUDA_SEPARABLE_COMPILATION) makes this kernel slow: ptxas ignores setmaxnreg and may serialise wgmma. Compile this file with -rdc=false and -c, or define TILEPOST_ALLOW_SLOW_WGMMA"
#endif
#ifdef __CUDACC_DEBUG__
#error \
    "device debug code (-G) makes this kernel slow: ptxas ignores setmaxnreg and serialises wgmma. Compile this file with -lineinfo in place of -G, or define TILEPOST_ALLOW_SLOW_WGMMA"
#endif
#endif

#endif  // TILEPOST_DEVICE_FAST_WGMMA_CUH
