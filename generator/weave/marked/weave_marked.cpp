#include "generator/weave/marked/weave_marked.h"

#include "generator/weave/marked/find_marks.h"
#include "generator/weave/marks/hand_down.h"
#include "generator/weave/passes.h"
#include "generator/weave/pieces/global_names.h"
#include "generator/weave/unmarked/dynamic_shared.h"
#include "generator/weave/unmarked/read_with.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

class MarkedWeaver {
 public:
  MarkedWeaver(const Parsed& parsed, const OwnRequest& request, const Instance& instance)
      : parsed_(parsed), request_(request), instance_(instance) {}

  WovenKernel weave() {
    Pieces pieces = cut_into_pieces(parsed_);
    if (!mark_launched(parsed_, instance_, request_.launcher, pieces)) return {};
    WeaveRequest names;
    names.source = request_.source.text;
    names.function = request_.reading.asked;
    names.view_type = kViewType;
    names.stores = request_.stores;
    names.waits = request_.waits;
    check_kept(parsed_, names, pieces);
    check_parameters(parsed_, instance_.written);
    check_global_names(parsed_, pieces);
    const ReadWith read_with = check_foreign_macros(parsed_, pieces, request_.one_arch);
    if (!parsed_.report.ok()) return {};
    Edits edits;
    thread_view(parsed_, names, instance_.written, pieces, edits);
    wrap_kernel(parsed_, names, pieces, edits);
    const std::string behind = request_.cpu ? thread() : function() + launcher();
    if (!parsed_.report.ok()) return {};
    WovenKernel woven = assemble(parsed_, names, pieces, edits);
    woven.by_arch = read_with.arch;
    woven.body = guards(read_with, request_.reading, request_.kernel) + "using " + kViewType +
                 " = View;\n\n" + user_type(request_) +
                 "// As its author wrote it, but for its marks.\nnamespace user {\n\n" +
                 using_of_global(parsed_, instance_.function) + joined_namespaces(parsed_) +
                 woven.body + behind + "\n}  // namespace user\n";
    if (request_.cpu)
      woven.body += define_dynamic_shared(parsed_, instance_.function, request_.shared_bytes);
    return woven;
  }

 private:
  std::string function() const {
    return std::string("\ninline const void* ") + kWovenFunction +
           "() {\n  return reinterpret_cast<const void*>(&" + request_.reading.asked + ");\n}\n";
  }

  std::string thread() const {
    std::string text = std::string("\n// A thread of a block, on the CPU.\ninline void ") +
                       kWovenThread +
                       "([[maybe_unused]] void* a, [[maybe_unused]] void* b, [[maybe_unused]] "
                       "void* c,\n                          [[maybe_unused]] const "
                       "tilepost_shape_t& shape, const TilepostView& view) {\n" +
                       data("view.user") + "  " + request_.reading.asked + "(";
    for (const Parameter& parameter : instance_.parameters)
      text += argument_of(parsed_, request_, parameter) + ",\n      ";
    return text + "view);\n}\n";
  }

  // Declares `data_`, by which arguments use the run's user data; "" if there is none.
  std::string data(const char* from) const {
    if (request_.num_user == 0) return "";
    return "  const auto data_ = " + user_of(request_.num_user, from) + ";\n";
  }

  std::string launcher() const {
    std::string text;
    llvm::raw_string_ostream out(text);
    out << "\n// Launches it with its arguments, and the view behind them.\ninline int "
        << kWovenLauncher << "(const tilepost_launch_call_t* call, void*";
    if (!request_.launcher.empty()) {
      out << " user) {\n  return static_cast<int>(" << request_.launcher << "(call, user));\n}\n";
      return text;
    }
    out << (request_.num_user > 0 ? " user" : "") << ") {\n"
        << data("static_cast<void* const*>(user)")
        << R"(  [[maybe_unused]] const tilepost_shape_t& shape = call->shape;
  [[maybe_unused]] void* const a = const_cast<void*>(call->a);
  [[maybe_unused]] void* const b = const_cast<void*>(call->b);
  [[maybe_unused]] void* const c = call->out;
)";
    std::string list;
    for (size_t i = 0; i < instance_.parameters.size(); ++i) {
      const std::string name = "argument" + std::to_string(i);
      out << "  auto " << name << " = " << argument_of(parsed_, request_, instance_.parameters[i])
          << ";\n";
      list += "&" + name + ", ";
    }
    out << "  tilepost_view_t view = call->view;\n  void* arguments[] = {" << list
        << "&view};\n  return cudaLaunchKernelExC(call->config, call->function, arguments);\n}\n";
    return text;
  }

  const Parsed& parsed_;
  const OwnRequest& request_;
  const Instance& instance_;
};

}  // namespace

std::optional<WovenKernel> weave_marked(const OwnRequest& request, Diagnostics& diagnostics) {
  std::optional<WovenKernel> woven;
  const bool read = read_function(request.source, request.reading, diagnostics,
                                  [&](const Parsed& parsed, const Instance& instance) {
                                    woven = MarkedWeaver(parsed, request, instance).weave();
                                  });
  if (!read) woven.reset();
  return woven;
}

}  // namespace tilepost
