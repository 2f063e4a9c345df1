#include "generator/bundle/texts.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "generator/harness/commands.h"
#include "generator/plan/report/describe.h"
#include "generator/printable.h"
#include "generator/resources.h"
#include "generator/spec/kernel/kernel_flags.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "runtime/map/quantised.h"
#include "tilepost/version.h"

namespace tilepost {
namespace {

struct Field {
  const char* name;  // stands in a template as @name@
  std::string text;
};

// A template of this folder with its fields filled in.
std::string fill(const std::string& name, const std::vector<Field>& fields) {
  const auto found = find_resource("generator/bundle/" + name);
  if (!found) throw std::logic_error("'" + name + "' is missing from this build");
  std::string text = found->str();
  for (const Field& field : fields) {
    const std::string mark = std::string("@") + field.name + "@";
    for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += field.text.size())
      text.replace(at, mark.size(), field.text);
  }
  return text;
}

std::vector<std::string> names_of(const BundleContents& contents, const std::string& prefix = "") {
  std::vector<std::string> names;
  for (const HarnessProgram& program : contents.programs) names.push_back(prefix + program.name);
  return names;
}

std::string title(const BundleContents& contents) {
  return fmt::format("{}: made by tilepost {}; do not edit.", llvm::join(names_of(contents), ", "),
                     TILEPOST_VERSION_STRING);
}

std::string digits_of(Arch arch) {
  return std::string(name_of(arch)).substr(3);  // after "sm_"
}

// sm_90a's code runs on 9.0 only. For the newest of the other architectures the code is also
// included as PTX, which later GPUs can run.
bool also_ptx(const std::vector<Arch>& archs, Arch arch) {
  Arch newest = Arch::sm_90a;
  for (const Arch each : archs)
    if (each != Arch::sm_90a) newest = each;
  return arch != Arch::sm_90a && arch == newest;
}

// The architectures as options of nvcc.
std::string code_words(const std::vector<Arch>& archs) {
  std::string words;
  for (const Arch arch : archs) {
    const std::string digits = digits_of(arch);
    words +=
        fmt::format("{0}-gencode arch=compute_{1},code=sm_{1}", words.empty() ? "" : " ", digits);
    if (also_ptx(archs, arch))
      words += fmt::format(" -gencode arch=compute_{0},code=compute_{0}", digits);
  }
  return words;
}

// The architectures as CMAKE_CUDA_ARCHITECTURES has them.
std::string cmake_archs(const std::vector<Arch>& archs, const char* separator) {
  std::vector<std::string> words;
  for (const Arch arch : archs)
    words.push_back(digits_of(arch) + (also_ptx(archs, arch) ? "" : "-real"));
  return llvm::join(words, separator);
}

// The flags of nvcc that the program's kernel of the user's own needs.
std::string flag_words(const HarnessProgram& program) {
  const auto& own = program.plans.front().source.own;
  return own ? llvm::join(flags_of(own->spec), " ") : "";
}

std::string code_variables(const BundleContents& contents) {
  std::string text = "CODE = " + code_words(archs_of(contents.programs)) + "\n";
  for (const HarnessProgram& program : contents.programs)
    text += fmt::format("$(BUILD)/generated/{}.cu.o: CODE = {}\n", program.name,
                        code_words(archs_of({program})));
  for (const HarnessProgram& program : contents.programs)
    if (const std::string flags = flag_words(program); !flags.empty())
      text += fmt::format("$(BUILD)/generated/{}.cu.o: FLAGS = {}\n", program.name, flags);
  text.pop_back();
  return text;
}

// What the operation computes; of a layer, what each half does.
std::string product_of(const HarnessProgram& program) {
  const Plan& first = program.plans.front();
  if (first.half == Half::none) return fmt::format("`{}`", describe_product(first, "out"));
  return fmt::format("`{}`, then `{}`", describe_product(first, "rows"),
                     describe_product(second_half_of(program.plans, first), "out"));
}

// A table with a row for each operation: its ranks, what it computes and its architectures.
std::string plan_lines(const BundleContents& contents) {
  std::string text = "| operation | ranks | what it computes | for |\n|---|---|---|---|\n";
  for (const HarnessProgram& program : contents.programs) {
    const Plan& plan = program.plans.front();
    std::vector<std::string> archs;
    for (const Plan& each : program.plans)
      if (each.range == 0 && each.half != Half::second)
        archs.push_back(std::string(name_of(each.arch)) + (each.tuned.known() ? ", tuned" : ""));
    text += fmt::format("| `{}` | {} | {}, {} in, {} out{} | {} |\n", program.name, plan.ranks,
                        product_of(program), name_of(plan.input), name_of(type_of_out(plan)),
                        plan.any_m ? fmt::format(", any m up to {}", rows_of_runs(plan)) : "",
                        llvm::join(archs, ", "));
  }
  text.pop_back();
  return text;
}

std::string use_text(const BundleContents& contents) {
  const std::string& name = contents.programs.front().name;
  std::string text = fmt::format("```cpp\n#include \"{}.h\"\n\n", name);
  if (contents.cuda)
    text += "tilepost_comm_adopt(nccl_comm, &comm);                  // or tilepost_comm_init\n";
  else
    text +=
        "tilepost_comm_create_host(ranks, comms);                // one for each rank, a thread\n";
  if (!row_of(contents.programs.front().plans.front()).has_tokens()) {
    text += fmt::format("tilepost_op_create(comm, {}_program(), nullptr, &op);\n", name);
    text += "tilepost_op_run(op, a, b, out, stream);                 // asynchronous\n```";
    return text;
  }
  text += "tilepost_routing_create(comm, experts, top, most_tokens, nullptr, &options.routing);\n";
  text += fmt::format("tilepost_op_create(comm, {}_program(), &options, &op);\n", name);
  text += "tilepost_op_run_with(op, &operands, stream);            // asynchronous\n```";
  return text;
}

std::string link_command(const BundleContents& contents) {
  const std::string libraries =
      "-l" + llvm::join(names_of(contents), " -l") + " -ltilepost_runtime";
  if (contents.cuda)
    return "nvcc -std=c++20 -Ithis_folder/include -Ithis_folder/generated app.cpp \\\n"
           "  -Lthis_folder/build " +
           libraries + " -lnccl -lpthread -ldl -o app";
  return "c++ -std=c++20 -Ithis_folder/include -Ithis_folder/generated app.cpp \\\n"
         "  -Lthis_folder/build " +
         libraries + " -pthread -o app";
}

// The command that makes the bundle again. Overrides, machine and tuning file are the same for all
// specs.
std::string renew_command(const BundleContents& contents) {
  std::string text = "tilepost generate";
  for (const Input& input : contents.inputs)
    text += " " + shell_word(printable(llvm::sys::path::filename(input.path)));
  const Input& first = contents.inputs.front();
  // A file is named without its folder, as specs are.
  if (!first.machine->asked.empty())
    text +=
        " --machine " + shell_word(printable(first.machine->file.empty()
                                                 ? llvm::StringRef(first.machine->asked)
                                                 : llvm::sys::path::filename(first.machine->file)));
  if (first.tuning)
    text += " --tuning " + shell_word(printable(llvm::sys::path::filename(first.tuning->path)));
  for (const Override& override : first.overrides)
    text += " -D " + shell_word(printable(override.path + "=" + override.value));
  if (first.timestamps) text += " --timestamps";
  for (const Shape& shape : contents.shapes) text += " --shape " + shape_text(shape);
  for (const Sweep& sweep : contents.sweeps)
    text += " --sweep " + shell_word(printable(sweep.path + "=" + llvm::join(sweep.values, ",")));
  return text + " --bundle this_folder";
}

}  // namespace

std::vector<Arch> archs_of(const std::vector<HarnessProgram>& programs) {
  std::set<Arch> archs;
  for (const HarnessProgram& program : programs)
    for (const Plan& plan : program.plans) archs.insert(plan.arch);
  return {archs.begin(), archs.end()};
}

std::string bundle_makefile(const BundleContents& contents) {
  return fill(contents.cuda ? "cuda.make.in" : "host.make.in",
              {{"TITLE", title(contents)},
               {"OPERATIONS", llvm::join(names_of(contents), " ")},
               {"RUNTIME", "\\\n  " + llvm::join(contents.runtime, " \\\n  ")},
               {"CHECK_KERNELS", llvm::join(contents.check_kernels, " ")},
               {"CODE", contents.cuda ? code_variables(contents) : ""}});
}

std::string bundle_cmakelists(const BundleContents& contents) {
  std::string calls;
  for (const HarnessProgram& program : contents.programs)
    if (contents.cuda)
      calls += fmt::format("{}operation({} {})", calls.empty() ? "" : "\n", program.name,
                           cmake_archs(archs_of({program}), " "));
  for (const HarnessProgram& program : contents.programs)
    if (const std::string flags = flag_words(program); contents.cuda && !flags.empty())
      calls += fmt::format("\nset_property(SOURCE generated/{}.cu PROPERTY COMPILE_OPTIONS {})",
                           program.name, flags);
  const std::vector<Arch> archs = archs_of(contents.programs);
  return fill(contents.cuda ? "cuda.cmake.in" : "host.cmake.in",
              {{"TITLE", title(contents)},
               {"TARGETS", llvm::join(names_of(contents, "tilepost::"), " ")},
               {"OPERATIONS", llvm::join(names_of(contents), " ")},
               {"OPERATION_CALLS", calls},
               {"FIRST", contents.programs.front().name},
               {"RUNTIME_VERSION", contents.runtime_version},
               {"RUNTIME_LINES", llvm::join(contents.runtime, "\n    ")},
               {"CHECK_KERNELS", llvm::join(contents.check_kernels, " ")},
               {"ARCHITECTURES", contents.cuda ? cmake_archs(archs, ";") : ""}});
}

std::string bundle_readme(const BundleContents& contents) {
  const bool cuda = contents.cuda;
  return fill(
      "readme.md.in",
      {{"NAMES", llvm::join(names_of(contents), ", ")},
       {"VERSION", TILEPOST_VERSION_STRING},
       {"NEEDS", cuda ? "the CUDA Toolkit 12.8 or newer, NCCL 2.28 or newer and a C++20 compiler"
                      : "a C++20 compiler"},
       {"PLANS", plan_lines(contents)},
       {"CHECK", cuda
                     ? "The self-check takes as many GPUs as an operation has ranks. With fewer it "
                       "says so and exits with 77."
                     : "The self-check runs all ranks as threads of one process."},
       {"VARIABLES", cuda ? "`CXX`, `CXXFLAGS`, `CUDA_HOME`, `NVCC`, `NVCCFLAGS`, `NCCL_HOME`,\n"
                            "`NCCL_LIBRARY` (the file), `LDFLAGS`, `AR`, `BUILD`"
                          : "`CXX`, `CXXFLAGS`, `LDFLAGS`, `AR`, `BUILD`"},
       {"USE", use_text(contents)},
       {"TARGETS", llvm::join(names_of(contents, "tilepost::"), " ")},
       {"COMMAND", link_command(contents)},
       {"CMAKE_FOLDER", cuda ? ", `cmake/`" : ""},
       {"RENEW", renew_command(contents)}});
}

}  // namespace tilepost
