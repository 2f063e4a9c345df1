// The configurations of the templates that plain_gemm.cu checks and times. Each list has a file of
// its own, so that lists compile in parallel.
#pragma once

#include <vector>

#include "tests/gpu/plain_launch.cuh"

#ifndef TILEPOST_TEST_SM80_MORE
#define TILEPOST_TEST_SM80_MORE 1
#endif

std::vector<plain::Kernel> sm90_kernels();
std::vector<plain::Kernel> sm90_more_kernels();
std::vector<plain::Kernel> sm90_tiles_kernels();
std::vector<plain::Kernel> sm80_kernels();
std::vector<plain::Kernel> sm80_more_kernels();
