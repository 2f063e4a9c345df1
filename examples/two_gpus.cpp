// A first program: two processes, a GPU each, and out = the sum over both of A * B^T. Every element
// of A and B is 1 here, so every element of out is 2 * k. README.md says how to build it.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "attn_out.h"  // generated from quickstart.yaml with -D ranks=2

using namespace tilepost_gen_attn_out;  // kRanks and the sizes kM, kN, kK, kOutElements

constexpr uint16_t kOne = 0x3f80;  // 1.0 in bf16

void stop(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(1);
}
void check(cudaError_t error) {
  if (error != cudaSuccess) stop("CUDA", cudaGetErrorString(error));
}
void check(tilepost_result_t result) {
  if (result != TILEPOST_OK) stop(tilepost_result_name(result), tilepost_last_error());
}

uint16_t* on_device(const std::vector<uint16_t>& elements) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, elements.size() * sizeof(uint16_t)));
  check(cudaMemcpy(memory, elements.data(), elements.size() * sizeof(uint16_t), cudaMemcpyDefault));
  return static_cast<uint16_t*>(memory);
}

// Returns how many elements of this rank's out are wrong.
int64_t run_rank(int rank, const tilepost_unique_id_t& id) {
  check(cudaSetDevice(rank));
  tilepost_comm_t comm = nullptr;
  tilepost_op_t op = nullptr;
  check(tilepost_comm_init(&id, rank, kRanks, &comm));
  check(tilepost_op_create(comm, attn_out_program(), nullptr, &op));

  std::vector<uint16_t> found(kOutElements, 0);
  uint16_t* const a = on_device(std::vector<uint16_t>(kM * kK, kOne));
  uint16_t* const b = on_device(std::vector<uint16_t>(kN * kK, kOne));
  uint16_t* const out = on_device(found);
  check(tilepost_op_run(op, a, b, out, nullptr));  // on the default stream
  check(tilepost_op_synchronize(op));              // ends with an error if the other rank is gone
  check(cudaMemcpy(found.data(), out, found.size() * sizeof(uint16_t), cudaMemcpyDefault));
  check(tilepost_op_destroy(op));
  check(tilepost_comm_destroy(comm));

  int64_t wrong = 0;
  for (const uint16_t bits : found) {
    const uint32_t wide = uint32_t{bits} << 16;  // the same number in fp32
    wrong += __builtin_bit_cast(float, wide) != float(kRanks * kK);
  }
  return wrong;
}

int main() {
  static_assert(kRanks == 2, "generate it with -D ranks=2");
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) stop("pipe", "no file descriptors are left");
  const pid_t child = fork();  // before the first call of CUDA, which does not survive a fork
  if (child < 0) stop("fork", "no process could be made");
  const int rank = child == 0 ? 1 : 0;
  close(pipe_ends[rank]);  // of a pipe that the other process still holds nobody would see the end

  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < 2)
    stop("two GPUs are needed", (std::to_string(gpus) + " are here").c_str());
  tilepost_unique_id_t id{};
  if (rank == 0) check(tilepost_get_unique_id(&id));  // rank 0 makes it, the others must get it
  const ssize_t moved =
      rank == 0 ? write(pipe_ends[1], &id, sizeof id) : read(pipe_ends[0], &id, sizeof id);
  if (moved != sizeof id) stop("pipe", "the other process has ended");

  const int64_t wrong = run_rank(rank, id);
  std::printf("rank %d: %lld elements wrong\n", rank, static_cast<long long>(wrong));
  int of_child = 0;
  if (rank == 0) waitpid(child, &of_child, 0);
  return wrong == 0 && of_child == 0 ? 0 : 1;
}
