#include "runtime/cuda/shared/tasks.h"

#include <algorithm>

#include "runtime/map/moved_scales.h"
#include "runtime/map/slots.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/task_chunks.h"

namespace tilepost::cuda {
namespace {

class TaskList {
 public:
  TaskList(const tilepost_plan_t& plan, const RunMap& run, const SharedRegions& shared,
           Tasks& tasks)
      : plan_(plan),
        run_(run),
        spreads_(run.path.reads == InputFrom::split),
        pushes_(run.path.warps_push() ? run.path.pushes : Pushes::nothing),
        scales_(moved_scales(plan)),
        layout_(shared.layout()),
        groups_(run.num_groups()),
        tasks_(tasks) {
    tasks_.chunks.assign(run.steps.size(), 0);
    tasks_.targets.assign(static_cast<size_t>(shared_counters(plan)), 0);
    if (!spreads_) std::ranges::copy(run.targets, tasks_.targets.begin());
  }

  // Sums that land here are moved after the next group's tasks, because those do not wait for other
  // ranks' warps. Sums that land in out are not moved by the kernel.
  void make() {
    for (int g = 0; g < groups_; ++g) {
      tasks_.last = tasks_.list.size();
      for (const Step& step : run_.steps[g]) take(step, g);
      if (g > 0) move_landed_sums(g - 1);
    }
    if (groups_ > 0) move_landed_sums(groups_ - 1);
    if (spreads_) tasks_.last = tasks_.list.size();  // other ranks wait for all of these tasks
  }

 private:
  int64_t width() const { return element_bytes(spreads_ ? plan_.input : plan_.output); }
  int parts_of(StepKind kind) const { return kind == StepKind::sum ? plan_.task_parts : 1; }

  // The byte where kernels store the row that begins at `element`, if elements are counted in rows
  // without gaps.
  int64_t stored_byte(int64_t element) const {
    return element / plan_.map.n * stored_pitch(plan_) * width();
  }

  uint32_t chunks_of(int64_t count, int parts) const {
    return chunks_of_bytes(count * width(), parts);
  }

  uint32_t chunks_of_bytes(int64_t bytes, int parts) const {
    return static_cast<uint32_t>(
        task_chunks(bytes, task_chunk_bytes(plan_.kernel.helper_bytes, parts)));
  }

  void take(const Step& step, int g) {
    switch (step.kind) {
      case StepKind::sum:
        return add_sum(step, g);
      case StepKind::own_part:
      case StepKind::landed_part:
        return add(step, g, {layout_.landed + stored_byte(step.from), -1, g, g});
      case StepKind::own_rows:
        return add_own_rows(step, g);
      case StepKind::push_rows:
        if (pushes_ == Pushes::rows) add_push(step, g);
        return;
      case StepKind::landed_sums:
        tasks_.targets[landed_counter(g)] += chunks_of(step.count, plan_.task_parts);
        return;
      case StepKind::landed_rows:
        if (pushes_ == Pushes::rows) expect_rows(step, g);
        return;
      default:
        return;
    }
  }

  // Whether each row goes to one rank. If not, all ranks get the same rows, and one task pushes
  // them.
  bool routes() const { return row_of(plan_).routes(); }

  void add_own_rows(const Step& own, int g) {
    if (pushes_ != Pushes::rows) return add(own, g, {own.from * width(), -1, -1, g});
    if (!routes()) return add_edges(own, g);
    add_rows(own, g, false);
    expect_rows(own, g);
  }

  void add_push(const Step& push, int g) {
    if (routes())
      add_rows(push, g, true, push.peer);
    else if (tasks_.chunks[g] == 0)
      add_rows(push, g, true);
  }

  // Rows that this rank pushes or keeps, behind the scales that move with them. Both count at the
  // same counter, so one wait is enough for both.
  void add_rows(const Step& rows, int g, bool push, int only = -1) {
    if (scales_.exist()) add_scales(rows, g, push, only);
    add(rows, g, {rows.from * width(), push ? rows.to * width() : -1, -1, g}, only);
  }

  // The kernel is given scales that begin where those of all rows would, so that the own rows'
  // have their places among them (Gemm::find_scales). Behind gathered rows their scales lie at the
  // same place on every rank.
  void add_scales(const Step& rows, int g, bool push, int only) {
    const RunMap::OwnRows& own = run_.own;
    const int64_t from = scales_.bytes_of(rows.from + (own.first - own.in_a) * plan_.k);
    const int64_t to = place_of_rows(plan_, plan_.map.m).scales + scales_.bytes_of(rows.to);
    const int64_t bytes = scales_.bytes_of(rows.count);
    tasks_.list.push_back({from, to, push ? to : -1, bytes, 0, -1, g, only});
    tasks_.chunks[g] += scale_chunks_of(rows.count);
  }

  uint32_t scale_chunks_of(int64_t count) const {
    return chunks_of_bytes(scales_.bytes_of(count), 1);
  }

  // Counts the chunks of rows of A that some rank's tasks bring here.
  void expect_rows(const Step& rows, int g) {
    tasks_.targets[g] += chunks_of(rows.count, 1) + scale_chunks_of(rows.count);
  }

  // A push to all ranks also copies the own rows to `gathered` on this rank. But where shares do
  // not end with a tile, some tiles have rows of two ranks, and these tiles do not wait for pushes.
  // So the own rows of such tiles are copied first. The push then writes the same bytes once more,
  // while such tiles may be read.
  void add_edges(const Step& own, int g) {
    const EdgeRows edges = edges_of(run_.map(), plan_.k, own);
    for (const Step& rows : edges.all()) {
      add_rows(rows, g, false);
      expect_rows(rows, g);
    }
  }

  void add_sum(const Step& step, int g) {
    const bool push = pushes_ == Pushes::results;
    add(step, g,
        {layout_.slots + stored_byte(step.from_slot), push ? step.to * width() : -1, g,
         push ? landed_counter(g) : g});
  }

  void move_landed_sums(int g) {
    for (const Step& step : run_.steps[g])
      if (step.kind == StepKind::landed_sums)
        add(step, g, {layout_.landed + step.from * width(), -1, landed_counter(g), g});
  }

  // The fields of tilepost_task_t that a step does not have.
  struct Place {
    int64_t from, push;
    int waits, counts;
  };

  void add(const Step& step, int g, const Place& place, int only = -1) {
    const int parts = parts_of(step.kind);
    tasks_.list.push_back({place.from, step.to * width(), place.push, step.count * width(), parts,
                           place.waits, place.counts, only});
    tasks_.chunks[g] += chunks_of(step.count, parts);
  }

  int landed_counter(int group) const { return plan_.map.num_groups + group; }

  const tilepost_plan_t& plan_;
  const RunMap& run_;
  const bool spreads_;   // whether tasks copy or push the rank's own rows of A
  const Pushes pushes_;  // what tasks push; the rest is copied, or left to other ranks to copy
  const MovedScales scales_;
  const SharedLayout& layout_;
  const int groups_;
  Tasks& tasks_;
};

}  // namespace

int shared_counters(const tilepost_plan_t& plan) {
  const RunPath path = path_of(plan, true);
  // Whether counters alternate by the run's parity.
  const bool turns = path.pushes == Pushes::rows && path.whole_run;
  return plan.map.num_groups * (path.pushes == Pushes::results || turns ? 2 : 1);
}

// Only tasks wait for tiles that ranks store. If no task waited for some of them, this rank would
// end the run while they are still to come, and other ranks would store into the same places.
tilepost_result_t make_tasks(const tilepost_plan_t& plan, const RunMap& run,
                             const SharedRegions& shared, Tasks& tasks) {
  TaskList(plan, run, shared, tasks).make();
  if (run.path.stores != Buffer::owners) return TILEPOST_OK;
  for (size_t g = 0; g < run.steps.size(); ++g) {
    const auto waits = [&](const tilepost_task_t& task) {
      return task.waits == static_cast<int>(g);
    };
    if (run.targets[g] > 0 && std::ranges::none_of(tasks.list, waits))
      return fail(TILEPOST_INTERNAL_ERROR, "tiles of group %zu are stored, and no task reads them",
                  g);
  }
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
