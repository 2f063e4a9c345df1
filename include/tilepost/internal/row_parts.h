// How few rows of A are cut into parts where the kernels of all ranks exchange them
// (TILEPOST_ACCESS_TILES): for kernels, which store parts and wait for them, and for the planner,
// which follows them.
#ifndef TILEPOST_ROW_PARTS_H
#define TILEPOST_ROW_PARTS_H

#include "tilepost/mark.cuh"

namespace tilepost {

// Parts `first`, first + 1, … of a rank's rows.
struct SomeParts {
  int first, count;
};

// Every rank has an equal share of the rows, the last ones what is left. A row is row_units of
// sixteen bytes, and part p of a rank's rows is units p * part_units and on, part_units of them but
// in the last part.
struct RowParts {
  int ranks, rows;
  int row_units, part_units;

  TILEPOST_INLINE int first_row(int rank) const {
    const int row = rank * ((rows + ranks - 1) / ranks);
    return row < rows ? row : rows;
  }
  TILEPOST_INLINE int units(int rank) const {
    return (first_row(rank + 1) - first_row(rank)) * row_units;
  }
  // Parts that so many units take.
  TILEPOST_INLINE int parts_of(int units) const { return (units + part_units - 1) / part_units; }
  // The end of a part among `units`.
  TILEPOST_INLINE int end_of(int part, int units) const {
    const int end = (part + 1) * part_units;
    return end < units ? end : units;
  }
  // The parts of `rank` that have any of rows [first, end) of all.
  TILEPOST_INLINE SomeParts with_rows(int rank, int first, int end) const {
    const int own = first_row(rank), behind = first_row(rank + 1);
    const int begin = (first > own ? first : own) - own;
    const int stop = (end < behind ? end : behind) - own;
    if (begin >= stop) return {0, 0};
    const int part = begin * row_units / part_units;
    return {part, parts_of(stop * row_units) - part};
  }
};

}  // namespace tilepost

#endif  // TILEPOST_ROW_PARTS_H
