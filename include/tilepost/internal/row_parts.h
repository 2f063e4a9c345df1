// How rows of A, and the scales of their blocks, are cut into parts where the kernels of all ranks
// exchange few of them (TILEPOST_ACCESS_TILES). Kernels use this to store parts and to wait for
// them. The planner uses it to check plans.
#ifndef TILEPOST_ROW_PARTS_H
#define TILEPOST_ROW_PARTS_H

#include "tilepost/mark.cuh"

namespace tilepost {

// Parts `first`, first + 1, … of a rank's rows.
struct SomeParts {
  int first, count;
};

// Every rank has an equal share of the rows, and the last ranks have what is left. A row is
// row_units units. A unit is 16 bytes or, on the host target, one element if a row is not a
// multiple of 16 bytes. Part p of a rank's rows begins at unit p * part_units. It has part_units
// units, and the last part what is left.
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
  // The number of parts that `units` units make.
  TILEPOST_INLINE int parts_of(int units) const { return (units + part_units - 1) / part_units; }
  // The end of a part, where the rank has `units` units.
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

// Scales [first, end) of a rank's rows, counted from the first scale of its first row.
struct SomeScales {
  int first, end;
};

// The scales of A's blocks that travel with parts of its rows. A row has a scale for each block of
// `block_units` units, of which the last one may have fewer. A scale travels with the first unit of
// its block. So the scales of a part follow each other, and those of a row have come when all parts
// with units of the row have.
struct PartScales {
  RowParts parts;
  int block_units;

  TILEPOST_INLINE int of_row() const { return (parts.row_units + block_units - 1) / block_units; }
  // The number of scales that travel with the first `units` units of a rank's rows.
  TILEPOST_INLINE int before(int units) const {
    const int row = units / parts.row_units, in_row = units - row * parts.row_units;
    return row * of_row() + (in_row + block_units - 1) / block_units;
  }
  // The scales of a part, where the rank has `units` units. There may be none.
  TILEPOST_INLINE SomeScales with_part(int part, int units) const {
    return {before(part * parts.part_units), before(parts.end_of(part, units))};
  }
};

}  // namespace tilepost

#endif  // TILEPOST_ROW_PARTS_H
