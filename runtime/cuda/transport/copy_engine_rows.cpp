#include <algorithm>

#include "runtime/cuda/transport/arrivals.h"
#include "runtime/cuda/transport/shared_transport.h"
#include "runtime/map/moved_scales.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

// The copies of all groups are on one stream, because links carry more if copies to the peers come
// one after the other. Each of four GPUs then sends 311 GB/s, with 8 MiB for every peer. Copies
// side by side send about 210 GB/s beside a GEMM (docs/internals/performance.md).
class CopyEngineRows final : public SharedTransport {
 public:
  CopyEngineRows(SharedService& shared, const tilepost_plan_t& plan)
      : SharedTransport(shared), plan_(plan), scales_(moved_scales(plan)) {}

  tilepost_result_t create() {
    TILEPOST_TRY(make_stream(announcing_, true));
    for (Event* event : {&fork_, &done_}) TILEPOST_TRY(make_event(*event));
    TILEPOST_TRY(make_stream(copying_, true));
    TILEPOST_TRY(make_event(copied_));
    TILEPOST_CUDA(preload_flags());
    TILEPOST_CUDA(preload_arrivals());
    return TILEPOST_OK;
  }

  tilepost_result_t communicate(const Buffers& buffers, const GroupRun& run,
                                cudaStream_t stream) override {
    TILEPOST_TRY(check_usable());
    if (run.group == 0) {
      TILEPOST_TRY(fork(stream));
      own_chunks_ = run.chunks;
    }
    for (const Step& step : run.steps) TILEPOST_TRY(take(buffers, run, step, stream));
    return TILEPOST_OK;
  }

  bool posts() const override { return true; }

  // Tiles may read this rank's own rows together with the rows of others that are posted here. Own
  // rows are not announced, since no other rank waits for them. So this waits for tasks that copy
  // own rows before it posts anything.
  tilepost_result_t arrive(const Buffers& buffers, const ArrivingGroups& arrivals,
                           cudaStream_t stream) override {
    TILEPOST_TRY(check_usable());
    if (arrivals.first <= 1) TILEPOST_TRY(wait_for_own_rows(stream));
    ArrivalArguments arguments{};
    arguments.lane = arrivals.lane;
    arguments.first = arrivals.first;
    arguments.count = static_cast<int>(arrivals.steps.size());
    std::ranges::transform(arrivals.steps, arguments.sources, sources_of);
    arguments.own[0] = own_rows(buffers, arrivals.own_first, std::max(arrivals.first, 1));
    arguments.own[1] = own_rows(buffers, arrivals.own_last, arrivals.first + arguments.count - 1);
    arguments.post = arrivals.post;
    arguments.stamps = arrivals.stamps;
    TILEPOST_CUDA(launch_arrivals(flags(), arguments, stream));
    return TILEPOST_OK;
  }

  tilepost_result_t rejoin(cudaStream_t stream) override {
    if (!announced_) return TILEPOST_OK;
    TILEPOST_TRY(follow(stream, done_, announcing_.get()));
    return join(stream);
  }

  void name_streams(const NvtxNames& nvtx) const override {
    nvtx.name_stream(announcing_.get(), "announcements");
    nvtx.name_stream(copying_.get(), "copies to other ranks");
  }

 private:
  tilepost_result_t warm_up_lanes(cudaStream_t stream) override {
    const int64_t from = regions().layout().warm_up, to = from + kWarmUpBytes;
    TILEPOST_TRY(copy(regions().own(to), regions().own(from), kWarmUpBytes, stream));
    TILEPOST_TRY(fork(stream));
    for (int peer = 0; peer < flags().ranks; ++peer)
      if (peer != flags().rank)
        TILEPOST_TRY(copy_beside(regions().of(peer, to), regions().own(from), kWarmUpBytes));
    TILEPOST_TRY(join(announcing_.get()));
    TILEPOST_CUDA(launch_announce_and_wait(flags(), Flag::block, 0, 0, others_of(flags()),
                                           announcing_.get()));
    return follow(stream, done_, announcing_.get());
  }

  void reset_lanes() override { announced_ = copies_ = false; }

  tilepost_result_t take(const Buffers& buffers, const GroupRun& run, const Step& step,
                         cudaStream_t stream) {
    const void* from = at(buffers.a, bytes(step.from));
    switch (step.kind) {
      case StepKind::own_rows:
        if (scales_.exist()) TILEPOST_TRY(bring_own_scales(buffers, step, stream));
        if (path_of(plan_, true).has_tasks) return TILEPOST_OK;
        return copy(at(buffers.gathered, bytes(step.to)), from, bytes(step.count), stream);
      case StepKind::push_rows:
        if (scales_.exist()) TILEPOST_TRY(push_scales(buffers, step));
        return copy_beside(regions().of(step.peer, regions().layout().gathered + bytes(step.to)),
                           from, bytes(step.count));
      case StepKind::announce:
        return announce(run);
      case StepKind::landed_rows:
        return TILEPOST_OK;
      default:
        return refuse_step(step.kind);
    }
  }

  // Copies the scales of the own rows to where those of all rows come together. They are few, so
  // that no task copies them, and tiles with rows of other ranks read them there.
  tilepost_result_t bring_own_scales(const Buffers& buffers, const Step& step,
                                     cudaStream_t stream) const {
    return copy(buffers.gathered_scales + scales_.of(step.to),
                buffers.scales + scales_.of(step.from), scales_.bytes_of(step.count), stream);
  }

  // Copies the scales of rows for a peer, in front of the rows.
  tilepost_result_t push_scales(const Buffers& buffers, const Step& step) {
    const int64_t there = regions().layout().gathered + place_of_rows(plan_, plan_.map.m).scales;
    return copy_beside(regions().of(step.peer, there + scales_.bytes_of(step.to)),
                       buffers.scales + scales_.of(step.from), scales_.bytes_of(step.count));
  }

  // Announces, behind the copies, the rows that this rank has copied. This does not wait for other
  // ranks' rows.
  tilepost_result_t announce(const GroupRun& run) {
    announced_ = true;
    TILEPOST_TRY(join(announcing_.get()));
    TILEPOST_CUDA(launch_announce(flags(), Flag::block, run.lane, run.group, announcing_.get()));
    return TILEPOST_OK;
  }

  // The ranks that bring the rows of a group: the steps behind this rank's own announcement need
  // what those ranks announce. There are none for the own rows.
  static uint64_t sources_of(const std::vector<Step>& steps) {
    const auto announced = std::ranges::find(steps, StepKind::announce, &Step::kind);
    return announced == steps.end() ? 0 : needed_by({announced + 1, steps.end()});
  }

  OwnRows own_rows(const Buffers& buffers, std::span<const Step> steps, int before) const {
    if (steps.empty()) return {};
    const Step& own = steps.front();
    return {at(buffers.a, bytes(own.from)), at(buffers.gathered, bytes(own.to)), bytes(own.count),
            before};
  }

  // A rank without rows has no tasks that copy own rows.
  tilepost_result_t wait_for_own_rows(cudaStream_t stream) {
    if (own_chunks_ > 0) TILEPOST_CUDA(launch_wait_added(flags(), 0, own_chunks_, stream));
    return TILEPOST_OK;
  }

  // Lets copies from here on follow `stream`.
  tilepost_result_t fork(cudaStream_t stream) {
    copies_ = true;
    return follow(copying_.get(), fork_, stream);
  }

  tilepost_result_t copy_beside(void* to, const void* from, int64_t bytes) {
    copies_ = true;
    return copy(to, from, bytes, copying_.get());
  }

  // Lets later work on `stream` follow all copies so far.
  tilepost_result_t join(cudaStream_t stream) {
    if (copies_) TILEPOST_TRY(follow(stream, copied_, copying_.get()));
    copies_ = false;
    return TILEPOST_OK;
  }

  int64_t bytes(int64_t elements) const { return elements * element_bytes(plan_.input); }

  const tilepost_plan_t& plan_;
  const MovedScales scales_;
  Stream announcing_, copying_;
  Event fork_;               // caller's stream → copying
  Event copied_;             // copying → announcing
  Event done_;               // announcing → caller's
  bool announced_ = false;   // whether anything was announced in this run
  bool copies_ = false;      // whether there are copies that no stream has joined
  uint32_t own_chunks_ = 0;  // the chunks of group 0, the own rows, which tasks may copy
};

}  // namespace

tilepost_result_t make_copy_engine_rows(SharedService& shared, const tilepost_plan_t& plan,
                                        std::unique_ptr<Transport>& transport) {
  return make_shared<CopyEngineRows>(shared, plan, transport);
}

}  // namespace tilepost::cuda
