// The parts a generated program is put together from; each prints the plan and decides nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/emit/emit.h"
#include "generator/plan/plan.h"
#include "generator/weave/weave.h"

namespace tilepost {

// What all files of one program share.
struct Program {
  const std::vector<Plan>& plans;  // not empty
  std::string spec_name;           // "attn_out.yaml"
  std::string plan_hash;           // of the plan's JSON, 16 hex digits
  std::string set_hash;            // of all files together, 16 hex digits
  bool timestamps = false;         // the kernels note times

  const Plan& first() const { return plans.front(); }
  // The first plan of those whose output is the program's: of a layer, those of its second half.
  const Plan& last_operation() const;
  const std::string& name() const { return plans.front().name; }
  bool host() const { return plans.front().arch == Arch::host; }
};

// "tilepost_gen_attn_out": where all plans of a program live. No library and no program's own name
// begins so, and no name of a program makes it a keyword or a macro.
std::string namespace_of(std::string_view name);

// "tilepost_gen_attn_out::sm_90a": where one plan's code lives. A second plan for the same
// architecture, which serves at most 64 rows, lives in "…::sm_90a_to_64", and those of the halves
// of a layer in "…::sm_90a_first" and "…::sm_90a_second".
std::string namespace_of(const Plan& plan);

// Whether all plans are for one architecture.
bool have_one_arch(const std::vector<Plan>& plans);

// "tilepost_plan_attn_out_f7a69a703c9de5eb", with the hash of the set: what the source defines and
// the header refers to, so that a header neither compiles nor links with the source of another set.
std::string plan_symbol(const Program& program);

// The comment that every generated file starts with: which tilepost made it, from which spec, and
// what it computes.
std::string provenance(const Program& program);

// `<name>.h`.
std::string emit_header(const Program& program);

// `<name>.cu` or `<name>.cpp`, given each plan's woven kernel.
std::string emit_source(const Program& program, const std::vector<WovenKernel>& kernels);

// The woven kernels alone: the part of `<name>.cu` that compiles without the header and the
// runtime.
std::string emit_kernels(const Program& program, const std::vector<WovenKernel>& kernels);

// The source of one kernel of a catalogue (emit.h).
std::string emit_catalogued(const Plan& plan, const WovenKernel& kernel);

// make_plan() of one plan: the C structures of tilepost/plan.h, every number with its meaning.
std::string emit_plan(const Plan& plan);

}  // namespace tilepost
