// Checks results before they are timed. Every variant's output on whole numbers is compared with a
// plain reference and, bit by bit, with cuBLASLt's output.
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

  // Runs `launch` once on set 0, prints the check records, and returns the number of wrong
  // elements.
  long long check(const char* variant, const Place& place, const std::function<void()>& launch);

  // Runs `launch` and `original` once each on set 0 and compares their outputs bit by bit.
  // `original` stores a row-major output. Prints the check record, and returns the number of wrong
  // elements.
  long long check_against(const char* variant, const Place& place,
                          const std::function<void()>& launch, const char* against,
                          const std::function<void()>& original);

  // Checks the output of cuBLASLt itself in the way of check().
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
