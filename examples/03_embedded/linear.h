// A row-parallel linear layer of an imaginary framework: what embedding looks like from outside.
// Its users see neither tilepost nor the generated code.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

class RowParallelLinear {
 public:
  // One layer per rank, all in this process. Throws std::runtime_error with the reason.
  static std::vector<std::unique_ptr<RowParallelLinear>> create_all(int ranks);

  virtual ~RowParallelLinear() = default;

  // out[rows, columns] = sum over ranks of input[rows, depth] * weight[columns, depth]^T, bf16 as
  // raw bits. Called on every rank, each from a thread of its own.
  virtual void forward(const uint16_t* input, const uint16_t* weight, uint16_t* out) = 0;

  virtual int64_t rows() const = 0;
  virtual int64_t columns() const = 0;
  virtual int64_t depth() const = 0;
};
