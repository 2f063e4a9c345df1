// A model of the protocol of kernels whose epilogue does everything that crosses ranks
// (docs/internals/owner-sums.md). A few threads make steps on memory that changes one word at a
// time, and every order of these steps is tried. Words hold numbers of runs, and a read must find
// the number of the reader's run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tilepost::test {

// In a run every rank computes all tiles of all shares. A turn is one tile of each share.
struct TurnsWorld {
  std::vector<int> tiles;  // how many each rank's share has
  // The kinds of the runs, from run 1 on. 0: the kernel does everything that crosses ranks. 1: a
  // run of another kind. A thread beside the stream reads its results from the slots and then
  // announces that the run has ended.
  std::vector<int> kinds;
  int ctas = 1;  // on each rank
  int lag = 0;   // tilepost_map_t::lag
  // How many runs came before, modulo 128, where numbers of runs wrap to 0 in this model. None of
  // them has used these flags. With 0 no run came before, and numbers are not renewed.
  int before = 0;
  bool spreads = false;  // sums go to all ranks, whose callers read them behind each run
  bool leaves = false;   // nothing is added: tiles go to their owners, whose callers read them

  int ranks() const { return static_cast<int>(tiles.size()); }
  bool pushes() const { return spreads || leaves; }  // whether finished results go to other ranks
};

// The rules that keep runs and tiles apart. Without any one of them some order must go wrong.
struct TurnsRules {
  bool waits_for_flags = true;    // a source is read after its flag has come
  bool flags_behind_data = true;  // a flag is stored behind its data
  bool right_run = true;          // waits ask for this run's number
  bool right_tile = true;         // the source that is read is the one whose flag has come
  // A rank stores after all ranks have begun, and so have done with the last run's slots.
  bool stores_behind_begun = true;
  bool begun_behind_end = true;  // a rank begins a run after its last kernel has ended
  // After a run of another kind than its own, a rank waits until all ranks have ended that run.
  bool waits_for_other_kinds = true;
  bool own_behind_others = true;   // in a turn, own tiles come after the other ranks' tiles
  bool one_order = true;           // all ranks have a share's tiles in one order
  bool words_of_two_runs = true;   // the words that say what a run is exist twice, by parity
  bool renews = true;              // a run renews the numbers in the next run's flags
  bool waits_for_sums = true;      // a kernel ends after the sums of all other ranks have come
  bool sums_behind_stores = true;  // a rank announces its sums when all of them are there
  // Two sets of flags are not needed, because stores come behind "begun". They exist because
  // kernels that exchange tiles use the same flags.
  bool two_flags = true;  // flags exist twice, by the parity of the run
};

struct TurnsResult {
  std::string fault;  // the last step of the first order that goes wrong; "" if none does
  size_t states = 0;  // how many were seen
};

TurnsResult try_all_turns(const TurnsWorld& world, const TurnsRules& rules);

}  // namespace tilepost::test
