#include "generator/spec/rules/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/spec/names.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

void follow_a(const GemmSpec& gemm, Located<tilepost_dtype_t>& type, const char* path,
              const char* reason, Diagnostics& diagnostics) {
  if (!gemm.a.given()) return;
  if (!type.given()) {
    type.value = gemm.a.value;
  } else if (type.value != gemm.a.value) {
    diagnostics.error(
        type.where, fmt::format("{} must equal gemm.a, {}; got {}, but {}", path,
                                quote(name_of(gemm.a.value)), quote(name_of(type.value)), reason));
    diagnostics.note(gemm.a.where, "gemm.a is given here");
  }
}

void check_archs(const Located<std::vector<Arch>>& archs, Diagnostics& diagnostics) {
  const auto host = std::ranges::find(archs.value, Arch::host);
  if (host == archs.value.end() || archs.value.size() == 1) return;
  diagnostics.error(archs.where,
                    "arch cannot mix 'host' with GPU architectures: one is compiled by a C++ "
                    "compiler, the other by nvcc; write two specs, or generate twice with --arch");
}

// Refuses types that the bundled kernels do not multiply, or do not round their sums to.
void check_bundled_types(GemmSpec& gemm, Diagnostics& diagnostics) {
  if (gemm.b_is_user)
    diagnostics.error(gemm.b.where,
                      "gemm.b 'user' is for a kernel of your own, which alone knows what B is; "
                      "remove it, or bring a kernel");
  const DtypeRow &a = row_of(gemm.a.value), &out = row_of(gemm.out.value);
  if (!a.is_bundled())
    diagnostics.error(
        gemm.a.where,
        fmt::format("gemm.a {} is for a kernel of your own; the bundled ones multiply "
                    "{}; use one of these, or bring a kernel",
                    quote(a.name), dtypes_with<&DtypeRow::is_bundled>("and")));
  if (out.is_narrow()) return;  // quantised_rules.cpp
  if (a.may_be_output())
    follow_a(gemm, gemm.out, "gemm.out", "the bundled kernels round their sums to the input type",
             diagnostics);
  else if (!out.is_bundled_output())
    diagnostics.error(
        gemm.out.where,
        fmt::format("gemm.out {} is for a kernel of your own; the bundled ones round their sums of "
                    "{} to {}; use one of these, or bring a kernel",
                    quote(out.name), a.name, dtypes_with<&DtypeRow::is_bundled_output>("or")));
}

void check_inputs(const GemmSpec& gemm, Diagnostics& diagnostics) {
  if (!gemm.a.given()) return;
  const DtypeRow& a = row_of(gemm.a.value);
  if (a.is_narrow() && gemm.layout.value == TILEPOST_NN)
    diagnostics.error(gemm.layout.where,
                      fmt::format("gemm.layout 'nn' is not possible with {}: the tensor cores read "
                                  "8-bit operands along k only; use 'tn' and store B as [n,k]",
                                  a.name));
  if (!a.sums_short() && gemm.accumulate.value == TILEPOST_FAST)
    diagnostics.error(gemm.accumulate.where,
                      fmt::format("gemm.accumulate 'fast' is for {}; sums of {} are always kept "
                                  "in fp32",
                                  dtypes_with<&DtypeRow::sums_short>("and"), a.name));
}

}  // namespace

void check_product(const Located<int64_t>& x, const Located<int64_t>& y, const char* what,
                   Diagnostics& diagnostics) {
  if (x.value <= 0 || y.value <= 0 || x.value < kMaxElements / y.value) return;
  if (x.value * y.value < kMaxElements) return;  // both fit 31 bits: no overflow
  diagnostics.error(x.where, fmt::format("{} must have fewer than 2^46 elements; got {} * {}", what,
                                         x.value, y.value));
  diagnostics.note(y.where, "the other factor is given here");
}

void apply_rules(Spec& spec, Diagnostics& diagnostics) {
  GemmSpec& gemm = spec.gemm;
  if (gemm.b_is_user) gemm.b.value = gemm.a.value;
  follow_a(gemm, gemm.b, "gemm.b", "the tensor cores multiply two inputs of one type", diagnostics);
  if (!gemm.out.given()) gemm.out.value = row_of(gemm.a.value).sums_to;
  if (!spec.kernel) check_bundled_types(gemm, diagnostics);
  check_inputs(gemm, diagnostics);
  check_product(gemm.m, gemm.n, "the output, gemm.m * gemm.n,", diagnostics);
  check_product(gemm.m, gemm.k, "A, gemm.m * gemm.k,", diagnostics);
  check_product(gemm.n, gemm.k, "B, gemm.n * gemm.k,", diagnostics);
  check_archs(spec.archs, diagnostics);
  check_pattern(spec, diagnostics);
  check_transport(spec, diagnostics);
  check_epilogue(spec, diagnostics);
  check_experts(spec, diagnostics);
  check_dispatch(spec, diagnostics);
  check_scales(spec, diagnostics);
  check_quantised(spec, diagnostics);
  check_kernel(spec, diagnostics);
}

}  // namespace tilepost
