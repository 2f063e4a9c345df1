// The rows of the table of fields, except those of the sections `schedule` and `kernel`. A field's
// bounds are in its row and nowhere else.
#include <fmt/format.h>

#include <limits>

#include "generator/spec/kernel/kernel_fields.h"
#include "generator/spec/schedule/schedule_fields.h"
#include "tilepost/internal/route_recipe.h"

namespace tilepost {
namespace {

using std::string_view;

// tilepost_shape_t holds int32, and kernels round up to tiles and stages.
constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max() - 1023;

constexpr int kUserType = -1;

std::vector<Spelling> types_of_output() {
  std::vector<Spelling> types;
  for (const DtypeRow& row : kDtypes)
    if (row.may_be_output() || row.value == TILEPOST_E4M3)
      types.push_back({row.name, static_cast<int>(row.value)});
  return types;
}

std::vector<Spelling> types_of_b() {
  const std::span<const Spelling> all = spellings<tilepost_dtype_t>();
  std::vector<Spelling> types(all.begin(), all.end());
  types.push_back({"user", kUserType});
  return types;
}

const std::vector<Spelling> kOutputTypes = types_of_output(), kTypesOfB = types_of_b();

std::string output_text() {
  std::string text = "element type of the output, equal to that of A, ";
  for (const DtypeRow& row : kDtypes)
    if (!row.may_be_output())
      text += fmt::format("for {} {}, {} unless given, ", row.name,
                          dtypes_with<&DtypeRow::is_bundled_output>("or"), name_of(row.sums_to));
  return text + fmt::format(
                    "{}, which is quantised with scales of blocks, and any of 16 or 32 bits "
                    "of a kernel of your own",
                    name_of(TILEPOST_E4M3));
}

const std::string kOutputText = output_text();
const std::string kAccumulateText = fmt::format(
    "{}: sums in fp32 at least every 128 products, or in the tensor cores' accumulator of about 14 "
    "bits",
    dtypes_with<&DtypeRow::sums_short>("and"));
const std::string kScalesText = fmt::format(
    "{}: blocks: every {} elements of a row of A along k, and of B every square of as many, have a "
    "scale of their own",
    dtypes_with<&DtypeRow::is_narrow>("and"), TILEPOST_SCALE_BLOCK);

void store_archs(Spec& spec, const FieldValue& reading) {
  spec.archs.where = reading.where;
  for (const int value : reading.choices) spec.archs.value.push_back(static_cast<Arch>(value));
}

// A layer's spec is that of its first half until its second half is looked at (layer.h).
void store_pattern(Spec& spec, const FieldValue& reading) {
  const bool layer = reading.choices.front() == kLayerPattern.value;
  if (layer) spec.layer.emplace();
  spec.pattern = {layer ? TILEPOST_DISPATCH_GROUPED_GEMM : choice_of<tilepost_pattern_t>(reading),
                  reading.where};
}

void store_epilogue(Spec& spec, const FieldValue& reading) {
  for (size_t i = 0; i < reading.choices.size(); ++i)
    spec.gemm.epilogue.push_back(
        {static_cast<tilepost_epilogue_op_t>(reading.choices[i]), reading.places[i]});
}

const Field kFieldsBeforeSchedule[] = {
    {.path = "tilepost",
     .kind = FieldKind::integer,
     .required = true,
     .min = 1,
     .max = 1,
     .description = "version of the spec format"},
    {.path = "name",
     .kind = FieldKind::identifier,
     .required = true,
     .description = "name of the generated files, and part of the names in them",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.name = {r.text, r.where};
         }},
    {.path = "pattern",
     .kind = FieldKind::word,
     .required = true,
     .choices = patterns_of_specs(),
     .description = "the computation and its communication",
     .store = store_pattern},
    {.path = "routing",
     .kind = FieldKind::word,
     .choices = spellings<tilepost_routing_t>(),
     .default_text = "even",
     .description = "of patterns that send rows to chosen ranks: which rank gets a row; equal "
                    "parts, counts of consecutive rows, or a rank for every row, the last two said "
                    "at run time",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.routing = {choice_of<tilepost_routing_t>(r), r.where};
         }},
    {.path = "max_received",
     .kind = FieldKind::integer,
     .min = 1,
     .max = kMaxSize,
     .default_text = "auto",
     .description = "where callers route rows of A: the most rows that a rank receives and "
                    "multiplies; auto: as many as all ranks have, ranks * gemm.m",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.max_received = {r.integer, r.where};
         }},
    {.path = "max_rows",
     .kind = FieldKind::integer,
     .min = 1,
     .max = kMaxSize,
     .default_text = "auto",
     .description = "where tokens go to experts: the most rows that a rank has; auto: as many as "
                    "there can be, gemm.m * gemm.top",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.max_rows = {r.integer, r.where};
         }},
    {.path = "ranks",
     .kind = FieldKind::integer,
     .required = true,
     .min = 1,
     .max = 64,
     .description = "ranks of the communicator",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.ranks = {r.integer, r.where};
         }},
    {.path = "gemm",
     .kind = FieldKind::section,
     .required = true,
     .description = "out[m,n] = A[m,k] * B on each rank",
     .store = [](Spec& s, const FieldValue& r) { s.gemm.where = r.where; }},
    {.path = "gemm.m",
     .kind = FieldKind::size,
     .required = true,
     .min = 1,
     .max = kMaxSize,
     .description = "rows of A and of the product, where A is gathered: of all ranks together, "
                    "where its rows are routed: of A on each rank; or the most of them, each run "
                    "saying how many it has",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.m = {r.integer, r.where};
           s.gemm.any_m = r.bound;
         }},
    {.path = "gemm.n",
     .kind = FieldKind::integer,
     .required = true,
     .min = 1,
     .max = kMaxSize,
     .description = "rows of B and columns of the output",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.n = {r.integer, r.where};
         }},
    {.path = "gemm.k",
     .kind = FieldKind::integer,
     .required = true,
     .min = 1,
     .max = kMaxSize,
     .description = "columns of A and B on each rank",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.k = {r.integer, r.where};
         }},
    {.path = "gemm.a",
     .kind = FieldKind::word,
     .required = true,
     .choices = spellings<tilepost_dtype_t>(),
     .description = "element type of A",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.a = {choice_of<tilepost_dtype_t>(r), r.where};
         }},
    {.path = "gemm.b",
     .kind = FieldKind::word,
     .choices = kTypesOfB,
     .same_as = "gemm.a",
     .description = "element type of B, equal to that of A; user: of a kernel of your own, which "
                    "reads it in a form that it alone knows",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.b_is_user = r.choices.front() == kUserType;
           if (!s.gemm.b_is_user) s.gemm.b = {choice_of<tilepost_dtype_t>(r), r.where};
           s.gemm.b.where = r.where;
         }},
    {.path = "gemm.out",
     .kind = FieldKind::word,
     .choices = kOutputTypes,
     .same_as = "gemm.a",
     .description = kOutputText,
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.out = {choice_of<tilepost_dtype_t>(r), r.where};
         }},
    {.path = "gemm.layout",
     .kind = FieldKind::word,
     .choices = spellings<tilepost_operands_t>(),
     .default_text = "tn",
     .description = "A [m,k] and, tn: B [n,k], nn: B [k,n], all row-major",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.layout = {choice_of<tilepost_operands_t>(r), r.where};
         }},
    {.path = "gemm.accumulate",
     .kind = FieldKind::word,
     .choices = spellings<tilepost_accumulate_t>(),
     .default_text = "precise",
     .description = kAccumulateText,
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.accumulate = {choice_of<tilepost_accumulate_t>(r), r.where};
         }},
    {.path = "gemm.scales",
     .kind = FieldKind::word,
     .choices = spellings<tilepost_scales_t>(),
     .default_text = "none",
     .description = kScalesText,
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.scales = {choice_of<tilepost_scales_t>(r), r.where};
         }},
    {.path = "gemm.scales_a",
     .kind = FieldKind::word,
     .choices = spellings<tilepost_scales_order_t>(),
     .default_text = "rows",
     .description = "with scales of blocks, how those of A lie: row-major [m,ceil(k/128)], or with "
                    "m contiguous, [ceil(k/128),m], and rows padded to multiples of 4",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.scales_a = {choice_of<tilepost_scales_order_t>(r), r.where};
         }},
    {.path = "gemm.scales_out",
     .kind = FieldKind::word,
     .choices = spellings<tilepost_scales_order_t>(),
     .default_text = "rows",
     .description =
         "with gemm.out e4m3, how the scales of the output's blocks lie: as gemm.scales_a "
         "says of those of A, row-major [m,ceil(n/128)], or with m contiguous",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.scales_out = {choice_of<tilepost_scales_order_t>(r), r.where};
         }},
    {.path = "gemm.epilogue",
     .kind = FieldKind::epilogue,
     .choices = spellings<tilepost_epilogue_op_t>(),
     .default_text = "[]",
     .description = "operations on the sums of each rank, in this order, before they are rounded",
     .store = store_epilogue},
    {.path = "gemm.experts",
     .kind = FieldKind::integer,
     .min = 1,
     .max = kMostExperts,
     .default_text = "none",
     .description = "patterns with experts: how many, each with a B of its own, [experts, n, k]; "
                    "where tokens go to experts, those of all ranks, of which each has an equal "
                    "part",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.experts = {r.integer, r.where};
         }},
    {.path = "gemm.top",
     .kind = FieldKind::integer,
     .min = 1,
     .max = kMostTop,
     .default_text = "none",
     .description = "where tokens go to experts: how many experts a token has",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.top = {r.integer, r.where};
         }},
    {.path = "gemm.gate",
     .kind = FieldKind::word,
     .choices = spellings<tilepost_gate_t>(),
     .default_text = "halves",
     .description = "where B has its rows of gate and of up, 2 n in all, for swiglu, geglu, "
                    "swiglu_clamped and bilinear",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.gemm.gate = {choice_of<tilepost_gate_t>(r), r.where};
         }},
    {.path = "arch",
     .kind = FieldKind::words,
     .required = true,
     .choices = spellings<Arch>(),
     .description = "what to generate for: one or several GPU architectures, or the host target",
     .store = store_archs},
};

const Field kFieldsBehindSchedule[] = {
    {.path = "transport",
     .kind = FieldKind::word,
     .choices = spellings<tilepost_transport_t>(),
     .default_text = "auto",
     .description = "what carries a group beside the GEMM: a collective of NCCL's, out of ordinary "
                    "buffers or symmetric windows, copy engines that read the other ranks' memory, "
                    "or the kernel itself, which stores into it, of few rows tile by tile for all "
                    "ranks; none: "
                    "the GEMM, then one collective",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.transport = {choice_or_auto<tilepost_transport_t>(r), r.where};
         }},
    {.path = "neighbours",
     .kind = FieldKind::word,
     .choices = kTruths,
     .default_text = "false",
     .description = "true: collectives of other communicators may run beside the operation, in any "
                    "order; no GEMM of it waits for other ranks then",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.neighbours = {r.choices.front() != 0, r.where};
         }},
    {.path = "registered",
     .kind = FieldKind::word,
     .choices = kTruths,
     .default_text = "false",
     .description =
         "true: outputs of runs are registered on all ranks, or the operation's own; the "
         "kernel may store finished tiles straight into them",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.registered = {r.choices.front() != 0, r.where};
         }},
    {.path = "consumer",
     .kind = FieldKind::word,
     .choices = spellings<tilepost_consumer_t>(),
     .default_text = "none",
     .description =
         "what follows the collective: tiles made row-major, or the rows of the output normalised",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.consumer = {choice_of<tilepost_consumer_t>(r), r.where};
         }},
};

}  // namespace

std::span<const Field> fields() {
  static const std::vector<Field> all = [] {
    std::vector<Field> list;
    for (const std::span<const Field> part :
         {std::span<const Field>(kFieldsBeforeSchedule), schedule_fields(),
          std::span<const Field>(kFieldsBehindSchedule), kernel_fields()})
      list.insert(list.end(), part.begin(), part.end());
    return list;
  }();
  return all;
}

}  // namespace tilepost
