// What a run does when, as predicted or as measured: everything that explain's timelines, pictures
// and traces show. Those only print; this is where it is worked out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// A part of a run's time, in us from the run's beginning.
struct Span {
  double begin = 0, end = 0;
  int group = 0;

  double length() const { return end - begin; }
};

// The links carry the bytes of a group during a span.
struct Load : Span {
  double gb_per_s = 0;
};

struct Timeline {
  bool overlaps = false;     // whether the plan overlaps; if not, the run is the sequence
  bool comes_first = false;  // whether rows of A arrive before tiles are computed
  std::string collective;    // "AllReduce"; "" if nothing is sent
  double total = 0;          // us, when the run ends
  double gemm_us = 0;        // how long the GEMM computes
  std::vector<Span> gemm;    // when the tiles of each group that has tiles are computed
  std::vector<int> waves;    // [gemm.size()] waves that end in that span
  // When groups are sent, by lane. Spans of a lane begin in order and may overlap: the end of one
  // transfer hides behind the next.
  std::vector<std::vector<Span>> lanes;
  // When nothing is computed because of communication. `exposed_us` is what the run takes beside
  // its GEMM. Where tiles wait for rows of A, a wait also costs part of a wave, so that the spans
  // may sum to less.
  std::vector<Span> exposed;
  double exposed_us = 0;
  // The links serve one group after the other. They carry a group's bytes in the time from when its
  // transfer has begun and the links are free to the end of its transfer, without the tail in which
  // it completes. Rows that a rank already has pass no link.
  std::vector<Load> load;
  // The whole GEMM and one collective, one after the other. All 0 if no kernel runs like this.
  Span sequence_gemm, sequence_sent;
  double sequence = 0;
};

// Returns nothing where no times are predicted: on the host target.
std::optional<Timeline> timeline_of(const Plan& plan);

// A run that was measured on one rank (tilepost/timeline.h). Times are in us from the run's
// beginning. Nothing stands for what the run has not noted: tiles that a rank does not compute, and
// communication that kernels carry out by themselves.
struct Measured {
  struct Group {
    std::optional<double> tiles_end, steps_begin, steps_end;
  };
  int rank = 0;
  bool replayed = false;  // from a CUDA graph
  double total = 0;
  std::vector<Group> groups;  // as many as the plan has
};

// The same of a run that was measured, without load and sequence. The tiles of a group begin when
// those of the group before have ended and, where rows of A arrive first, these rows are there. A
// transfer whose begin was not noted begins when the one before in its lane ends.
Timeline timeline_of(const Plan& plan, const Measured& measured);

// The spans of a lane in as few rows as it takes for none to overlap another in its row. Spans of a
// row are in order.
std::vector<std::vector<Span>> rows_without_overlap(const std::vector<Span>& lane);

}  // namespace tilepost
