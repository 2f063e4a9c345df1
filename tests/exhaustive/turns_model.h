// The protocol of kernels whose epilogue does all that crosses ranks
// (docs/internals/owner-sums.md), as steps of a few threads on memory that changes one word at a
// time: every order in which they can happen is tried. Words hold numbers of runs: what is read
// must be of the reader's run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tilepost::test {

// What runs: every rank computes all tiles of all shares, a turn is one tile of each share.
struct TurnsWorld {
  std::vector<int> tiles;  // of each rank's share
  std::vector<int>
      kinds;     // of run 1, 2, …: 0: owners add; 1: a run of another kind, of which each
                 // rank reads its slots beside the stream, and then says that it has ended
  int ctas = 1;  // of each rank
  int lag = 0;   // tilepost_map_t::lag
  // So many runs were before, modulo 128, at which numbers of runs come back to 0 here; none has
  // used these flags. 0: none was before, and then numbers are not made new.
  int before = 0;
  bool spreads = false;  // sums go to all ranks, where the caller reads them behind each run
  bool leaves = false;   // nothing is added: tiles go to their owners, whose callers read them

  int ranks() const { return static_cast<int>(tiles.size()); }
  bool pushes() const { return spreads || leaves; }  // what is finished, to other ranks
};

// The rules that keep runs, and tiles, apart. Without one of them some order must go wrong.
struct TurnsRules {
  bool waits_for_flags = true;        // before a source is read
  bool flags_behind_data = true;      // and complete data
  bool right_run = true;              // flags are waited for with this run's number
  bool right_tile = true;             // what is read is the source whose flag has come
  bool stores_behind_begun = true;    // of all ranks, which are then done with the last run's slots
  bool begun_behind_end = true;       // a rank has begun a run when its last kernel has ended
  bool waits_for_other_kinds = true;  // until all ranks have ended the run before
  bool own_behind_others = true;      // in the order of positions
  bool one_order = true;              // of a share's tiles, on all ranks
  bool words_of_two_runs = true;      // what a run is, by parity
  bool renews = true;                 // numbers that are waited for, of the next run's flags
  bool waits_for_sums = true;         // of all other ranks, before a kernel ends
  bool sums_behind_stores = true;     // a rank says that its sums are there when all of them are
  // Not needed: stores come behind "begun". The flags are those of kernels that exchange tiles.
  bool two_flags = true;  // by parity
};

struct TurnsResult {
  std::string fault;  // the first order that goes wrong: its last step; "" if there is none
  size_t states = 0;  // that were seen
};

TurnsResult try_all_turns(const TurnsWorld& world, const TurnsRules& rules);

}  // namespace tilepost::test
