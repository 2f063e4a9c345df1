#include "runtime/bench/gemm/gemm_bench.h"

#include <algorithm>
#include <optional>

#include "runtime/bench/gemm/authors_launch.h"
#include "runtime/bench/gemm/check.h"
#include "runtime/bench/gemm/cublas_lt.h"
#include "runtime/bench/gemm/cublas_rows.h"
#include "runtime/bench/gemm/route.h"
#include "runtime/bench/gpu/checked.h"
#include "runtime/bench/gpu/timing.h"
#include "runtime/bench/record.h"
#include "runtime/map/patterns.h"

namespace tilepost::bench {
namespace {

// The plan, with the number of rows that rank 0 multiplies as its m.
tilepost_plan_t measured_plan(const tilepost_plan_t& plan, uint64_t seed) {
  tilepost_plan_t measured = plan;
  measured.map.m = rows_multiplied(plan, 0, seed);
  return measured;
}

class GemmBench {
 public:
  GemmBench(const Entry& entry, const tilepost_plan_t& plan, const Session& session)
      : name_(entry.name),
        plan_(measured_plan(plan, session.options.seed)),
        plain_plan_(entry.plain != nullptr ? plain_plan(plan_, entry.plain()) : plan_),
        session_(session),
        own_(entry.own != nullptr ? std::optional(entry.own()) : std::nullopt),
        stream_(make_stream()),
        signals_(plan, session.options.seed),
        operands_(plan_, signals_.out_elements(), stream_.get(), own_ ? &*own_ : nullptr),
        woven_(plan_, session.machine.device, operands_, signals_.out_elements(), signals_.view()),
        cublas_(operands_.product(0), rows_for_cublas(plan_), operands_.scale(),
                plan.accumulate == TILEPOST_FAST, cublas_sms()) {
    if (own_)
      author_.emplace(plan_, *own_);
    else if (serves_rows(plan_))
      plain_.emplace(plain_plan_, session.machine.device, operands_, plan_.map.m * plan_.map.n,
                     tilepost_view_t{});
    else
      note("the un-woven kernel cannot write rows of this length, the signal is not measured");
    if (const std::string rows = cublas_rows_in_words(plan_); !rows.empty()) note(rows);
  }

  bool check() {
    Checker checker(name_, plan_, operands_, cublas_, session_.options.seed, stream_.get());
    session_.alive();
    const auto ours = [&] { woven_.launch(0, stream_.get()); };
    const auto plain = [&] { launch_plain(0); };
    long long wrong = 0;
    if (own_ && own_->is_opaque()) {
      wrong = checker.check_against("ours", signals_.place(), ours, "the original", plain);
    } else {
      wrong = checker.check_cublas();
      wrong += checker.check("ours", signals_.place(), ours);
      if (has_plain()) wrong += checker.check("plain", {}, plain);
    }
    const int counters = signals_.count_wrong(1);
    Record("check")
        .set("program", name_)
        .set("variant", "ours")
        .set("against", "counters")
        .set("elements", plan_.map.num_groups)
        .set("wrong", counters);
    return wrong == 0 && counters == 0;
  }

  void measure(const Mode& mode) {
    std::vector<Variant> variants;
    variants.push_back({"ours", [&](int set) { woven_.launch(set, stream_.get()); }});
    if (has_plain()) variants.push_back({"plain", [&](int set) { launch_plain(set); }});
    Timer timer(stream_.get(), operands_.count(), session_.nvml, session_.options.seed,
                session_.alive);
    Mode rest = mode;
    if (cublas_.candidates() > 0) {
      const int best = fastest_candidate(cublas_, operands_, mode, timer, stream_.get());
      print_reference(mode, best);
      variants.push_back({"cublaslt", [this, best](int set) {
                            cublas_.launch(operands_.set(set), best, stream_.get());
                          }});
      rest.heating_ms = 0;  // finding the fastest candidate has heated the chip
    }
    const int burst = timer.warm_up(rest, variants);
    for (int i = 0; i < session_.options.rounds; ++i)
      print_round(mode, i, variants, timer.round(mode, burst, variants));
    for (const Variant& variant : variants)
      if (const std::string text = host_bound_in_words(mode, variant); !text.empty()) note(text);
    if (cublas_.candidates() == 0)
      note(std::string(mode.name) + ": cuBLASLt has nothing for this product: no reference");
  }

  void fill_normal() { operands_.fill_normal(session_.options.seed); }

 private:
  static cuda::Stream make_stream() {
    cuda::Stream stream;
    check_tilepost(cuda::make_stream(stream, false), "make_stream");
    return stream;
  }

  bool has_plain() const { return plain_ || author_; }
  void launch_plain(int set) const {
    if (author_)
      (*author_)(operands_.set(set), stream_.get());
    else
      plain_->launch(set, stream_.get());
  }

  int cublas_sms() const {
    const int sms = gemm_sms(plan_, session_.machine.device.sms);
    return sms < session_.machine.device.sms ? sms : 0;
  }

  void note(const std::string& text) const {
    Record("note").set("program", name_).set("text", text);
  }

  void print_reference(const Mode& mode, int best) {
    const std::string kernels = cublas_.kernels_of(operands_.set(0), best, stream_.get());
    Record("reference")
        .set("program", name_)
        .set("mode", mode.name)
        .set("candidates", cublas_.candidates())
        .set("fastest", best)
        .set("kernels", kernels)
        .set("sms", gemm_sms(plan_, session_.machine.device.sms))
        .set("operations", cublas_.operations())
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
  const tilepost_plan_t plan_, plain_plan_;
  const Session& session_;
  const std::optional<harness::PlainLaunch> own_;
  const cuda::Stream stream_;
  const Signals signals_;
  Operands operands_;
  const Gemm woven_;
  std::optional<Gemm> plain_;
  std::optional<AuthorsLaunch> author_;  // for a user's own kernel, in place of plain_
  CublasLt cublas_;
};

}  // namespace

int gemm_sms(const tilepost_plan_t& plan, int device_sms) {
  const bool overlaps = row_of(plan).communicates() && plan.transport != TILEPOST_TRANSPORT_NONE;
  // The SMs for the communication's CTAs and for the waiter.
  const int reserved = overlaps && plan.comm_ctas > 0 ? plan.comm_ctas + 1 : 0;
  return std::min(plan.sms, device_sms) - reserved;
}

bool bench_gemm(const Entry& entry, const tilepost_plan_t& plan, const Session& session) {
  if (plan.sum == TILEPOST_SUM_ADDED) {
    Record("note")
        .set("program", entry.name)
        .set("text", "a kernel that adds to what is there has no product of its own to time");
    return true;
  }
  GemmBench bench(entry, plan, session);
  if (!bench.check()) return false;
  bench.fill_normal();
  if (session.options.cool) bench.measure(kCool);
  if (session.options.sustained) bench.measure(kSustained);
  return true;
}

}  // namespace tilepost::bench
