// Tables of enumerators, which have a row for each enumerator of a C enumeration. A table that
// lacks a row does not compile.
#ifndef TILEPOST_INTERNAL_ENUMERATORS_H
#define TILEPOST_INTERNAL_ENUMERATORS_H

#include <cstddef>

// The first two fields of a row: the enumerator and its name in C.
#define TILEPOST_ENUMERATOR(ENUMERATOR) ENUMERATOR, #ENUMERATOR

// Labels of a switch for the first rows of a table, as many as the name says.
#define TILEPOST_CASES_1(TABLE, FIELD) case (TABLE)[0].FIELD:
#define TILEPOST_CASES_2(TABLE, FIELD) TILEPOST_CASES_1(TABLE, FIELD) case (TABLE)[1].FIELD:
#define TILEPOST_CASES_3(TABLE, FIELD) TILEPOST_CASES_2(TABLE, FIELD) case (TABLE)[2].FIELD:
#define TILEPOST_CASES_4(TABLE, FIELD) TILEPOST_CASES_3(TABLE, FIELD) case (TABLE)[3].FIELD:
#define TILEPOST_CASES_5(TABLE, FIELD) TILEPOST_CASES_4(TABLE, FIELD) case (TABLE)[4].FIELD:
#define TILEPOST_CASES_6(TABLE, FIELD) TILEPOST_CASES_5(TABLE, FIELD) case (TABLE)[5].FIELD:
#define TILEPOST_CASES_7(TABLE, FIELD) TILEPOST_CASES_6(TABLE, FIELD) case (TABLE)[6].FIELD:
#define TILEPOST_CASES_8(TABLE, FIELD) TILEPOST_CASES_7(TABLE, FIELD) case (TABLE)[7].FIELD:
#define TILEPOST_CASES_9(TABLE, FIELD) TILEPOST_CASES_8(TABLE, FIELD) case (TABLE)[8].FIELD:
#define TILEPOST_CASES_10(TABLE, FIELD) TILEPOST_CASES_9(TABLE, FIELD) case (TABLE)[9].FIELD:
#define TILEPOST_CASES_11(TABLE, FIELD) TILEPOST_CASES_10(TABLE, FIELD) case (TABLE)[10].FIELD:

// Defines has_row(), which does not compile where TABLE, an array of COUNT rows, lacks an
// enumerator of ENUM or has one twice. FIELD is the field of a row that holds the enumerator. Each
// use stands between pragmas that make -Wswitch an error. A compiler that knows GCC's pragmas then
// refuses a switch without one of the enumerators, whatever warnings its flags ask for.
#define TILEPOST_CHECK_TABLE(ENUM, TABLE, FIELD, COUNT)                                    \
  static_assert(sizeof(TABLE) / sizeof((TABLE)[0]) == (COUNT), "the table has more rows"); \
  constexpr bool has_row(ENUM value) {                                                     \
    switch (value) { TILEPOST_CASES_##COUNT(TABLE, FIELD) return true; }                   \
    return false;                                                                          \
  }

namespace tilepost {

// Whether the rows stand in the order of their enumerators, counted from 0. The value of an
// enumerator then finds its row.
template <class Row, size_t kRows, class Enum>
constexpr bool is_in_order(const Row (&table)[kRows], Enum Row::*field) {
  for (size_t i = 0; i < kRows; ++i)
    if (static_cast<size_t>(table[i].*field) != i) return false;
  return true;
}

}  // namespace tilepost

#endif  // TILEPOST_INTERNAL_ENUMERATORS_H
