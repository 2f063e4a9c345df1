#include "tests/unit/weave/weave_kernel.h"

#include "generator/diagnostic_printer.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {

WeaveRequest request_for(const std::string& source) {
  WeaveRequest request;
  request.file = "kernel.cu";
  request.source = source;
  request.function = "gemm";
  request.view_type = "View";
  return request;
}

WovenKernel weave_kernel(const WeaveRequest& request) {
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  DiagnosticPrinter diagnostics(stream);
  const std::optional<WovenKernel> woven = weave(request, diagnostics);
  INFO(messages);
  REQUIRE(woven);
  CHECK(messages.empty());
  return *woven;
}

std::string woven_body(const std::string& code) {
  return weave_kernel(request_for("#include <tilepost/mark.cuh>\n" + code)).body;
}

std::string refusal(const WeaveRequest& request) {
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  DiagnosticPrinter diagnostics(stream);
  CHECK(!weave(request, diagnostics));
  CHECK(!diagnostics.ok());
  return messages;
}

}  // namespace tilepost
