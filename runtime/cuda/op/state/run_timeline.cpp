#include "runtime/cuda/op/state/run_timeline.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/cuda/watch/stamp.h"
#include "runtime/map/patterns.h"

namespace tilepost::cuda {
namespace {

[[gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...) {
  char line[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(line, sizeof line, format, values);
  va_end(values);
  return line;
}

// Whether the whole text is in the file `path`. If not, errno says why.
bool is_written(const char* path, const std::string& text) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int reason = errno;
  const bool closed = std::fclose(file) == 0;
  if (!written) errno = reason;
  return written && closed;
}

// The text is written beside the file's place and renamed. So the place has the old file or the new
// one, and after an error the old one. What is no regular file, such as a pipe, is written to.
tilepost_result_t write_file(const char* path, const std::string& text) {
  struct stat found {};
  const bool exists = ::stat(path, &found) == 0;
  bool done = false;
  if (exists && !S_ISREG(found.st_mode)) {
    done = is_written(path, text);
  } else if (!exists || ::access(path, W_OK) == 0) {
    static std::atomic<int> number = 0;                // of the file, among those of this process
    char* const followed = ::realpath(path, nullptr);  // through links
    const std::string place = followed != nullptr ? followed : path;
    std::free(followed);
    const std::string beside =
        place + printed(".%ld.%d.tmp", static_cast<long>(::getpid()), ++number);
    done = is_written(beside.c_str(), text) && std::rename(beside.c_str(), place.c_str()) == 0;
    const int reason = errno;
    if (!done) std::remove(beside.c_str());
    errno = reason;
  }
  if (done) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT, "tilepost_op_write_timeline: cannot write '%s': %s", path,
              std::strerror(errno));
}

}  // namespace

// The lines of the bank whose run began last.
struct RunTimeline::Lines {
  Bank bank = kEager;
  std::vector<uint64_t> words;  // [group * kTimelineStride]

  uint64_t at(int group, TimelineWord word) const {
    return words[static_cast<size_t>(group) * kTimelineStride + word];
  }
  uint64_t begin() const { return at(0, kRunBegin); }

  // Ns from the run's beginning; -1: not in this run.
  int64_t since_begin(int group, TimelineWord word) const {
    return at(group, word) < begin() ? -1 : static_cast<int64_t>(at(group, word) - begin());
  }
};

tilepost_result_t RunTimeline::record() {
  TILEPOST_CUDA(preload_stamp());
  on_ = true;
  return TILEPOST_OK;
}

void RunTimeline::note(const Run& run) {
  if (!on_) return;
  const RunMap& map = run.run_map();
  const Noted noted{map.m, static_cast<int>(run.record->groups), !map.tiles.tiles.empty()};
  if (run.bank == kEager)
    eager_ = noted;
  else
    captured_[static_cast<uint32_t>(run.map->captured)] = noted;
}

uint64_t* RunTimeline::line(const Run& run, int group) const {
  if (!on_) return nullptr;
  return reinterpret_cast<uint64_t*>(state_.bank(run.bank)) + ptrdiff_t{group} * kTimelineStride;
}

tilepost_result_t RunTimeline::stamp(const Run& run, int group, TimelineWord word,
                                     cudaStream_t stream) const {
  if (on_) TILEPOST_CUDA(launch_stamp(line(run, group) + word, stream));
  return TILEPOST_OK;
}

tilepost_result_t RunTimeline::write(const char* path) const {
  if (!on_)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "tilepost_op_write_timeline: the runs of '%s' were not recorded; call "
                "tilepost_op_record_timeline before them",
                program_);
  Lines lines;
  TILEPOST_TRY(read(lines));
  const auto captured = captured_.find(state_.page()->replayed);
  if (lines.bank == kCaptured && captured == captured_.end())
    return fail(TILEPOST_INVALID_ARGUMENT,
                "tilepost_op_write_timeline: the graph of '%s' that was replayed last was captured "
                "before tilepost_op_record_timeline; capture it again",
                program_);
  const Noted& run = lines.bank == kCaptured ? captured->second : eager_;
  TILEPOST_TRY(check(lines, run));
  return write_file(path, text_of(lines, run));
}

tilepost_result_t RunTimeline::read(Lines& lines) const {
  const size_t words = static_cast<size_t>(state_.traits.most_groups) * kTimelineStride;
  for (const Bank bank : {kEager, kCaptured}) {
    Lines found{bank, std::vector<uint64_t>(words)};
    TILEPOST_CUDA(cudaMemcpyAsync(found.words.data(), state_.bank(bank), words * sizeof(uint64_t),
                                  cudaMemcpyDeviceToHost, lanes_.stream()));
    TILEPOST_TRY(state_.finish_in_time(lanes_.stream(), "the times of a run were not there"));
    if (bank == kEager || found.begin() > lines.begin()) lines = std::move(found);
  }
  return TILEPOST_OK;
}

tilepost_result_t RunTimeline::check(const Lines& lines, const Noted& run) const {
  if (run.groups == 0 || lines.begin() == 0)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "tilepost_op_write_timeline: no run of '%s' with rows has been recorded; make one "
                "after tilepost_op_record_timeline",
                program_);
  if (lines.since_begin(0, kRunEnd) < 0)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "tilepost_op_write_timeline: a replayed run of '%s' has not ended; synchronise the "
                "stream of its graph first",
                program_);
  bool stamped = !run.has_tiles;
  for (int group = 0; group < run.groups; ++group)
    stamped = stamped || lines.since_begin(group, kTilesEnd) >= 0;
  if (stamped) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT,
              "tilepost_op_write_timeline: the kernel of '%s' notes no times; generate it with "
              "--timestamps",
              program_);
}

std::string RunTimeline::text_of(const Lines& lines, const Noted& run) const {
  std::string text = printed(
      "{\"tilepost_timeline\": 1, \"name\": \"%s\", \"pattern\": \"%s\", \"rank\": %d, "
      "\"ranks\": %d,\n \"m\": %" PRId64 ", \"map_hash\": \"0x%016" PRIx64
      "\", \"replayed\": %s, \"total_ns\": %" PRId64 ",\n \"groups\": [",
      program_, row_of(plan_).name, state_.traits.rank, plan_.ranks, run.m,
      static_cast<uint64_t>(plan_.map_hash), lines.bank == kCaptured ? "true" : "false",
      lines.since_begin(0, kRunEnd));
  for (int group = 0; group < run.groups; ++group)
    text += printed("%s\n  {\"tiles_end_ns\": %" PRId64 ", \"steps_begin_ns\": %" PRId64
                    ", \"steps_end_ns\": %" PRId64 "}",
                    group > 0 ? "," : "", lines.since_begin(group, kTilesEnd),
                    lines.since_begin(group, kStepsBegin), lines.since_begin(group, kStepsEnd));
  return text + "]}\n";
}

}  // namespace tilepost::cuda
