// The bundled kernels are woven like a user's kernel.
#include <chrono>
#include <iostream>

#include "generator/resources.h"
#include "tests/unit/weave/weave_kernel.h"

namespace tilepost {
namespace {

WeaveRequest bundled(const std::string& function, const std::string& extension) {
  WeaveRequest request;
  request.file = function + extension;
  const auto source = find_resource("templates/" + request.file);
  REQUIRE(source);
  request.source = source->str();
  request.function = function;
  request.view_type = "View";
  request.cuda = extension == ".cu";
  if (request.cuda) request.keep = {"kThreads", "kSharedBytes"};
  return request;
}

void check_bundled(const WeaveRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  const WovenKernel woven = weave_kernel(request);
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  std::cout << request.file << ": woven in " << elapsed.count() << " ms\n";

  CHECK(woven.body.find("tilepost::tunable") == std::string::npos);
  CHECK(woven.body.find("#include") == std::string::npos);
  CHECK(woven.body.find("\n\n\n") == std::string::npos);
  for (const char* mark : {"num_tiles",       "tile",          "input_ready",  "input_has_come",
                           "open_input",      "tile_done",     "out",          "out_coord",
                           "out_map",         "open_out_maps", "pace",         "in_map",
                           "open_in_map",     "helper_warp",   "finish_tasks", "open_exchange",
                           "num_places",      "out_place",     "part_stored",  "exchange_tiles",
                           "finish_exchange", "exchange_rows"}) {
    CHECK(woven.body.find(std::string("tilepost::") + mark + "(") == std::string::npos);
  }
  CHECK(woven.body.find("tilepost::woven::tile_done(view_, ") != std::string::npos);
  const WovenKernel again = weave_kernel(request);
  CHECK(again.body == woven.body);
  CHECK(again.includes == woven.includes);
}

}  // namespace

TEST_CASE("the host kernel is woven") {
  for (const char* element : {"tilepost::DType::bf16", "tilepost::DType::f16"}) {
    WeaveRequest request = bundled("gemm_host", ".cpp");
    request.tunables = {{"TILE_M", "32"}, {"TILE_N", "16"}, {"BAND", "4"}, {"ELEMENT", element}};
    check_bundled(request);
  }
}

TEST_CASE("the host kernel is woven for every type, layout of B and epilogue") {
  for (const char* epilogue : {"0", "7", "8", "24", "97", "105"})
    for (const char* nn : {"0", "1"}) {
      WeaveRequest request = bundled("gemm_host", ".cpp");
      request.tunables = {{"ELEMENT", "tilepost::DType::e4m3"},
                          {"OUTPUT", "tilepost::DType::f16"},
                          {"EPILOGUE", epilogue},
                          {"NN", nn}};
      check_bundled(request);
    }
}

TEST_CASE("the GPU kernels are woven for every layout of B, type and epilogue") {
  for (const char* kernel : {"gemm_sm80", "gemm_sm90"})
    for (const char* epilogue : {"0", "14", "16", "32", "105"}) {
      WeaveRequest request = bundled(kernel, ".cu");
      request.tunables = {{"EPILOGUE", epilogue}, {"NN", "1"}, {"OUTPUT", "tilepost::DType::bf16"}};
      check_bundled(request);
      request.tunables = {{"EPILOGUE", epilogue},
                          {"ELEMENT", "tilepost::DType::e4m3"},
                          {"OUTPUT", "tilepost::DType::f16"},
                          {"TILE_N", "128"},
                          {"PRECISE", "1"}};
      if (llvm::StringRef(kernel) == "gemm_sm80") {
        request.tunables["TILE_K"] = "128";
        request.tunables["STAGES"] = "3";
      }
      check_bundled(request);
    }
}

TEST_CASE("the sm_80 kernel is woven for every vector width") {
  for (const char* vector : {"8", "4", "2", "1"}) {
    WeaveRequest request = bundled("gemm_sm80", ".cu");
    request.tunables = {{"LOAD_VECTOR", vector}, {"STORE_VECTOR", vector}, {"TILE_K", "64"}};
    check_bundled(request);
  }
}

TEST_CASE("the sm_90a kernel is woven for every cluster") {
  for (const char* cluster : {"1", "2", "4"}) {
    WeaveRequest request = bundled("gemm_sm90", ".cu");
    request.tunables = {{"CLUSTER", cluster}, {"ELEMENT", "tilepost::DType::f16"}};
    request.arch_guard = "TILEPOST_ARCH_SM_90A";
    check_bundled(request);
  }
}

TEST_CASE("the sm_90a kernel is woven with rows routed one by one or by TMA, never both") {
  WeaveRequest request = bundled("gemm_sm90", ".cu");
  request.tunables = {{"ROUTED", "1"}};
  check_bundled(request);
  CHECK(weave_kernel(request).body.find("out_coord") == std::string::npos);
  request.tunables = {{"ROUTED", "0"}};
  CHECK(weave_kernel(request).body.find("WarpStores") == std::string::npos);
}

TEST_CASE("where A arrives while they run, the kernels wait for it") {
  for (const char* kernel : {"gemm_sm80", "gemm_sm90", "gemm_host"}) {
    WeaveRequest request = bundled(kernel, kernel == std::string("gemm_host") ? ".cpp" : ".cu");
    request.waits = true;
    check_bundled(request);
    CHECK(weave_kernel(request).body.find("woven::input_ready(view_, ") != std::string::npos);
  }
}

TEST_CASE("where tiles go to other ranks' memory, kernels take maps and pace, or the pointer") {
  WeaveRequest request = bundled("gemm_sm90", ".cu");
  request.stores = true;
  for (const char* add : {"0", "1"}) {
    request.tunables = {{"ADD", add}};
    check_bundled(request);
    const std::string body = weave_kernel(request).body;
    for (const char* mark : {"out_map", "out_coord", "open_out_maps", "pace"})
      CHECK(body.find(std::string("woven::") + mark + "(view_, ") != std::string::npos);
  }
  WeaveRequest host = bundled("gemm_host", ".cpp");
  host.stores = true;
  check_bundled(host);
}

TEST_CASE("tasks are for the helper warp, and where A arrives for the loader") {
  WeaveRequest request = bundled("gemm_sm90", ".cu");
  request.tunables = {{"HELPER_BYTES", "16512"}};
  request.tasks = request.waits = true;
  check_bundled(request);
  const std::string body = weave_kernel(request).body;
  for (const char* mark : {"in_map", "open_in_map", "helper_warp", "finish_tasks"})
    CHECK(body.find(std::string("woven::") + mark + "(view_") != std::string::npos);
}

TEST_CASE("the kernel of few rows marks its part in an exchange of tiles") {
  WeaveRequest request = bundled("gemm_sm90_small", ".cu");
  request.tunables = {{"TILE_M", "32"}, {"STAGES", "6"}, {"HELPER_WARPS", "4"}, {"BOX_M", "8"}};
  request.exchanges_parts = true;
  check_bundled(request);
  const std::string body = weave_kernel(request).body;
  for (const char* mark : {"open_exchange", "num_places", "out_place", "part_stored",
                           "exchange_tiles", "finish_exchange"})
    CHECK(body.find(std::string("woven::") + mark + "(view_, ") != std::string::npos);
}

TEST_CASE("the kernel of few rows marks where it waits for rows of A that are exchanged") {
  WeaveRequest request = bundled("gemm_sm90_small", ".cu");
  request.tunables = {{"HELPER_WARPS", "4"}, {"BOX_M", "8"}};
  request.waits = request.gathers = true;
  check_bundled(request);
  const std::string body = weave_kernel(request).body;
  for (const char* mark :
       {"open_input", "input_has_come", "input_ready", "in_map", "exchange_rows"})
    CHECK(body.find(std::string("woven::") + mark + "(view_, ") != std::string::npos);
}

TEST_CASE("comments of what is kept are kept") {
  const WeaveRequest request = bundled("gemm_sm80", ".cu");
  const std::string body = weave_kernel(request).body;
  CHECK(body.substr(0, 20) == request.source.substr(0, 20));
  CHECK(body.find("// A warp's fragments for one step.") != std::string::npos);
}

}  // namespace tilepost
