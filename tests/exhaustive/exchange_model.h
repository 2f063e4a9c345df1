// A model of the protocol of kernels that exchange tiles (docs/internals/exchange-of-tiles.md). A
// few threads make steps on memory that changes one word at a time, and every order of these steps
// is tried. Words hold numbers of runs, and a read must find the number of the reader's run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost::test {

// What ranks exchange: `parts` parts of every rank, in a sequence of runs. Runs of different kinds
// belong to operations that lay out the memory in different ways.
struct ExchangeWorld {
  int ranks;
  int parts;
  tilepost_shots_t shots;
  // Whether rank p % ranks alone gets part p, as it always does in two shots. Otherwise all ranks
  // get each part.
  bool scatters = false;
  std::vector<int> kinds;  // of runs 1, 2, …: 0 or 1
  // Whether rows of A move, in one shot. Every rank has `parts` parts or, with `scatters`, rank p %
  // ranks alone has part p. A tile of each rank needs rows of all parts.
  bool gathers = false;
  // How many runs came before, modulo 128, where numbers of runs wrap to 0 in this model. None of
  // them has used these parts. With 0 no run came before, and numbers are not renewed.
  int before = 0;
  // In two shots: whether one CTA of each rank handles all parts. Otherwise each part has its own.
  bool one_cta = false;
};

// The rules that keep runs apart. Without any one of them some order must go wrong.
struct ExchangeRules {
  bool waits_for_flags = true;    // parts are added up after their flags have come
  bool flags_behind_data = true;  // a flag is stored behind its part; a line has both in one
  bool two_buffers = true;        // slots and flags exist twice, by the parity of the run
  bool meets = true;              // no rank ends a run that another rank has not begun
  bool right_run = true;          // waits ask for this run's number
  // After a run of another kind than its own, a rank waits until all ranks have ended that run.
  bool waits_for_other_kinds = true;
  bool words_of_two_runs = true;    // the words that say what a run is exist twice, by parity
  bool sums_behind_all = true;      // in two shots a sum goes out when all ranks' parts have come
  bool renews = true;               // a run renews the numbers in the next run's words
  bool renews_before_begun = true;  // and it does so before it announces that it has begun
  bool one_order = true;            // the CTAs of all ranks handle the parts in one order
};

struct ExchangeResult {
  std::string fault;  // the last step of the first order that goes wrong; "" if none does
  size_t states = 0;  // how many were seen
};

ExchangeResult try_all_orders(const ExchangeWorld& world, const ExchangeRules& rules);

}  // namespace tilepost::test
