// Plans the shape that it is given, and runs it on the host target with a kernel of a catalogue.
//
//   run_time KERNELS RANKS M N K      KERNELS is what `tilepost catalogue -o KERNELS` has written
#include <tilepost/numeric.h>
#include <tilepost/program.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using Matrix = std::vector<tilepost::Bf16>;

void check(tilepost_result_t result) {
  if (result == TILEPOST_OK) return;
  std::fprintf(stderr, "%s: %s\n", tilepost_result_name(result), tilepost_last_error());
  std::exit(1);
}

struct Shape {
  int ranks;
  long m, n, k;
};

// Whole numbers from -2 to 2, another matrix for each seed. Their sums are exact in fp32.
Matrix random_matrix(size_t elements, unsigned seed) {
  Matrix matrix(elements);
  unsigned state = seed * 2654435761u + 1;
  for (tilepost::Bf16& element : matrix) {
    state = state * 1664525u + 1013904223u;
    element = tilepost::to_bf16(static_cast<float>(static_cast<int>(state >> 16) % 5 - 2));
  }
  return matrix;
}
Matrix matrix_a(const Shape& shape, int rank) {
  return random_matrix(static_cast<size_t>(shape.m * shape.k), 2 * static_cast<unsigned>(rank));
}
Matrix matrix_b(const Shape& shape, int rank) {
  return random_matrix(static_cast<size_t>(shape.n * shape.k), 2 * static_cast<unsigned>(rank) + 1);
}

// The spec: every field as `-D` of the command line has it.
const tilepost_program_t* plan(const Shape& shape) {
  const std::string fields[] = {"pattern=gemm_all_reduce",
                                "arch=host",
                                "ranks=" + std::to_string(shape.ranks),
                                "gemm.a=bf16",
                                "gemm.m={max: " + std::to_string(shape.m) + "}",
                                "gemm.n=" + std::to_string(shape.n),
                                "gemm.k=" + std::to_string(shape.k),
                                "schedule.tile=[64, 64]"};
  std::vector<const char*> texts;
  for (const std::string& field : fields) texts.push_back(field.c_str());
  const tilepost_program_t* program = nullptr;
  check(tilepost_program_make(texts.data(), texts.size(), nullptr, &program));
  return program;
}

void run_rank(const Shape& shape, const tilepost_program_t* program, tilepost_comm_t comm, int rank,
              Matrix& out) {
  tilepost_op_t op = nullptr;
  check(tilepost_op_create(comm, program, nullptr, &op));
  const Matrix a = matrix_a(shape, rank), b = matrix_b(shape, rank);
  out.resize(static_cast<size_t>(shape.m * shape.n));
  check(tilepost_op_run(op, a.data(), b.data(), out.data(), nullptr));
  check(tilepost_op_synchronize(op));
  check(tilepost_op_destroy(op));
  check(tilepost_comm_destroy(comm));
}

// Each rank's product is rounded to bf16, then the sum is. So both may be off by half a step.
long count_wrong(const Shape& shape, const Matrix& out) {
  std::vector<float> sum(out.size()), size(out.size());
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const Matrix a = matrix_a(shape, rank), b = matrix_b(shape, rank);
    for (long row = 0; row < shape.m; ++row)
      for (long column = 0; column < shape.n; ++column) {
        float product = 0;
        for (long i = 0; i < shape.k; ++i)
          product += to_float(a[row * shape.k + i]) * to_float(b[column * shape.k + i]);
        sum[row * shape.n + column] += product;
        size[row * shape.n + column] += std::fabs(product);
      }
  }
  long wrong = 0;
  for (size_t i = 0; i < out.size(); ++i)
    if (std::fabs(to_float(out[i]) - sum[i]) > (size[i] + std::fabs(sum[i])) / 256) ++wrong;
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: run_time KERNELS RANKS M N K\n");
    return 2;
  }
  const Shape shape = {std::atoi(argv[2]), std::atol(argv[3]), std::atol(argv[4]),
                       std::atol(argv[5])};
  const tilepost_program_t* const program = plan(shape);
  const char* text = nullptr;
  check(tilepost_program_explain(program, &text));
  std::printf("%s\n", text);

  tilepost_catalogue_t catalogue = nullptr;
  check(tilepost_catalogue_open(argv[1], nullptr, &catalogue));
  check(tilepost_program_load(program, catalogue));
  check(tilepost_catalogue_close(catalogue));

  std::vector<tilepost_comm_t> comms(static_cast<size_t>(shape.ranks));
  check(tilepost_comm_create_host(shape.ranks, comms.data()));
  std::vector<Matrix> outs(comms.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < shape.ranks; ++rank)
    threads.emplace_back([&, rank] { run_rank(shape, program, comms[rank], rank, outs[rank]); });
  for (std::thread& thread : threads) thread.join();
  check(tilepost_program_destroy(program));

  long wrong = 0;
  for (const Matrix& out : outs) wrong += count_wrong(shape, out);
  std::printf("%ld x %ld summed over %d ranks, %ld elements wrong\n", shape.m, shape.n, shape.ranks,
              wrong);
  return wrong == 0 ? 0 : 1;
}
