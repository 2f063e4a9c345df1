// Runs proj a few times, prints the plan it follows and how long a run took.
#include <tilepost/numeric.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "proj.h"
#ifdef PROJ_ON_GPUS
#include <cuda_runtime.h>
#endif

namespace proj = tilepost_gen_proj;

namespace {

using Matrix = std::vector<tilepost::F16>;
constexpr int kRuns = 5;

void check(tilepost_result_t result) {
  if (result == TILEPOST_OK) return;
  std::fprintf(stderr, "%s: %s\n", tilepost_result_name(result), tilepost_last_error());
  std::exit(1);
}

#ifdef PROJ_ON_GPUS
void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

// A matrix where the target reads it: device memory here, host memory on the host target.
void* place(const Matrix& matrix) {
  void* device = nullptr;
  check(cudaMalloc(&device, matrix.size() * sizeof(matrix[0])));
  check(
      cudaMemcpy(device, matrix.data(), matrix.size() * sizeof(matrix[0]), cudaMemcpyHostToDevice));
  return device;
}
void fetch(Matrix& matrix, void* placed) {
  check(
      cudaMemcpy(matrix.data(), placed, matrix.size() * sizeof(matrix[0]), cudaMemcpyDeviceToHost));
  check(cudaFree(placed));
}
CUstream_st* make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}
#else
void* place(Matrix& matrix) {
  return matrix.data();
}
void fetch(Matrix&, void*) {}
CUstream_st* make_stream() {
  return nullptr;
}
#endif

void print_plan(tilepost_op_t op) {
  tilepost_op_info_t info;
  check(tilepost_op_get_info(op, &info));
  const tilepost_map_t& map = info.plan->map;
  std::printf("plan: %lld x %lld x %lld, tiles of %d x %d, %d groups\n",
              static_cast<long long>(map.m), static_cast<long long>(map.n),
              static_cast<long long>(info.plan->k), map.tile_m, map.tile_n, map.num_groups);
  for (int group = 0; group < map.num_groups; ++group)
    std::printf("  group %d: %d tiles, %lld elements sent\n", group,
                info.plan->groups[group].num_tiles,
                static_cast<long long>(info.plan->groups[group].count));
}

// A is all ones and B is 1/kK everywhere, so the sum over ranks is kRanks everywhere, up to the
// rounding of 1/kK.
void run_rank(int rank, tilepost_comm_t comm, bool& right) {
  tilepost_op_t op = nullptr;
  check(tilepost_op_create(comm, proj_program(), nullptr, &op));
  if (rank == 0) print_plan(op);

  Matrix a(proj::kM * proj::kK, tilepost::to_f16(1));
  Matrix b(proj::kN * proj::kK, tilepost::to_f16(1.0f / proj::kK));
  Matrix out(proj::kOutElements);
  void *placed_a = place(a), *placed_b = place(b), *placed_out = place(out);

  CUstream_st* stream = make_stream();

  const auto start = std::chrono::steady_clock::now();
  for (int run = 0; run < kRuns; ++run)
    check(tilepost_op_run(op, placed_a, placed_b, placed_out, stream));
  check(tilepost_op_synchronize(op));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  if (rank == 0) std::printf("a run took %.3f ms\n", took.count() / kRuns);

  check(tilepost_op_destroy(op));
  fetch(a, placed_a);
  fetch(b, placed_b);
  fetch(out, placed_out);
  for (const tilepost::F16 element : out) {
    const float error = to_float(element) / proj::kRanks - 1;
    if (!(error > -0.01f && error < 0.01f)) right = false;
  }
}

}  // namespace

int main() {
  std::vector<tilepost_comm_t> comms(proj::kRanks);
#ifdef PROJ_ON_GPUS
  tilepost_unique_id_t id;
  check(tilepost_get_unique_id(&id));
#else
  check(tilepost_comm_create_host(proj::kRanks, comms.data()));
#endif
  bool right[proj::kRanks];
  std::vector<std::thread> threads;
  for (int rank = 0; rank < proj::kRanks; ++rank)
    threads.emplace_back([&, rank] {
      right[rank] = true;
#ifdef PROJ_ON_GPUS
      check(cudaSetDevice(rank));
      check(tilepost_comm_init(&id, rank, proj::kRanks, &comms[rank]));
#endif
      run_rank(rank, comms[rank], right[rank]);
      check(tilepost_comm_destroy(comms[rank]));
    });
  for (std::thread& thread : threads) thread.join();
  for (const bool each : right)
    if (!each) {
      std::printf("proj: wrong\n");
      return 1;
    }
  std::printf("proj: right on all %d ranks\n", proj::kRanks);
}
