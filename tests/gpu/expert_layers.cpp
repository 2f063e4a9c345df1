// Times layers of experts, each rank a process on a GPU of its own: as one operation (moe), and by
// routing, dispatch_grouped_gemm and grouped_gemm_combine one after the other in a stream. Both
// ways must give the same bits.
//
//   expert_layers ranks     the programs layer_<name>_up, _down and _whole (programs.sh … layers)
//
// Prints for each layer and rank: a layer behind a pause, layers back to back, and its halves back
// to back; with few tokens also layers that a graph replays. Exit code: 0 all has run, 77 nothing
// to run here.
#include <chrono>
#include <optional>
#include <string_view>
#include <thread>

#include "tests/gpu/forked_ranks.h"
#include "tests/gpu/registry.h"

namespace {

using namespace gpu_routing;

constexpr unsigned kDeadlineSeconds = 120;  // for the whole program
constexpr int kRounds = 5, kRuns = 8;       // of each form; runs between two events
constexpr int kFewTokens = 512;             // of a rank, for which a graph is made
constexpr std::chrono::milliseconds kRest{4}, kPause{250};
constexpr Types kTypes{false, false};

const tilepost_program_t* find(const std::string& name) {
  for (int i = 0; i < kNumPrograms; ++i)
    if (name == kPrograms[i]->name) return kPrograms[i];
  return nullptr;
}

// Device memory with small random numbers, or as it is.
class Memory {
 public:
  explicit Memory(int64_t elements, bool filled) {
    constexpr int64_t kBlock = 1 << 20;
    CUDA(cudaMalloc(&data_, static_cast<size_t>(elements) * 2));
    if (!filled) return;
    Random random(1);
    std::vector<uint16_t> block(kBlock);
    // bf16 from 1/64 to 1/32, and their negatives.
    for (uint16_t& bits : block)
      bits = static_cast<uint16_t>(0x3c80 | below(random, 128) | below(random, 2) << 15);
    for (int64_t first = 0; first < elements; first += kBlock)
      CUDA(cudaMemcpy(static_cast<uint16_t*>(data_) + first, block.data(),
                      static_cast<size_t>(std::min(kBlock, elements - first)) * 2,
                      cudaMemcpyHostToDevice));
  }
  Memory(const Memory&) = delete;
  ~Memory() { cudaFree(data_); }
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
};

enum class What { whole, layer, up, down };

class Layer {
 public:
  Layer(const tilepost_program_t& up, const tilepost_program_t& down,
        const tilepost_program_t& whole, Rank& me)
      : plan_(up.plans[0]),
        tokens_(static_cast<int>(plan_.map.m / plan_.ranks)),
        comm_(me.make_comm()),
        stream_(make_stream()) {
    const Shape shape{plan_.ranks, plan_.experts * plan_.ranks, plan_.top, tokens_};
    routing_.emplace(comm_, me.rank, shape, kTypes, stream_);
    tilepost_options_t options = tilepost_default_options();
    options.routing = routing_->get();
    OK(tilepost_op_create(comm_, &up, &options, &ops_[0]));
    OK(tilepost_op_create(comm_, &down, &options, &ops_[1]));
    OK(tilepost_op_create(comm_, &whole, &options, &ops_[2]));
    Random random(17 + static_cast<uint64_t>(me.rank));
    Tokens tokens = random_tokens(shape, tokens_, Load::even, random);
    routing_->put(tokens);
    CUDA(cudaStreamSynchronize(stream_));
  }
  Layer(const Layer&) = delete;
  ~Layer() {
    for (tilepost_op_t op : ops_) tilepost_op_destroy(op);
    routing_.reset();
    tilepost_comm_destroy(comm_);
    cudaStreamDestroy(stream_);
  }

  cudaStream_t stream() const { return stream_; }
  int tokens() const { return tokens_; }
  // Operations of a layer on this rank: of each route 6 for each pair of a column of either
  // product.
  double flops() const { return 6.0 * tokens_ * plan_.top * plan_.k * plan_.map.n; }

  void run(What what) const {
    if (what == What::whole) return run_whole();
    if (what != What::down) {
      routing_->set(tokens_);
      run(ops_[0], a_, b_up_, rows_);
    }
    if (what != What::up) run(ops_[1], rows_, b_down_, out_);
  }
  // The output of a run, which was another before it.
  std::vector<uint16_t> output_of(What what) const {
    std::vector<uint16_t> out(static_cast<size_t>(tokens_ * outer_));
    CUDA(cudaMemsetAsync(out_.get(), 0xFF, out.size() * 2, stream_));
    run(what);
    synchronize();
    CUDA(cudaMemcpy(out.data(), out_.get(), out.size() * 2, cudaMemcpyDeviceToHost));
    return out;
  }
  void synchronize() const {
    CUDA(cudaStreamSynchronize(stream_));
    OK(routing_->synchronize());
    for (tilepost_op_t op : ops_) OK(tilepost_op_synchronize(op));
  }

 private:
  static cudaStream_t make_stream() {
    cudaStream_t stream = nullptr;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
  }
  void run(tilepost_op_t op, const Memory& a, const Memory& b, const Memory& out) const {
    tilepost_run_operands_t operands{};
    operands.struct_size = sizeof operands;
    operands.a = a.get();
    operands.b = b.get();
    operands.out = out.get();
    operands.m = TILEPOST_PLANNED_M;
    OK(tilepost_op_run_with(op, &operands, stream_));
  }

  void run_whole() const {
    tilepost_layer_operands_t layer{};
    layer.struct_size = sizeof layer;
    layer.b = b_down_.get();
    layer.ids = routing_->operands().ids();
    layer.weights = routing_->operands().weights();
    layer.tokens = tokens_;
    tilepost_run_operands_t operands{};
    operands.struct_size = sizeof operands;
    operands.a = a_.get();
    operands.b = b_up_.get();
    operands.out = out_.get();
    operands.m = TILEPOST_PLANNED_M;
    operands.layer = &layer;
    OK(tilepost_op_run_with(ops_[2], &operands, stream_));
  }

  const tilepost_plan_t& plan_;  // of the first half
  const int tokens_;             // of this rank
  tilepost_comm_t const comm_;
  cudaStream_t const stream_;
  std::optional<Routing> routing_;
  tilepost_op_t ops_[3] = {};  // the halves, and the whole layer
  const int64_t inner_ = plan_.map.n, outer_ = plan_.k;
  const Memory a_{tokens_ * outer_, true}, b_up_{plan_.experts * 2 * inner_ * outer_, true},
      b_down_{plan_.experts * inner_ * outer_, true}, rows_{plan_.most_rows * inner_, false},
      out_{tokens_ * outer_, false};
};

// The median time of one of `runs` calls, us. Before each round all ranks rest.
template <class Start>
double time(const Layer& layer, Rank& me, std::chrono::milliseconds rest, int runs,
            const Start& start) {
  cudaEvent_t begin = nullptr, finish = nullptr;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&finish));
  std::vector<float> times(kRounds);
  for (float& ms : times) {
    layer.synchronize();
    me.meet_all();
    std::this_thread::sleep_for(rest);
    me.meet_all();
    if (runs > 1) start();  // the ranks begin together behind it
    CUDA(cudaEventRecord(begin, layer.stream()));
    for (int i = 0; i < runs; ++i) start();
    CUDA(cudaEventRecord(finish, layer.stream()));
    layer.synchronize();
    CUDA(cudaEventElapsedTime(&ms, begin, finish));
  }
  CUDA(cudaEventDestroy(begin));
  CUDA(cudaEventDestroy(finish));
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2] * 1e3 / runs;
}

void measure(const std::string& name, const Layer& layer, Rank& me) {
  const auto all = [&](What what) {
    return time(layer, me, kRest, kRuns, [&] { layer.run(what); });
  };
  if (layer.output_of(What::whole) != layer.output_of(What::layer))
    end(name + ": as one operation the layer has another output than by its halves");
  const double cool = time(layer, me, kPause, 1, [&] { layer.run(What::whole); });
  const double hot = all(What::whole), apart = all(What::layer), up = all(What::up),
               down = all(What::down);
  const auto tflops = [&](double us) { return layer.flops() / us / 1e6; };
  std::printf(
      "%s rank %d: cool %.1f us (%.0f TFLOP/s), back to back %.1f us (%.0f TFLOP/s), by its "
      "halves %.1f us, halves %.1f and %.1f us",
      name.c_str(), me.rank, cool, tflops(cool), hot, tflops(hot), apart, up, down);
  if (layer.tokens() <= kFewTokens) {
    const Graph graph(layer.stream(), [&] {
      for (int i = 0; i < kRuns; ++i) layer.run(What::whole);
    });
    const double replayed =
        time(layer, me, kRest, 3, [&] { graph.replay(layer.stream()); }) / kRuns;
    std::printf(", replayed %.1f us", replayed);
  }
  std::printf("\n");
  std::fflush(stdout);
}

int run(Rank me) {
  alarm(kDeadlineSeconds);
  if (!me.set_device()) return kSkipped;
  constexpr std::string_view kPrefix = "layer_", kSuffix = "_up";
  int layers = 0;
  for (int i = 0; i < kNumPrograms; ++i) {
    const std::string up = kPrograms[i]->name;
    if (!up.starts_with(kPrefix) || !up.ends_with(kSuffix)) continue;
    if (kPrograms[i]->plans[0].ranks != me.ranks) continue;
    const std::string name = up.substr(kPrefix.size(), up.size() - kPrefix.size() - kSuffix.size());
    const tilepost_program_t* const down = find(std::string(kPrefix) + name + "_down");
    const tilepost_program_t* const whole = find(std::string(kPrefix) + name + "_whole");
    if (down == nullptr || whole == nullptr) end("no program layer_" + name + "_down or _whole");
    const Layer layer(*kPrograms[i], *down, *whole, me);
    measure(name, layer, me);
    ++layers;
  }
  return layers == 0 ? kSkipped : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 0;
  if (ranks < 2 || ranks > kMostRanks) {
    std::fprintf(stderr, "usage: expert_layers 2..%d\n", kMostRanks);
    return 2;
  }
  return fork_ranks(ranks, [](const Rank& me) { return run(me); });
}
