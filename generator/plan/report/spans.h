// The predicted times of a run: everything that explain's timelines, pictures and traces show. They
// are worked out here from a plan and its prediction. Timelines, pictures and traces only print
// them.
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
  // The links serve one group after the other. They carry a group's bytes in the time from when the
  // group is ready and the links are free to the end of its transfer, without the tail in which it
  // completes. Rows that a rank already has pass no link.
  std::vector<Load> load;
  // The whole GEMM and one collective, one after the other. All 0 if no kernel runs like this.
  Span sequence_gemm, sequence_sent;
  double sequence = 0;
};

// Returns nothing where no times are predicted: on the host target.
std::optional<Timeline> timeline_of(const Plan& plan);

// Spreads the spans of a lane over as few rows as possible, so that no two spans of a row overlap.
// Spans of a row are in order.
std::vector<std::vector<Span>> rows_without_overlap(const std::vector<Span>& lane);

}  // namespace tilepost
