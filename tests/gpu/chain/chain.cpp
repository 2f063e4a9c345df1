// A ReduceScatter with a norm, then an AllGather: the way from one tensor-parallel GEMM of a layer
// to the next one, with operands in fp8 whose blocks have scales. Three chains get the same data:
//
//   fp8        the ReduceScatter quantises the rows that it normalises (gemm.out: e4m3), and the
//              AllGather moves them with their scales
//   quantised  the ReduceScatter stores rows of bf16, a kernel quantises this rank's share, and the
//              AllGather moves that
//   bf16       the ReduceScatter stores rows of bf16, NCCL gathers them, a kernel quantises all of
//              them, and a GEMM multiplies them
//
//   chain [--rounds 15] [NAME …]
//
// A NAME is that of chain.sh's shapes, and without one all are measured. Each line has a shape, a
// mode, and for each chain the median time of the slowest rank and the relative error of sampled
// rows against sums in fp64 that nothing was rounded in. Mode "eager" has ten chains one after the
// other, mode "graph" the same in a CUDA graph. Exit code: 0, 1 if an error is too large, 77
// without two GPUs.
#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/cuda/consumers/quantise.h"
#include "tests/gpu/chain/data.h"
#include "tests/gpu/gpu_ranks.h"

using namespace gpu_test;
using chain::Scaled;

namespace {

constexpr int kRanks = 2, kRuns = 10, kWarmUps = 3, kSamples = 8;
constexpr int kBlock = TILEPOST_SCALE_BLOCK;
constexpr float kEpsilon = 1e-6f;
// Two roundings to e4m3, whose relative error is 2^-4 at most and some 2.6 % in the mean.
constexpr double kMostError = 0.05;

#define NCCL_OK(call) EXPECT((call) == ncclSuccess, "NCCL")

enum Chain { kFp8, kQuantised, kBf16, kChains };
constexpr const char* kNames[] = {"fp8", "quantised", "bf16"};

// The programs of one shape.
struct Layers {
  std::string name;
  const tilepost_program_t *down8, *down16, *up, *alone;
  int64_t m, hidden, k, n;  // of the first GEMM, and n of the second one

  explicit Layers(const std::string& shape)
      : name(shape),
        down8(find_program("down8_" + shape)),
        down16(find_program("down16_" + shape)),
        up(find_program("up_" + shape)),
        alone(find_program("alone_" + shape)) {
    EXPECT(down8 && down16 && up && alone, "a program of " + shape + " is missing: see chain.sh");
    const tilepost_plan_t &first = plan_of(*down8), &second = plan_of(*up);
    m = first.map.m, hidden = first.map.n, k = first.k, n = second.map.n;
    EXPECT(second.map.m == m && second.k == hidden && m % kRanks == 0 && hidden % kBlock == 0,
           "the second GEMM must take what the first one makes");
  }
};

// What the threads of the ranks share.
struct Shared {
  Ranks ranks{kRanks};
  ncclUniqueId id{};
  double us[kRanks] = {};
};

class Rank {
 public:
  Rank(Shared& shared, const Layers& shape, int rank)
      : shared_(shared), shape_(shape), rank_(rank), share_(shape.m / kRanks) {
    if (rank == 0) NCCL_OK(ncclGetUniqueId(&shared.id));
    shared.ranks.barrier();
    NCCL_OK(ncclCommInitRank(&nccl_, kRanks, shared.id, rank));
    TILEPOST_OK_(tilepost::Status(tilepost_comm_adopt(nccl_, &comm_)));
    create(shape.down8, down8_), create(shape.down16, down16_);
    create(shape.up, up_), create(shape.alone, alone_);
    CUDA_OK(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, rank));
    a_ = scaled(shape.m, shape.k, 1, 1.0f / 64, seed(rank, 1));
    first_ = scaled(shape.hidden, shape.k, kBlock, 1.0f / 1024, seed(rank, 2));
    second_ = scaled(shape.n, shape.hidden, kBlock, 1.0f / 1024, seed(rank, 3));
    residual_ = bf16(shape.m * shape.hidden, 0, 100);
    weight_ = bf16(shape.hidden, 1, 101);
    sum_ = device_.allocate(share_ * shape.hidden * 2);
    half_ = device_.allocate(share_ * shape.hidden * 2);
    all_half_ = device_.allocate(shape.m * shape.hidden * 2);
    const int64_t blocks = shape.hidden / kBlock;
    share8_ = {device_.allocate<uint8_t>(share_ * shape.hidden),
               device_.allocate<float>(share_ * blocks * 4)};
    all8_ = {device_.allocate<uint8_t>(shape.m * shape.hidden),
             device_.allocate<float>(shape.m * blocks * 4)};
    out_ = device_.allocate(shape.m * shape.n * 2);
    device_.synchronize();
  }
  ~Rank() {
    // NCCL keeps a communicator until the graphs that have captured it are gone.
    for (const auto& [chain, graph] : graphs_) CUDA_OK(cudaGraphExecDestroy(graph));
    for (tilepost_op_t op : {down8_, down16_, up_, alone_})
      TILEPOST_OK_(tilepost::Status(tilepost_op_destroy(op)));
    TILEPOST_OK_(tilepost::Status(tilepost_comm_destroy(comm_)));
    NCCL_OK(ncclCommDestroy(nccl_));
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  // The relative error of the chain's result.
  double error(Chain chain) {
    if (!wanted_) compute_wanted();
    reset();
    run(chain);
    double squares[2];
    CUDA_OK(cudaMemsetAsync(squares_, 0, sizeof squares, device_.stream()));
    chain::compare(out_, rows_, kSamples, shape_.n, wanted_, squares_, device_.stream());
    CUDA_OK(cudaMemcpyAsync(squares, squares_, sizeof squares, cudaMemcpyDeviceToHost,
                            device_.stream()));
    device_.synchronize();
    shared_.ranks.barrier();
    return std::sqrt(squares[0] / squares[1]);
  }

  // Microseconds of one chain, of the slowest rank.
  double time(Chain chain, bool graph) {
    if (graph && !graphs_.count(chain)) graphs_[chain] = captured(chain);
    reset();
    const auto once = [&] {
      if (graph)
        CUDA_OK(cudaGraphLaunch(graphs_[chain], device_.stream()));
      else
        for (int i = 0; i < kRuns; ++i) run(chain);
    };
    shared_.ranks.barrier();
    run(chain);  // before the clock runs: ranks do not start at once
    CUDA_OK(cudaEventRecord(begin_.event, device_.stream()));
    once();
    CUDA_OK(cudaEventRecord(end_.event, device_.stream()));
    device_.synchronize();
    float milliseconds = 0;
    CUDA_OK(cudaEventElapsedTime(&milliseconds, begin_.event, end_.event));
    shared_.us[rank_] = 1000.0 * milliseconds / kRuns;
    shared_.ranks.barrier();
    const double slowest = *std::max_element(shared_.us, shared_.us + kRanks);
    shared_.ranks.barrier();
    return slowest;
  }

 private:
  struct Event {
    cudaEvent_t event = nullptr;
    Event() { CUDA_OK(cudaEventCreate(&event)); }
    ~Event() { cudaEventDestroy(event); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
  };

  static uint64_t seed(int rank, int operand) { return 10 * rank + 2 * operand; }

  void create(const tilepost_program_t* program, tilepost_op_t& op) {
    TILEPOST_OK_(tilepost::Status(tilepost_op_create(comm_, program, nullptr, &op)));
  }
  Scaled scaled(int64_t rows, int64_t columns, int block_rows, float size, uint64_t from) {
    const int64_t scales = (rows + block_rows - 1) / block_rows * ((columns + kBlock - 1) / kBlock);
    const Scaled matrix{device_.allocate<uint8_t>(rows * columns),
                        device_.allocate<float>(scales * 4)};
    chain::fill(matrix, rows, columns, block_rows, size, from, device_.stream());
    return matrix;
  }
  void* bf16(int64_t count, float mean, uint64_t from) {
    void* const elements = device_.allocate(count * 2);
    chain::fill_bf16(elements, count, mean, from, device_.stream());
    return elements;
  }
  char* own_residual() const {
    return static_cast<char*>(residual_) + rank_ * share_ * shape_.hidden * 2;
  }

  // The residual as it is before a chain.
  void reset() {
    CUDA_OK(cudaMemcpyAsync(sum_, own_residual(), share_ * shape_.hidden * 2,
                            cudaMemcpyDeviceToDevice, device_.stream()));
    device_.synchronize();
  }

  void run_down(tilepost_op_t op, void* out, float* out_scales) {
    tilepost_run_operands_t o{};
    o.struct_size = sizeof o;
    o.m = TILEPOST_PLANNED_M;
    o.a = a_.elements, o.scale_a = a_.scales;
    o.b = first_.elements, o.scale_b = first_.scales;
    o.out = out, o.out_scales = out_scales;
    o.norm_weight = weight_, o.norm_residual = sum_, o.norm_epsilon = kEpsilon;
    TILEPOST_OK_(tilepost::Status(tilepost_op_run_with(op, &o, device_.stream())));
  }
  void run_up(tilepost_op_t op, const Scaled& a) {
    tilepost_run_operands_t o{};
    o.struct_size = sizeof o;
    o.m = TILEPOST_PLANNED_M;
    o.a = a.elements, o.scale_a = a.scales;
    o.b = second_.elements, o.scale_b = second_.scales;
    o.out = out_;
    TILEPOST_OK_(tilepost::Status(tilepost_op_run_with(op, &o, device_.stream())));
  }
  void quantise(const void* x, int64_t rows, const Scaled& to) {
    tilepost::cuda::QuantiseArguments args{};
    args.x = x;
    args.tile_m = 1, args.tile_n = args.n = static_cast<int32_t>(shape_.hidden);
    args.rows = static_cast<int32_t>(rows);
    args.out = to.elements, args.scales = to.scales;
    args.steps = {shape_.hidden / kBlock, 1};
    CUDA_OK(tilepost::cuda::launch_quantise(args, TILEPOST_BF16, sms_, device_.stream()));
  }

  void run(Chain chain) {
    if (chain == kFp8) {
      run_down(down8_, share8_.elements, share8_.scales);
      return run_up(up_, share8_);
    }
    run_down(down16_, half_, nullptr);
    if (chain == kQuantised) {
      quantise(half_, share_, share8_);
      return run_up(up_, share8_);
    }
    NCCL_OK(ncclAllGather(half_, all_half_, share_ * shape_.hidden, ncclBfloat16, nccl_,
                          device_.stream()));
    quantise(all_half_, shape_.m, all8_);
    run_up(alone_, all8_);
  }

  cudaGraphExec_t captured(Chain chain) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CUDA_OK(cudaStreamBeginCapture(device_.stream(), cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < kRuns; ++i) run(chain);
    CUDA_OK(cudaStreamEndCapture(device_.stream(), &graph));
    CUDA_OK(cudaGraphInstantiate(&executable, graph, 0));
    CUDA_OK(cudaGraphDestroy(graph));
    return executable;
  }

  // What the sampled rows should be, out of all ranks' operands. Nothing is rounded on the way.
  void compute_wanted() {
    const Layers& s = shape_;
    int rows[kSamples];
    for (int i = 0; i < kSamples; ++i) rows[i] = static_cast<int>(i * (s.m - 1) / (kSamples - 1));
    rows_ = device_.allocate<int>(sizeof rows);
    CUDA_OK(cudaMemcpy(rows_, rows, sizeof rows, cudaMemcpyHostToDevice));
    auto* const sums = device_.allocate<double>(kSamples * s.hidden * 8);
    for (int rank = 0; rank < kRanks; ++rank) {
      const Scaled a = scaled(s.m, s.k, 1, 1.0f / 64, seed(rank, 1));
      const Scaled first = scaled(s.hidden, s.k, kBlock, 1.0f / 1024, seed(rank, 2));
      chain::multiply(a, rows_, kSamples, first, s.hidden, s.k, rank > 0, sums, device_.stream());
    }
    chain::norm(sums, rows_, kSamples, s.hidden, residual_, weight_, kEpsilon, device_.stream());
    wanted_ = device_.allocate<double>(kSamples * s.n * 8);
    chain::multiply(sums, kSamples, second_, s.n, s.hidden, wanted_, device_.stream());
    squares_ = device_.allocate<double>(2 * 8);
    device_.synchronize();
  }

  Shared& shared_;
  const Layers& shape_;
  const int rank_;
  const int64_t share_;  // rows of this rank
  Device device_;
  Event begin_, end_;
  int sms_ = 0;
  ncclComm_t nccl_ = nullptr;
  tilepost_comm_t comm_ = nullptr;
  tilepost_op_t down8_ = nullptr, down16_ = nullptr, up_ = nullptr, alone_ = nullptr;
  Scaled a_{}, first_{}, second_{}, share8_{}, all8_{};
  void *residual_ = nullptr, *weight_ = nullptr, *sum_ = nullptr;
  void *half_ = nullptr, *all_half_ = nullptr, *out_ = nullptr;
  int* rows_ = nullptr;
  double *wanted_ = nullptr, *squares_ = nullptr;
  std::map<Chain, cudaGraphExec_t> graphs_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Measures a shape on both ranks, and prints its lines. Returns whether the errors are small.
bool measure(const Layers& shape, int rounds) {
  Shared shared;
  bool good = true;
  shared.ranks.run([&](int number) {
    Rank rank(shared, shape, number);
    double errors[kChains];
    for (int chain = 0; chain < kChains; ++chain) {
      errors[chain] = rank.error(static_cast<Chain>(chain));
      if (number == 0) good &= errors[chain] < kMostError;
    }
    for (const bool graph : {false, true}) {
      std::vector<double> us[kChains];
      for (int round = -kWarmUps; round < rounds; ++round)
        for (int chain = 0; chain < kChains; ++chain) {
          const double one = rank.time(static_cast<Chain>(chain), graph);
          if (round >= 0) us[chain].push_back(one);
        }
      if (number != 0) continue;
      std::printf("%s %lldx%lldx%lld, n %lld, %s:", shape.name.c_str(),
                  static_cast<long long>(shape.m), static_cast<long long>(shape.hidden),
                  static_cast<long long>(shape.k), static_cast<long long>(shape.n),
                  graph ? "graph" : "eager");
      for (int chain = 0; chain < kChains; ++chain)
        std::printf(" %s %.1f us (x%.3f, error %.4f)", kNames[chain], median(us[chain]),
                    median(us[chain]) / median(us[kFp8]), errors[chain]);
      std::printf("\n");
      std::fflush(stdout);
    }
  });
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  if (num_gpus() < kRanks) {
    std::printf("SKIP: the chain needs %d GPUs, found %d\n", kRanks, num_gpus());
    return kSkipped;
  }
  std::vector<std::string> names = arguments.names();
  const std::string prefix = "down8_";
  for (int i = 0; i < kNumPrograms && arguments.names().empty(); ++i)
    if (std::strncmp(kPrograms[i]->name, prefix.c_str(), prefix.size()) == 0)
      names.emplace_back(kPrograms[i]->name + prefix.size());
  bool good = !names.empty();
  if (!good) std::printf("FAIL: no programs of a chain: see chain.sh\n");
  for (const std::string& name : names)
    good &= measure(Layers(name), static_cast<int>(arguments.number("rounds", 15)));
  if (!good) std::printf("FAIL\n");
  return good ? 0 : 1;
}
