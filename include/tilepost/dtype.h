// A table with a row for each dtype. Other host code looks up there whatever depends on a dtype.
// tilepost/mark.cuh has the same dtypes for kernels (DType).
//
// Properties that need other headers are defined elsewhere, in one place for each: the types of
// host code in tilepost/numeric.h, of kernels in tilepost/device/element.cuh, of CUTLASS in
// tilepost/cutlass/launch.hpp, of CUDA's and NCCL's libraries in runtime/cuda/device/dtypes.h.
#ifndef TILEPOST_DTYPE_H
#define TILEPOST_DTYPE_H

#include <cstdint>
#include <iterator>
#include <type_traits>

#include "tilepost/internal/enumerators.h"
#include "tilepost/plan.h"

namespace tilepost {

// Which kernels multiply a dtype.
enum class MultipliedBy {
  bundled,  // those in templates/, and kernels of the user's
  own,      // kernels of the user's alone
};

// In how many bits tensor cores sum products of a dtype.
enum class Sums {
  fp32,      // as many as fp32 has
  fourteen,  // about 14; a plan may keep sums in fp32 besides (tilepost_accumulate_t)
};

struct DtypeRow {
  tilepost_dtype_t value;
  const char* c_name;       // of the enumerator
  const char* name;         // in a spec
  const char* other_names;  // in other libraries, in lower case, with blanks between them
  const char* description;  // a line for readers of a list
  const char* kernel_name;  // of the enumerator of DType, the value of a tunable
  const char* cuda_name;    // of the type in CUDA C++
  // The format of a number. Behind the sign come the exponent and then the fraction, the bits of
  // the significand without the leading one.
  int bits, exponent_bits, fraction_bits;
  tilepost_dtype_t sums_to;  // the output's type unless a spec says another one
  MultipliedBy multiplied_by;
  Sums sums;

  constexpr bool is_any() const { return true; }
  constexpr int64_t bytes() const { return bits / 8; }

  // Whether an element has 8 bits. Only inputs have such elements. Tensor cores read them along K
  // alone (PTX ISA, wgmma.mma_async), and not before sm_89 (PTX ISA, mma). A GPU multiplies them at
  // another clock.
  constexpr bool is_narrow() const { return bits == 8; }

  // Whether an element has 16 bits. Consumers on GPUs and helper warps take no others.
  constexpr bool is_half() const { return bits == 16; }

  // Whether an element is as wide as the sums in fp32.
  constexpr bool is_wide() const { return bits == 32; }

  constexpr bool may_be_output() const { return !is_narrow(); }
  constexpr bool is_bundled() const { return multiplied_by == MultipliedBy::bundled; }
  constexpr bool is_bundled_output() const { return is_bundled() && may_be_output(); }

  // Whether a plan chooses how the products are summed (tilepost_accumulate_t).
  constexpr bool sums_short() const { return sums == Sums::fourteen; }
};

// In the order of the enumerators.
inline constexpr DtypeRow kDtypes[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_BF16), "bf16", "bfloat16", "bfloat16: the upper half of a float",
     "tilepost::DType::bf16", "__nv_bfloat16", 16, 8, 7, TILEPOST_BF16, MultipliedBy::bundled,
     Sums::fp32},
    {TILEPOST_ENUMERATOR(TILEPOST_F16), "f16", "float16 fp16 half binary16", "binary16 of IEEE 754",
     "tilepost::DType::f16", "__half", 16, 5, 10, TILEPOST_F16, MultipliedBy::bundled, Sums::fp32},
    {TILEPOST_ENUMERATOR(TILEPOST_E4M3), "e4m3",
     "fp8 float8 f8 fp8_e4m3 fp8e4m3 f8e4m3 fp8_e4m3fn f8e4m3fn float8_e4m3 float8_e4m3fn e4m3fn",
     "E4M3 of OCP 8-bit floating point, without infinities; of inputs only",
     "tilepost::DType::e4m3", "__nv_fp8_e4m3", 8, 4, 3, TILEPOST_BF16, MultipliedBy::bundled,
     Sums::fourteen},
    {TILEPOST_ENUMERATOR(TILEPOST_F32), "f32", "float32 fp32 float",
     "binary32 of IEEE 754; for kernels of the user's own and the host target",
     "tilepost::DType::f32", "float", 32, 8, 23, TILEPOST_F32, MultipliedBy::own, Sums::fp32},
};
inline constexpr int kNumDtypes = static_cast<int>(std::size(kDtypes));

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
TILEPOST_CHECK_TABLE(tilepost_dtype_t, kDtypes, value, 4)
#pragma GCC diagnostic pop
static_assert(is_in_order(kDtypes, &DtypeRow::value));

constexpr const DtypeRow& row_of(tilepost_dtype_t type) {
  return kDtypes[static_cast<int>(type)];
}

// "f16", the spelling in a spec.
constexpr const char* name_of(tilepost_dtype_t type) {
  return row_of(type).name;
}

// "TILEPOST_F16"
constexpr const char* c_name(tilepost_dtype_t type) {
  return row_of(type).c_name;
}

// How many bytes an element has.
constexpr int64_t element_bytes(tilepost_dtype_t type) {
  return row_of(type).bytes();
}

// The answer of a predicate for a row. GCC warns of aliasing where a predicate is called on an
// element of the table directly, so this function takes a reference.
template <bool (DtypeRow::*kHas)() const>
constexpr bool has(const DtypeRow& row) {
  return (row.*kHas)();
}

// Calls `body` with std::integral_constant<tilepost_dtype_t, type>, if `kHas` is true of the type's
// row. `body` is compiled for such dtypes only.
template <bool (DtypeRow::*kHas)() const, int kRow = 0, class Body>
void with_dtype(tilepost_dtype_t type, const Body& body) {
  if constexpr (kRow < kNumDtypes) {
    if constexpr (has<kHas>(kDtypes[kRow])) {
      if (type == kDtypes[kRow].value)
        return body(std::integral_constant<tilepost_dtype_t, kDtypes[kRow].value>{});
    }
    with_dtype<kHas, kRow + 1>(type, body);
  }
}

}  // namespace tilepost

#endif  // TILEPOST_DTYPE_H
