#include "generator/spec/kernel/kernel_fields.h"

namespace tilepost {
namespace {

constexpr Spelling kAdapters[] = {{"none", 0}, {"cutlass", 1}};

const Field kKernelFields[] = {
    {.path = "kernel",
     .kind = FieldKind::section,
     .default_text = "builtin",
     .description = "the GEMM kernel that is woven: the bundled one, or a CUDA kernel of your own",
     .store = [](Spec& s, const FieldValue& r) { s.kernel.emplace().where = r.where; }},
    {.path = "kernel.file",
     .kind = FieldKind::text,
     .required = true,
     .noun = "a path",
     .description = "the CUDA source that has it, from the spec's folder",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->file = {r.text, r.where};
         }},
    {.path = "kernel.adapter",
     .kind = FieldKind::word,
     .choices = kAdapters,
     .default_text = "none",
     .description =
         "cutlass: the kernel is a type of CUTLASS 3, made with tilepost's scheduler and "
         "epilogue; its source is compiled, not read",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->cutlass = {r.choices.front() != 0, r.where};
         }},
    {.path = "kernel.function",
     .kind = FieldKind::text,
     .required = true,
     .noun = "a function's name with its namespaces and template arguments",
     .description = "the kernel in it; of adapter cutlass the kernel's type",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->function = {r.text, r.where};
         }},
    {.path = "kernel.tile",
     .kind = FieldKind::integers,
     .required = true,
     .min = 1,
     .max = 1024,
     .min_items = 2,
     .max_items = 2,
     .description = "rows and columns of the output that one block computes",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->tile = {r.integers, r.where};
         }},
    {.path = "kernel.threads",
     .kind = FieldKind::expressions,
     .min_items = 1,
     .max_items = 3,
     .default_text = "none",
     .description = "threads of a block, x, y and z of blockDim; needed without an adapter",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->threads = {r.expressions, r.where};
         }},
    {.path = "kernel.grid",
     .kind = FieldKind::expressions,
     .min_items = 1,
     .max_items = 3,
     .default_text = "none",
     .description = "of a kernel without marks, which needs it: blocks that you launch it with for "
                    "the whole output, x, y and z of gridDim",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->grid = {r.expressions, r.where};
         }},
    {.path = "kernel.arguments",
     .kind = FieldKind::arguments,
     .default_text = "none",
     .description =
         "what each of its parameters is given: a, b, out, null, user.NAME, or a number; with a "
         "launcher the output and numbers alone, of a kernel without marks",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->arguments = {r.arguments, r.where};
         }},
    {.path = "kernel.launcher",
     .kind = FieldKind::text,
     .noun = "a function's name with its namespaces",
     .default_text = "none",
     .description = "a function of the same source that launches the kernel with arguments of its "
                    "own",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->launcher = {r.text, r.where};
         }},
    {.path = "kernel.user",
     .kind = FieldKind::user_data,
     .max_items = TILEPOST_MOST_USER_DATA,
     .default_text = "{}",
     .description = "data besides A and B that it reads, each with its bytes: every run hands over "
                    "their addresses, and arguments give them as user.NAME",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->user = {r.user_data, r.where};
         }},
    {.path = "kernel.b_bytes",
     .kind = FieldKind::expression,
     .default_text = "none",
     .description = "with gemm.b: user, which needs it: bytes of B",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->b_bytes = {r.expressions.front(), r.where};
         }},
    {.path = "kernel.shared_bytes",
     .kind = FieldKind::expression,
     .default_text = "0",
     .description = "dynamic shared memory of a block",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->shared_bytes = {r.expressions.front(), r.where};
         }},
    {.path = "kernel.requires",
     .kind = FieldKind::multiples,
     .min = 1,
     .max = 65536,
     .default_text = "{m: 1, n: 1, k: 1}",
     .description = "what m, n and k have to be multiples of for it to be right, or {equals: …} "
                    "where one has to be that",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->requires_ = {r.multiples, r.where};
           s.kernel->equals = r.equals;
         }},
    {.path = "kernel.blocks_per_sm",
     .kind = FieldKind::integer,
     .min = 1,
     .max = 32,
     .default_text = "1",
     .description =
         "blocks that an SM holds at a time: the planner counts waves with it, and the woven "
         "kernel is compiled to fit as many",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->blocks_per_sm = {r.integer, r.where};
         }},
    {.path = "kernel.loop",
     .kind = FieldKind::word,
     .choices = kTruths,
     .default_text = "false",
     .description =
         "of a kernel without marks: its blocks take tiles in turn, as many at a time as "
         "schedule.sms leaves room for; without it every tile has a block",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->loop = {r.choices.front() != 0, r.where};
         }},
    {.path = "kernel.signals",
     .kind = FieldKind::integer,
     .min = 1,
     .max = 1024,
     .default_text = "1",
     .description = "of a kernel with marks: how often tile_done counts for one tile, by all who "
                    "have a part in it",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->signals = {r.integer, r.where};
         }},
    {.path = "kernel.cluster",
     .kind = FieldKind::integer,
     .min = 1,
     .max = 8,
     .default_text = "1",
     .description = "of a kernel with marks, or of an adapter: blocks of a cluster; they compute "
                    "tiles of one column at consecutive positions",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->cluster = {r.integer, r.where};
         }},
    {.path = "kernel.store_box",
     .kind = FieldKind::integers,
     .min = 0,
     .max = 256,
     .min_items = 3,
     .max_items = 3,
     .default_text = "none",
     .description = "of a kernel with marks that may store into other ranks' memory: rows and "
                    "columns that one of its TMA stores moves, and the bytes of the swizzle, 128 "
                    "or 0",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->store_box = {r.integers, r.where};
         }},
    {.path = "kernel.efficiency",
     .kind = FieldKind::part,
     .default_text = "0.5",
     .description = "its rate as a part of the tensor cores' peak, from which the planner predicts "
                    "its time",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->efficiency = {r.part, r.where};
         }},
    {.path = "kernel.include_dirs",
     .kind = FieldKind::texts,
     .max_items = 64,
     .noun = "paths",
     .default_text = "[]",
     .description = "folders of headers of your own besides the source's, from the spec's folder",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->include_dirs = {r.texts, r.where};
         }},
    {.path = "kernel.system_include_dirs",
     .kind = FieldKind::texts,
     .max_items = 64,
     .noun = "paths",
     .default_text = "[]",
     .description = "of a kernel with marks: folders of libraries' headers, which generated code "
                    "goes on to include; from the spec's folder",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->system_include_dirs = {r.texts, r.where};
         }},
    {.path = "kernel.defines",
     .kind = FieldKind::texts,
     .max_items = 256,
     .noun = "macros, each NAME or NAME=value",
     .default_text = "[]",
     .description = "macros that are defined before its source",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->defines = {r.texts, r.where};
         }},
    {.path = "kernel.flags",
     .kind = FieldKind::texts,
     .max_items = 64,
     .noun = "flags of nvcc, as --use_fast_math",
     .default_text = "[]",
     .description = "flags with which generated code is compiled for it",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.kernel->flags = {r.texts, r.where};
         }},
};

}  // namespace

std::span<const Field> kernel_fields() {
  return kKernelFields;
}

}  // namespace tilepost
