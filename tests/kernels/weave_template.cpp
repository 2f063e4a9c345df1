// Weaves a template that stores into other ranks' memory, even if the planner would not choose it.
//
// Usage: weave_template FILE NAME=VALUE…
//
// FILE is in templates/. The tunables must include TILE_M and TILE_N. Prints the woven source.
#include <iostream>

#include "generator/diagnostic_printer.h"
#include "generator/resources.h"
#include "generator/weave/weave.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: weave_template FILE NAME=VALUE...\n";
    return 2;
  }
  tilepost::WeaveRequest request;
  request.file = argv[1];
  request.function = request.file.substr(0, request.file.find('.'));
  for (int i = 2; i < argc; ++i) {
    const auto [name, value] = llvm::StringRef(argv[i]).split('=');
    request.tunables[name.str()] = value.str();
  }
  request.keep = {"kThreads", "kSharedBytes"};
  request.view_type = "View";
  request.stores = true;
  const auto source = tilepost::find_resource("templates/" + request.file);
  if (!source) {
    std::cerr << "no template is called " << request.file << "\n";
    return 1;
  }
  request.source = source->str();
  tilepost::DiagnosticPrinter diagnostics(llvm::errs());
  const auto woven = tilepost::weave(request, diagnostics);
  if (!woven) return 1;
  for (const std::string& include : woven->includes) std::cout << "#include " << include << "\n";
  std::cout << "#include <tilepost/device/woven.cuh>\n\n"
            << "struct View : tilepost::woven::View {\n  static constexpr int kTileM = "
            << request.tunables["TILE_M"] << ", kTileN = " << request.tunables["TILE_N"]
            << ";\n  static constexpr bool kStores = true;\n};\n\n"
            << woven->body;
}
