#include "runtime/bench/experts/grouped_bench.h"

#include <algorithm>

#include "runtime/bench/experts/expert_gemms.h"
#include "runtime/bench/experts/expert_operands.h"
#include "runtime/bench/experts/kernels.h"
#include "runtime/bench/experts/load.h"
#include "runtime/bench/gpu/timing.h"
#include "runtime/bench/record.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/expert_ops.h"

namespace tilepost::bench {
namespace {

// Our operation, as its users run it.
class GroupedOperation {
 public:
  explicit GroupedOperation(const Entry& entry) {
    check_tilepost(tilepost_comms_create(nullptr, 1, &comm_), "tilepost_comms_create");
    check_tilepost(tilepost_op_create(comm_, entry.program(), nullptr, &op_), "tilepost_op_create");
  }
  GroupedOperation(const GroupedOperation&) = delete;
  ~GroupedOperation() {
    tilepost_op_destroy(op_);
    tilepost_comm_destroy(comm_);
  }

  void run(const ExpertSet& set, const int32_t* ends, cudaStream_t stream) const {
    tilepost_run_operands_t operands{};
    operands.struct_size = sizeof operands;
    operands.a = set.a;
    operands.b = set.b;
    operands.out = set.out;
    operands.expert_ends = ends;
    operands.m = TILEPOST_PLANNED_M;
    check_tilepost(tilepost_op_run_with(op_, &operands, stream), "tilepost_op_run_with");
  }

 private:
  tilepost_comm_t comm_ = nullptr;
  tilepost_op_t op_ = nullptr;
};

class GroupedBench {
 public:
  GroupedBench(const Entry& entry, const tilepost_plan_t& plan, const Session& session)
      : name_(entry.name),
        plan_(plan),
        session_(session),
        stream_(make_stream()),
        ends_(draw_ends(plan, session.options.load, session.options.seed)),
        device_ends_(upload(ends_)),
        ours_(entry),
        theirs_(plan, ends_),
        operands_(plan, plan.map.m, plan.map.m, stream_.get()),
        result_(allocate(plan.map.m * plan.map.n * element_bytes(plan.output))) {}

  bool check() {
    const ExpertSet& set = operands_.set(0);
    const int64_t elements = plan_.map.m * plan_.map.n;
    const auto bytes = static_cast<size_t>(elements * element_bytes(plan_.output));
    const cuda::DeviceMemory wrong = allocate(sizeof(unsigned long long));
    TILEPOST_BENCH_CUDA(cudaMemsetAsync(wrong.get(), 0, sizeof(unsigned long long), stream_.get()));
    TILEPOST_BENCH_CUDA(cudaMemsetAsync(set.out, 0xff, bytes, stream_.get()));
    TILEPOST_BENCH_CUDA(cudaMemsetAsync(result_.get(), 0xff, bytes, stream_.get()));
    operands_.fill_exact(session_.options.seed, 0);
    theirs_.launch(set.a, set.b, result_.get(), stream_.get());
    run_ours(0);
    count_apart(set.out, result_.get(), elements, plan_.output, plan_.epilogue & kGateOps,
                static_cast<unsigned long long*>(wrong.get()), stream_.get());
    const unsigned long long found = read_number(wrong.get(), stream_.get());
    Record("check")
        .set("program", name_)
        .set("variant", "ours")
        .set("against", "cublaslt")
        .set("elements", static_cast<long long>(elements))
        .set("wrong", static_cast<long long>(found));
    return found == 0;
  }

  void prepare() {
    operands_.fill_normal(session_.options.seed, 0);
    const ExpertSet& set = operands_.set(0);
    theirs_.choose(set.a, set.b, set.out, stream_.get());
    session_.alive();
  }

  void measure(const Mode& mode) {
    std::vector<Variant> variants;
    variants.push_back({"ours", [this](int set) { run_ours(set); }});
    variants.push_back({"cublaslt", [this](int set) {
                          const ExpertSet& operands = operands_.set(set);
                          theirs_.launch(operands.a, operands.b, operands.out, stream_.get());
                        }});
    Timer timer(stream_.get(), operands_.count(), session_.nvml, session_.options.seed,
                session_.alive);
    print_reference(mode);
    const int burst = timer.warm_up(mode, variants);
    for (int i = 0; i < session_.options.rounds; ++i)
      print_round(mode, i, variants, timer.round(mode, burst, variants));
    for (const Variant& variant : variants)
      if (const std::string text = host_bound_in_words(mode, variant); !text.empty()) note(text);
  }

  void note(const std::string& text) const {
    Record("note").set("program", name_).set("text", text);
  }

  // How many rows the experts have.
  std::string rows_in_words() const {
    std::vector<int32_t> counts;
    for (size_t i = 0; i < ends_.size(); ++i)
      counts.push_back(ends_[i] - (i > 0 ? ends_[i - 1] : 0));
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    return "rows of experts: " + std::to_string(*least) + " to " + std::to_string(*most);
  }

 private:
  static cuda::Stream make_stream() {
    cuda::Stream stream;
    check_tilepost(cuda::make_stream(stream, false), "make_stream");
    return stream;
  }
  void run_ours(int set) const {
    ours_.run(operands_.set(set), static_cast<const int32_t*>(device_ends_.get()), stream_.get());
  }

  void print_reference(const Mode& mode) const {
    Record("reference")
        .set("program", name_)
        .set("mode", mode.name)
        .set("kernels", "one GEMM an expert on four streams")
        .set("rows", static_cast<long long>(plan_.map.m))
        .set("sets", operands_.count());
  }
  void print_round(const Mode& mode, int index, const std::vector<Variant>& variants,
                   const Round& round) const {
    Record record("sample");
    record.set("program", name_).set("mode", mode.name).set("round", index).begin("us");
    for (size_t i = 0; i < variants.size(); ++i) record.set(variants[i].name, round.us[i]);
    record.end().set("mhz", round.mhz).set("watts", round.watts);
  }

  const char* const name_;
  const tilepost_plan_t& plan_;
  const Session& session_;
  const cuda::Stream stream_;
  const std::vector<int32_t> ends_;
  const cuda::DeviceMemory device_ends_;
  const GroupedOperation ours_;
  ExpertGemms theirs_;
  ExpertOperands operands_;
  const cuda::DeviceMemory result_;
};

}  // namespace

bool bench_grouped(const Entry& entry, const tilepost_plan_t& plan, const Session& session) {
  GroupedBench bench(entry, plan, session);
  bench.note(bench.rows_in_words());
  if (!bench.check()) return false;
  bench.prepare();
  if (session.options.cool) bench.measure(kCool);
  if (session.options.sustained) bench.measure(kSustained);
  return true;
}

}  // namespace tilepost::bench
