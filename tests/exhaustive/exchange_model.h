// The protocol of kernels that exchange tiles (docs/internals/exchange-of-tiles.md), as steps of a
// few threads on memory that changes one word at a time: every order in which they can happen is
// tried. Words hold numbers of runs: what is read must be of the reader's run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost::test {

// What is exchanged: `parts` of every rank, in runs whose kinds (operations with memory laid out in
// their own way) come one after the other.
struct ExchangeWorld {
  int ranks;
  int parts;
  tilepost_shots_t shots;
  bool scatters =
      false;  // part p is wanted by rank p % ranks alone; else, but in two shots, by all
  std::vector<int> kinds;  // 0 or 1, of run 1, 2, …
  // Rows of A are, in one shot: `parts` of every rank's or (scatters) part p of rank p % ranks
  // alone. A tile of each rank has some of all.
  bool gathers = false;
  // So many runs were before, modulo 128, at which numbers of runs come back to 0 here; none has
  // used these parts. 0: none was before, and then numbers are not made new.
  int before = 0;
  // Two shots: one CTA of each rank has all parts, and goes through them, in place of one for each.
  bool one_cta = false;
};

// The rules that keep runs apart. Without one of them some order must go wrong.
struct ExchangeRules {
  bool waits_for_flags = true;        // before parts are added up
  bool flags_behind_data = true;      // or, in lines, in the data
  bool two_buffers = true;            // by the parity of the run
  bool meets = true;                  // no rank ends a run that another has not begun
  bool right_run = true;              // flags are waited for with this run's number
  bool waits_for_other_kinds = true;  // until all ranks have ended the run before
  bool words_of_two_runs = true;      // what a run is, by parity
  bool sums_behind_all = true;        // two shots: sums go out when all ranks' parts have come
  bool renews = true;                 // numbers that are waited for, of the next run's words
  bool renews_before_begun = true;    // and tells of the run behind that
  bool one_order = true;              // in which the CTAs of all ranks go through parts
};

struct ExchangeResult {
  std::string fault;  // the first order that goes wrong: its last step; "" if there is none
  size_t states = 0;  // that were seen
};

ExchangeResult try_all_orders(const ExchangeWorld& world, const ExchangeRules& rules);

}  // namespace tilepost::test
