#include "runtime/bench/overlap_bench.h"

#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>

#include "runtime/bench/cublas_lt.h"
#include "runtime/bench/error.h"
#include "runtime/bench/fastest.h"
#include "runtime/bench/record.h"
#include "runtime/verify/rank_team.h"

namespace tilepost::bench {
namespace {

constexpr int kWarmupRounds = 20;
constexpr int64_t kFlushBytes = int64_t{256} << 20;  // more than any L2
constexpr int kSequence = 0, kOurs = 1;

// What the ranks of one measurement share.
struct Shared {
  explicit Shared(int ranks) : team(ranks), us(static_cast<size_t>(ranks)) {
    check_tilepost(cuda::make_pinned_memory(gate_memory, sizeof(uint32_t)), "cudaHostAlloc");
    gate = static_cast<uint32_t*>(gate_memory.get());
    check_tilepost(tilepost_get_unique_id(&ours_id), "tilepost_get_unique_id");
    check_tilepost(tilepost_get_unique_id(&nccl_id), "tilepost_get_unique_id");
  }

  verify::RankTeam team;
  cuda::PinnedMemory gate_memory;
  uint32_t* gate = nullptr;
  tilepost_unique_id_t ours_id{}, nccl_id{};
  int candidate = 0;  // of cuBLASLt, chosen by rank 0
  std::vector<double> us;
  std::vector<unsigned long long> wrong = std::vector<unsigned long long>(us.size());
};

class RankBench {
 public:
  RankBench(const Entry& entry, const tilepost_plan_t& plan, const Session& session, Shared& shared,
            int rank)
      : entry_(entry), plan_(plan), session_(session), shared_(shared), rank_(rank) {}
  ~RankBench() {
    tilepost_op_destroy(op_);
    tilepost_comm_destroy(comm_);
    if (nccl_ != nullptr) ncclCommAbort(nccl_);
  }
  RankBench(const RankBench&) = delete;
  RankBench& operator=(const RankBench&) = delete;

  void create() {
    preload_gate();
    check_tilepost(cuda::make_stream(stream_, false), "make_stream");
    check_tilepost(tilepost_comm_init(&shared_.ours_id, rank_, plan_.ranks, &comm_),
                   "tilepost_comm_init");
    check_tilepost(tilepost_op_create(comm_, entry_.program(), nullptr, &op_),
                   "tilepost_op_create");
    check_tilepost(tilepost_op_get_info(op_, &info_), "tilepost_op_get_info");
    ncclUniqueId id;
    std::memcpy(&id, shared_.nccl_id.bytes, sizeof id);
    TILEPOST_BENCH_STATUS(ncclCommInitRank(&nccl_, plan_.ranks, id, rank_));
    operands_ = std::make_unique<Operands>(plan_, info_.out_elements, stream_.get());
    cublas_ = std::make_unique<CublasLt>(operands_->product(0), operands_->scale(),
                                         plan_.accumulate == TILEPOST_FAST, 0);
    if (cublas_->candidates() == 0) throw BenchError("cuBLASLt cannot compute this product");
    flush_ = allocate(kFlushBytes);
    expected_ = allocate(plan_.map.m * plan_.map.n * bytes_of(plan_.output));
    TILEPOST_BENCH_CUDA(cudaEventCreate(begin_.out()));
    TILEPOST_BENCH_CUDA(cudaEventCreate(end_.out()));
  }

  void choose() {
    operands_->fill_normal(session_.options.seed + static_cast<uint64_t>(rank_));
    if (rank_ != 0) return;
    Timer timer(stream_.get(), operands_->count(), session_.nvml, session_.options.seed,
                session_.alive);
    shared_.candidate = fastest_candidate(*cublas_, *operands_, kCool, timer, stream_.get());
  }

  // Whole numbers, so that the order of the additions does not matter: the same bits.
  void check() {
    const OperandSet& set = operands_->set(0);
    cuda::DeviceMemory wrong = allocate(sizeof(unsigned long long));
    TILEPOST_BENCH_CUDA(cudaMemsetAsync(wrong.get(), 0, sizeof(unsigned long long), stream_.get()));
    operands_->fill_exact(session_.options.seed, rank_);
    TILEPOST_BENCH_CUDA(
        cudaMemsetAsync(set.out, 0xff, static_cast<size_t>(operands_->out_bytes()), stream_.get()));
    start(kSequence);
    start(kOurs);
    count_different(set.out, {info_.rows, plan_.map.tile_m, plan_.map.tile_n}, expected_.get(),
                    static_cast<int>(plan_.map.m), static_cast<int>(plan_.map.n),
                    static_cast<unsigned long long*>(wrong.get()), stream_.get());
    TILEPOST_BENCH_CUDA(cudaMemcpyAsync(&shared_.wrong[rank_], wrong.get(),
                                        sizeof(unsigned long long), cudaMemcpyDeviceToHost,
                                        stream_.get()));
    check_tilepost(tilepost_op_synchronize(op_), "tilepost_op_synchronize");
    TILEPOST_BENCH_CUDA(cudaStreamSynchronize(stream_.get()));
    operands_->fill_normal(session_.options.seed + static_cast<uint64_t>(rank_));
  }

  // Puts one run behind the gate.
  void enqueue(int variant) {
    set_ = (set_ + 1) % operands_->count();
    TILEPOST_BENCH_CUDA(cudaMemsetAsync(flush_.get(), 0, kFlushBytes, stream_.get()));
    TILEPOST_BENCH_CUDA(cudaStreamSynchronize(stream_.get()));
    gate(shared_.gate, ++gates_, stream_.get());
    TILEPOST_BENCH_CUDA(cudaEventRecord(begin_.get(), stream_.get()));
    start(variant);
    TILEPOST_BENCH_CUDA(cudaEventRecord(end_.get(), stream_.get()));
  }

  // When all ranks have enqueued: opens the gate and waits.
  void finish() {
    if (rank_ == 0) __atomic_store_n(shared_.gate, gates_, __ATOMIC_RELEASE);
    TILEPOST_BENCH_CUDA(cudaEventSynchronize(end_.get()));
    float milliseconds = 0;
    TILEPOST_BENCH_CUDA(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
    shared_.us[rank_] = static_cast<double>(milliseconds) * 1000;
  }

 private:
  void start(int variant) {
    const OperandSet& set = operands_->set(set_);
    if (variant == kOurs) {
      check_tilepost(tilepost_op_run(op_, set.a, set.b, set.out, stream_.get()), "tilepost_op_run");
      return;
    }
    OperandSet target = set;
    target.out = expected_.get();
    cublas_->launch(target, shared_.candidate, stream_.get());
    const ncclDataType_t type = plan_.output == TILEPOST_BF16 ? ncclBfloat16 : ncclFloat16;
    TILEPOST_BENCH_STATUS(ncclAllReduce(target.out, target.out,
                                        static_cast<size_t>(plan_.map.m * plan_.map.n), type,
                                        ncclSum, nccl_, stream_.get()));
  }

  const Entry& entry_;
  const tilepost_plan_t& plan_;
  const Session& session_;
  Shared& shared_;
  const int rank_;
  cuda::Stream stream_;
  cuda::Event begin_, end_;
  cuda::DeviceMemory flush_, expected_;
  std::unique_ptr<Operands> operands_;
  std::unique_ptr<CublasLt> cublas_;
  tilepost_comm_t comm_ = nullptr;
  tilepost_op_t op_ = nullptr;
  tilepost_op_info_t info_{};
  ncclComm_t nccl_ = nullptr;
  uint32_t gates_ = 0;
  int set_ = 0;
};

// Prints the check's record; true: nothing is wrong.
bool report_check(const char* program, const tilepost_plan_t& plan, const Shared& shared) {
  unsigned long long wrong = 0;
  for (const unsigned long long each : shared.wrong) wrong += each;
  Record("check")
      .set("program", program)
      .set("variant", "overlap")
      .set("against", "cublaslt and nccl")
      .set("elements", static_cast<long long>(plan.map.m * plan.map.n * plan.ranks))
      .set("wrong", static_cast<long long>(wrong));
  return wrong == 0;
}

void measure(RankBench& bench, Shared& shared, const char* program, const Session& session,
             int rank) {
  std::mt19937_64 random(session.options.seed);  // the same order on every rank
  for (int round = -kWarmupRounds; round < session.options.rounds; ++round) {
    std::array<int, 2> order{kSequence, kOurs};
    std::array<double, 2> us{};
    std::shuffle(order.begin(), order.end(), random);
    for (const int variant : order) {
      if (!shared.team.step(rank, [&] { bench.enqueue(variant); })) return;
      if (!shared.team.step(rank, [&] { bench.finish(); })) return;
      us[variant] = *std::max_element(shared.us.begin(), shared.us.end());
    }
    if (rank != 0) continue;
    session.alive();
    if (round < 0) continue;
    Record record("sample");
    record.set("program", program).set("mode", "overlap").set("round", round).begin("us");
    record.set("sequence", us[kSequence]).set("ours", us[kOurs]).end();
  }
}

}  // namespace

std::string overlap_obstacle(const tilepost_plan_t& plan, const Machine& machine) {
  if (plan.ranks > machine.gpus)
    return "the operation wants " + std::to_string(plan.ranks) + " GPUs, this machine has " +
           std::to_string(machine.gpus) + ": only its GEMM is measured";
  if (plan.pattern != TILEPOST_GEMM_ALL_REDUCE || plan.epilogue != 0)
    return "only a product without epilogue and its sum over ranks are measured from end to end";
  return "";
}

bool bench_overlap(const Entry& entry, const tilepost_plan_t& plan, const Session& session) {
  Shared shared(plan.ranks);
  shared.team.run([&](int rank) {
    RankBench bench(entry, plan, session, shared, rank);
    const auto step = [&](auto body) { return shared.team.step(rank, body); };
    if (!step([&] { TILEPOST_BENCH_CUDA(cudaSetDevice(rank)), bench.create(); })) return;
    if (!step([&] { bench.choose(); }) || !step([&] { bench.check(); })) return;
    if (rank == 0 && !report_check(entry.name, plan, shared)) shared.team.fail("wrong");
    if (step([] {})) measure(bench, shared, entry.name, session, rank);
  });
  const bool wrong = std::any_of(shared.wrong.begin(), shared.wrong.end(),
                                 [](unsigned long long count) { return count > 0; });
  if (!shared.team.failure().empty() && !wrong) throw BenchError(shared.team.failure());
  return !wrong;
}

}  // namespace tilepost::bench
