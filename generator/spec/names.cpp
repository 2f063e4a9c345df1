#include "generator/spec/names.h"

#include "llvm/Support/ErrorHandling.h"

namespace tilepost {
namespace {

template <class E>
constexpr Spelling spell(llvm::StringRef text, E value) {
  return {text, static_cast<int>(value)};
}

constexpr Spelling kPatterns[] = {spell("gemm_all_reduce", Pattern::gemm_all_reduce),
                                  spell("gemm", Pattern::gemm),
                                  spell("gemm_reduce_scatter", Pattern::gemm_reduce_scatter),
                                  spell("gemm_all_to_all", Pattern::gemm_all_to_all),
                                  spell("all_gather_gemm", Pattern::all_gather_gemm)};
constexpr Spelling kRoutings[] = {spell("even", Routing::even), spell("splits", Routing::splits),
                                  spell("rows", Routing::rows)};
constexpr Spelling kElementTypes[] = {spell("bf16", ElementType::bf16),
                                      spell("f16", ElementType::f16),
                                      spell("e4m3", ElementType::e4m3)};
constexpr Spelling kGemmLayouts[] = {spell("tn", GemmLayout::tn), spell("nn", GemmLayout::nn)};
constexpr Spelling kAccumulates[] = {spell("precise", Accumulate::precise),
                                     spell("fast", Accumulate::fast)};
constexpr Spelling kEpilogueOps[] = {spell("scale", EpilogueOp::scale),
                                     spell("scale_rows", EpilogueOp::scale_rows),
                                     spell("scale_columns", EpilogueOp::scale_columns),
                                     spell("bias", EpilogueOp::bias),
                                     spell("gelu", EpilogueOp::gelu),
                                     spell("silu", EpilogueOp::silu),
                                     spell("residual", EpilogueOp::residual)};
constexpr Spelling kArchs[] = {spell("sm_80", Arch::sm_80), spell("sm_86", Arch::sm_86),
                               spell("sm_89", Arch::sm_89), spell("sm_90a", Arch::sm_90a),
                               spell("host", Arch::host)};
constexpr Spelling kOutputLayouts[] = {spell("auto", OutputLayout::automatic),
                                       spell("panel", OutputLayout::panel),
                                       spell("tile", OutputLayout::tile)};
constexpr Spelling kTransports[] = {spell("auto", Transport::automatic),
                                    spell("nccl", Transport::nccl),
                                    spell("nccl_symmetric", Transport::nccl_symmetric),
                                    spell("copy_engine", Transport::copy_engine),
                                    spell("peer", Transport::peer),
                                    spell("none", Transport::none)};
constexpr Spelling kSums[] = {spell("auto", Sum::automatic), spell("staged", Sum::staged),
                              spell("added", Sum::added)};
constexpr Spelling kWaits[] = {spell("auto", Wait::automatic), spell("poll", Wait::poll),
                               spell("stream", Wait::stream)};
constexpr Spelling kConsumers[] = {
    spell("none", Consumer::none), spell("unpermute", Consumer::unpermute),
    spell("rms_norm", Consumer::rms_norm), spell("residual_rms_norm", Consumer::residual_rms_norm)};

template <class E>
const char* find_name(E value) {
  for (const Spelling& spelling : spellings<E>())
    if (spelling.value == static_cast<int>(value)) return spelling.text.data();
  llvm_unreachable("an enumerator without a spelling");
}

}  // namespace

// clang-format off
template <> llvm::ArrayRef<Spelling> spellings<Pattern>() { return kPatterns; }
template <> llvm::ArrayRef<Spelling> spellings<Routing>() { return kRoutings; }
template <> llvm::ArrayRef<Spelling> spellings<ElementType>() { return kElementTypes; }
template <> llvm::ArrayRef<Spelling> spellings<GemmLayout>() { return kGemmLayouts; }
template <> llvm::ArrayRef<Spelling> spellings<Accumulate>() { return kAccumulates; }
template <> llvm::ArrayRef<Spelling> spellings<EpilogueOp>() { return kEpilogueOps; }
template <> llvm::ArrayRef<Spelling> spellings<Arch>() { return kArchs; }
template <> llvm::ArrayRef<Spelling> spellings<OutputLayout>() { return kOutputLayouts; }
template <> llvm::ArrayRef<Spelling> spellings<Transport>() { return kTransports; }
template <> llvm::ArrayRef<Spelling> spellings<Sum>() { return kSums; }
template <> llvm::ArrayRef<Spelling> spellings<Wait>() { return kWaits; }
template <> llvm::ArrayRef<Spelling> spellings<Consumer>() { return kConsumers; }
// clang-format on

const char* name_of(Pattern value) {
  return find_name(value);
}
const char* name_of(Routing value) {
  return find_name(value);
}
const char* name_of(ElementType value) {
  return find_name(value);
}
const char* name_of(GemmLayout value) {
  return find_name(value);
}
const char* name_of(Accumulate value) {
  return find_name(value);
}
const char* name_of(EpilogueOp value) {
  return find_name(value);
}
const char* name_of(Arch value) {
  return find_name(value);
}
const char* name_of(OutputLayout value) {
  return find_name(value);
}
const char* name_of(Transport value) {
  return find_name(value);
}
const char* name_of(Sum value) {
  return find_name(value);
}
const char* name_of(Wait value) {
  return find_name(value);
}
const char* name_of(Consumer value) {
  return find_name(value);
}

}  // namespace tilepost
