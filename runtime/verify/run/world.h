// The ranks of one communicator and the memory in which they compute. This is the part of a target
// that a check needs.
//
// ../host/host_world.cpp and ../cuda/cuda_world.cpp each define open_world(). A harness links one
// of them.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "runtime/harness/plain_launch.h"
#include "runtime/verify/audit/kernel_runner.h"
#include "runtime/verify/reference/reference.h"
#include "tilepost/tilepost.h"

namespace tilepost::verify {

// A call of the target failed. what() names the call and the reason.
struct TargetError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws TargetError with tilepost_last_error() unless `result` is TILEPOST_OK.
inline void check(tilepost_result_t result, const char* call) {
  if (result == TILEPOST_OK) return;
  throw TargetError(std::string(call) + ": " + tilepost_result_name(result) + ": " +
                    tilepost_last_error());
}

// One rank's memory and arithmetic. A thread must call enter() before it uses them.
class RankDevice {
 public:
  virtual ~RankDevice() = default;
  virtual void enter() = 0;
  virtual CUstream_st* stream() = 0;

  virtual void* allocate(size_t bytes) = 0;  // aligned to 256 bytes
  virtual void release(void* memory) = 0;
  virtual void fill_bytes(void* memory, int byte, size_t bytes) = 0;
  virtual void copy_to_host(void* target, const void* source, size_t bytes) = 0;
  virtual void copy_to_device(void* target, const void* source, size_t bytes) = 0;

  // data[i] = element i of the stream, for i < count. An element has the type's size.
  virtual void fill_operand(void* data, int64_t count, const Distribution& distribution,
                            uint64_t stream, tilepost_dtype_t type) = 0;

  // data[i] = scale i of the stream.
  virtual void fill_scales(float* data, int64_t count, const Distribution& distribution,
                           uint64_t stream) = 0;

  // Computes the expected rows with its own arithmetic: fp32 or better, and a plain sum over ranks.
  virtual void reference(const ReferenceJob& job) = 0;
};

class World {
 public:
  virtual ~World() = default;
  virtual int ranks() const = 0;
  virtual RankDevice& device(int rank) = 0;

  // The communicator of rank `rank`, made on first use. Collective. Called on the rank's thread.
  virtual tilepost_comm_t comm(int rank) = 0;

  // The plan of the program that the runtime will choose here. Throws TargetError if no plan
  // serves.
  virtual const tilepost_plan_t& plan_of(const tilepost_program_t& program) const = 0;

  // How many products a check may compute for the reference before it takes a sample of rows.
  virtual double max_reference_products() const = 0;

  // Makes a runner for a plan's kernel, and for the plain kernel that it was woven from, on rank
  // 0's device.
  virtual std::unique_ptr<KernelRunner> runner(const tilepost_plan_t& plan,
                                               const harness::PlainLaunch& plain) = 0;

  // How many products an audit may compute by checking positions one by one before it takes a
  // sample.
  virtual double max_audit_products() const = 0;

  // How many products a slow but healthy machine computes in a second. The deadline follows from
  // it.
  virtual double slow_products_per_second() const = 0;
};

// The target's name in the report's lines: "host" or "cuda".
const char* target_name();

// How many of `ranks` ranks this machine can hold, if the ranks do not need each other.
int ranks_available(int ranks);

// The reason why this machine cannot run the program on `ranks` ranks, or "". It has too few GPUs,
// or GPUs that no plan serves.
std::string obstacle(const tilepost_program_t& program, int ranks);

// Opens a world of `ranks` ranks. Throws TargetError if this machine cannot hold so many ranks.
std::unique_ptr<World> open_world(int ranks);

}  // namespace tilepost::verify
