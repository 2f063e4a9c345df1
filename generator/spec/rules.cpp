#include "generator/spec/rules.h"

#include <fmt/format.h>

#include <algorithm>

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
  if (gemm.a.value == TILEPOST_F32)
    diagnostics.error(gemm.a.where,
                      "gemm.a 'f32' is for a kernel of your own; the bundled ones multiply bf16, "
                      "f16 and e4m3; use one of these, or bring a kernel");
  if (gemm.a.value != TILEPOST_E4M3)
    follow_a(gemm, gemm.out, "gemm.out", "the bundled kernels round their sums to the input type",
             diagnostics);
  else if (gemm.out.value == TILEPOST_F32)
    diagnostics.error(gemm.out.where,
                      "gemm.out 'f32' is for a kernel of your own; the bundled ones round their "
                      "sums of e4m3 to bf16 or f16; use one of these, or bring a kernel");
}

void check_e4m3(const GemmSpec& gemm, Diagnostics& diagnostics) {
  if (!gemm.a.given()) return;
  const bool e4m3 = gemm.a.value == TILEPOST_E4M3;
  if (e4m3 && gemm.layout.value == TILEPOST_NN)
    diagnostics.error(gemm.layout.where,
                      "gemm.layout 'nn' is not possible with e4m3: the tensor cores read 8-bit "
                      "operands along k only; use 'tn' and store B as [n,k]");
  if (!e4m3 && gemm.accumulate.value == TILEPOST_FAST)
    diagnostics.error(gemm.accumulate.where,
                      fmt::format("gemm.accumulate 'fast' is for e4m3; sums of {} are always kept "
                                  "in fp32",
                                  name_of(gemm.a.value)));
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
  if (!gemm.out.given())
    gemm.out.value = gemm.a.value == TILEPOST_E4M3 ? TILEPOST_BF16 : gemm.a.value;
  if (!spec.kernel) check_bundled_types(gemm, diagnostics);
  check_e4m3(gemm, diagnostics);
  check_product(gemm.m, gemm.n, "the output, gemm.m * gemm.n,", diagnostics);
  check_product(gemm.m, gemm.k, "A, gemm.m * gemm.k,", diagnostics);
  check_product(gemm.n, gemm.k, "B, gemm.n * gemm.k,", diagnostics);
  check_archs(spec.archs, diagnostics);
  check_pattern(spec, diagnostics);
  check_transport(spec, diagnostics);
  check_epilogue(spec, diagnostics);
  check_kernel(spec, diagnostics);
}

}  // namespace tilepost
