// Checks results before they are timed: every variant's output on whole numbers is compared with a
// plain reference and, bit by bit, with cuBLASLt's.
#pragma once

#include <functional>
#include <vector>

#include "runtime/bench/gemm/cublas_lt.h"
#include "runtime/bench/gemm/gemm.h"

namespace tilepost::bench {

class Checker {
 public:
  Checker(const char* program, const tilepost_plan_t& plan, Operands& operands, CublasLt& cublas,
          uint64_t seed, cudaStream_t stream);

  // Runs `launch` once on set 0, prints the check records, and returns how many elements are wrong.
  long long check(const char* variant, const Place& place, const std::function<void()>& launch);

  // As check(), for two launches, whose outputs are compared bit by bit: `original` stores a
  // row-major output.
  long long check_against(const char* variant, const Place& place,
                          const std::function<void()>& launch, const char* against,
                          const std::function<void()>& original);

  // As check(), for cuBLASLt itself.
  long long check_cublas();

 private:
  long long count(const char* variant, const char* against, long long elements,
                  const std::function<void(unsigned long long*)>& compare);

  const char* const program_;
  const tilepost_plan_t& plan_;
  Operands& operands_;
  CublasLt& cublas_;
  const cudaStream_t stream_;
  cuda::DeviceMemory expected_, rows_, wrong_;
  int num_rows_ = 0;
};

}  // namespace tilepost::bench
