// Kernels with marks of a user's own: what is woven, and which marks cannot be true.
#include "generator/diagnostic_printer.h"
#include "generator/weave/marked/check_marks.h"
#include "generator/weave/marked/weave_marked.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/catch.h"

namespace tilepost {
namespace {

using Catch::Contains;

struct Marked {
  std::optional<WovenKernel> woven;
  std::string messages;
};

OwnRequest marked_request(const std::string& code, const std::string& asked) {
  OwnRequest request;
  request.source = OneFile("kernel.cu", "#include <tilepost/mark.cuh>\n" + code);
  request.reading.asked = asked;
  request.kernel = "woven_gemm";
  request.arguments = {{"m", "shape.m"}, {"n", "shape.n"}, {"scale", "0.5"}};
  request.memory = {{"c", "c"}};
  request.out = "c";
  return request;
}

Marked weave(const std::string& code, const std::string& asked = "gemm",
             const std::string& launcher = "") {
  OwnRequest request = marked_request(code, asked);
  request.launcher = launcher;
  Marked result;
  llvm::raw_string_ostream stream(result.messages);
  DiagnosticPrinter diagnostics(stream);
  result.woven = weave_marked(request, diagnostics);
  return result;
}

// The message about the marks of a kernel `gemm` with these lines, or "" if they may be true. `m`
// and `n` are its sizes, and `c` is its output of n elements a row. A tile is 64x32.
std::string said_of(const std::string& body, const std::string& before = "", int64_t signals = 1) {
  const OwnRequest request =
      marked_request(before +
                         "__global__ void gemm(float* c, int m, int n) {\n"
                         "  const tilepost::TileGrid grid{m / 64, n / 32, 64, 32, 1, 1};\n" +
                         body + "}\n",
                     "gemm");
  MarkFacts facts;
  facts.out = "c";
  facts.numbers = {{"m", 256}, {"n", 128}};
  facts.n = 128;
  facts.tile_m = 64;
  facts.tile_n = 32;
  facts.signals = signals;
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  DiagnosticPrinter diagnostics(stream);
  read_function(request.source, request.reading, diagnostics,
                [&](const Parsed& parsed, const Instance& instance) {
                  check_marks(parsed, instance, facts);
                });
  return messages;
}

// The lines in a loop over all tiles.
std::string in_loop(const std::string& lines) {
  return "for (int i = blockIdx.x; i < tilepost::num_tiles(grid); i += gridDim.x) {\n"
         "  const tilepost::Tile tile = tilepost::tile(grid, i);\n" +
         lines + "}\n";
}

constexpr char kStore[] = "tilepost::out_base(c, grid, tile, n)[threadIdx.x] = 1;\n";
constexpr char kCoord[] = "tilepost::Coord at = tilepost::out_coord(grid, tile, 0, 0);\n";
constexpr char kBlockDone[] = "tilepost::tile_done(tile, tilepost::BlockStores{});\n";
constexpr char kWarpDone[] = "tilepost::tile_done(tile, tilepost::WarpStores{});\n";
constexpr char kBulkDone[] = "tilepost::tile_done(tile, tilepost::BulkStores{});\n";

}  // namespace

TEST_CASE("a marked kernel keeps its place, and is launched with the view behind its arguments") {
  const Marked result = weave(R"(namespace lib {
template <class T, int kScale>
__global__ void gemm(T* __restrict__ c, int m, int n, const float scale) {
  const tilepost::TileGrid grid{m, n, 1, 1, 1, 1};
  const tilepost::Tile tile = tilepost::tile(grid, blockIdx.x);
  *tilepost::out_base(c, grid, tile, n) = kScale * scale;
  tilepost::tile_done(tile, tilepost::BlockStores{});
}
}
)",
                              "lib::gemm<float, 2>");
  INFO(result.messages);
  REQUIRE(result.woven);
  const std::string& body = result.woven->body;
  CHECK_THAT(body, Contains("__global__ void gemm(T* __restrict__ c, int m, int n, const float "
                            "scale,\n                     const __grid_constant__ TilepostView "
                            "view_)"));
  CHECK_THAT(body, Contains("reinterpret_cast<const void*>(&lib::gemm<float, 2>)"));
  CHECK_THAT(body, Contains("auto argument0 = static_cast<float *>(c);"));
  CHECK_THAT(body, Contains("auto argument3 = static_cast<float>(0.5);"));
  CHECK_THAT(body, Contains("{&argument0, &argument1, &argument2, &argument3, &view}"));
}

TEST_CASE("a launcher of the user's is kept, and called") {
  const std::string code = R"(
#include <tilepost/plan.h>
struct Params { float* c; };
__global__ void gemm(Params params, int n) {
  const tilepost::TileGrid grid{1, 1, 1, 1, 1, 1};
  const tilepost::Tile tile = tilepost::tile(grid, blockIdx.x);
  tilepost::out(params.c, grid, tile, 0, 0, n) = 1;
  tilepost::tile_done(tile, tilepost::BlockStores{});
}
int unused() { return 1; }
int helper() { return 0; }
namespace host {
int start(const tilepost_launch_call_t* call, void* user) { return helper(); }
int wrong(tilepost_launch_call_t* call, void* user) { return helper(); }
}
)";
  const Marked result = weave(code, "gemm", "host::start");
  INFO(result.messages);
  REQUIRE(result.woven);
  CHECK_THAT(result.woven->body, Contains("return static_cast<int>(host::start(call, user));"));
  CHECK_THAT(result.woven->body, Contains("int helper()"));
  CHECK_THAT(result.woven->body, !Contains("int unused()"));
  CHECK_THAT(weave(code, "gemm", "start").messages,
             Contains("kernel.launcher: there is no function 'start'"));
  CHECK_THAT(weave(code, "gemm", "host::wrong").messages,
             Contains("'host::wrong' cannot launch a kernel: it is to be cudaError_t launch"));
}

TEST_CASE("what a marked kernel leaves open is refused") {
  CHECK_THAT(weave("__global__ void gemm(float* c) {\n"
                   "  tilepost::tile_done({}, tilepost::BlockStores{});\n}\n")
                 .messages,
             Contains("kernel.cu:2:17: error: kernel 'gemm' reaches no tilepost::out"));
  CHECK_THAT(weave("__global__ void gemm(float* c, int more = 1) {\n"
                   "  tilepost::out(c, 0, 0, 1) = 1;\n"
                   "  tilepost::tile_done({}, tilepost::BlockStores{});\n}\n")
                 .messages,
             Contains("has a default argument"));
}

TEST_CASE("marks that may be true are taken as they are") {
  const auto fine = [](const std::string& body, const std::string& before = "",
                       int64_t signals = 1) {
    INFO(before << body);
    CHECK(said_of(body, before, signals) == "");
  };
  fine(in_loop(std::string(kStore) + kBlockDone));
  fine(in_loop(std::string("if (!tile.is_padding()) ") + kStore + kBlockDone));
  // One of the warps stores.
  fine(in_loop(std::string("if (threadIdx.x / 32 == 3) {\n") + kStore + kWarpDone + "}\n"));
  fine(in_loop(std::string("if (threadIdx.x >= 64) {\n") + kStore + kWarpDone + "}\n"), "", 2);
  fine(in_loop(std::string("const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);\n") +
               "if (warp == 1) {\n" + kStore + kWarpDone + "}\n"));
  // One thread stores, in a role of its own that others leave.
  fine("if (threadIdx.x > 0) return;\n" + in_loop(std::string(kCoord) + kBulkDone));
  fine("if (threadIdx.x == 0) {\n" + in_loop(std::string(kCoord) + kBulkDone) + "}\n");
  // The last tile is done while this one is stored.
  fine("tilepost::Tile last{};\n" +
       in_loop(std::string("if (i != blockIdx.x) tilepost::tile_done(last, "
                           "tilepost::BlockStores{});\n") +
               kStore + "last = tile;\n") +
       "tilepost::tile_done(last, tilepost::BlockStores{});\n");
  // A tile is done in both branches, and twice where two signals are announced.
  fine(in_loop(std::string("if (m > 64) {\n") + kStore + kBlockDone + "} else {\n" + kStore +
               kBlockDone + "}\n"));
  fine(in_loop(std::string(kStore) + kBlockDone + kBlockDone), "", 2);
  // The output is in a variable, which may be null.
  fine("float* const all = c;\nif (c == nullptr) return;\n" +
       in_loop(std::string("float* p = tilepost::out_base(all, grid, tile, n);\np[1] = 0;\n") +
               kBlockDone));
  // Lambdas store and signal where they are called.
  const std::string store = "const auto store = [&] { " + std::string(kStore) + "};\n";
  const std::string finish = "const auto finish = [&] { " + std::string(kBlockDone) + "};\n";
  fine(in_loop(store + finish + "store();\nfinish();\n"));
  fine(in_loop(finish + kStore + "const auto last = [&finish] { finish(); };\nlast();\n"));
  fine(in_loop(finish + kStore + "const auto same = finish;\nsame();\n"));
  // A helper function stores, or a member holds the tile.
  fine(in_loop(std::string("store(c, grid, tile, n);\n") + kBlockDone),
       "__device__ void store(float* c, const tilepost::TileGrid& grid, tilepost::Tile tile, int n)"
       " {\n  *tilepost::out_base(c, grid, tile, n) = 1;\n}\n");
  fine(
      "Walk walk{0, {}};\nwhile (walk.next(grid)) {\n"
      "  *tilepost::out_base(c, grid, walk.tile, n) = 1;\n"
      "  tilepost::tile_done(walk.tile, tilepost::BlockStores{});\n}\n",
      "struct Walk {\n  int at;\n  tilepost::Tile tile;\n"
      "  __device__ bool next(const tilepost::TileGrid& grid) {\n"
      "    tile = tilepost::tile(grid, at);\n    at += gridDim.x;\n"
      "    return at < tilepost::num_tiles(grid);\n  }\n};\n");
}

TEST_CASE("marks that cannot be true are refused where they stand") {
  const auto wrong = [](const std::string& body, const char* message,
                        const std::string& before = "") {
    INFO(before << body);
    CHECK_THAT(said_of(body, before), Contains(message));
  };
  wrong(in_loop(std::string(kStore) + "if (threadIdx.x % 32 == 0) " + kWarpDone),
        "not all lanes of a warp come to this tile_done");
  wrong(in_loop(std::string(kStore) + "if (threadIdx.x < 48) " + kWarpDone),
        "not all lanes of a warp come to this tile_done");
  wrong(in_loop(std::string(kCoord) + kBulkDone), "all threads of the block come to this");
  wrong(in_loop(std::string(kCoord) + "if (threadIdx.x / 32 == 0) " + kBulkDone),
        "all lanes of a warp come to this tile_done");
  wrong(in_loop(std::string(kStore) + "if (threadIdx.x > 7) continue;\n" + kBlockDone),
        "some threads leave here");
  wrong(in_loop(std::string(kStore) + "finish(tile, threadIdx.x);\n"),
        "not all threads of the block come to this tile_done",
        "__device__ void finish(const tilepost::Tile& tile, int thread) {\n"
        "  if (thread == 0) tilepost::tile_done(tile, tilepost::BlockStores{});\n}\n");
  wrong(in_loop(std::string(kStore) + "if (first(threadIdx.x)) " + kBlockDone),
        "not all threads of the block come to this tile_done",
        "__device__ bool first(int thread) { return thread == 0; }\n");
  wrong(in_loop(std::string("float* p = tilepost::out_base(c, grid, tile, n);\n") + kBlockDone +
                "p[threadIdx.x] = 1;\n"),
        "kernel.cu:8:1: error: the tile is stored here, behind its tile_done");
  wrong(in_loop(std::string(kStore) + kBlockDone + kBlockDone), "the tile was done already");
  // The lambda is defined in front of tile_done, but called behind it.
  const std::string store = "const auto store = [&] { " + std::string(kStore) + "};\n";
  const std::string behind = "the tile is stored here, behind its tile_done";
  wrong(in_loop(store + kBlockDone + "store();\n"), behind.c_str());
  wrong(in_loop(store + "const auto later = [&] { store(); };\n" + kBlockDone + "later();\n"),
        behind.c_str());
  wrong(in_loop(store + kBlockDone + "call(store);\n"), behind.c_str(),
        "template <class Function>\n__device__ void call(Function f) { f(); }\n");
  wrong(
      in_loop("const auto store = [c, n, grid, at = tile] { *tilepost::out_base(c, grid, at, n) = "
              "1; };\n" +
              std::string(kBlockDone) + "store();\n"),
      behind.c_str());
  wrong(in_loop("float* p = tilepost::out_base(c, grid, tile, n);\n"
                "const auto store = [to = p] { *to = 1; };\n" +
                std::string(kBlockDone) + "store();\n"),
        behind.c_str());
  const std::string finish = "const auto finish = [&] { " + std::string(kBlockDone) + "};\n";
  wrong(in_loop(kStore + finish + "finish();\nfinish();\n"), "the tile was done already");
  wrong(in_loop(std::string("keep(c);\n") + kStore + kBlockDone),
        "the output is used here, outside of tilepost::out and tilepost::out_base",
        "__device__ float* kept;\n__device__ void keep(float* c) { kept = c; }\n");
  wrong(in_loop("*tilepost::out_base(c, grid, tile, m) = 1;\n" + std::string(kBlockDone)),
        "rows of the output are n = 128 elements long, and the mark is told 256");
  wrong(in_loop("*tilepost::out_base(c, grid, tile, n) = 1;\n"),
        "tilepost::tile_done is never said of it");
  wrong("const tilepost::TileGrid other{m, n, 64, 64, 1, 1};\n" +
            in_loop(std::string(kStore) + kBlockDone),
        "tile_n of the grid is 64 here, and the spec says 32 in kernel.tile");
}

}  // namespace tilepost
