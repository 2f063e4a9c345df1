// One rank of ffn_down on its GPU: what all ways to start ranks have in common.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "data.h"

inline void check(tilepost_result_t result) {
  if (result == TILEPOST_OK) return;
  std::fprintf(stderr, "%s: %s\n", tilepost_result_name(result), tilepost_last_error());
  std::exit(1);
}

inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

inline tilepost::Bf16* to_device(const std::vector<tilepost::Bf16>& matrix) {
  tilepost::Bf16* device = nullptr;
  check(cudaMalloc(&device, matrix.size() * sizeof(matrix[0])));
  check(
      cudaMemcpy(device, matrix.data(), matrix.size() * sizeof(matrix[0]), cudaMemcpyHostToDevice));
  return device;
}

// Its operands in, the sum over all ranks out. `device`: by this process's count.
inline void run_rank(int rank, int device, const tilepost_unique_id_t& id, const Operands& operands,
                     std::vector<tilepost::Bf16>& out) {
  check(cudaSetDevice(device));
  tilepost_comm_t comm = nullptr;
  check(tilepost_comm_init(&id, rank, ffn_down::kRanks, &comm));
  tilepost_op_t op = nullptr;
  check(tilepost_op_create(comm, ffn_down_program(), nullptr, &op));

  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  tilepost::Bf16* a = to_device(operands.a);
  tilepost::Bf16* b = to_device(operands.b);
  tilepost::Bf16* c = to_device(out);
  check(tilepost_op_run(op, a, b, c, stream));
  check(tilepost_op_synchronize(op));
  check(cudaMemcpy(out.data(), c, out.size() * sizeof(out[0]), cudaMemcpyDeviceToHost));

  check(tilepost_op_destroy(op));
  check(tilepost_comm_destroy(comm));
  check(cudaStreamDestroy(stream));
  for (tilepost::Bf16* pointer : {a, b, c}) check(cudaFree(pointer));
}

// Runs one rank where the other ranks are other processes, and returns how many elements came out
// wrong. Every rank can make all operands, so each checks its own output.
inline int64_t run_and_check(int rank, int device, const tilepost_unique_id_t& id) {
  std::vector<Operands> operands;
  for (int r = 0; r < ffn_down::kRanks; ++r) operands.push_back(random_operands(r));
  std::vector<tilepost::Bf16> out(ffn_down::kOutElements);
  run_rank(rank, device, id, operands[rank], out);
  return count_wrong(operands, out);
}

// The rank's GPU: a process may see all of its host's, or its own alone.
inline int device_of(int local_rank) {
  int gpus = 0;
  check(cudaGetDeviceCount(&gpus));
  return gpus == 1 ? 0 : local_rank;
}

inline void check_world(int world) {
  if (world == ffn_down::kRanks) return;
  std::fprintf(stderr, "ffn_down is planned for %d ranks, there are %d\n", ffn_down::kRanks, world);
  std::exit(1);
}

inline int report(int rank, int64_t wrong) {
  std::printf("rank %d: ffn_down: %lld x %lld summed over %d GPUs, %lld elements wrong\n", rank,
              static_cast<long long>(ffn_down::kM), static_cast<long long>(ffn_down::kN),
              ffn_down::kRanks, static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
