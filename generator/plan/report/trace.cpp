#include "generator/plan/report/trace.h"

#include <fmt/format.h>

#include <cmath>

#include "generator/plan/cost/predict.h"
#include "generator/plan/report/spans.h"
#include "generator/plan/transports/transports.h"
#include "generator/printable.h"
#include "generator/spec/names.h"
#include "runtime/map/patterns.h"

namespace tilepost {
namespace {

// Trace Event Format, "JSON Object Format": ph M names processes and threads, X is a span with
// begin and duration, C a counter. Times are in us.
class Trace {
 public:
  void process(const std::string& name) {
    ++process_;
    thread_ = kThreads * process_;
    metadata("process_name", "name", quoted(name));
    metadata("process_sort_index", "sort_index", std::to_string(process_));
  }

  void thread(const std::string& name) {
    ++thread_;
    metadata("thread_name", "name", quoted(name));
    metadata("thread_sort_index", "sort_index", std::to_string(thread_));
  }

  // `details`: members of a JSON object.
  void span(const Span& span, const std::string& name, const std::string& details) {
    const int64_t begin = nanoseconds(span.begin), end = nanoseconds(span.end);
    add(fmt::format(
        "\"ph\": \"X\", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}, \"name\": {}, "
        "\"args\": {{{}}}",
        process_, thread_, us(begin), us(end - begin), quoted(name), details));
  }

  void counter(const std::string& name, double at, double value) {
    add(
        fmt::format("\"ph\": \"C\", \"pid\": {}, \"ts\": {}, \"name\": {}, \"args\": "
                    "{{\"GB/s\": {:.1f}}}",
                    process_, us(nanoseconds(at)), quoted(name), value));
  }

  std::string finish() const {
    return "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n" + events_ + "\n]}\n";
  }

 private:
  // Ends and begins that touch stay together when they are rounded.
  static int64_t nanoseconds(double us) { return std::llround(us * 1000); }
  static std::string us(int64_t nanoseconds) {
    return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
  }

  static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : printable(text)) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + "\"";
  }

  void metadata(const char* what, const char* key, const std::string& value) {
    add(
        fmt::format("\"ph\": \"M\", \"pid\": {}, \"tid\": {}, \"name\": \"{}\", \"args\": "
                    "{{\"{}\": {}}}",
                    process_, thread_, what, key, value));
  }

  void add(const std::string& members) {
    events_ += (events_.empty() ? "{" : ",\n{") + members + "}";
  }

  // No thread has the number of a process. Perfetto would call such a thread the process's main one
  // and show it first.
  static constexpr int kThreads = 1000;

  int process_ = 0, thread_ = 0;
  std::string events_;
};

std::string group_name(int group) {
  return "group " + std::to_string(group);
}

void add_gemm(Trace& trace, const Plan& plan, const Timeline& timeline) {
  trace.thread("GEMM");
  for (size_t i = 0; i < timeline.gemm.size(); ++i) {
    const int group = timeline.gemm[i].group;
    trace.span(timeline.gemm[i], group_name(group),
               fmt::format("\"waves\": {}, \"tiles\": {}", timeline.waves[i],
                           plan.tile_map().groups[group].num_tiles));
  }
}

void add_lanes(Trace& trace, const Plan& plan, const Timeline& timeline) {
  for (size_t i = 0; i < timeline.lanes.size(); ++i)
    for (const std::vector<Span>& row : rows_without_overlap(timeline.lanes[i])) {
      trace.thread(timeline.lanes.size() == 1
                       ? timeline.collective
                       : fmt::format("{}, lane {}", timeline.collective, i + 1));
      for (const Span& span : row)
        trace.span(span, group_name(span.group),
                   fmt::format("\"bytes\": {}", bytes_of_group(plan, span.group)));
    }
}

void add_exposed(Trace& trace, const Timeline& timeline) {
  if (timeline.exposed.empty()) return;
  trace.thread("exposed");
  for (const Span& span : timeline.exposed) trace.span(span, "exposed", "");
}

void add_load(Trace& trace, const Timeline& timeline) {
  const char* const name = "load of the links";
  for (size_t i = 0; i < timeline.load.size(); ++i) {
    const Load& load = timeline.load[i];
    trace.counter(name, load.begin, load.gb_per_s);
    if (i + 1 == timeline.load.size() || timeline.load[i + 1].begin > load.end)
      trace.counter(name, load.end, 0);
  }
}

void add_sequence(Trace& trace, const Plan& plan, const Timeline& timeline) {
  if (!timeline.overlaps || timeline.sequence <= 0) return;
  trace.process(
      fmt::format("in sequence: {}: {:.0f} us", sequence_text(plan.pattern), timeline.sequence));
  trace.thread("GEMM");
  trace.span(timeline.sequence_gemm, "GEMM", "");
  trace.thread(timeline.collective);
  trace.span(timeline.sequence_sent, timeline.collective, "");
}

// The threads of a run.
void add_run(Trace& trace, const Plan& plan, const Timeline& timeline) {
  if (timeline.comes_first) add_lanes(trace, plan, timeline);
  add_gemm(trace, plan, timeline);
  if (!timeline.comes_first) add_lanes(trace, plan, timeline);
  add_exposed(trace, timeline);
  add_load(trace, timeline);
}

}  // namespace

std::string trace_of(const Plan& plan, const Measured* measured) {
  const std::optional<Timeline> timeline = timeline_of(plan);
  if (!timeline) return "";
  Trace trace;
  trace.process(fmt::format("{}: {} on {}, as planned: {:.0f} us", plan.name, name_of(plan.pattern),
                            name_of(plan.arch), timeline->total));
  add_run(trace, plan, *timeline);
  add_sequence(trace, plan, *timeline);
  if (measured != nullptr) {
    trace.process(fmt::format("{}, as measured on rank {}: {:.0f} us", plan.name, measured->rank,
                              measured->total));
    add_run(trace, plan, timeline_of(plan, *measured));
  }
  return trace.finish();
}

}  // namespace tilepost
