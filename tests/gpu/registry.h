// The generated programs that a GPU test is built with.
//
// registry.cpp defines kPrograms and kNumPrograms. It is made beside the generated sources, or by
// this folder's CMakeLists.txt from the names of the .cu files that it finds there:
//
//   #include "tests/gpu/registry.h"
//   extern "C" const tilepost_program_t* attn_out_program(void);
//   const tilepost_program_t* const kPrograms[] = {attn_out_program()};
//   const int kNumPrograms = 1;
#pragma once

#include "tilepost/plan.h"

extern const tilepost_program_t* const kPrograms[];
extern const int kNumPrograms;
