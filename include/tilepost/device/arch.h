// Which architecture-specific instructions the current compilation pass has.
#ifndef TILEPOST_DEVICE_ARCH_H
#define TILEPOST_DEVICE_ARCH_H

// 1 if wgmma, setmaxnreg and the rest of sm_90a are there (CUDA C++ Programming Guide, "Feature
// Availability"). 0 in the host pass, where kernel bodies are not compiled.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define TILEPOST_ARCH_SM_90A 1
#else
#define TILEPOST_ARCH_SM_90A 0
#endif

#endif  // TILEPOST_DEVICE_ARCH_H
