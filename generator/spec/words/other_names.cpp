#include "generator/spec/words/other_names.h"

#include <algorithm>
#include <utility>

#include "generator/diagnostics.h"
#include "generator/spec/text.h"
#include "tilepost/dtype.h"

namespace tilepost {
namespace {

using std::string_view;
using Words = std::vector<string_view>;

// Names that other libraries and papers use, each with the spec's name. A name that may mean
// several things stands here several times. Other names of dtypes are in kDtypes.
constexpr std::pair<string_view, string_view> kOtherNames[] = {
    {"a100", "sm_80"},
    {"ampere", "sm_80"},
    {"a40", "sm_86"},
    {"a6000", "sm_86"},
    {"l40", "sm_89"},
    {"l40s", "sm_89"},
    {"ada", "sm_89"},
    {"h100", "sm_90a"},
    {"h200", "sm_90a"},
    {"h800", "sm_90a"},
    {"gh200", "sm_90a"},
    {"hopper", "sm_90a"},
    {"sm_90", "sm_90a"},
    {"cpu", "host"},
    {"matmul", "gemm"},
    {"rs", "gemm_reduce_scatter"},
    {"gemm_rs", "gemm_reduce_scatter"},
    {"reduce_scatter", "gemm_reduce_scatter"},
    {"reducescatter", "gemm_reduce_scatter"},
    {"gemm_reducescatter", "gemm_reduce_scatter"},
    {"matmul_reduce_scatter", "gemm_reduce_scatter"},
    {"ar", "gemm_all_reduce"},
    {"gemm_ar", "gemm_all_reduce"},
    {"all_reduce", "gemm_all_reduce"},
    {"allreduce", "gemm_all_reduce"},
    {"gemm_allreduce", "gemm_all_reduce"},
    {"ag", "all_gather_gemm"},
    {"ag_gemm", "all_gather_gemm"},
    {"all_gather", "all_gather_gemm"},
    {"allgather", "all_gather_gemm"},
    {"allgather_gemm", "all_gather_gemm"},
    {"all_gather_matmul", "all_gather_gemm"},
    {"gemm_a2a", "gemm_all_to_all"},
    {"gemm_alltoall", "gemm_all_to_all"},
    {"a2a", "gemm_all_to_all"},
    {"a2a", "all_to_all_gemm"},
    {"all_to_all", "gemm_all_to_all"},
    {"all_to_all", "all_to_all_gemm"},
    {"alltoall", "gemm_all_to_all"},
    {"alltoall", "all_to_all_gemm"},
    {"a2a_gemm", "all_to_all_gemm"},
    {"alltoall_gemm", "all_to_all_gemm"},
    {"scale_col", "scale_columns"},
    {"scale_cols", "scale_columns"},
    {"scale_column", "scale_columns"},
    {"col_scale", "scale_columns"},
    {"column_scale", "scale_columns"},
    {"scale_row", "scale_rows"},
    {"row_scale", "scale_rows"},
    {"add_bias", "bias"},
    {"bias_add", "bias"},
    {"swish", "silu"},
    {"residual_add", "residual"},
    {"add_residual", "residual"},
    {"rmsnorm", "rms_norm"},
    {"norm", "rms_norm"},
    {"row_major", "panel"},
    {"tiles", "tile"},
    {"tiled", "tile"},
    {"ce", "copy_engine"},
    {"p2p", "peer"},
    {"nvlink", "peer"},
};

// Words of other libraries for which this version has nothing. `among` is a word that their field
// has.
struct NotYet {
  string_view among;
  Words words;
};
const NotYet kNotYet[] = {
    {"bf16",
     {"tf32",     "e5m2",  "fp8_e5m2", "fp8e5m2", "f8e5m2", "float8_e5m2", "bf8",     "e4m3fnuz",
      "e5m2fnuz", "e2m1",  "e2m3",     "e3m2",    "fp4",    "fp6",         "nvfp4",   "mxfp4",
      "mxfp6",    "mxfp8", "int4",     "i4",      "s4",     "u4",          "uint4",   "int8",
      "uint8",    "i8",    "s8",       "u8",      "int16",  "i16",         "s16",     "int32",
      "i32",      "s32",   "int64",    "bool",    "f64",    "fp64",        "float64", "double"}},
    {"sm_80", {"b100", "b200", "b300", "gb200", "gb300", "blackwell", "v100", "volta", "turing"}},
    {"gelu",
     {"reglu", "glu", "silu_and_mul", "relu", "relu2", "relu_squared", "leaky_relu", "sigmoid",
      "tanh", "softmax", "dropout", "clamp"}},
    {"rms_norm", {"layer_norm", "layernorm", "residual_layer_norm", "softmax"}},
};

bool has(const Words& words, string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Whether the word is in a list of words with blanks between them.
bool has_word(string_view list, string_view word) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(' ', begin), list.size());
    if (list.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

std::string normal(string_view word) {
  std::string out = lower_case(word);
  std::ranges::replace(out, '-', '_');
  return out;
}

// "sm_90a" for "9.0a", "90a", "sm90a" and "compute_90a"; "" for what is no architecture of a GPU.
std::string arch_of(std::string word) {
  for (const string_view prefix : {"compute_", "compute", "sm_", "sm"})
    if (word.starts_with(prefix)) {
      word.erase(0, prefix.size());
      break;
    }
  std::erase(word, '.');
  const size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
  const bool is_arch = (digits == 2 || digits == 3) && word.size() <= digits + 1;
  return is_arch ? "sm_" + word : "";
}

// The field's words that the name stands for.
Words meant_by(const std::string& name, const Words& choices) {
  Words meant;
  for (const DtypeRow& row : kDtypes)
    if (has_word(row.other_names, name) && has(choices, row.name)) meant.push_back(row.name);
  for (const auto& [other, spelling] : kOtherNames)
    if (other == name && has(choices, spelling)) meant.push_back(spelling);
  for (const string_view choice : choices)
    if (choice == name) meant.push_back(choice);
  return meant;
}

bool is_not_yet(const std::string& name, const Words& choices) {
  if (has(choices, "sm_80") && !arch_of(name).empty()) return true;
  return std::ranges::any_of(kNotYet, [&](const NotYet& list) {
    return has(choices, list.among) && has(list.words, name);
  });
}

bool is_of_matrices(const std::string& name) {
  return name.ends_with("_major") || name == "nt" || name == "tt" || name == "row" || name == "col";
}

}  // namespace

OtherName other_name(string_view word, const Words& choices) {
  constexpr size_t kMaxWord = 64;
  if (word.size() > kMaxWord) return {};
  const std::string name = normal(word);
  Words meant = meant_by(name, choices);
  const std::string arch = has(choices, "sm_80") ? arch_of(name) : "";
  if (meant.empty() && !arch.empty()) meant = meant_by(arch, choices);
  if (!meant.empty()) {
    std::string hint;
    for (const string_view one : meant) hint += (hint.empty() ? "" : " or ") + quote(one);
    return {false, ", did you mean " + hint + "?"};
  }
  if (is_not_yet(name, choices)) return {true, ""};
  if (has(choices, "tn") && is_of_matrices(name))
    return {false, "; all matrices are row-major, b [n, k] with tn and [k, n] with nn"};
  return {false, did_you_mean(word, choices)};
}

}  // namespace tilepost
