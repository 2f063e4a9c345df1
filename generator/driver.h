// The pipeline: Spec -> Plan -> Weave -> Emit, stopping after the first stage that reports an
// error.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/emit/emit.h"
#include "generator/plan/machine/profile.h"
#include "generator/plan/plan.h"
#include "generator/plan/tuning/entry.h"
#include "generator/yaml/read_spec.h"

namespace tilepost {

// The machine that plans are made for, and the file that it was read from.
struct Machine {
  MachineProfile profile = default_machine();
  std::string file;        // "" for one that tilepost knows
  std::string asked = {};  // the name or file of --machine; "" for the usual machine
};

struct Input {
  std::string path;  // as given; what messages call the spec
  std::string text;
  std::vector<Override> overrides;
  std::shared_ptr<const Machine> machine = std::make_shared<const Machine>();
  bool timestamps = false;                             // generate_from: kernels note times
  std::string suffix = {};                             // appended to the spec's name
  std::shared_ptr<const TuningFile> tuning = nullptr;  // whose choices are planned; null: none
};

// The spec of an input, with its kernel, if it has one of its own.
struct SpecOfInput {
  Spec spec;
  std::shared_ptr<const OwnKernel> own;
};

// Reads the spec and its kernel; nothing after an error, which was reported.
std::optional<SpecOfInput> read_input(const Input& input, Diagnostics& diagnostics);

// Reads the spec and plans it.
std::vector<Plan> plan_input(const Input& input, Diagnostics& diagnostics);

// The files that were read for these plans: the spec first, then the machine's file, the tuning
// file, and the user's kernel with its headers. Requires a plan.
std::vector<std::string> files_read(const Input& input, const std::vector<Plan>& plans);

// The result of the whole pipeline. `files` is empty if there was an error.
struct Generated {
  std::vector<OutputFile> files;
  std::vector<std::string> sources;  // the files that were read: the spec, the user's kernel
};
Generated generate_from(const Input& input, Diagnostics& diagnostics);

// The files of generate_from() alone.
std::vector<OutputFile> generate(const Input& input, Diagnostics& diagnostics);

// The woven kernels alone, as one text, which is empty if there was an error. Fills in `sources`
// with the files that were read.
std::string weave_input(const Input& input, std::vector<std::string>& sources,
                        Diagnostics& diagnostics);

}  // namespace tilepost
