// Ranks of a world that access each other's memory. Groups may be carried out in any order, so each
// step must find what it reads stored, pulled or summed in its own group.
#pragma once

#include <vector>

#include "tests/exhaustive/numbers.h"
#include "tests/exhaustive/world.h"

namespace tilepost::test {

// Memory whose elements are each written once, in one group.
class Memory {
 public:
  void assign(int64_t elements) { elements_.assign(static_cast<size_t>(elements), {kNever, -1}); }
  // Returns false if there is no such element, or it was written before.
  bool write(int64_t at, Number value, int group);
  // Returns kNever if the element was not written in this group.
  Number read(int64_t at, int group) const;
  int64_t size() const { return static_cast<int64_t>(elements_.size()); }

 private:
  struct Element {
    Number value;
    int group;
  };
  std::vector<Element> elements_;
};

class SharedWorld {
 public:
  // The steps of one rank, and the memory of it that is not kept here.
  struct Rank {
    const std::vector<std::vector<Step>>* steps;  // indexed by group
    std::vector<Number>* out;  // the output or, where rows of A gather, the gathered rows
  };

  SharedWorld(const World& world, const World::Input& input, Fault& fault);

  void add_rank(const Rank& rank) { ranks_.push_back(rank); }
  void allocate_send(int rank, int64_t elements) { memory_[rank].send.assign(elements); }

  // Stores element (m, n) of rank's product, which its kernel computes in `tile`: at `at` in the
  // send buffer, or where the rank that owns the tile has it.
  void store(int rank, const tilepost_tile_t& tile, int64_t at, int64_t m, int64_t n, Number value);
  // Signals that the tile is done.
  void post(int rank, const tilepost_tile_t& tile);

  void group(int g);

  // How often the kernels of all ranks have raised a rank's counter.
  uint32_t posted(int rank, int g) const { return memory_[rank].posted[g]; }

 private:
  struct Own {
    Memory send, slots, sums;
    Memory landed;                 // or, where rows of A gather, rows that others have pushed
    std::vector<uint32_t> posted;  // indexed by group
  };

  bool is(StepKind kind, const Step& step) const { return step.kind == kind; }
  bool reads() const { return world_.access == TILEPOST_ACCESS_READ; }
  bool gathers() const { return world_.gathers(); }
  bool routes() const { return world_.row().product_is_routed(); }
  bool adds() const { return world_.row().sums; }
  int64_t own_rows(int rank) const { return world_.own_rows(rank); }
  int64_t block() const;
  void check_order(int g, int rank);
  bool has(int g, int rank, StepKind kind) const;
  bool may_pull(int g, int rank, const Step& step) const;
  static bool pushes(const Step& step);
  static bool follows(const Step& step);
  bool may_follow(int g, const Step& step) const;
  void push(int g, int rank, const Step& step, int64_t i, Number value);
  void carry_out(int g, int rank, const Step& step);
  void sum(int g, int rank, const Step& step);
  Number source_of(int g, int rank, const Step& step, int64_t i) const;
  void write_out(int rank, int64_t at, Number value);

  const World& world_;
  const World::Input& input_;
  Fault& fault_;
  std::vector<Rank> ranks_;
  std::vector<Own> memory_;
};

}  // namespace tilepost::test
